"""Differences of messages."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import Item
from kwire_cli.engine.program import Leaf
from kwire_cli.engine.values import Form
from kwire_cli.errors import counted
from kwire_cli.structs.lengths import REDACTED
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import SHOWN_BYTES, SHOWN_TEXT, Line, byte_segments, escaped
from kwire_cli.view.rows import value_segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.comparison.differences import Comparison, Difference, Side
    from kwire_cli.answer import Level
    from kwire_cli.spec.catalog import Catalog


MOST_SHOWN = 100
"""Differences that are shown where not all of them are asked for."""


_LEVELS: dict[str, Level] = {"- ": "error", "+ ": "good", "~ ": "info", "= ": "info"}


def comparison_items(catalog: Catalog, comparison: Comparison, *, full: bool = False) -> Iterator[Item]:
    """Yield the differences as lines of an outline; what only one message has begins with - or +."""
    for line in comparison_lines(catalog, comparison, full=full):
        text = "".join(text for text, _ in line)
        yield Item(0, text, level=_LEVELS.get(text.lstrip()[:2], ""))


def comparison_lines(catalog: Catalog, comparison: Comparison, *, full: bool = False) -> Iterator[Line]:
    """The differences one by one, then fields that one version lacks, and a summary.

    `full` shows all differences, and long values whole.
    """
    own = [difference for difference in comparison.differences if not difference.layout]
    for difference in own if full else own[:MOST_SHOWN]:
        yield from _lines(catalog, difference, full=full)
    if len(own) > MOST_SHOWN and not full:
        yield [(f"… {len(own) - MOST_SHOWN:,} more differences; --full shows all", "dim")]
    layout = [difference for difference in comparison.differences if difference.layout]
    if layout:
        yield [("fields of one version alone", "title")]
        yield from _by_field(catalog, layout, full=full)
    yield [(summary(comparison), "title")]


def summary(comparison: Comparison) -> str:
    """Return the number of differences of each kind, in one line."""
    if not comparison.other_bytes:
        return "no difference"
    counts = comparison.counts
    named = {
        "changed": "changed",
        "removed": "removed",
        "added": "added",
        "moved": "moved",
        "bytes": "with the same value in other bytes",
    }
    parts = [f"{counts[kind]:,} {text}" for kind, text in named.items() if counts[kind]]
    return ", ".join(parts) or "the same values in the layouts of two versions"


def _lines(catalog: Catalog, each: Difference, *, full: bool) -> Iterator[Line]:
    path = (escaped(each.path) or "(all)", "name")
    note = (f"  {each.detail}" if each.detail else "", "meaning")
    if each.kind == "moved" and each.a and each.b:
        yield [("~ ", "meaning"), path, (f": moved from {_index(each.a.path)} to {_index(each.b.path)}", ""), note]
    elif each.kind == "bytes":
        side = each.a if each.a and each.a.offset is not None else each.b
        yield [
            ("= ", "dim"),
            path,
            (": ", "dim"),
            *(_value(catalog, side, full=full) if side else []),
            ("  the same value in other bytes", "dim"),
            note,
        ]
        for sign, style, one in (("- ", "warning", each.a), ("+ ", "text", each.b)):
            yield [("  ", ""), (sign, style), *(_raw(one, full=full) if one else []), (_place(one), "dim")]
    else:
        if each.a and each.b and each.a.value == each.b.value:  # nothing but a secret looks the same
            note = ("  they are not the same", "meaning")
        if each.a:
            yield [
                ("- ", "warning"),
                path,
                (": ", "dim"),
                *_value(catalog, each.a, full=full),
                (_place(each.a), "dim"),
                note,
            ]
        if each.b:
            yield [
                ("+ ", "text"),
                path,
                (": ", "dim"),
                *_value(catalog, each.b, full=full),
                (_place(each.b), "dim"),
                ("", "") if each.a else note,
            ]


def _by_field(catalog: Catalog, differences: list[Difference], *, full: bool) -> Iterator[Line]:
    """Fields that one version lacks: a line for each field and value that it has somewhere."""
    rows: dict[tuple[str, str], list[Difference]] = {}
    for difference in differences:
        rows.setdefault((difference.kind, difference.at.field), []).append(difference)
    for (kind, field), group in rows.items():
        sides = [side for difference in group if (side := difference.a or difference.b)]
        size = sum(side.size or 0 for side in sides)
        alike = all(side.value == sides[0].value for side in sides)
        segments = [(": ", "dim"), *_value(catalog, sides[0], full=full)] if alike else [(": several values", "dim")]
        sign = ("- ", "warning") if kind == "removed" else ("+ ", "text")
        yield [
            sign,
            (escaped(field), "name"),
            *segments,
            (f"  {_times(len(group))}{counted(size, 'byte')}", "dim"),
            (f"  {group[0].detail}", "meaning"),
        ]


def _value(catalog: Catalog, side: Side, *, full: bool) -> Line:
    if side.item and side.body and isinstance(side.item.node, Leaf):
        return value_segments(side.item, side.body.tree, catalog, side.body.message, Form(), full=full)
    if side.is_bytes and isinstance(side.value, str):
        return byte_segments(base64.b64decode(side.value), full=full)
    return _json(side.value, full=full)


def _json(value: Any, *, full: bool) -> Line:
    if isinstance(value, str) and REDACTED.fullmatch(value):
        return [(value, "secret")]
    text = escaped(dumps(value, indent=False))
    style = "null" if value is None else "text" if isinstance(value, str) else "number"
    return [(text if full else text[:SHOWN_TEXT], style), ("" if full or len(text) <= SHOWN_TEXT else "…", "dim")]


def _raw(side: Side, *, full: bool) -> Line:
    if side.raw is None:
        return [("left out" if side.offset is None else "redacted", "null")]
    excerpt = side.raw if full else side.raw[:SHOWN_BYTES]
    return [(excerpt.hex(" "), "bytes"), (" …" if len(excerpt) < len(side.raw) else "", "dim")]


def _place(side: Side | None) -> str:
    return f"  ({counted(side.size or 0, 'byte')} at {side.offset})" if side and side.offset is not None else ""


def _times(count: int) -> str:
    return f"{count:,} times, " if count > 1 else ""


def _index(path: str) -> str:
    return path[path.rindex("[") :]
