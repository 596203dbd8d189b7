"""Explanations as lines for a terminal, and as JSON objects.

A line starts with the offset and the bytes of a span, followed by its path, value and type. Below it are the rules that
decode it and its consequence. A rule or note is printed only once per explanation (`Shown`). The short form has one
line for each span. JSON has an object for each part, step and rule.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import ABSENT, Form, leaf_value
from kwire_cli.errors import counted
from kwire_cli.view.explain.model import Event, Heading, Piece, Remark, Skipped, Step
from kwire_cli.view.explain.notes import layout_of
from kwire_cli.view.explain.rules import RULES
from kwire_cli.view.lines import Line, plain, without_control
from kwire_cli.view.meanings import meaning
from kwire_cli.view.rows import NOUNS, value_segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.spec.catalog import Catalog


CELLS = 8
"""Bytes of a span that are shown. A longer span ends with an ellipsis in the last place."""


BYTES_WIDTH = 3 * CELLS + 1
WIDTH = 110
"""Maximum width of the text of rules and notes."""
_NARROWEST = 20
"""Minimum width of the text of rules and notes, also on a narrower terminal."""
_INDENT = 10
"""Cells before the lines below a step."""


class Shown:
    """The rules and notes that were already shown, so that each is shown once.

    `columns` is the width of the terminal, or None if the output is not a terminal.
    """

    def __init__(self, columns: int | None = None) -> None:
        self.columns = columns
        self._keys: set[str] = set()

    def is_first(self, key: str) -> bool:
        """Return whether the text of a rule, or the key of a note, is new. Add it."""
        is_new = key not in self._keys
        self._keys.add(key)
        return is_new

    def wrapped(self, text: str, indent: int, widest: int = WIDTH) -> list[str]:
        """Return lines of at most `widest` characters that fit the terminal after an indent."""
        width = widest if self.columns is None else max(min(widest, self.columns - indent), _NARROWEST)
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def explanation_lines(
    catalog: Catalog, events: Iterable[Event], *, short: bool, shown: Shown | None = None
) -> Iterator[Line]:
    """Yield the lines of an explanation without control characters. `short` omits rules, pieces and notes."""
    shown = shown or Shown()
    for event in events:
        indent = "  " * event.level
        for line in _event_lines(catalog, event, shown, short=short):
            yield without_control([(indent, ""), *line] if indent and line else line)


def _event_lines(catalog: Catalog, event: Event, shown: Shown, *, short: bool) -> Iterator[Line]:
    if isinstance(event, Heading):
        yield []
        yield [(f"{event.part.name}: ", "dim"), (event.title, "title")]
    elif isinstance(event, Remark):
        if event.anomaly:
            yield _anomaly(event.anomaly)
        elif event.plain:
            yield from ([(part, "")] for part in shown.wrapped(event.text, 2 * event.level))
        else:
            yield []
            yield [(event.text, "title")]
    elif isinstance(event, Skipped):
        yield _skipped(catalog, event)
    else:
        yield from _step_lines(catalog, event, shown, short=short)


def _anomaly(anomaly: Anomaly) -> Line:
    return [("! ", "warning"), (anomaly.code, "warning"), (f" {anomaly.detail}", "dim")]


def _skipped(catalog: Catalog, event: Skipped) -> Line:
    what = "like it" if event.part is None else "of the same shape"
    span = event.first if event.count == 1 else f"{event.first} to {event.last}"
    line: Line = [(f"{event.start:08x}  ", "dim"), (f"… {event.count:,} more {what}: ", "dim"), (span, "name")]
    if event.items and event.part:
        part = event.part
        for i, item in enumerate(event.items):
            value = value_segments(item, part.tree, catalog, part.message, part.form)
            line += [(", " if i else " = ", "dim"), *value]
        if event.count > len(event.items):
            line.append((", …", "dim"))
    return [*line, (f"  ({counted(event.end - event.start, 'byte')})", "dim")]


def cells(step: Step, start: int, end: int) -> str:
    """Return the bytes [start, end) of a step in hex, the secret ones as asterisks."""
    count = end - start if end - start <= CELLS else CELLS - 1
    hidden = next((piece.start for piece in step.pieces if piece.secret), end)
    octets = [
        f"{byte:02x}" if at < hidden else "**" for at, byte in enumerate(bytes(step.data[start : start + count]), start)
    ]
    return " ".join(octets + ["…"] * (count < end - start))


def _value(catalog: Catalog, step: Step) -> Line:
    """Return the value of a span, or the number and the noun of a count."""
    row = step.row
    if row is None or step.type == "gap":
        return []
    if row.secret is None:
        if row.kind in NOUNS:
            return [(f" {NOUNS[row.kind]} = ", "dim"), (plain(row.line), "number")]
        if row.kind == "tag-header":
            return [(" tag and size", "dim")]
        if row.kind == "records" and (size := step.end - row.place[1]):
            return [(" = ", "dim"), (counted(size, "byte"), "number")]
    part = row.part
    return [(" = ", "dim"), *value_segments(row.item, part.tree, catalog, part.message, part.form)]


def _step_lines(catalog: Catalog, step: Step, shown: Shown, *, short: bool) -> Iterator[Line]:
    line: Line = [(f"{step.start:08x}  ", "dim"), (f"{cells(step, step.start, step.end):<{BYTES_WIDTH}}", "bytes")]
    line += [(step.path, "name"), *_value(catalog, step)]
    if short and step.type == "gap":
        first = step.pieces[0]
        line.append((f"  {RULES[first.rule].name}: {' '.join(first.working)}", "warning"))
    else:
        line.append((f"  {step.type}", "dim"))
    yield line
    if not short:
        if step.note and shown.is_first(step.note_key):
            yield from _below(step, shown, "", step.note)
        for piece in step.pieces:
            yield from _piece(step, piece, shown)
    for anomaly in step.anomalies:
        yield [(" " * _INDENT, ""), *_anomaly(anomaly)]
    if step.then and not short:
        yield from _below(step, shown, "→ ", step.then, style="meaning")


def _piece(step: Step, piece: Piece, shown: Shown) -> Iterator[Line]:
    rule = RULES[piece.rule]
    several = len(step.pieces) > 1
    octets = f"{cells(step, piece.start, piece.end):<{BYTES_WIDTH}}" if several else ""
    working = ("hidden; --show-secrets shows it",) if piece.secret else piece.working
    name = "" if rule.name in {piece.what, step.type} else rule.name
    label = ", ".join(text for text in (piece.what if several else "", name) if text)
    for i, text in enumerate(working or ("",) * bool(label)):
        if i == 0:
            separator = ": " if label and text else ""
            yield [(f"{'':10}{octets}", "bytes"), (f"{label}{separator}", "text"), (text, "number")]
        else:
            yield [(f"{'':10}{' ' * len(octets)}", "bytes"), ("  ", "text"), (text, "number")]
    for key in used(piece.rule):
        if shown.is_first(RULES[key].text):
            name = "" if key == piece.rule else f"{RULES[key].name}: "
            yield from _below(step, shown, "│ ", f"{name}{RULES[key].text} ({RULES[key].source})")


def used(key: str) -> Iterator[str]:
    """Yield the key of a rule, then the keys of all rules it builds on."""
    yield key
    for other in RULES[key].uses:
        yield from used(other)


def _below(step: Step, shown: Shown, mark: str, text: str, style: str = "dim") -> Iterator[Line]:
    """Yield text below the bytes of a step, wrapped to a readable width."""
    before = 2 * step.level + _INDENT + len(mark)
    for i, part in enumerate(shown.wrapped(text, before, WIDTH - len(mark))):
        yield [(f"{'':{_INDENT}}{mark if not i or mark == '│ ' else ' ' * len(mark)}{part}", style)]


def explanation_objects(catalog: Catalog, events: Iterable[Event], rules: set[str]) -> Iterator[dict[str, Any]]:
    """Yield an object for each event. Its first key is part, path, skipped, remark or anomaly.

    A rule is an object with the first key `rule`, yielded before its first use. `rules` contains the keys of the rules
    that were yielded before. New keys are added to it.
    """
    for event in events:
        if isinstance(event, Step):
            for piece in event.pieces:
                for key in used(piece.rule):
                    if key not in rules:
                        rules.add(key)
                        rule = RULES[key]
                        yield {"rule": key, "name": rule.name, "text": rule.text, "source": rule.source}
            yield _step(catalog, event)
        elif isinstance(event, Heading):
            part = event.part
            places = {"start": part.tree.root.start, "level": event.level, "ownOffsets": part.buffer.own}
            yield {"part": part.name, "title": event.title, "layout": layout_of(part), **places}
        elif isinstance(event, Skipped):
            places = {"start": event.start, "end": event.end}
            yield {"skipped": event.count, "first": event.first, "last": event.last, **places}
        else:
            yield {"anomaly": event.anomaly._asdict()} if event.anomaly else {"remark": event.text}


def _step(catalog: Catalog, step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {"path": step.path, "type": step.type, "start": step.start, "end": step.end}
    if step.row is not None:
        item = step.row.item
        part = step.row.part
        value = leaf_value(item, part.tree, Form(hidden=part.hidden, records="size"))
        if value is not ABSENT:
            out["value"] = value
            named = None if item.span in part.hidden or item.leaf.kind in {"count", "presence", "tag-count"} else value
            if isinstance(named, int | str) and (description := meaning(catalog, part.message, item.leaf, named)):
                out["meaning"] = description
    out["pieces"] = [_piece_json(step, piece) for piece in step.pieces]
    out["note"] = step.note or None
    out["then"] = step.then or None
    out["next"] = step.next or None
    out["anomalies"] = [anomaly._asdict() for anomaly in step.anomalies]
    return out


def _piece_json(step: Step, piece: Piece) -> dict[str, Any]:
    """Return a piece as JSON. The bytes of records are omitted, because the batches that follow contain them."""
    visible = not piece.secret and piece.rule != "records"
    data = bytes(step.data[piece.start : piece.end]).hex() if visible else None
    return {
        "what": piece.what,
        "start": piece.start,
        "end": piece.end,
        "bytes": data,
        "rule": piece.rule,
        "working": list(piece.working),
    }
