"""How many bytes an integer takes under an encoding of KAFKA-9927: the ranges of numbers of each width, found by writing numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import encoded_int

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """The ranges of numbers that are written in the same number of bytes: lowest, highest, bytes; ascending, none across 0. Found by writing."""
    layout = encoded_int(kind, encoding)
    return (*_ranges(layout, layout.low, -1), *_ranges(layout, max(layout.low, 0), layout.high))


def _ranges(layout: Any, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Within these numbers, all of one sign, sizes only rise or only fall."""
    while low <= high:
        size = len(layout.build(low))
        first, last = low, high
        while first < last:
            middle = (first + last + 1) // 2
            first, last = (middle, last) if len(layout.build(middle)) == size else (first, middle - 1)
        yield low, last, size
        low = last + 1
