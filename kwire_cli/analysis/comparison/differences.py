"""Differences of two messages, and the alignment of the elements of two lists."""

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


# Which elements of two lists belong together: by a key, or in order.

MOST_CELLS = 4_000_000
"""Comparisons of elements that aligning the lists of two messages may take. Beyond them, elements belong together by
position.
"""


class Pair(NamedTuple):
    """The indexes of two elements that belong together, None where one list has no such element; `moved` where another
    order has them.
    """

    a: int | None
    b: int | None
    moved: bool = False


def by_key(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Pairs of the elements with equal keys, each of which occurs once in a list: those that only `a` has, then all of
    `b` in its order.

    The fewest that explain another order are moved.
    """
    where = {key: i for i, key in enumerate(a)}
    away = moved(where[key] for key in b if key in where)
    b_keys = set(b)
    removed = [Pair(i, None) for i, key in enumerate(a) if key not in b_keys]
    return removed + [Pair(where.get(key), j, where.get(key) in away) for j, key in enumerate(b)]


class InOrder:
    """Pairs of two lists in order. What it may do is bounded over all lists that it is given."""

    def __init__(self, cells: int = MOST_CELLS) -> None:
        self._cells = cells

    def pairs(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
        """Return the pairs of equal runs. What is between the runs belongs together by position, as far as there is
        some on both sides.
        """
        head = _same(zip(a, b, strict=False))
        tail = _same(zip(reversed(a[head:]), reversed(b[head:]), strict=False))
        ends = len(a) - tail, len(b) - tail
        mine, other = a[head : ends[0]], b[head : ends[1]]
        cells = len(mine) * len(other)
        out = _between(0, head, 0, head)
        if cells > self._cells:
            out += _between(head, ends[0], head, ends[1])
        else:
            self._cells -= cells
            for _, *run in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
                out += _between(*(head + bound for bound in run))
        return out + _between(ends[0], len(a), ends[1], len(b))


def _same(pairs: Iterable[tuple[Hashable, Hashable]]) -> int:
    """Return the number of equal pairs before the first pair that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _between(i: int, i_end: int, j: int, j_end: int) -> list[Pair]:
    both = max(min(i_end - i, j_end - j), 0)
    together = [Pair(i + k, j + k) for k in range(both)]
    return together + [Pair(k, None) for k in range(i + both, i_end)] + [Pair(None, k) for k in range(j + both, j_end)]


# What may differ between two messages.


class At(NamedTuple):
    """A place in two messages: `path` names elements by their keys where they have some, `a` and `b` are the paths by
    index, `field` has none.
    """

    path: str = ""
    a: str = ""
    b: str = ""
    field: str = ""

    def below(self, name: str) -> At:
        """The place of a field of the struct here."""
        return At(*(f"{path}.{name}" if path else name for path in self))

    def element(self, a: int | None, b: int | None, key: str | None) -> At:
        """The place of two elements of the array here, of which one may be missing; `key` is what names them."""
        label = key if key is not None else a if a is not None else b
        return At(
            f"{self.path}[{label}]",
            f"{self.a}[{b if a is None else a}]",
            f"{self.b}[{a if b is None else b}]",
            f"{self.field}[]",
        )


@dataclass(frozen=True, slots=True)
class Side:
    """The value of one message at a place where two messages differ.

    `path` is by index. `value` is in JSON form with secrets redacted. `offset` and `size` are those of all bytes of
    the value. Both are None for a default that is not in the bytes, and for a value in a record set.

    `item` is the value's item in the tree of `body`. If there is no item to show, `is_bytes` says that the value is
    bytes in base64. `raw` are the bytes, if nothing else differs.
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
    """One difference: its kind, its place, the value of each message there (None if it has none), and details.

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
        return "differs" if self.other_values else "same-values" if self.other_bytes else "same"
