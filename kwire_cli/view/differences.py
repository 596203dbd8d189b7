"""Differences of messages as items of an outline.

An item starts with a sign: - or + for a field or element that only one message has, ~ for an element that moved, = for
equal values with different bytes. If the messages have different versions, every element lacks the same fields, so the
fields that one version lacks follow at the end, with one item for each field.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from kwire_cli.answer import Item
from kwire_cli.engine.program import Leaf
from kwire_cli.engine.values import Form
from kwire_cli.errors import counted
from kwire_cli.structs.lengths import REDACTED
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import SHOWN_BYTES, SHOWN_TEXT, byte_segments, escaped, plain
from kwire_cli.view.rows import value_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.comparison.differences import Comparison, Difference, Side
    from kwire_cli.answer import Level
    from kwire_cli.spec.catalog import Catalog


MOST_SHOWN = 100
"""Maximum number of differences that are shown without `full`."""


def comparison_items(catalog: Catalog, comparison: Comparison, *, full: bool = False) -> Iterator[Item]:
    """Yield the differences, then the fields that one version lacks, and a summary.

    `full` shows all differences, and long values completely.
    """

    def value_of(side: Side) -> str:
        return _value(catalog, side, full=full)

    own = [difference for difference in comparison.differences if not difference.layout]
    for difference in own if full else own[:MOST_SHOWN]:
        yield from _items(difference, value_of, full=full)
    if len(own) > MOST_SHOWN and not full:
        yield Item(0, f"… {len(own) - MOST_SHOWN:,} more differences; --full shows all")
    layout = [difference for difference in comparison.differences if difference.layout]
    if layout:
        yield Item(0, "fields of one version alone")
        yield from _by_field(layout, value_of)
    yield Item(0, summary(comparison))


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


def _items(each: Difference, value_of: Callable[[Side], str], *, full: bool) -> Iterator[Item]:
    path = escaped(each.path) or "(all)"
    note = f"  {each.detail}" if each.detail else ""
    a = each.a
    b = each.b
    if each.kind == "moved" and a and b:
        yield Item(0, f"~ {path}: moved from {_index(a.path)} to {_index(b.path)}{note}", level="info")
    elif each.kind == "bytes":
        side = a if a and a.offset is not None else b
        value = value_of(side) if side else ""
        yield Item(0, f"= {path}: {value}  the same value in other bytes{note}", level="info")
        yield Item(0, f"  - {_raw(a, full=full)}{_place(a)}", level="error")
        yield Item(0, f"  + {_raw(b, full=full)}{_place(b)}", level="good")
    else:
        if a and b and a.value == b.value:  # both are redacted secrets
            note = "  they are not the same"
        if a:
            yield Item(0, f"- {path}: {value_of(a)}{_place(a)}{note}", level="error")
        if b:
            yield Item(0, f"+ {path}: {value_of(b)}{_place(b)}{'' if a else note}", level="good")


def _by_field(differences: list[Difference], value_of: Callable[[Side], str]) -> Iterator[Item]:
    """Yield a line for each field that one version lacks, with its value if it has the same one everywhere."""
    rows: dict[tuple[str, str], list[Difference]] = {}
    for difference in differences:
        rows.setdefault((difference.kind, difference.at.field), []).append(difference)
    for (kind, field), group in rows.items():
        sides = [side for difference in group if (side := difference.a or difference.b)]
        alike = all(side.value == sides[0].value for side in sides)
        times = f"{len(group):,} times, " if len(group) > 1 else ""
        size = counted(sum(side.size or 0 for side in sides), "byte")
        value = value_of(sides[0]) if alike else "several values"
        sign, level = _ONLY[kind == "removed"]
        yield Item(0, f"{sign} {escaped(field)}: {value}  {times}{size}  {group[0].detail}", level=level)


_ONLY: tuple[tuple[str, Level], ...] = (("+", "good"), ("-", "error"))


def _value(catalog: Catalog, side: Side, *, full: bool) -> str:
    if side.item and side.body and isinstance(side.item.node, Leaf):
        return plain(value_segments(side.item, side.body.tree, catalog, side.body.message, Form(), full=full))
    if side.is_bytes and isinstance(side.value, str):
        return plain(byte_segments(base64.b64decode(side.value), full=full))
    if isinstance(side.value, str) and REDACTED.fullmatch(side.value):
        return side.value
    text = escaped(dumps(side.value, indent=False))
    return text if full or len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…"


def _raw(side: Side | None, *, full: bool) -> str:
    if side is None:
        return ""
    if side.raw is None:
        return "left out" if side.offset is None else "redacted"
    if full or len(side.raw) <= SHOWN_BYTES:
        return side.raw.hex(" ")
    return f"{side.raw[:SHOWN_BYTES].hex(' ')} …"


def _place(side: Side | None) -> str:
    return f"  ({counted(side.size or 0, 'byte')} at {side.offset})" if side and side.offset is not None else ""


def _index(path: str) -> str:
    return path[path.rindex("[") :]
