"""Names and places of what findings are about."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.limits import MOST_EVIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.analysis.call import Call, Evidence


def host_of(address: str) -> str:
    """Return an address without its port, or the address as it is if it has none."""
    return address.rpartition(":")[0] or address


def client_of(call: Call) -> str:
    """Return the id of the client, or its host: what stays the same over its connections."""
    return call.client_id or host_of(call.client)


class Places:
    """The earliest places of something, as many as a finding shows, and the `count` of all.

    What is kept does not depend on the order in which parts are merged.
    """

    __slots__ = ("_kept", "count")

    def __init__(self) -> None:
        self._kept: list[Evidence] = []
        self.count = 0

    def add(self, place: Evidence | None) -> None:
        """Count a place, and keep it if it is early."""
        self.count += 1
        if place is not None:
            self._keep(place)

    @property
    def full(self) -> bool:
        """Return whether as many places are kept as there will be."""
        return len(self._kept) >= MOST_EVIDENCE

    def _keep(self, place: Evidence) -> None:
        if not self.full or _when(place) < _when(self._kept[-1]):
            insort(self._kept, place, key=_when)
            del self._kept[MOST_EVIDENCE:]

    def merge(self, other: Places) -> None:
        """Take in what another one has."""
        self.count += other.count
        for place in other._kept:
            self._keep(place)

    @property
    def earliest(self) -> list[Evidence]:
        """The places that are kept, in the order of their times."""
        return [*self._kept]


def _when(place: Evidence) -> tuple[str, str, int, int, str]:
    # Where frames have no numbers, packets have.
    at = next((number for number in (place.frame, place.line, place.packet) if number is not None), 0)
    return place.time or "", place.capture or place.file or "", at, place.stream or 0, place.what


def in_time(places: Iterable[Evidence]) -> list[Evidence]:
    """Return places in the order of their times: parts that were merged came in any order."""
    return sorted(places, key=_when)
