"""The lines of a capture: frames that are numbered, matched and named, as `kwire decode CAPTURE` prints them.

`Watch` feeds the events of TCP streams to one `Connection` each, and learns names from the frames. `Lines` sorts the
results by the arrival of their last byte and numbers them. Sorting is necessary because a connection that waits for
missing bytes returns its lines late. The same classes continue a capture that another task has begun.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.connection import Connection, Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.packets.model import ALONE, Data, End, Foreign, Gap, Origin, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.packets.model import EndReason, Event, Life
    from kwire_cli.spec.catalog import Catalog


class TcpConnection(NamedTuple):
    """A TCP connection of a capture, after its end or the end of the capture.

    Attributes:
        client: The address of the client. If neither the opening nor a frame shows which peer is the client, this is
            the peer that was seen first.
        opened: Whether the opening was captured.
        life: The history of the connection. Its sides are client and broker.
        file: The file with the first packet.
        packet: The number of the first packet in that file.
        spoke: Whether the connection has a line.

    """

    stream: int
    client: str
    broker: str
    key: int
    opened: bool
    life: Life
    reason: EndReason
    node: int | None
    capture: str | None
    file: str | None
    packet: int | None
    spoke: bool

    @property
    def is_unused(self) -> bool:
        """Whether no data was sent: it was refused, only opened, or only its end was captured."""
        return not any(side.size for side in self.life.sides) if self.opened else not self.spoke

    @property
    def closed_by(self) -> str | None:
        """`client` or `broker`; None if neither closed the connection."""
        return None if self.life.closed_by is None else ("client", "broker")[self.life.closed_by]

    @property
    def outcome(self) -> str:
        """The result of the opening: accepted, refused (by a RST), or silent. It is accepted if it was not captured.

        A client that sends payload received a SYN-ACK, even if the capture lacks it.
        """
        client, broker = self.life.sides
        if not self.opened or broker.heard or client.size:
            return "accepted"
        return "refused" if self.life.reset and self.closed_by == "broker" else "silent"


LATEST = 256
"""Packets after which a line is emitted even if earlier bytes still wait for missing ones."""


def traffic(
    catalog: Catalog,
    events: Iterable[Event],
    *,
    port: int | None = None,
    waiting_since: Callable[[], int | None] = lambda: None,
    again: Callable[[], Iterable[Event]] | None = None,
    names: Names | None = None,
    connections: bool = False,
) -> Iterator[Any]:
    """Yield the lines of a capture (`Captured`) in the order in which their last bytes arrived.

    Args:
        catalog: The message definitions.
        events: The events of the capture.
        port: The port of the broker, if known.
        waiting_since: Returns the lowest packet whose bytes are in no event yet, or None.
        again: Returns the events once more from the start, if the capture can be read twice. Topic ids can then be
            named by messages that follow them.
        names: Names that are known beforehand. They replace the second reading.
        connections: Whether each connection that has ended (`TcpConnection`) follows its last line.

    """
    if names is None:
        names = Names(ahead=(lambda: names_in(catalog, again(), port=port)) if again else None)
    origin = events.origin if isinstance(events, Capture) else ALONE
    lines = Lines(Watch(Layouts(catalog), port, names, origin), waiting_since)
    ended: list[TcpConnection] = []
    if connections:
        lines.watch.on_ended = ended.append
    for batch in _batches(events):
        yield from lines.take(batch)
        if ended and not lines.held:
            yield from ended
            ended.clear()
    yield from lines.close()
    yield from ended


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    return events.batches() if isinstance(events, Capture) else ([event] for event in events)


def names_in(catalog: Catalog, events: Iterable[Event], *, port: int | None = None) -> Names:
    """Return the topics and brokers that the messages of a capture name."""
    watch = Watch(Layouts(catalog), port, Names(), names_alone=True)
    for batch in _batches(events):
        watch.take(batch)
    watch.close()
    return watch.names


_place = attrgetter("place")


@dataclass(eq=False, repr=False)
class Lines:
    """Converts events to lines, numbered in the order in which their last bytes arrived. Connections that wait for
    missing bytes return lines late. The arguments are arguments of `traffic`.

    Attributes:
        count: The number of the last line.
        held: The lines that earlier ones may still precede.

    """

    watch: Watch
    waiting_since: Callable[[], int | None]
    count: int = 0
    held: list[Captured] = field(default_factory=list)

    def take(self, events: list[Event]) -> list[Captured]:
        """Process events. Return the lines that are complete and in order."""
        lines = self.watch.take(events)
        if not events or not (lines or self.held):
            return []
        lines = sorted(self.held + lines, key=_place)
        since = self.waiting_since()
        ready = len(lines)
        if since is not None:
            ready = bisect_left(lines, max(since, events[-1].packet - LATEST), key=_place)
        self.held = lines[ready:]
        return self._number(lines[:ready])

    def close(self) -> list[Captured]:
        """Return the remaining lines after the last event."""
        lines = sorted(self.held + self.watch.close(), key=_place)
        self.held = []
        return self._number(lines)

    def _number(self, lines: list[Captured]) -> list[Captured]:
        for number, line in enumerate(lines, self.count + 1):
            line.number = number
        self.count += len(lines)
        return lines


@dataclass(slots=True, eq=False, repr=False)
class Stream:
    """An open connection with the addresses of both peers, and the place of the last line of each."""

    connection: Connection
    texts: tuple[str, str]
    places: list[int] = field(default_factory=lambda: [0, 0])


@dataclass(eq=False, repr=False)
class Watch:
    """The open connections of a capture, and the names learnt so far.

    `on_ended` receives each connection that has ended. A line of the connection may still be sorted.
    """

    layouts: Layouts
    port: int | None
    names: Names
    origin: Origin = ALONE
    names_alone: bool = False
    connections: dict[int, Stream] = field(default_factory=dict)
    on_ended: Callable[[TcpConnection], None] | None = None

    def take(self, events: list[Event]) -> list[Captured]:
        """Return the lines that these events complete."""
        lines: list[Captured] = []
        connections = self.connections
        captured = self._captured
        for event in events:
            if type(event) is Data:
                number, direction, data, time, packet = event
                stream = connections[number]
                for piece in stream.connection.feed(direction, data, packet, time):
                    lines.append(captured(piece, number, stream))  # noqa: PERF401 - a list per event is slower
            else:
                lines += self._process_other(event)
        return lines

    def _process_other(self, event: Event) -> list[Captured]:
        if isinstance(event, Start):
            ports = (event.source.port, event.destination.port)
            client = 1 - ports.index(self.port) if self.port in ports else None
            texts = str(event.source), str(event.destination)
            opener = 0 if event.opened else None
            connection = Connection(self.layouts, event.opened, client, opener, event.key)
            self.connections[event.connection] = Stream(connection, texts)
        elif isinstance(event, Gap):
            stream = self.connections[event.connection]
            lost = stream.connection.lose(event.direction, event.size, event.packet, event.time)
            return [self._captured(piece, event.connection, stream) for piece in lost]
        elif isinstance(event, Foreign):
            return [self._captured(_foreign(event), event.connection, self.connections[event.connection])]
        elif isinstance(event, End):
            return self._end(event.connection, event)
        return []

    def _end(self, number: int, event: End | None = None) -> list[Captured]:
        stream = self.connections.pop(number)
        lines = [self._captured(piece, number, stream) for piece in stream.connection.end()]
        if self.on_ended and event and event.life:
            self.on_ended(self._tcp_connection(event.life, event.reason, number, stream))
        return lines

    def _tcp_connection(self, life: Life, reason: EndReason, number: int, stream: Stream) -> TcpConnection:
        texts = stream.texts
        at = stream.connection.client or 0
        file, packet = self.origin.place(life.packet)
        return TcpConnection(
            number,
            texts[at],
            texts[1 - at],
            stream.connection.key,
            stream.connection.from_start,
            life.turned() if at else life,
            reason,
            self.names.node(texts[1 - at]),
            self.origin.capture,
            file,
            packet,
            any(stream.places),
        )

    def close(self) -> list[Captured]:
        """Return the lines of all connections that are still open."""
        lines: list[Captured] = []
        for number in list(self.connections):
            lines += self._end(number)
        return lines

    def _captured(self, seen: Seen, number: int, stream: Stream) -> Captured:
        connection = stream.connection
        texts = stream.texts
        places = stream.places
        side = seen.side
        line = Captured(seen, number, texts[side], texts[1 - side], connection, self.names, self.origin)
        if line.place < places[side]:
            line.place = places[side]
        else:
            places[side] = line.place
        if seen.kind == "request":
            seen.line = line
        if self.names_alone:
            self.names.learn_names(line)
        elif seen.head:
            self.names.learn(line, texts[1 - connection.client] if connection.client is not None else line.dst)
        return line


def _foreign(event: Foreign) -> Seen:
    piece = Seen("not-kafka", event.direction, Cut("frame", b"", event.packet, event.time), protocol=event.protocol)
    piece.size = event.size
    piece.content = event.content
    piece.reason = event.reason
    return piece
