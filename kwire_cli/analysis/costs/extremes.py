"""The sizes of integers under the encodings of KAFKA-9927: ranges of numbers, and best and worst cases.

`widths` finds the ranges by writing the numbers around powers of 2, where sizes can change. In the best and the worst
case of a form, each integer of the message is replaced by a number that takes the fewest, or the most, bytes in its
encoding.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby

from kwire_cli.structs.numbers import encoded_int

BEST = "best"
WORST = "worst"


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of numbers of the same size: lowest number, highest number, bytes.

    The ranges are in ascending order. No range contains both negative and positive numbers.
    """
    layout = encoded_int(kind, encoding)
    edges = {layout.low, layout.high}
    for bits in range(64):
        edges |= {(1 << bits) - 1, 1 << bits, -(1 << bits), -(1 << bits) - 1}
    numbers = sorted(number for number in edges if layout.low <= number <= layout.high)
    rows = []
    for (_, size), group in groupby(numbers, lambda number: (number < 0, len(layout.build(number)))):
        same = list(group)
        rows.append((same[0], same[-1], size))
    return tuple(rows)


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
