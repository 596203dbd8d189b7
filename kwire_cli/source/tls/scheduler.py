"""What is told of bytes of TLS that are no data: one event for as long as the same side speaks."""

from __future__ import annotations

from typing import NamedTuple

from kwire_cli.source.packets.model import Event, Foreign

MOST_NAMES = 32
"""Different things that an event names at most."""


class Place(NamedTuple):
    """Where bytes arrived: time and packet, as events have them."""

    time: int | None
    packet: int


class Turns:
    """Collects the events of a connection. `around` are bytes of records of data that are not the data: they are told
    at the end.
    """

    __slots__ = ("_around", "_connection", "_content", "_last", "_lasts", "_reason", "_records", "_side", "_size")

    def __init__(self, connection: int) -> None:
        self._connection = connection
        self._side = self._size = 0
        self._content: dict[str, None] = {}
        self._reason: str | None = None
        self._last = Place(None, 0)
        self._around, self._records = [0, 0], [0, 0]
        self._lasts = [self._last, self._last]

    def add(
        self, side: int, size: int, place: Place, content: str | None = None, reason: str | None = None
    ) -> list[Event]:
        """Bytes of a side, and what they are or why nobody knows; the event that this ends."""
        ended = self.end() if side != self._side else []
        self._side, self._last = side, place
        self._size += size
        if content and len(self._content) < MOST_NAMES:
            self._content[content] = None
        self._reason = self._reason or reason
        return ended

    def around(self, side: int, size: int, place: Place) -> None:
        """Bytes of a record around its data."""
        self._lasts[side] = place
        self._around[side] += size
        self._records[side] += 1

    def end(self) -> list[Event]:
        """The event of what was added, if anything was."""
        if not self._size:
            return []
        event = Foreign(self._connection, self._side, self._size, "tls", (*self._content,), self._reason, *self._last)
        self._size, self._reason = 0, None
        self._content.clear()
        return [event]

    def close(self) -> list[Event]:
        """The events of all that was not told yet."""
        out: list[Event] = []
        for side in (self._side, 1 - self._side):
            if size := self._around[side]:
                count = self._records[side]
                out += self.add(side, size, self._later(side), f"{count} record{'s' * (count != 1)} of data")
                self._around[side] = self._records[side] = 0
        return out + self.end()

    def _later(self, side: int) -> Place:
        """Where the last byte of a side arrived, of data or of what is told of it."""
        told = self._last.packet if side == self._side and self._size else 0
        return self._last if told > self._lasts[side].packet else self._lasts[side]
