"""Findings of `kwire lint` and `kwire breaking` at lines of files.

The formats are text with the `file:line:column` of compilers, GitHub's workflow commands, which GitHub shows at their
lines in a pull request, and SARIF 2.1.0, which code scanning tools import.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote

from kwire_cli.spec.conventions import CONVENTIONS
from kwire_cli.spec.evolution.breaking import RULES as BREAKING, SEVERITIES, spans
from kwire_cli.spec.evolution.sources import is_revision
from kwire_cli.spec.kafka import VERSION
from kwire_cli.spec.rules import RULES
from kwire_cli.view.lines import escaped_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.spec.files import Finding
    from kwire_cli.view.lines import Line

Level = Literal["error", "warning", "note"]
"""Levels of SARIF. GitHub's workflow commands call a note a notice."""


class Explanation(NamedTuple):
    """The meaning of a rule: a summary and further sentences."""

    summary: str
    help: tuple[str, ...] = ()


_LEVELS: dict[str, Level] = {
    "wire": "error",
    "tagged": "error",
    "source": "warning",
    "error": "error",
    "warning": "warning",
    "advice": "note",
}
_STYLES: dict[Level, str] = {"error": "warning", "warning": "bytes", "note": "dim"}


def _level(finding: Finding) -> Level:
    return _LEVELS[finding.severity]


def _place(finding: Finding) -> str:
    """Return the message and the field in it. Rules of one definition name the message by its file."""
    return (
        finding.place if finding.definition else ".".join(filter(None, (Path(finding.file or "").stem, finding.path)))
    )


def _where(finding: Finding) -> str:
    """Return the place for display, with versions. It is empty if the finding concerns the file."""
    if not finding.definition:
        return finding.path or ""
    one = len(finding.versions) == 1 and finding.versions[0].low == finding.versions[0].high
    versions = f" version{'' if one else 's'} {spans(finding.versions)}" if finding.versions else ""
    return finding.place + versions


def _readers(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield the readers that fail, each with the failure."""
    if finding.old_reads_new and finding.old_reads_new == finding.new_reads_old:
        yield "either reader, of what the other side writes:", finding.old_reads_new
        return
    if finding.old_reads_new:
        yield "an old reader of what a new writer writes:", finding.old_reads_new
    if finding.new_reads_old:
        yield "a new reader of what an old writer writes:", finding.new_reads_old


def _sentence(finding: Finding) -> str:
    return ": ".join(filter(None, (_where(finding), finding.message)))


def _text(finding: Finding) -> str:
    """Return the sentence, the failure of each reader, and the summary of the rule of a break, on separate lines."""
    summary = [BREAKING[finding.rule].summary] if finding.rule in BREAKING else []
    return "\n".join([_sentence(finding), *(" ".join(reader) for reader in _readers(finding)), *summary])


def _file(name: str | None) -> str | None:
    """Return the path of a definition in the repository: relative to the current folder, without the revision."""
    if not name:
        return None
    if is_revision(name):
        return name.partition(":")[2].removeprefix("./")
    path = Path(os.path.normpath(name))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix()


def finding_lines(findings: Iterable[Finding]) -> Iterator[Line]:
    """Yield each finding with its place, severity, rule and path, and the failures of readers below it."""
    for finding in findings:
        place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
        where = _where(finding)
        yield [
            (f"{place}: " if finding.file else "", "name"),
            (f"{finding.severity} {finding.rule}", _STYLES[_level(finding)]),
            (f" {where}: " if where else " ", "dim"),
            (finding.message, ""),
        ]
        for who, does in _readers(finding):
            yield [(f"    {who} ", "dim"), (does, "")]


def github_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a workflow command for each finding: an error, a warning, or a notice."""
    for finding in findings:
        level = _level(finding)
        command = "notice" if level == "note" else level
        about = {
            "file": _file(finding.file),
            "line": finding.line,
            "col": finding.column,
            "title": f"{finding.rule} ({finding.severity})",
        }
        properties = ",".join(f"{key}={escape_command(str(value), ':,')}" for key, value in about.items() if value)
        yield f"::{command} {properties}::{escape_command(f'{finding.severity} {finding.rule} {_text(finding)}')}"


def escape_command(text: str, more: str = "") -> str:
    """Escape text for a workflow command. `more` contains further characters to escape, which would end a property."""
    shown = escaped_lines(text)
    for character in f"%\n{more}":
        shown = shown.replace(character, f"%{ord(character):02X}")
    return shown


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(findings: Sequence[Finding], command: str) -> str:
    """Return the SARIF log of one run of a command, with the rules of its findings."""
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    levels = {finding.rule: _level(finding) for finding in reversed(findings)}
    driver = {
        "name": "kwire",
        "version": VERSION,
        "rules": [_rule(rule, levels[rule]) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"kwire {command}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules) for finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def explanation(rule: str) -> Explanation:
    """Return the meaning of a rule of `kwire breaking` or `kwire lint`."""
    if breaking := BREAKING.get(rule):
        readers = {
            "An old reader of what a new writer writes": breaking.old_reads_new,
            "A new reader of what an old writer writes": breaking.new_reads_old,
        }
        does = tuple(f"{who} {what}." for who, what in readers.items() if what)
        return Explanation(breaking.summary, (*does, SEVERITIES[breaking.severity]))
    if rule in RULES:
        books = ", ".join(RULES[rule].books)
        return Explanation(RULES[rule].summary, (f"A rule of {books}.",))
    return Explanation(CONVENTIONS[rule].summary, ("Advice, not a rule of a rule book.",))


def _rule(rule: str, level: Level) -> dict[str, Any]:
    summary, more = explanation(rule)
    return {
        "id": rule,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": " ".join((summary, *more))},
        "help": {"text": "\n".join((summary, *more)), "markdown": "\n\n".join((f"**{summary}**", *more))},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["kafka", "protocol"], "precision": "very-high"},
    }


def _result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    place = _place(finding)
    region = {"startLine": finding.line or 1} | ({"startColumn": finding.column} if finding.column else {})
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": place}]}
    if file := _file(finding.file):
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(file)}, "region": region}
    first_line = _sentence(finding).partition("\n")[0]
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": _level(finding),
        "message": {"text": _text(finding)},
        "locations": [location],
        "partialFingerprints": {"kwire/v1": f"{finding.rule} {place} {first_line}"},
    }


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(os.fsencode(file))
