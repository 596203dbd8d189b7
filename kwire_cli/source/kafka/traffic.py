"""Kafka's frames in the streams of captures, also carried over between parts."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

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


# TCP connections, as questions about the network below Kafka take them.


class TcpConnection(NamedTuple):
    """A TCP connection of a capture, when it has ended or the capture has.

    Pairs are of the client and the broker, in this order. `client` is the end that was seen first if neither the
    opening nor a frame says who the client is. `opened` says that the opening was seen, and
    `syns` counts its SYNs. `heard` says whether a side sent anything but a RST. `sizes` are bytes of payload, None if
    the beginning was not seen. `repeated` counts segments with payload that were sent again, and `again` their bytes.
    `first` and `closed` are nanoseconds; `closed_by` is `client` or `broker`, None if neither closed it; `reset` says
    that it was by a RST. `shut` are the nanoseconds for which a side took no bytes of the other (a window of 0),
    `lost` the bytes of a side that the capture does not have, and `cut` those that it cut off packets. `spoke` says
    that there is a line of it.
    """

    stream: int
    client: str
    broker: str
    opened: bool
    syns: int
    heard: tuple[bool, bool]
    sizes: tuple[int | None, int | None]
    repeated: tuple[int, int]
    first: int | None
    closed: int | None
    closed_by: str | None
    reset: bool
    reason: EndReason
    node: int | None
    capture: str | None
    file: str | None
    packet: int | None
    spoke: bool = True
    again: tuple[int, int] = (0, 0)
    shut: tuple[int, int] = (0, 0)
    lost: tuple[int, int] = (0, 0)
    cut: tuple[int, int] = (0, 0)

    @property
    def is_unused(self) -> bool:
        """Tell whether nobody said anything on it: it was refused, or only opened, or only its end is there."""
        return not any(self.sizes) if self.opened else not self.spoke

    @property
    def outcome(self) -> str:
        """What became of the opening: accepted, refused (a RST was the answer), or silent; accepted if not seen.

        A client that sends payload had an answer, even if the capture lacks that.
        """
        if not self.opened or self.heard[1] or self.sizes[0]:
            return "accepted"
        return "refused" if self.reset and self.closed_by == "broker" else "silent"


# Traffic: the frames of a capture, numbered, paired, named. What `kwire decode CAPTURE` shows.

LATEST = 256
"""Packets after which a line is given although bytes that came before its own may still wait for others."""


def traffic(
    catalog: Catalog,
    events: Iterable[Event],
    *,
    port: int | None = None,
    waiting_since: Callable[[], int | None] = lambda: None,
    again: Callable[[], Iterable[Event]] | None = None,
    names: Names | None = None,
    ended: Callable[[TcpConnection], None] | None = None,
) -> Iterator[Captured]:
    """The lines of a capture in the order in which their last bytes arrived.

    `port` is the broker's, where it is known. `waiting_since` is the lowest packet whose bytes are in no event yet,
    where any are. `again` gives the events once more from the first, if the capture can be read twice: then topic ids
    have their names from wherever in it they stand. `names` are those known beforehand instead. `ended` is called with
    each TCP connection that has ended, after its last line.
    """
    names = (
        names if names is not None else Names(ahead=(lambda: names_in(catalog, again(), port=port)) if again else None)
    )
    origin = events.origin if isinstance(events, Capture) else ALONE
    lines = Lines(Layouts(catalog), port, names, waiting_since, origin)
    lines.watch.ended = [] if ended else None
    for batch in _batches(events):
        yield from lines.take(batch)
        if ended and not lines.held:
            tell_ended(lines.watch, ended)
    yield from lines.close()
    if ended:
        tell_ended(lines.watch, ended)


def tell_ended(watch: Watch, ended: Callable[[TcpConnection], None]) -> None:
    """Call `ended` with the connections that ended since the last call."""
    connections, watch.ended = watch.ended, []
    for connection in connections or ():
        ended(connection)


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    return events.batches() if isinstance(events, Capture) else ([event] for event in events)


def names_in(catalog: Catalog, events: Iterable[Event], *, port: int | None = None) -> Names:
    """Return the topics and brokers that a capture names."""
    watch = Watch(Layouts(catalog), port, Names(), names_alone=True)
    for batch in _batches(events):
        watch.take(batch)
    watch.close()
    return watch.names


_place = attrgetter("place")


class _Order:
    """Puts lines in the order in which their last bytes arrived: connections that wait for bytes give theirs late."""

    def __init__(self, waiting_since: Callable[[], int | None]) -> None:
        self.held: list[Captured] = []
        self._waiting_since = waiting_since

    def ripe(self, lines: list[Captured], packet: int | None) -> list[Captured]:
        """The lines before which none can come any more, where the capture has been read up to a packet; all of them
        where that is None.
        """
        lines = sorted(self.held + lines, key=_place)
        since = None if packet is None else self._waiting_since()
        if since is None or packet is None:
            self.held = []
            return lines
        ripe = bisect_left(lines, max(since, packet - LATEST), key=_place)
        self.held = lines[ripe:]
        return lines[:ripe]


class Lines:
    """The lines of events as they are given, numbered in the order in which their last bytes arrived. The arguments are
    those of `traffic`.
    """

    def __init__(
        self,
        layouts: Layouts,
        port: int | None,
        names: Names,
        waiting_since: Callable[[], int | None],
        origin: Origin = ALONE,
    ) -> None:
        self.watch = Watch(layouts, port, names, origin=origin)
        self._order = _Order(waiting_since)
        self._count = 0

    @property
    def count(self) -> int:
        """The number of the last line."""
        return self._count

    @property
    def held(self) -> list[Captured]:
        """Lines before which others may still come."""
        return self._order.held

    def take(self, events: list[Event]) -> list[Captured]:
        """The lines that are complete with these events, and whose turn it is."""
        lines = self.watch.take(events)
        return (
            self._numbered(self._order.ripe(lines, events[-1].packet)) if events and (lines or self._order.held) else []
        )

    def close(self) -> list[Captured]:
        """The others; nothing more comes."""
        return self._numbered(self._order.ripe(self.watch.close(), None))

    def passed(self, count: int) -> int:
        """Go on behind so many lines that others have read; return the number of the line before them."""
        self._count += count
        return self._count - count

    def _numbered(self, lines: list[Captured]) -> list[Captured]:
        for number, line in enumerate(lines, self._count + 1):
            line.number = number
        self._count += len(lines)
        return lines


class Stream:
    """A connection that is open: its two ends as texts, and the place of the last line of each."""

    __slots__ = ("connection", "places", "texts")

    def __init__(self, connection: Connection, texts: tuple[str, str]) -> None:
        self.connection = connection
        self.texts = texts
        self.places = [0, 0]


class Watch:
    """The open connections, and what is known of names."""

    def __init__(
        self, layouts: Layouts, port: int | None, names: Names, *, names_alone: bool = False, origin: Origin = ALONE
    ) -> None:
        self.layouts = layouts
        self.port = port
        self.names = names
        self.origin = origin
        self.connections: dict[int, Stream] = {}
        self.ended: list[TcpConnection] | None = None
        """The connections that ended, if anybody asks for them."""
        self._names_alone = names_alone

    def take(self, events: list[Event]) -> list[Captured]:
        """The lines that these events complete."""
        lines: list[Captured] = []
        connections = self.connections
        captured = self._captured
        for event in events:
            if type(event) is Data:
                number, direction, data, time, packet = event
                stream = connections[number]
                for piece in stream.connection.feed(direction, data, packet, time):
                    lines.append(captured(piece, number, stream))  # noqa: PERF401 - a list for each event takes longer
            else:
                lines += self._other(event)
        return lines

    def _other(self, event: Event) -> list[Captured]:
        if isinstance(event, Start):
            ports = (event.source.port, event.destination.port)
            broker = ports.index(self.port) if self.port in ports else None
            texts = str(event.source), str(event.destination)
            opened = 0 if event.opened else None
            connection = Connection(self.layouts, from_start=event.opened, client=opened, broker=broker, key=event.key)
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
        if self.ended is not None and event and event.life:
            self.ended.append(self._tcp_connection(event.life, event.reason, number, stream))
        return lines

    def _tcp_connection(self, life: Life, reason: EndReason, number: int, stream: Stream) -> TcpConnection:
        side = stream.connection.client
        texts = stream.texts
        opened = stream.connection.from_start
        client = side if side is not None else 0 if opened else None
        at = client or 0
        file, packet = self.origin.place(life.packet)
        return TcpConnection(
            number,
            texts[at],
            texts[1 - at],
            opened,
            life.syns,
            (life.heard[at], life.heard[1 - at]),
            (life.sizes[at], life.sizes[1 - at]),
            (life.repeated[at], life.repeated[1 - at]),
            life.first,
            life.closed,
            None if life.closed_by is None else ("client" if life.closed_by == at else "broker"),
            life.reset,
            reason,
            self.names.node(texts[1 - at]),
            self.origin.capture,
            file,
            packet,
            any(stream.places),
            *((pair[at], pair[1 - at]) for pair in (life.again, life.shut, life.lost, life.cut)),
        )

    def close(self) -> list[Captured]:
        """The lines of all connections that are still open."""
        return [line for number in list(self.connections) for line in self._end(number)]

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
        if self._names_alone:
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
