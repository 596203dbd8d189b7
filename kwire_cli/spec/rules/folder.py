"""Rules that hold between definitions (Kafka's ApiMessageTypeGenerator, MetadataRecordTypeGenerator, CoordinatorRecordTypeGenerator)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import SpecError
from kwire_cli.spec.files import json_files, read_text
from kwire_cli.spec.findings import Finding
from kwire_cli.spec.names import module_of, successor_of
from kwire_cli.spec.rules.book import examine
from kwire_cli.spec.rules.table import DEFAULT_BOOK

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from kwire_cli.spec.reading import Definition


def check_folder(paths: Sequence[str | os.PathLike[str]], rules: str = DEFAULT_BOOK) -> list[Finding]:
    """Every violation in files and in the *.json files of folders, each file by itself and then between them; InputError for a missing path."""
    texts: list[tuple[str, str]] = []
    unreadable: list[Finding] = []
    for path in json_files(paths):
        try:
            texts.append((read_text(path), str(path)))
        except SpecError as error:
            unreadable.append(Finding("JSON_SYNTAX", "error", error.reason, error.file, error.line, error.column))
    return unreadable + check_many(texts, rules)


def check_many(texts: Iterable[tuple[str, str | None]], rules: str = DEFAULT_BOOK) -> list[Finding]:
    """Every violation in definitions given as (text, file), each by itself and then between them."""
    findings: list[Finding] = []
    definitions: list[Definition] = []
    for text, file in texts:
        definition, found = examine(text, file, rules)
        findings += found
        if definition and definition.spec.name:
            definitions.append(definition)
    return findings + _between(definitions)


def _between(definitions: list[Definition]) -> list[Finding]:
    findings: list[Finding] = []
    names: dict[str, Definition] = {}
    keys: dict[tuple[str, str | None, int], str] = {}
    for definition in definitions:
        spec = definition.spec
        if spec.name in names:
            findings.append(_finding("NAME_DUPLICATE", f"{spec.name} is defined in {names[spec.name].spec.file} too", definition, "name"))
        names.setdefault(spec.name, definition)
        # An api that another one took over has that one's key by right.
        if spec.api_key is None or successor_of(spec.name):
            continue
        key = (spec.type, module_of(definition.keys), spec.api_key)
        if keys.setdefault(key, spec.name) != spec.name:
            findings.append(_finding("API_KEY_DUPLICATE", f"{keys[key]} has the {spec.type} key {spec.api_key} too", definition, "apiKey"))
    for name, definition in names.items():
        other = _other_half(name, definition.spec.type)
        if other and other not in names:
            findings.append(_finding("PAIR_MISSING", f"there is no {other}", definition, "name"))
    return findings


def _other_half(name: str, kind: str) -> str | None:
    if kind == "request" and name.endswith("Request"):
        return name.removesuffix("Request") + "Response"
    return name.removesuffix("Response") + "Request" if kind == "response" and name.endswith("Response") else None


def _finding(rule: str, message: str, definition: Definition, key: str) -> Finding:
    text = definition.report.text
    line, column = text.nearest((key,)) if text else (None, None)
    return Finding(rule, "error", message, definition.spec.file, line, column, key)
