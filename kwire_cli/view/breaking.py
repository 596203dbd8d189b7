"""Broken compatibility for eyes and for programs: text, JSON, JUnit's XML, and the workflow commands of GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.spec.evolution.breaking import spans
from kwire_cli.spec.evolution.rules import RULES
from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.evolution.breaking import Break
    from kwire_cli.view.lines import Line

_STYLES = {"wire": "warning", "tagged": "warning", "source": "bytes", "advice": "dim"}
_COMMANDS = {"wire": "error", "tagged": "error", "source": "warning", "advice": "notice"}
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "\ufffd")
"""Characters that XML can't hold."""


def break_lines(found: Sequence[Break]) -> Iterator[Line]:
    """Each with its place, severity, rule, path and versions; below it what either side does."""
    for each in found:
        place = f"{each.file}:{each.line}:{each.column}" if each.file else ""
        what = [(f"{place}: ", "name"), (f"{each.severity} {each.rule}", _STYLES[each.severity]), (f" {_where(each)}: ", "dim"), (each.what, "")]
        yield without_control(what)
        for who, does in _directions(each):
            yield [(f"    {who} ", "dim"), (does, "")]


def break_document(each: Break) -> dict[str, Any]:
    """A finding as a JSON object."""
    out: dict[str, Any] = {"rule": each.rule, "severity": each.severity, "message": each.message, "path": each.path}
    out |= {
        "versions": [str(versions) for versions in each.versions],
        "what": each.what,
        "oldReaderOfNew": each.old_reads_new,
        "newReaderOfOld": each.new_reads_old,
    }
    return out | {"file": each.file, "line": each.line, "column": each.column}


def junit_text(found: Sequence[Break], messages: Sequence[str]) -> str:
    """One test case a message that was compared, with a failure for each of its findings."""
    from xml.sax.saxutils import escape, quoteattr  # noqa: PLC0415 - for this format only

    by_message: dict[str, list[Break]] = {name: [] for name in messages}
    for each in found:
        by_message.setdefault(each.message, []).append(each)
    out = ['<?xml version="1.0" encoding="UTF-8"?>']
    out.append(f'<testsuites tests="{len(by_message)}" failures="{len(found)}">')
    out.append(f'  <testsuite name="kwire breaking" tests="{len(by_message)}" failures="{len(found)}" errors="0">')
    for name, own in by_message.items():
        file = f" file={quoteattr(own[0].file.translate(_CONTROL))}" if own and own[0].file else ""
        out.append(f'    <testcase classname="definitions" name={quoteattr(name.translate(_CONTROL))}{file}>')
        for each in own:
            about = f"type={quoteattr(each.rule)} message={quoteattr(_sentence(each).translate(_CONTROL))}"
            out.append(f"      <failure {about}>{escape(_explained(each).translate(_CONTROL))}</failure>")
        out.append("    </testcase>")
    return "\n".join([*out, "  </testsuite>", "</testsuites>"])


def github_lines(found: Sequence[Break]) -> Iterator[str]:
    """Workflow commands, which GitHub shows at their lines in a pull request: errors, warnings for what concerns source, notices for advice."""
    for each in found:
        about = {"file": each.file or "", "line": str(each.line), "col": str(each.column), "title": f"{each.rule} ({each.severity})"}
        properties = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in about.items() if value)
        yield f"::{_COMMANDS[each.severity]} {properties}::{_escaped(_explained(each), '')}"


def _where(each: Break) -> str:
    one = len(each.versions) == 1 and each.versions[0].low == each.versions[0].high
    versions = f" version{'' if one else 's'} {spans(each.versions)}" if each.versions else ""
    return f"{each.message}{'.' if each.path else ''}{each.path}{versions}"


def _sentence(each: Break) -> str:
    return f"{_where(each)}: {each.what}"


def _explained(each: Break) -> str:
    return "\n".join(
        [f"{each.severity} {each.rule} {_sentence(each)}", *(f"{who} {does}" for who, does in _directions(each)), RULES[each.rule].summary]
    )


def _directions(each: Break) -> Iterator[tuple[str, str]]:
    if each.old_reads_new and each.old_reads_new == each.new_reads_old:
        yield "either reader, of what the other side writes:", each.old_reads_new
        return
    if each.old_reads_new:
        yield "an old reader of what a new writer writes:", each.old_reads_new
    if each.new_reads_old:
        yield "a new reader of what an old writer writes:", each.new_reads_old


def _escaped(text: str, more: str) -> str:
    """Text as GitHub's workflow commands take it; properties have further characters that end them."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
