"""Which elements of two lists belong together: by a key, or in order by a longest common subsequence."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.evolution.pairing import moved

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

MOST_CELLS = 4_000_000
"""Comparisons of elements in all that the subsequences of two messages may take; beyond them elements belong together by position."""


class Pair(NamedTuple):
    """The indexes of two elements that belong together, None where one list has no such element; `moved` where another order has them."""

    a: int | None
    b: int | None
    moved: bool = False


def by_key(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Pairs of the elements with equal keys, each of which occurs once in a list: those that only `a` has, then all of `b` in its order.

    The fewest that explain another order are moved.
    """
    where = {key: i for i, key in enumerate(a)}
    away = moved(where[key] for key in b if key in where)
    others = set(b)
    removed = [Pair(i, None) for i, key in enumerate(a) if key not in others]
    return removed + [Pair(where.get(key), j, where.get(key) in away) for j, key in enumerate(b)]


class InOrder:
    """Pairs of two lists in order. What it may do is bounded over all lists that it is given."""

    def __init__(self, cells: int = MOST_CELLS) -> None:
        self._cells = cells

    def pairs(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
        """A longest common subsequence; what lies between its elements belongs together by position, as far as there is some on both sides."""
        head = _same(zip(a, b, strict=False))
        tail = _same(zip(reversed(a[head:]), reversed(b[head:]), strict=False))
        ends = len(a) - tail, len(b) - tail
        out = [Pair(i, i) for i in range(head)]
        i, j = head, head
        for x, y in [*self._subsequence(a[head : ends[0]], b[head : ends[1]]), (ends[0] - head, ends[1] - head)]:
            out += _between(i, head + x, j, head + y)
            if head + x < ends[0] and head + y < ends[1]:
                out.append(Pair(head + x, head + y))
            i, j = head + x + 1, head + y + 1
        return out + [Pair(ends[0] + k, ends[1] + k) for k in range(tail)]

    def _subsequence(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
        if not a or not b or len(a) * len(b) > self._cells:
            return []
        self._cells -= len(a) * len(b)
        # longest[i][j]: how long the longest one of a[i:] and b[j:] is
        longest = [[0] * (len(b) + 1)]
        for x in reversed(a):
            below, row = longest[-1], [0] * (len(b) + 1)
            for j in range(len(b) - 1, -1, -1):
                row[j] = below[j + 1] + 1 if x == b[j] else max(below[j], row[j + 1])
            longest.append(row)
        longest.reverse()
        found, i, j = [], 0, 0
        while longest[i][j] if i < len(a) and j < len(b) else 0:
            if a[i] == b[j]:
                found.append((i, j))
                i, j = i + 1, j + 1
            elif longest[i + 1][j] >= longest[i][j + 1]:
                i += 1
            else:
                j += 1
        return found


def _same(pairs: Iterable[tuple[Hashable, Hashable]]) -> int:
    """How many pairs there are before the first of two that differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _between(i: int, i_end: int, j: int, j_end: int) -> list[Pair]:
    both = max(min(i_end - i, j_end - j), 0)
    together = [Pair(i + k, j + k) for k in range(both)]
    return together + [Pair(k, None) for k in range(i + both, i_end)] + [Pair(None, k) for k in range(j + both, j_end)]
