"""Which field of one struct is which of another: those of one name, and those that only changed their name."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Named(Protocol):
    """What is paired: a field, or a message."""

    @property
    def name(self) -> str:
        """The name in the definition."""


NEAR = 100
"""How many fields without a partner are looked at for one that was renamed."""

T = TypeVar("T", bound=Named)


class Pairs(NamedTuple, Generic[T]):
    """Fields of an old struct with those of a new one: `same` in the order of the new, then what only one of them has."""

    same: tuple[tuple[T, T], ...]
    gone: tuple[T, ...]
    added: tuple[T, ...]


def pair(old: Sequence[T], new: Sequence[T], alike: Callable[[T, T], bool]) -> Pairs[T]:
    """Pair by name; of the rest those that are `alike` and stand in the same place, between fields that are paired or at the same end."""
    by_name = {item.name: item for item in old}
    partner = {item.name: by_name[item.name] for item in new if item.name in by_name}
    if len(partner) < len(new):
        partner |= _renamed(old, new, set(partner), alike)
    taken = {item.name for item in partner.values()}
    same = tuple((partner[item.name], item) for item in new if item.name in partner)
    return Pairs(same, tuple(item for item in old if item.name not in taken), tuple(item for item in new if item.name not in partner))


def _renamed(old: Sequence[T], new: Sequence[T], paired: set[str], alike: Callable[[T, T], bool]) -> dict[str, T]:
    """The old field for each new name that took over from one."""
    found: dict[str, T] = {}
    before = _runs(old, paired)
    for place, run in _runs(new, paired).items():
        rest, start = before.get(place, []), 0
        for item in run:
            at = next((i for i in range(start, min(start + NEAR, len(rest))) if alike(rest[i], item)), None)
            if at is not None:
                found[item.name], start = rest[at], at + 1
    return found


def _runs(items: Sequence[T], paired: set[str]) -> dict[str, list[T]]:
    """The items that have no partner, by the name of the paired one that they follow."""
    runs: dict[str, list[T]] = {}
    last = ""
    for item in items:
        if item.name in paired:
            last = item.name
        else:
            runs.setdefault(last, []).append(item)
    return runs


def moved(order: Iterable[int]) -> set[int]:
    """The fewest of these different numbers that have to go elsewhere for the rest to ascend."""
    numbers = list(order)
    if all(a < b for a, b in pairwise(numbers)):
        return set()
    ends: list[int] = []
    lengths = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
        lengths.append(at)
    staying: list[int] = []
    for number, length in zip(reversed(numbers), reversed(lengths), strict=True):
        if length == len(ends) - 1 - len(staying) and (not staying or number < staying[-1]):
            staying.append(number)
    return set(numbers).difference(staying)
