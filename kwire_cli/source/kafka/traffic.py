"""Traffic: the frames of a capture, numbered, paired, named. What `kwire decode CAPTURE` shows."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from kwire_cli.message.plain import Layouts
from kwire_cli.source.capture.events import Data, End, Gap, Start
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.names import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.capture.events import Event
    from kwire_cli.spec.catalog import Catalog

LATEST = 256
"""Packets after which a line is given although bytes that came before its own may still wait for others."""
ASK_EVERY = 8
"""Packets for which the answer to what waits is taken to hold."""


def traffic(
    catalog: Catalog,
    events: Iterable[Event],
    *,
    port: int | None = None,
    waiting_since: Callable[[], int | None] = lambda: None,
    again: Callable[[], Iterable[Event]] | None = None,
) -> Iterator[Captured]:
    """The lines of a capture in the order in which their last bytes arrived.

    `port` is the broker's, where it is known. `waiting_since` is the lowest packet whose bytes are in no event yet, where any are. `again` gives the
    events once more from the first, if the capture can be read twice: then topic ids have their names from wherever in it they stand.
    """
    names = Names(ahead=(lambda: names_in(catalog, again(), port=port)) if again else None)
    watch = _Watch(catalog, port, names)
    order = _Order(waiting_since)
    number, held = 0, order.held
    for event in events:
        lines = watch.take(event)
        if lines or held:
            for line in lines if not held and waiting_since() is None else order.ripe(lines, event.packet):
                number += 1
                line.number = number
                yield line
    for line in order.ripe(watch.close(), None):
        number += 1
        line.number = number
        yield line


def names_in(catalog: Catalog, events: Iterable[Event], *, port: int | None = None) -> Names:
    """The topics and brokers that a capture names."""
    watch = _Watch(catalog, port, Names(), names_alone=True)
    for event in events:
        watch.take(event)
    watch.close()
    return watch.names


class _Order:
    """Puts lines in the order in which their last bytes arrived: connections that wait for bytes give theirs late."""

    def __init__(self, waiting_since: Callable[[], int | None]) -> None:
        self.held: list[tuple[int, int, Captured]] = []
        self._waiting_since = waiting_since
        self._since: int | None = None
        self._asked = self._count = 0

    def ripe(self, lines: list[Captured], packet: int | None) -> Iterator[Captured]:
        """The lines before which none can come any more; all of them where `packet` is None."""
        for line in lines:
            # A line stands at its last packet; an answer never before its question, even where the capture has them so.
            at = line.seen.packet if line.request is None else max(line.seen.packet, line.request.seen.packet)
            heappush(self.held, (at, self._count, line))
            self._count += 1
        until = None if packet is None else self._until(packet)
        while self.held and (until is None or self.held[0][0] < until):
            yield heappop(self.held)[2]

    def _until(self, packet: int) -> int | None:
        # What waits is older than what will: an answer that is not None stays true, only not the best, and asking costs more than waiting.
        if self._since is None or packet >= self._asked + ASK_EVERY:
            self._since, self._asked = self._waiting_since(), packet
        return None if self._since is None else max(self._since, packet - LATEST)


@dataclass(frozen=True, slots=True)
class _Ends:
    texts: tuple[str, str]
    broker: int | None


class _Watch:
    """The open connections, and what is known of names."""

    def __init__(self, catalog: Catalog, port: int | None, names: Names, *, names_alone: bool = False) -> None:
        self.layouts, self.port, self.names = Layouts(catalog), port, names
        self.connections: dict[int, tuple[Connection, _Ends]] = {}
        self._names_alone = names_alone

    def take(self, event: Event) -> list[Captured]:
        """The lines that an event completes."""
        if type(event) is Data:
            number, direction, data, time, packet = event
            connection, ends = self.connections[number]
            return [self._captured(seen, number, connection, ends) for seen in connection.feed(direction, data, packet, time)]
        if isinstance(event, Start):
            ports = (event.source.port, event.destination.port)
            broker = ports.index(self.port) if self.port in ports else None
            ends = _Ends((str(event.source), str(event.destination)), broker)
            opened = 0 if event.opened else None
            connection = Connection(self.layouts, from_start=event.opened, client=opened, broker=broker)
            self.connections[event.connection] = connection, ends
        elif isinstance(event, Gap):
            connection, ends = self.connections[event.connection]
            lost = connection.lose(event.direction, event.size, event.packet, event.time)
            return [self._captured(seen, event.connection, connection, ends) for seen in lost]
        elif isinstance(event, End):
            return self._end(event.connection)
        return []

    def _end(self, stream: int) -> list[Captured]:
        connection, ends = self.connections.pop(stream)
        return [self._captured(seen, stream, connection, ends) for seen in connection.end()]

    def close(self) -> list[Captured]:
        """The lines of all connections that are still open."""
        return [line for stream in list(self.connections) for line in self._end(stream)]

    def _captured(self, seen: Seen, stream: int, connection: Connection, ends: _Ends) -> Captured:
        texts, side = ends.texts, seen.side
        line = Captured(seen, stream, texts[side], texts[1 - side], connection, self.names)
        if seen.kind == "request":
            seen.line = line
        if self._names_alone:
            self.names.learn_names(line)
        elif line.is_frame:
            self.names.learn(line, texts[1 - connection.client] if connection.client is not None else line.dst)
        return line
