"""Two record sets in a field, compared by batch and record as `kwire decode` shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.message.comparison.differences import Difference, Side
from kwire_cli.message.comparison.elements import IDENTIFYING, paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.comparison.alignment import InOrder
    from kwire_cli.message.comparison.differences import At

KEYS = (("baseOffset",), ("offset",), *IDENTIFYING)
"""What tells batches, records and what is in them apart."""

DERIVED = {"batch": frozenset({"position", "size", "crc", "anomalies"}), "record": frozenset({"keySize", "valueSize", "sequence"})}
"""What follows from the rest of a batch or record: it is not told once more."""

BYTES = ("records[].key", "records[].value", "headers[].value")
"""Where in a batch base64 text stands for bytes."""

_INSIDE = {"batch": {"records": "record"}}
"""The lists of which the elements have something that follows from the rest, by the level that they are in."""


def record_differences(a: list[Any], b: list[Any], shown: tuple[Any, Any], at: At, order: InOrder) -> Iterator[Difference]:
    """What differs between the items of two record sets in JSON form; `shown` are the same with secrets redacted."""
    yield from _lists(a, b, shown, at, order, "batch")


def _values(a: Any, b: Any, shown: tuple[Any, Any], at: At, order: InOrder, level: str) -> Iterator[Difference]:
    if isinstance(a, dict) and isinstance(b, dict):
        yield from _objects(a, b, shown, at, order, level)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _lists(a, b, shown, at, order, level)
    elif a != b or type(a) is not type(b):
        yield Difference("changed", at, _side(at.a, shown[0], at), _side(at.b, shown[1], at))


def _objects(a: dict[str, Any], b: dict[str, Any], shown: tuple[Any, Any], at: At, order: InOrder, level: str) -> Iterator[Difference]:
    left_out = DERIVED.get(level, frozenset()) | (_meant(a, b) if level == "record" else frozenset())
    for name in [*a, *(name for name in b if name not in a)]:
        if name in left_out:
            continue
        place, parts = at.below(name), (_part(shown[0], name), _part(shown[1], name))
        if name not in b:
            yield Difference("removed", place, _side(place.a, parts[0], place), None)
        elif name not in a:
            yield Difference("added", place, None, _side(place.b, parts[1], place))
        else:
            yield from _values(a[name], b[name], parts, place, order, _INSIDE.get(level, {}).get(name, ""))


def _meant(a: dict[str, Any], b: dict[str, Any]) -> frozenset[str]:
    """The bytes of a record whose difference its decoded key or value tells."""
    mine, other = a.get("decoded"), b.get("decoded")
    if not isinstance(mine, dict) or not isinstance(other, dict):
        return frozenset()
    return frozenset(name for name in ("key", "value") if mine.get(name) != other.get(name))


def _lists(a: list[Any], b: list[Any], shown: tuple[Any, Any], at: At, order: InOrder, level: str) -> Iterator[Difference]:
    tried = KEYS if all(isinstance(each, dict) for each in (*a, *b)) else ()
    for pair, key in paired(a, b, tried, lambda: order.pairs(*([json.dumps(_without_derived(each, level)) for each in rows] for rows in (a, b)))):
        i, j, moved = pair
        place = at.element(i, j, key)
        parts = _part(shown[0], i), _part(shown[1], j)
        mine = None if i is None else _side(place.a, parts[0], place)
        other = None if j is None else _side(place.b, parts[1], place)
        if i is None or j is None:
            yield Difference("added" if i is None else "removed", place, mine, other)
            continue
        if moved:
            yield Difference("moved", place, mine, other)
        yield from _values(a[i], b[j], parts, place, order, level)


def _without_derived(value: Any, level: str) -> Any:
    left_out = DERIVED.get(level, frozenset())
    return {name: part for name, part in value.items() if name not in left_out} if isinstance(value, dict) else value


def _part(shown: Any, key: Any) -> Any:
    """A part of what is shown; what is redacted as a whole is so in all its parts."""
    if isinstance(shown, list):
        return None if key is None else shown[key]
    return shown[key] if isinstance(shown, dict) and key in shown else shown


def _side(path: str, value: Any, at: At) -> Side:
    return Side(path, value, is_bytes=isinstance(value, str) and not value.startswith("<") and at.field.endswith(BYTES))
