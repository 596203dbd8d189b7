"""TCP connections and their streams."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.packets.model import (
    Data,
    End,
    EndReason,
    Event,
    Segment,
    Start,
    connection_key,
    endpoints,
    turned,
)
from kwire_cli.source.packets.tcp_direction import (
    FAR,
    HALF_RANGE,
    MASK,
    UNKNOWN,
    YOUNG,
    Connection,
    Delivery,
    Half,
    Tag,
    signed,
)
from kwire_cli.structs import network
from kwire_cli.structs.network import ACK, RST, SYN, ZERO_WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence


# Which connection a segment belongs to: the same two ends meet more than once in a capture.


class Connections:
    """`halves` finds a segment's half by its ends. Of closed connections the last `keep` stay, to tell late packets
    from new connections.

    `count` is the number of the next connection.
    """

    def __init__(self, keep: int, first: int = 0) -> None:
        self.halves: dict[bytes, Half] = {}
        self.open = 0
        self.count = first
        self._keep = keep
        self._closed: deque[Connection] = deque()

    def add(self, segment: Segment) -> Half:
        """A new connection's half of this segment."""
        answer = segment.flags & (SYN | ACK) == SYN | ACK
        ends = turned(segment.ends) if answer else segment.ends
        connection = Connection(self.count, ends)
        self.count += 1
        self.open += 1
        self.halves[turned(ends)] = connection.halves[1]
        self.halves[ends] = connection.halves[0]
        return connection.halves[answer]

    def turn(self, connection: Connection) -> None:
        """Direction 1 was that of the side that opened it."""
        connection.first = connection.first.peer
        for direction, half in enumerate(connection.halves):
            half.direction = direction
        connection.ends = turned(connection.ends)

    def open_ones(self) -> list[Connection]:
        """Return the open connections, oldest first."""
        connections = {
            half.connection.number: half.connection for half in self.halves.values() if not half.connection.closed
        }
        return [connections[number] for number in sorted(connections)]

    def close(self, connection: Connection) -> None:
        """It has ended."""
        self.open -= 1
        self._closed.append(connection)
        while len(self._closed) > self._keep:
            self._forget(self._closed.popleft())

    def clear(self) -> None:
        """Forget all, which are closed."""
        while self._closed:
            self._forget(self._closed.popleft())

    def _forget(self, connection: Connection) -> None:
        for ends in (connection.ends, turned(connection.ends)):
            if (half := self.halves.get(ends)) is not None and half.connection is connection:
                del self.halves[ends]
        connection.unlink()


def begins_another(half: Half, segment: Segment) -> bool:
    """Return whether a segment between the ends of a closed connection begins another connection.

    Any other segment is late.
    """
    if segment.flags & SYN:
        return segment.sequence != half.isn and not _late_syn(half, segment)
    size = len(segment.payload) + segment.missing
    if not size or segment.flags & RST:
        return False
    if half.next == UNKNOWN:
        return True
    ahead = signed(segment.sequence + size - half.next)
    # What is new after a RST was on its way when the other side sent that; who sends a RST sends nothing more.
    return not -FAR < ahead < (FAR if half.connection.reset_by is half.peer else 1)


def opens_another(half: Half, segment: Segment) -> bool:
    """Return whether a SYN is of another connection than the open one between its ends."""
    start = (segment.sequence + 1) & MASK
    if _late_syn(half, segment):
        return False
    if half.isn != UNKNOWN or half.next != UNKNOWN:
        damaged = bool(
            segment.flags & ACK and segment.payload
        )  # a data segment with a wrong bit: an answer to a SYN carries no data
        return segment.sequence != half.isn and not damaged
    return half.anchor != UNKNOWN and bool(half.held) and not 0 <= half.held.starts[0] - half.at(start) < YOUNG


def _late_syn(half: Half, segment: Segment) -> bool:
    """Return whether a SYN opened the connection that was seen before it.

    The SYN of a new connection lies beyond the sequence numbers of the connection before.
    """
    start = (segment.sequence + 1) & MASK
    return half.isn == UNKNOWN and (
        half.hint == start or (half.next != UNKNOWN and 0 <= signed(half.next - start) < YOUNG)
    )


# TCP streams put together, without I/O: segments in, ordered bytes and gaps out. docs/captures.md has the
# rules with their reasons.
#
# Bytes are delivered in the order in which they were sent, and not before what their packet acknowledges: an
# answer never comes before its question. Where that leaves something waiting, it is decided GRACE packets
# later, so that packets which the capture has in another order find their place:
#
# - in mid-stream, that the lowest sequence number seen so far is the start; - at a hole, that it stays one,
# if the other side has acknowledged past it (`lost`); a hole that it has not may still be filled by a
# retransmission, and waits until the limit or the end; - that an answer is delivered although bytes which it
# acknowledges are missing; - after a RST, that the connection has ended.


class Limits(NamedTuple):
    """Bounds of memory, in bytes with bookkeeping, and in connections; and how many packets of the capture decide what
    waits.
    """

    direction: int = 4 << 20
    total: int = 64 << 20
    connections: int = 1 << 16
    closed: int = 4096
    grace: int = 64


_NEVER = 1 << 62
_NOTHING: tuple[Event, ...] = ()
DECIDING = network.FIN | SYN | RST | ACK | ZERO_WINDOW


class Streams:
    """All connections of a capture.

    `feed` takes segments in the capture's order, with packet numbers that grow, and gives the events that each brings
    about; `close` gives the rest. `counts` has bytes of payload that are in no event: `duplicate` (there before),
    `late` (after the connection's end), `stray` (far from where the stream is), `reset` (the text of a RST).
    Connections are numbered from `first`.
    """

    def __init__(self, limits: Limits | None = None, first: int = 0) -> None:
        self.limits = limits or Limits()
        self._delivery = Delivery()
        self.counts = self._delivery.counts
        self._table = Connections(self.limits.closed, first)
        self._halves = self._table.halves
        self._waiting: dict[int, Connection] = {}
        self._unannounced: dict[int, Start] = {}
        self._due: list[tuple[int, int, Connection]] = []
        self._next_due = _NEVER

    def feed(self, segment: Segment) -> Sequence[Event]:
        """The events that this segment brings about, of its connection and of those that waited long enough."""
        number, time, ends, sequence, acknowledgment, flags, payload, missing = segment
        if number < self._next_due:
            half = self._halves.get(ends)
            # The common case: nothing waits, the segment is next, and it acknowledges nothing that is yet to come.
            if half is not None and half.calm and sequence == half.next and flags & DECIDING == ACK and not missing:
                if not payload:
                    half.acked = acknowledgment
                    half.connection.last = number
                    return _NOTHING
                delivered = half.peer.next
                if acknowledgment == delivered or delivered < 0 or (delivered - acknowledgment) & MASK < HALF_RANGE:
                    half.next = (sequence + len(payload)) & MASK
                    half.acked = acknowledgment
                    half.connection.last = number
                    return (tuple.__new__(Data, (half.connection.number, half.direction, payload, time, number)),)
        self._delivery.packet = number
        self._delivery.time = time
        events: list[Event] = []
        if number >= self._next_due:
            self._decide(number, events)
            events = self._announced(events)
        self._feed(segment, events)
        return self._announced(events)

    @property
    def is_settled(self) -> bool:
        """Return whether nothing waits to be decided or announced."""
        return self._next_due == _NEVER and not self._waiting and not self._unannounced

    @property
    def has_holes(self) -> bool:
        """Return whether bytes wait for others that did not come yet."""
        return any(half.held for half in self._halves.values())

    def calm(self, ends: bytes) -> Half | None:
        """The half of segments with these ends, if nothing waits in its connection and both next bytes are known."""
        half = self._halves.get(ends)
        return half if half is not None and half.calm and UNKNOWN not in {half.next, half.peer.next} else None

    def idle(self, number: int) -> list[Event]:
        """Packets up to this number have gone by, none of them of these connections: what is due is decided as if they
        had been fed.
        """
        events: list[Event] = []
        at = 0
        while self._next_due <= number:
            at = max(at + 1, self._next_due)
            if at > number or at > self._next_due + self.limits.grace:
                break  # only what comes decides it
            self._delivery.packet = at
            self._decide(at, events)
        return self._announced(events)

    def flush(self) -> list[Event]:
        """Decide now what would be decided GRACE packets later: for who waits for a capture to grow. Holes that may
        still be filled stay.
        """
        events: list[Event] = []
        while self._due:
            self._decide(_NEVER, events)
        return self._announced(events)

    def close(self) -> list[Event]:
        """The capture has ended: everything that waits is delivered, between gaps, and all connections end."""
        events: list[Event] = []
        for connection in self._table.open_ones():
            self._finish(connection, "rst" if connection.reset else "end", events)
        self._table.clear()
        return self._announced(events)

    @property
    def opened(self) -> int:
        """The number that the next connection gets."""
        return self._table.count

    def waiting_since(self) -> int | None:
        """The lowest packet number of bytes that are not delivered yet; None when all are. Later events of lower
        numbers there will be none.
        """
        if not self._waiting:
            return None
        packets = (
            chunk.tag.packet
            for connection in self._waiting.values()
            for half in connection.halves
            for chunk in half.held.chunks
        )
        return min(packets, default=None)

    # One segment, in full

    def _feed(self, segment: Segment, events: list[Event]) -> None:
        half = self._halves.get(segment.ends)
        if half is not None and half.connection.closed:
            if not begins_another(half, segment):
                self._delivery.count("late", len(segment.payload))
                return
            half = None
        elif half is not None and segment.flags & SYN and opens_another(half, segment):
            self._finish(half.connection, "reused", events)
            half = None
        if half is None:
            half = self._open(segment, events)
        sequence = segment.sequence
        acknowledgment = segment.acknowledgment
        half.connection.syns += segment.flags & (SYN | ACK) == SYN
        if segment.flags & SYN and (
            half.isn == sequence
            or (half.isn == UNKNOWN and (half.next == UNKNOWN or half.hint == (sequence + 1) & MASK))
        ):
            half.isn, sequence = sequence, (sequence + 1) & MASK
            if half.connection.number in self._unannounced:
                self._opened(half.peer if segment.flags & ACK else half, segment, events)
            if half.next == UNKNOWN:
                half.begin(sequence)
            if segment.flags & ACK and half.peer.next == UNKNOWN:
                half.peer.hint = acknowledgment
                if half.peer.anchor != UNKNOWN:
                    half.peer.begin_at_hint(half.peer.anchor)
        elif self._strays(half, sequence):
            self._stray(half, segment, events)
            return
        half.connection.last = segment.packet
        half.opens_or_shuts(segment)
        if segment.flags & ACK:
            half.acked = acknowledgment
            half.peer.receives(acknowledgment)
        self._take(half, segment, sequence, events)
        self._go_on(half.connection, events)

    def _take(self, half: Half, segment: Segment, sequence: int, events: list[Event]) -> None:
        """Keep a segment's payload, and what its flags and numbers say."""
        size = len(segment.payload) + segment.missing
        connection = half.connection
        if segment.flags & RST:
            # What a RST carries is a text for people, not of the stream.
            self._delivery.count("reset", len(segment.payload))
            if not connection.reset:
                connection.reset = segment.packet
                connection.reset_by = half
                connection.close(half, segment.time)
            return
        half.begin_at_hint(sequence)
        if half.next == UNKNOWN and half.anchor == UNKNOWN and size:
            half.anchor = sequence
        if size:
            if half.fin != UNKNOWN and signed(sequence + size - half.fin) > 0:
                half.fin = UNKNOWN  # it was damaged: more follows
                half.finished = False
            if self._delivery.hold(half, segment, sequence, events) and connection.reset_by is half:
                connection.reset = 0  # who resets a connection sends nothing more: that RST was not its own
                connection.reset_by = None
        elif half.next != UNKNOWN and half.at(sequence) > half.position and half.acknowledged(half.at(sequence)):
            half.mark = max(half.mark, half.at(sequence))
        if segment.flags & network.FIN:
            half.fin = (sequence + size) & MASK
            connection.close(half, segment.time)
            half.fin_tag = Tag(segment.time, segment.packet, segment.acknowledgment, 0)
            if half.next == UNKNOWN and half.anchor == UNKNOWN:
                half.anchor = half.fin

    # Damaged numbers, unseen beginnings, ends

    def _strays(self, half: Half, sequence: int) -> bool:
        if half.next == UNKNOWN and half.anchor == UNKNOWN:
            return False
        return not -FAR < half.at(sequence) - half.position < FAR

    def _stray(self, half: Half, segment: Segment, events: list[Event]) -> None:
        """A segment far from where its stream is: damaged, unless the next one follows it; then another connection has
        begun unseen.
        """
        size = len(segment.payload) + segment.missing
        if not size:
            return
        before = half.stray
        if before is None or (before.sequence + len(before.payload) + before.missing) & MASK != segment.sequence:
            half.stray = segment
            self._delivery.count("stray", len(segment.payload))
            return
        self._finish(half.connection, "reused", events)
        self._delivery.count("stray", -len(before.payload))
        half = self._open(before, events)
        for tcp_segment in (before, segment):
            self._take(half, tcp_segment, tcp_segment.sequence, events)
            half.acked = tcp_segment.acknowledgment
            half.connection.last = tcp_segment.packet
        self._go_on(half.connection, events)

    def _open(self, segment: Segment, events: list[Event]) -> Half:
        """A new connection; its half of this segment. Where too many are open, the tenth of them that was silent
        longest is ended.
        """
        if self._table.open >= self.limits.connections:
            silent = sorted(self._table.open_ones(), key=lambda connection: connection.last)
            for connection in silent[: len(silent) // 10 + 1]:
                self._finish(connection, "evicted", events)
        half = self._table.add(segment)
        half.connection.began = segment.time
        half.connection.packet = segment.packet
        source, destination = endpoints(half.connection.ends)
        opened = bool(segment.flags & SYN)
        key = connection_key(segment)
        start = Start(half.connection.number, source, destination, opened, segment.time, segment.packet, key)
        if start.opened:
            events.append(start)
        else:
            self._unannounced[start.connection] = (
                start  # its SYN may yet come: nothing is said of it before its first event
            )
        return half

    def _opened(self, opener: Half, segment: Segment, events: list[Event]) -> None:
        """The SYN of a connection that another packet was seen of before."""
        start = self._unannounced.pop(opener.connection.number)
        start = start._replace(opened=True, key=connection_key(segment))
        if opener.direction:
            self._table.turn(opener.connection)
            start = start._replace(source=start.destination, destination=start.source)
        events.append(start)

    def _announced(self, events: list[Event]) -> list[Event]:
        """These events, with the starts of connections that had none before their first ones."""
        if not self._unannounced or not events:
            return events
        out: list[Event] = []
        for event in events:
            if start := self._unannounced.pop(event.connection, None):
                out.append(start)
            out.append(event)
        return out

    def _finish(self, connection: Connection, reason: EndReason, events: list[Event]) -> None:
        """Deliver what is left, end the connection, and keep of it only what tells late packets from new ones."""
        self._delivery.deliver_all(connection, events)
        life = connection.life(self._delivery.time)
        events.append(End(connection.number, reason, self._delivery.time, self._delivery.packet, life))
        connection.closed = True
        connection.settle()
        for half in connection.halves:
            half.stray = None
        self._waiting.pop(connection.number, None)
        self._table.close(connection)

    # What waits

    def _go_on(self, connection: Connection, events: list[Event]) -> None:
        """Deliver what can be delivered; see to the rest later."""
        self._delivery.deliver(connection, events)
        for half in connection.halves:
            while half.held.cost > self.limits.direction:
                self._delivery.force(connection, half, events)
        while self._delivery.held > self.limits.total and self._waiting:
            first = next(iter(self._waiting.values()))
            for half in first.halves:
                self._delivery.force(first, half, events)
            self._arrange(first, events)
        self._arrange(connection, events)

    def _arrange(self, connection: Connection, events: list[Event]) -> None:
        if connection.closed:
            return
        if all(half.finished and not half.held for half in connection.halves):
            self._finish(connection, "fin", events)
            return
        if connection.settle():
            self._waiting.pop(connection.number, None)
            return
        if any(half.held for half in connection.halves):
            self._waiting.setdefault(connection.number, connection)
        else:
            self._waiting.pop(connection.number, None)
        since = [connection.reset] if connection.reset else []
        for half in connection.halves:
            if not half.can_go_on():
                half.since = 0
                continue
            half.since = half.since or self._delivery.packet
            since.append(half.since)
        if since and not connection.due:
            connection.due = min(since) + self.limits.grace
            heappush(self._due, (connection.due, connection.number, connection))
            self._next_due = self._due[0][0]

    def _decide(self, number: int, events: list[Event]) -> None:
        """Decide what has waited for long enough at packet `number`."""
        again: list[Connection] = []
        while self._due and self._due[0][0] <= number:
            _, _, connection = heappop(self._due)
            if connection.closed:
                continue
            connection.due = 0
            before = number - self.limits.grace
            if connection.reset and connection.reset <= before:
                self._finish(connection, "rst", events)
                continue
            ripe = [half for half in connection.halves if half.since and half.since <= before]
            for half in ripe:
                self._delivery.start(half)
            self._delivery.deliver(connection, events)
            for half in ripe:
                if half.since:
                    self._decide_half(connection, half, events)
            again.append(connection)
        self._next_due = self._due[0][0] if self._due else _NEVER
        for connection in again:
            self._arrange(connection, events)

    def _decide_half(self, connection: Connection, half: Half, events: list[Event]) -> None:
        if half.blocked() and half.peer.acknowledged(half.peer.hole()):
            half = half.peer
        if half.acknowledged(half.hole()):
            self._delivery.give_up(half, "lost", events)
        elif half.blocked():
            half.peer.give_up()
            self._delivery.deliver_one(half, events)
        self._delivery.deliver(connection, events)
