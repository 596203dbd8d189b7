"""The sizes of integers under the encodings of KAFKA-9927: ranges of numbers, and best and worst cases.

No formula is used: `widths` finds the ranges by writing numbers. In the best and the worst case of a form, each integer
of the message is replaced by a number that takes the fewest, or the most, bytes in its encoding.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import encoded_int

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


def extreme(kind: str, encoding: str, case: str) -> int:
    """Return the number of type `kind` that takes the fewest or the most bytes in a varint's encoding."""
    return 0 if case == BEST else dearest(kind, encoding)
