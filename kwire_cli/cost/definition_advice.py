"""All advice on definitions that needs no traffic: conventions, and tags that do not pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.tag_advice import tag_advice
from kwire_cli.errors import SpecError
from kwire_cli.spec.files import json_files, read_text
from kwire_cli.spec.rules.advice import conventions
from kwire_cli.spec.rules.book import examine
from kwire_cli.spec.rules.table import DEFAULT_BOOK, FATAL

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_cli.spec.findings import Finding


def definition_advice(paths: Sequence[str | os.PathLike[str]]) -> list[Finding]:
    """Advice on files and on the *.json files of folders, in the order of each text; on what has no usable meaning there is none."""
    found = []
    for path in json_files(paths):
        try:
            found += advise(read_text(path), str(path))
        except SpecError:
            continue  # the rules say what is wrong with it
    return found


def advise(text: str, file: str | None = None) -> list[Finding]:
    """Advice on one definition."""
    definition, findings = examine(text, file, DEFAULT_BOOK)
    if definition is None or any(finding.rule in FATAL for finding in findings):
        return []
    found = [*conventions(definition), *tag_advice(definition)]
    return sorted(found, key=lambda finding: (finding.line or 0, finding.column or 0, finding.rule))
