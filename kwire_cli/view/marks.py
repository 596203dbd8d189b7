"""Findings of `kwire lint` and `kwire breaking` as marks at lines of files.

Findings of both commands are first converted to a `Mark`, so that each output format needs to be written only once. The
formats are text with the `file:line:column` of compilers, GitHub's workflow commands, which GitHub shows at their lines
in a pull request, and SARIF 2.1.0, which code scanning tools import.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote

from kwire_cli.spec.evolution.breaking import RULES as BREAKING, SEVERITIES, spans
from kwire_cli.spec.evolution.sources import is_revision
from kwire_cli.spec.kafka import VERSION
from kwire_cli.spec.rules import ADVICE, RULES
from kwire_cli.view.lines import escaped_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.spec.evolution.breaking import Break
    from kwire_cli.spec.files import Finding
    from kwire_cli.view.lines import Line

Level = Literal["error", "warning", "note"]
"""Levels of SARIF. GitHub's workflow commands call a note a notice."""


class Mark(NamedTuple):
    """A finding at a line and column of a file. Both count from 1."""

    rule: str
    severity: str
    """The severity in the words of the command that reports the finding."""
    place: str
    """The message and the field in it."""
    where: str
    """The place for display, with versions. Empty if the finding concerns the file."""
    what: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    readers: tuple[tuple[str, str], ...] = ()
    """Readers that fail, each with the failure."""

    @property
    def level(self) -> Level:
        """The level of SARIF."""
        return _LEVELS[self.severity]

    @property
    def sentence(self) -> str:
        """The place and the problem."""
        return f"{self.where}: {self.what}" if self.where else self.what

    @property
    def text(self) -> str:
        """The sentence, the failure of each reader, and the summary of the rule of a break, on separate lines."""
        summary = [BREAKING[self.rule].summary] if self.rule in BREAKING else []
        return "\n".join([self.sentence, *(" ".join(reader) for reader in self.readers), *summary])


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


def break_marks(found: Iterable[Break]) -> Iterator[Mark]:
    """Yield the marks of breaks."""
    for each in found:
        place = f"{each.message}.{each.path}" if each.path else each.message
        one = len(each.versions) == 1 and each.versions[0].low == each.versions[0].high
        versions = f" version{'' if one else 's'} {spans(each.versions)}" if each.versions else ""
        at = each.file, each.line, each.column
        yield Mark(each.rule, each.severity, place, place + versions, each.what, *at, (*_readers(each),))


def _readers(each: Break) -> Iterator[tuple[str, str]]:
    if each.old_reads_new and each.old_reads_new == each.new_reads_old:
        yield "either reader, of what the other side writes:", each.old_reads_new
        return
    if each.old_reads_new:
        yield "an old reader of what a new writer writes:", each.old_reads_new
    if each.new_reads_old:
        yield "a new reader of what an old writer writes:", each.new_reads_old


def lint_marks(found: Iterable[Finding]) -> Iterator[Mark]:
    """Yield the marks of findings in definitions."""
    for each in found:
        place = ".".join(filter(None, (Path(each.file or "").stem, each.path)))
        at = each.file, each.line, each.column
        yield Mark(each.rule, each.severity, place, each.path or "", each.message, *at)


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


def mark_lines(marks: Iterable[Mark]) -> Iterator[Line]:
    """Yield each mark with its place, severity, rule and path, and the failures of readers below it."""
    for mark in marks:
        place = ":".join(str(part) for part in (mark.file, mark.line, mark.column) if part is not None)
        yield [
            (f"{place}: " if mark.file else "", "name"),
            (f"{mark.severity} {mark.rule}", _STYLES[mark.level]),
            (f" {mark.where}: " if mark.where else " ", "dim"),
            (mark.what, ""),
        ]
        for who, does in mark.readers:
            yield [(f"    {who} ", "dim"), (does, "")]


def github_lines(marks: Iterable[Mark]) -> Iterator[str]:
    """Yield a workflow command for each mark: an error, a warning, or a notice."""
    for mark in marks:
        command = "notice" if mark.level == "note" else mark.level
        about = {
            "file": _file(mark.file),
            "line": mark.line,
            "col": mark.column,
            "title": f"{mark.rule} ({mark.severity})",
        }
        properties = ",".join(f"{key}={escape_command(str(value), ':,')}" for key, value in about.items() if value)
        yield f"::{command} {properties}::{escape_command(f'{mark.severity} {mark.rule} {mark.text}')}"


def escape_command(text: str, more: str = "") -> str:
    """Escape text for a workflow command. `more` contains further characters to escape, which would end a property."""
    shown = escaped_lines(text)
    for character in f"%\n{more}":
        shown = shown.replace(character, f"%{ord(character):02X}")
    return shown


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(marks: Iterable[Mark], command: str) -> str:
    """Return the SARIF log of one run of a command, with the rules of its marks."""
    marks = list(marks)
    rules = list(dict.fromkeys(mark.rule for mark in marks))
    levels = {mark.rule: mark.level for mark in reversed(marks)}
    driver = {
        "name": "kwire",
        "version": VERSION,
        "rules": [_rule(rule, levels[rule]) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"kwire {command}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(mark, rules) for mark in marks],
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
    return Explanation(ADVICE[rule], ("Advice, not a rule of a rule book.",))


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


def _result(mark: Mark, rules: Sequence[str]) -> dict[str, Any]:
    region = {"startLine": mark.line or 1} | ({"startColumn": mark.column} if mark.column else {})
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": mark.place}]}
    if file := _file(mark.file):
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(file)}, "region": region}
    return {
        "ruleId": mark.rule,
        "ruleIndex": rules.index(mark.rule),
        "level": mark.level,
        "message": {"text": mark.text},
        "locations": [location],
        "partialFingerprints": {"kwire/v1": f"{mark.rule} {mark.place} {mark.sentence.partition(chr(10))[0]}"},
    }


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(os.fsencode(file))
