"""Bounded counts of calls with their times and first places, for rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kwire_cli.analysis.call import between, earlier, later
from kwire_cli.analysis.diagnosis.limits import MOST_EVIDENCE
from kwire_cli.analysis.diagnosis.places import in_time
from kwire_cli.errors import few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.analysis.call import Call, Evidence

MOST_KEYS = 1 << 14
"""Clients, groups or partitions that a rule keeps apart. Later ones share one entry that no finding is made of."""
MOST_OPEN = 1 << 16
"""Connections of which a rule keeps something until they end."""

K = TypeVar("K")
V = TypeVar("V")


class Book(dict[K, V]):
    """A dictionary that makes missing entries, up to `most`; beyond that an entry is made and not kept."""

    def __init__(self, make: Callable[[], V], most: int = MOST_KEYS) -> None:
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, key: K) -> V:
        entry = self._make()
        if len(self) < self._most:
            self[key] = entry
        return entry

    def __reduce__(self) -> tuple[Any, ...]:
        return Book, (self._make, self._most), None, None, iter(self.items())


class Recent(dict[K, V]):
    """A dictionary of what is not over yet, such as connections, that forgets the oldest entries beyond `most`."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        super().__init__()
        self.most = most

    def keep(self, key: K, entry: V) -> V:
        """Take an entry, and return it."""
        self[key] = entry
        if len(self) > self.most:
            del self[next(iter(self))]
        return entry

    def merge(self, other: Recent[K, V]) -> None:
        """Take the entries of another part, as the newest ones."""
        self.update(other)
        for key in [*self][: max(len(self) - self.most, 0)]:
            del self[key]


@dataclass(slots=True)
class Tally:
    """A count of calls, the times of the first and the last one, and the places of the first ones."""

    count: int = 0
    first: float | None = None
    last: float | None = None
    places: list[Evidence] = field(default_factory=list)

    def add(self, call: Call) -> None:
        """Count a call."""
        self.count += 1
        time = call.asked if call.answered is None else call.answered
        self.first = earlier(self.first, time)
        self.last = later(self.last, time)
        if len(self.places) < MOST_EVIDENCE:
            self.places.append(call.evidence())

    def merge(self, other: Tally) -> None:
        """Add what another part counted."""
        self.count += other.count
        self.first = earlier(self.first, other.first)
        self.last = later(self.last, other.last)
        self.places = earliest([*self.places, *other.places])

    @property
    def span(self) -> float:
        """Seconds from the first call to the last one."""
        return between(self.first, self.last)


def merge_all(own: Book[Any, Any], other: dict[Any, Any]) -> None:
    """Merge the entries of another part, which have a method `merge`, into those of the same keys."""
    for key, entry in other.items():
        own[key].merge(entry)


def earliest(places: Iterable[Evidence]) -> list[Evidence]:
    """Return the first places by time, as many as a finding keeps."""
    return in_time(places)[:MOST_EVIDENCE]


def whole(value: Any) -> int | None:
    """Return a value of a body if it is an integer of 64 bits at most."""
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def some(names: Iterable[Any], most: int = 3) -> str:
    """Return the first names, sorted, and how many more there are."""
    return few(sorted({str(name) for name in names}), most)
