"""How many bytes an integer takes under an encoding of KAFKA-9927: the ranges of numbers of each width, found by writing numbers."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import encoded_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """The ranges of numbers that are written in the same number of bytes: lowest, highest, bytes; ascending, none across 0. Found by writing."""
    layout = encoded_int(kind, encoding)
    return (*steps(layout.low, -1, lambda number: written(layout, number)), *steps(max(layout.low, 0), layout.high, lambda n: written(layout, n)))


@cache
def width_of(kind: str, encoding: str) -> Callable[[int], int]:
    """What says in how many bytes a number is written."""
    rows = sorted(widths(kind, encoding))
    lows, sizes = [low for low, _, _ in rows], [size for _, _, size in rows]
    return lambda number: sizes[bisect_right(lows, number) - 1]


def written(layout: Any, number: int) -> int:
    """The bytes of a number."""
    return len(layout.build(number))


def steps(low: int, high: int, value_of: Callable[[int], int]) -> Iterator[tuple[int, int, int]]:
    """The ranges from `low` to `high` within which `value_of` is the same, each with that value; it only rises or only falls."""
    while low <= high:
        value = value_of(low)
        first, last = low, high
        while first < last:
            middle = (first + last + 1) // 2
            first, last = (middle, last) if value_of(middle) == value else (first, middle - 1)
        yield low, last, value
        low = last + 1
