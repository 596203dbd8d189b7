"""The sizes of integers under the encodings of KAFKA-9927: ranges of numbers, and best and worst cases.

No formula is used: `widths` finds the ranges by writing numbers. In the best and the worst case of a form, each integer
of the message is replaced by a number that takes the fewest, or the most, bytes in its encoding.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.numbers import Varint, encoded_int

if TYPE_CHECKING:
    from collections.abc import Iterator

BEST = "best"
WORST = "worst"


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of numbers of the same size: lowest number, highest number, bytes.

    The ranges are in ascending order. No range contains both negative and positive numbers.
    """
    layout = encoded_int(kind, encoding)
    return *_ranges(layout, layout.low, -1), *_ranges(layout, max(layout.low, 0), layout.high)


def _ranges(layout: Any, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    while low <= high:
        size = len(layout.build(low))
        first = low
        last = high
        while first < last:
            middle = (first + last + 1) // 2
            if len(layout.build(middle)) == size:
                first = middle
            else:
                last = middle - 1
        yield low, last, size
        low = last + 1


@cache
def dearest(kind: str, encoding: str) -> int:
    """Return the number nearest to 0 that takes the most bytes in a field of type `kind`.

    If there are two such numbers, return the positive one.
    """
    rows = widths(kind, encoding)
    longest = max(size for _, _, size in rows)
    numbers = [low if low >= 0 else high for low, high, size in rows if size == longest]
    return min(numbers, key=lambda number: (abs(number), number < 0))


def extreme(layout: Any, value: Any, case: str) -> Any:
    """Return the value with the integers that have a varint's encoding in `layout` at their best or worst.

    Values that do not fit the layout stay as they are.
    """
    if isinstance(layout, Varint):
        return 0 if case == BEST else dearest(layout.kind, _encoding(layout))
    inner = _inner(layout)
    if isinstance(layout, MessageStruct) and isinstance(value, dict):
        return {key: extreme(inner[key], part, case) if key in inner else part for key, part in value.items()}
    if isinstance(layout, ArrayOf) and isinstance(value, list | tuple):
        return [extreme(layout.element, item, case) for item in value]
    return extreme(layout.subcon, value, case) if isinstance(layout, NullableStruct) and value is not None else value


def integers_at(layout: Any, case: str) -> dict[str, int]:
    """Return the number that replaces integers in a case, by the encodings in `layout`."""
    if isinstance(layout, Varint):
        return {_encoding(layout): extreme(layout, 0, case)}
    numbers: dict[str, int] = {}
    for part in _inner(layout).values():
        numbers |= integers_at(part, case)
    return numbers


def _inner(layout: Any) -> dict[str, Any]:
    """Return the layouts of a struct's fields by name, or the layout of an array's elements."""
    if isinstance(layout, MessageStruct):
        return {part.name: part.subcon for part in (*layout.subcons, *(layout.tags.known if layout.tags else ()))}
    if isinstance(layout, ArrayOf | NullableStruct):
        return {"": layout.element if isinstance(layout, ArrayOf) else layout.subcon}
    return {}


def _encoding(layout: Varint) -> str:
    return f"{'' if layout.zigzag else 'u'}packed{layout.bits}"
