"""The packets that carry the bytes of each line of a capture.

Framing cuts the bytes of a direction into lines: each byte is in one line, and lines come in the order of their bytes.
So the sizes of the pieces of TCP streams identify the packets of each line. In a connection with TLS, a piece is the
content of a record, and all packets since the previous piece carry the record.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.source.captures import Capture
from kwire_cli.source.packets.model import Data, Foreign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.model import Event, Origin, Place

Direction = tuple[int, int]
"""The number of a connection, and 0 or 1 as in events."""


class CarriedCapture(Capture):
    """A capture that knows which packets carry its lines, once these pass through `with_packets`."""

    _arrived: defaultdict[Direction, deque[tuple[int, Place]]]
    """The packets whose bytes are in no piece yet: their numbers and places."""
    _pieces: defaultdict[Direction, deque[tuple[int, tuple[Place, ...]]]]
    """The pieces that are in no line yet: their sizes, and the places of their packets."""
    _stored: Origin
    """The origin with the paths of the files, as the packets are read again."""

    def batches(self) -> Iterator[list[Event]]:
        """Yield the events of a few packets at a time."""
        self._arrived = defaultdict(deque)
        self._pieces = defaultdict(deque)
        self._encrypted: set[int] = set()
        self._stored = replace(self.origin, files=self.paths)
        yield from super().batches()

    def _without_tls(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, Data):
                place = self._stored.place(event.packet)
                self._arrived[event.connection, event.direction].append((event.packet, place))
        read = super()._without_tls(events)
        for event in read:
            if isinstance(event, Foreign):
                self._encrypted.add(event.connection)
                self._add_piece(event, 0)
            elif isinstance(event, Data):
                self._add_piece(event, len(event.data))
        return read

    def _add_piece(self, event: Data | Foreign, size: int) -> None:
        """Add a piece with the packets up to the one of the event, which may also carry the next TLS record.

        A packet before these was already in a piece: TLS counts the headers of records after their content.
        """
        direction = event.connection, event.direction
        arrived = self._arrived[direction]
        places = [self._stored.place(event.packet)]
        if any(number == event.packet for number, _ in arrived):
            while arrived[0][0] != event.packet:
                places.append(arrived.popleft()[1])
            if event.connection not in self._encrypted:
                arrived.popleft()
        self._pieces[direction].append((size, tuple(places)))

    def with_packets(self, lines: Iterable[Captured]) -> Iterator[Captured]:
        """Yield all lines of this capture, each with the places of the packets that carry it."""
        for line in lines:
            line.packets = self._packets_of(line)
            yield line

    def _packets_of(self, line: Captured) -> tuple[Place, ...]:
        """Take the pieces of a line: the pieces of its bytes, or the one of TLS that carries no data."""
        seen = line.seen
        pieces = self._pieces[line.stream, seen.side]
        left = len(seen.data)
        if seen.protocol is not None and not left:
            if pieces and not pieces[0][0]:
                return pieces.popleft()[1]
            left = seen.size
        places: dict[Place, None] = {}
        while left and pieces:
            size, carriers = pieces.popleft()
            places.update(dict.fromkeys(carriers))
            if size > left:
                pieces.appendleft((size - left, carriers))
            left -= min(left, size)
        return tuple(places)
