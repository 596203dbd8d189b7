"""Differences between two messages, and the alignment of the elements of two lists.

Elements of two lists are paired by a key, or in order by difflib. The work of difflib is bounded, because arrays in a
capture may have any length: long lists are paired by position.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.evolution.layout import moved

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from kwire_cli.engine.tree import Item
    from kwire_cli.engine.values import Body


# Pairs of elements of two lists, by a key or in order.

MOST_CELLS = 4_000_000
"""Maximum number of element comparisons for aligning all lists of two messages. Further lists are paired by position.
"""


class Pair(NamedTuple):
    """The indexes of two elements that belong together.

    An index is None if the list has no such element. `moved` is set if the order of the lists differs in this element.
    """

    a: int | None
    b: int | None
    moved: bool = False


def by_key(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Return the pairs of elements with equal keys. A key must occur only once in a list.

    Elements that only `a` has come first, then all elements of `b` in its order. If the order differs, the smallest
    possible number of elements is marked as moved.
    """
    index_in_a = {key: i for i, key in enumerate(a)}
    moved_in_a = moved(index_in_a[key] for key in b if key in index_in_a)
    b_keys = set(b)
    removed = [Pair(i, None) for i, key in enumerate(a) if key not in b_keys]
    return removed + [Pair(index_in_a.get(key), j, index_in_a.get(key) in moved_in_a) for j, key in enumerate(b)]


class InOrder:
    """Pairs elements of two lists in order. `cells` limits the number of comparisons over all calls of `pairs`."""

    def __init__(self, cells: int = MOST_CELLS) -> None:
        self._cells = cells

    def pairs(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
        """Return pairs that align equal runs of both lists.

        Elements between the runs are paired by position. Elements that remain on one side are paired with None.
        """
        head = _count_equal(zip(a, b, strict=False))
        tail = _count_equal(zip(reversed(a[head:]), reversed(b[head:]), strict=False))
        ends = len(a) - tail, len(b) - tail
        mine = a[head : ends[0]]
        other = b[head : ends[1]]
        cells = len(mine) * len(other)
        out = _pair_by_position(0, head, 0, head)
        if cells > self._cells:
            out += _pair_by_position(head, ends[0], head, ends[1])
        else:
            self._cells -= cells
            for _, *run in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
                out += _pair_by_position(*(head + bound for bound in run))
        return out + _pair_by_position(ends[0], len(a), ends[1], len(b))


def _count_equal(pairs: Iterable[tuple[Hashable, Hashable]]) -> int:
    """Return the number of equal pairs before the first pair that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _pair_by_position(i: int, i_end: int, j: int, j_end: int) -> list[Pair]:
    both = max(min(i_end - i, j_end - j), 0)
    together = [Pair(i + k, j + k) for k in range(both)]
    return together + [Pair(k, None) for k in range(i + both, i_end)] + [Pair(None, k) for k in range(j + both, j_end)]


# Differences between two messages, and their places.


class At(NamedTuple):
    """A place in two messages.

    `path` identifies array elements by their keys, or by index if they have no key. `a` and `b` are the paths by index
    in each message. `field` is the path without indexes.
    """

    path: str = ""
    a: str = ""
    b: str = ""
    field: str = ""

    def below(self, name: str) -> At:
        """Return the place of a field of the struct at this place."""
        return At(*(f"{path}.{name}" if path else name for path in self))

    def element(self, a: int | None, b: int | None, key: str | None) -> At:
        """Return the place of a pair of elements of the array at this place.

        The index of a missing element is None. `key` identifies the elements in `path`. Without a key, the index does.
        """
        label: str | int | None = key
        if label is None:
            label = b if a is None else a
        return At(
            f"{self.path}[{label}]",
            f"{self.a}[{b if a is None else a}]",
            f"{self.b}[{a if b is None else b}]",
            f"{self.field}[]",
        )


@dataclass(frozen=True, slots=True)
class Side:
    """The value of one message at a place at which two messages differ.

    `path` is by index. `value` is in JSON form with secrets redacted. `offset` and `size` cover all bytes of the value,
    including its length. Both are None for a default that is not in the bytes, and for a value in a record set.

    `item` is the value's item in the tree of `body`. Without an item, `is_bytes` is set if the value is bytes in
    base64. `raw` contains the bytes if only the bytes differ.
    """

    path: str
    value: Any
    offset: int | None = None
    size: int | None = None
    body: Body | None = field(default=None, repr=False, compare=False)
    item: Item | None = field(default=None, repr=False, compare=False)
    is_bytes: bool = False
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its kind, its place, the value of each message there (None if it has no value), and details.

    `kind` is `changed` if the values differ, `removed` or `added` if only `a` or `b` has one, `moved` for an element of
    an array that both have at another place among the others, and `bytes` if only the bytes of the value differ.
    `layout` is true if one version of the message does not have the field.
    """

    kind: str
    at: At
    a: Side | None
    b: Side | None
    detail: str = ""
    layout: bool = False

    @property
    def path(self) -> str:
        """Where, with the keys of elements: `topics[name="orders"].partitions[partitionIndex=3].leaderId`."""
        return self.at.path


@dataclass
class Comparison:
    """All that differs between two messages, in the order of their fields.

    `other_layout` is set if bytes differ because the versions of the messages have different layouts. Such bytes are
    not among the differences.
    """

    differences: list[Difference] = field(default_factory=list)
    other_layout: bool = False

    @property
    def counts(self) -> Counter[str]:
        """The number of differences of each kind."""
        return Counter(difference.kind for difference in self.differences)

    @property
    def other_values(self) -> bool:
        """Return whether any value differs, and not only bytes."""
        return any(difference.kind != "bytes" for difference in self.differences)

    @property
    def other_bytes(self) -> bool:
        """Return whether anything differs."""
        return bool(self.differences) or self.other_layout

    @property
    def verdict(self) -> str:
        """`same`, `same-values` if only bytes differ, or `differs`."""
        if self.other_values:
            return "differs"
        return "same-values" if self.other_bytes else "same"
