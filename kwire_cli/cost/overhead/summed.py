"""Tallies added up: small, without layouts, so that those of several processes can be sent and put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.overhead.batch_sizes import BatchSizes
from kwire_cli.cost.overhead.limits import Largest
from kwire_cli.cost.sums import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.cost.kinds import Kind
    from kwire_cli.cost.overhead.account import Account
    from kwire_cli.cost.overhead.tallies import Tallies

    Bytes = dict[tuple[str, Kind, Kind], list[int]]
    """Prefix bytes, value bytes and count, by the path and the kinds of a part."""


@dataclass(slots=True)
class SummedAccount:
    """An account, added up."""

    messages: int = 0
    sizes: BatchSizes = field(default_factory=BatchSizes)
    _parts: Bytes = field(default_factory=dict)
    _inside: Bytes = field(default_factory=dict)

    def merge(self, other: Account | SummedAccount) -> None:
        """Count what another one has."""
        self.messages += other.messages
        self.sizes.merge(other.sizes)
        _add(self._parts, other.parts())
        _add(self._inside, other.inside())

    def parts(self) -> Iterator[Part]:
        """All that was counted, by path."""
        return _of(self._parts)

    def inside(self) -> Iterator[Part]:
        """What compressed records consist of, by path."""
        return _of(self._inside)


@dataclass(slots=True)
class Summed:
    """Accounts by the values of `dimensions`, and what limits count, as in `tallies.Tallies`."""

    dimensions: Sequence[str]
    size: int = 0
    messages: int = 0
    largest: Largest = field(default_factory=Largest)
    _accounts: dict[tuple[Any, ...], SummedAccount] = field(default_factory=dict)

    def merge(self, other: Tallies | Summed) -> None:
        """Count what others of the same dimensions have."""
        self.size += other.size
        self.messages += other.messages
        self.largest.merge(other.largest)
        for key, account in other.accounts.items():
            self._accounts.setdefault(key, SummedAccount()).merge(account)

    @property
    def accounts(self) -> dict[tuple[Any, ...], SummedAccount]:
        """By the values; in an order that does not depend on what was merged first."""
        return dict(sorted(self._accounts.items(), key=lambda item: [(value is not None, str(value)) for value in item[0]]))


def _add(into: Bytes, parts: Iterable[Part]) -> None:
    for part in parts:
        found = into.setdefault((part.path, part.prefix_kind, part.value_kind), [0, 0, 0])
        found[0] += part.prefix_bytes
        found[1] += part.value_bytes
        found[2] += part.count


def _of(found: Bytes) -> Iterator[Part]:
    for (path, prefix, value), (before, size, count) in sorted(found.items()):
        yield Part(path, prefix, value, before, size, count)
