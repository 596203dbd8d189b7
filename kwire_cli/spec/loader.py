"""Load message definitions that people bring: from text or files, leniently, with what is odd about them as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import json_files, read_text
from kwire_cli.spec.rules.book import examine
from kwire_cli.spec.rules.table import DEFAULT_BOOK, FATAL

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_cli.spec.findings import Finding
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.reading import Definition


class Loaded(NamedTuple):
    """A definition with what was noticed while loading it; none of it stands in the way of using it."""

    spec: MessageSpec
    findings: tuple[Finding, ...] = ()


def load_text(text: str, file: str | None = None) -> Loaded:
    """Load a definition from JSON text: any of Kafka's own, KIP-482's and its draft's, with KAFKA-9927's keys.

    SpecError with file, line, column and path, and nothing else, where the text has no usable meaning.
    """
    definition, findings = read_text_leniently(text, file)
    return Loaded(definition.spec, tuple(finding._replace(severity="warning") for finding in findings))


def read_text_leniently(text: str, file: str | None = None) -> tuple[Definition, list[Finding]]:
    """As `load_text`, but with where in the text everything is, for those who point at it."""
    definition, findings = examine(text, file, DEFAULT_BOOK)
    fatal = next((finding for finding in findings if finding.rule in FATAL), None)
    if fatal:
        raise SpecError(fatal.message, file=file, line=fatal.line, column=fatal.column, path=fatal.path)
    assert definition  # noqa: S101 - only a fatal finding leaves none
    return definition, findings


def load_file(path: str | os.PathLike[str]) -> Loaded:
    """Load the definition in a file, as `load_text` does; InputError where the file cannot be read."""
    return load_text(read_text(path), str(path))


def load_paths(paths: Sequence[str | os.PathLike[str]]) -> list[Loaded]:
    """Load files, and the *.json files of folders (in the order of their names)."""
    return [load_file(path) for path in json_files(paths)]
