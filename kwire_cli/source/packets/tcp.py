"""TCP streams: takes segments, and returns ordered bytes and gaps. It performs no I/O.

docs/captures.md explains the rules with their reasons.

Bytes are delivered in the order in which they were sent, and not before the data that their packet acknowledges. So a
response never precedes its request. Bytes that must wait are decided GRACE packets later, so that packets which were
captured out of order find their place. These decisions are:

- in mid-stream, the lowest sequence number so far is the start;
- a hole is permanent if the other peer has acknowledged bytes after it (`lost`). Otherwise a retransmission may still
  fill it, and it waits until a limit or the end;
- a response is delivered although bytes that it acknowledges are missing;
- after a RST, the connection has ended.

`Connections` finds the connection of a segment. The same endpoints can have several connections in a capture, so late
packets of a closed connection must be distinguished from the start of a new one.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.packets.model import (
    MASK,
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


class Connections:
    """The connections of a capture. The last `keep` closed ones stay, to distinguish late packets from new connections.

    `halves` finds a segment's half by its `ends`. `count` is the number of the next connection.
    """

    def __init__(self, keep: int) -> None:
        self.halves: dict[bytes, Half] = {}
        self.open = 0
        self.count = 0
        self._keep = keep
        self._closed: deque[Connection] = deque()

    def add(self, segment: Segment) -> Half:
        """Add a connection. Return its half for this segment."""
        answer = segment.flags & (SYN | ACK) == SYN | ACK
        ends = turned(segment.ends) if answer else segment.ends
        connection = Connection(self.count, ends)
        self.count += 1
        self.open += 1
        self.halves[turned(ends)] = connection.halves[1]
        self.halves[ends] = connection.halves[0]
        return connection.halves[answer]

    def turn(self, connection: Connection) -> None:
        """Swap the directions: the peer of direction 1 opened the connection."""
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
        """Mark a connection as closed. Forget the oldest closed connections beyond `keep`."""
        self.open -= 1
        self._closed.append(connection)
        while len(self._closed) > self._keep:
            self._forget(self._closed.popleft())

    def clear(self) -> None:
        """Forget all closed connections."""
        while self._closed:
            self._forget(self._closed.popleft())

    def _forget(self, connection: Connection) -> None:
        for ends in (connection.ends, turned(connection.ends)):
            if (half := self.halves.get(ends)) is not None and half.connection is connection:
                del self.halves[ends]
        connection.unlink()


def begins_another(half: Half, segment: Segment) -> bool:
    """Return whether a segment between the endpoints of a closed connection begins a new connection.

    Any other segment is a late packet.
    """
    if segment.flags & SYN:
        return segment.sequence != half.isn and not _late_syn(half, segment)
    size = len(segment.payload) + segment.missing
    if not size or segment.flags & RST:
        return False
    if half.next == UNKNOWN:
        return True
    ahead = signed(segment.sequence + size - half.next)
    # The peer can have sent new data before it received the RST. The sender of a RST sends no further data.
    return not -FAR < ahead < (FAR if half.connection.reset_by is half.peer else 1)


def opens_another(half: Half, segment: Segment) -> bool:
    """Return whether a SYN belongs to a new connection, not to the open one between its endpoints."""
    start = (segment.sequence + 1) & MASK
    if _late_syn(half, segment):
        return False
    if half.isn != UNKNOWN or half.next != UNKNOWN:
        return segment.sequence != half.isn
    return half.anchor != UNKNOWN and bool(half.held) and not 0 <= half.held.starts[0] - half.at(start) < YOUNG


def _late_syn(half: Half, segment: Segment) -> bool:
    """Return whether a SYN opened this connection, but was captured after other packets of it.

    The SYN of a new connection is beyond the sequence numbers of the previous connection.
    """
    start = (segment.sequence + 1) & MASK
    return half.isn == UNKNOWN and (
        half.hint == start or (half.next != UNKNOWN and 0 <= signed(half.next - start) < YOUNG)
    )


def _is_far(half: Half, sequence: int) -> bool:
    """Return whether a sequence number is too far from the stream to belong to it."""
    if half.next == UNKNOWN and half.anchor == UNKNOWN:
        return False
    return not -FAR < half.at(sequence) - half.position < FAR


class Limits(NamedTuple):
    """Limits of memory, in bytes including overhead and in connections, and the number of packets that decide waiting
    bytes (`grace`).
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

    `feed` takes segments in capture order, with increasing packet numbers, and returns the resulting events. `close`
    returns the rest.

    `counts` has the payload bytes that are in no event: `duplicate` (present before), `late` (after the end of the
    connection), `reset` (payload of a RST), `out of place` (farther ahead than a window).
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._delivery = Delivery()
        self.counts = self._delivery.counts
        self._table = Connections(self.limits.closed)
        self._halves = self._table.halves
        self._waiting: dict[int, Connection] = {}
        self._unannounced: dict[int, Start] = {}
        self._due: list[tuple[int, int, Connection]] = []
        self._next_due = _NEVER

    def feed(self, segment: Segment) -> Sequence[Event]:
        """Return the events of this segment, and of connections that waited long enough."""
        number, time, ends, sequence, acknowledgment, flags, payload, missing = segment
        if number < self._next_due:
            half = self._halves.get(ends)
            # The common case: nothing waits, the segment is next, and it acknowledges only delivered bytes.
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
            self._decide(number)
            events = self._taken()
        self._feed(segment)
        return events + self._taken()

    @property
    def is_settled(self) -> bool:
        """Return whether nothing waits to be decided or announced."""
        return self._next_due == _NEVER and not self._waiting and not self._unannounced

    @property
    def has_holes(self) -> bool:
        """Return whether received bytes wait for missing ones."""
        return any(half.held for half in self._halves.values())

    def calm(self, ends: bytes) -> Half | None:
        """Return the half of segments with these ends, if nothing waits and both next sequence numbers are known."""
        half = self._halves.get(ends)
        return half if half is not None and half.calm and UNKNOWN not in {half.next, half.peer.next} else None

    def idle(self, number: int) -> list[Event]:
        """Account for packets up to this number that belong to other connections. Decide bytes that are due, as `feed`
        would.
        """
        at = 0
        while self._next_due <= number:
            at = max(at + 1, self._next_due)
            if at > number or at > self._next_due + self.limits.grace:
                break  # only further segments decide it
            self._delivery.packet = at
            self._decide(at)
        return self._taken()

    def flush(self) -> list[Event]:
        """Decide all waiting bytes now instead of GRACE packets later, for a reader that waits for a capture to grow.
        Holes that may still be filled stay.
        """
        while self._due:
            self._decide(_NEVER)
        return self._taken()

    def close(self) -> list[Event]:
        """End the capture: deliver all waiting bytes, with gaps, and end all connections."""
        for connection in self._table.open_ones():
            self._finish(connection, "rst" if connection.reset else "end")
        self._table.clear()
        return self._taken()

    def waiting_since(self) -> int | None:
        """Return the lowest packet number of undelivered bytes, or None if all are delivered. No later event has a
        lower number.
        """
        if not self._waiting:
            return None
        packets: list[int] = []
        for connection in self._waiting.values():
            for half in connection.halves:
                packets += [chunk.tag.packet for chunk in half.held.chunks]
        return min(packets, default=None)

    # The general case of a segment

    def _feed(self, segment: Segment) -> None:
        half = self._halves.get(segment.ends)
        if half is not None and half.connection.closed:
            if not begins_another(half, segment):
                self._delivery.count("late", len(segment.payload))
                return
            half = None
        elif half is not None and segment.flags & SYN and opens_another(half, segment):
            self._finish(half.connection, "reused")
            half = None
        if half is None:
            half = self._open(segment)
        sequence = segment.sequence
        acknowledgment = segment.acknowledgment
        half.connection.syns += segment.flags & (SYN | ACK) == SYN
        if segment.flags & SYN and (
            half.isn == sequence
            or (half.isn == UNKNOWN and (half.next == UNKNOWN or half.hint == (sequence + 1) & MASK))
        ):
            half.isn = sequence
            sequence = (sequence + 1) & MASK
            if half.connection.number in self._unannounced:
                self._emit_start(half.peer if segment.flags & ACK else half, segment)
            if half.next == UNKNOWN:
                half.begin(sequence)
            if segment.flags & ACK and half.peer.next == UNKNOWN:
                half.peer.hint = acknowledgment
                if half.peer.anchor != UNKNOWN:
                    half.peer.begin_at_hint(half.peer.anchor)
        elif _is_far(half, sequence):
            if not (segment.payload or segment.missing):
                return
            # The capture lacks the opening of another connection between these endpoints.
            self._finish(half.connection, "reused")
            half = self._open(segment)
        half.connection.last = segment.packet
        half.opens_or_shuts(segment)
        if segment.flags & ACK:
            half.acked = acknowledgment
            half.peer.receives(acknowledgment)
        self._take(half, segment, sequence)
        self._deliver(half.connection)

    def _take(self, half: Half, segment: Segment, sequence: int) -> None:
        """Store a segment's payload, and apply its flags and numbers."""
        size = len(segment.payload) + segment.missing
        connection = half.connection
        if segment.flags & RST:
            # The payload of a RST is a diagnostic message. It does not belong to the stream.
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
                half.fin = UNKNOWN  # the FIN was damaged, because more bytes follow
                half.finished = False
            if self._delivery.hold(half, segment, sequence) and connection.reset_by is half:
                connection.reset = 0  # the RST was damaged, because its sender continues to send
                connection.reset_by = None
        elif half.next != UNKNOWN and half.at(sequence) > half.position and half.acknowledged(half.at(sequence)):
            half.mark = max(half.mark, half.at(sequence))
        if segment.flags & network.FIN:
            half.fin = (sequence + size) & MASK
            connection.close(half, segment.time)
            half.fin_tag = Tag(segment.time, segment.packet, segment.acknowledgment)
            if half.next == UNKNOWN and half.anchor == UNKNOWN:
                half.anchor = half.fin

    # Starts and ends

    def _open(self, segment: Segment) -> Half:
        """Add a connection and return its half for this segment. If too many are open, end the least recently used
        tenth of them.
        """
        if self._table.open >= self.limits.connections:
            silent = sorted(self._table.open_ones(), key=lambda connection: connection.last)
            for connection in silent[: len(silent) // 10 + 1]:
                self._finish(connection, "evicted")
        half = self._table.add(segment)
        half.connection.began = segment.time
        half.connection.packet = segment.packet
        source, destination = endpoints(half.connection.ends)
        opened = bool(segment.flags & SYN)
        key = connection_key(segment)
        start = Start(half.connection.number, source, destination, opened, segment.time, segment.packet, key)
        if start.opened:
            self._delivery.events.append(start)
        else:
            # Its SYN may follow. The start is emitted before the first event of the connection.
            self._unannounced[start.connection] = start
        return half

    def _emit_start(self, opener: Half, segment: Segment) -> None:
        """Emit the start of a connection whose SYN was captured after another of its packets."""
        start = self._unannounced.pop(opener.connection.number)
        start = start._replace(opened=True, key=connection_key(segment))
        if opener.direction:
            self._table.turn(opener.connection)
            start = start._replace(source=start.destination, destination=start.source)
        self._delivery.events.append(start)

    def _taken(self) -> list[Event]:
        """Return the events so far, with starts inserted before the first events of new connections."""
        events = self._delivery.events
        self._delivery.events = []
        if not self._unannounced or not events:
            return events
        out: list[Event] = []
        for event in events:
            if start := self._unannounced.pop(event.connection, None):
                out.append(start)
            out.append(event)
        return out

    def _finish(self, connection: Connection, reason: EndReason) -> None:
        """Deliver the rest, end the connection, and keep only the state that identifies late packets."""
        self._delivery.deliver_all(connection)
        life = connection.life(self._delivery.time)
        self._delivery.events.append(End(connection.number, reason, self._delivery.time, self._delivery.packet, life))
        connection.closed = True
        connection.settle()
        self._waiting.pop(connection.number, None)
        self._table.close(connection)

    # Waiting bytes

    def _deliver(self, connection: Connection) -> None:
        """Deliver as much as possible, and schedule the decision on the rest."""
        self._delivery.deliver(connection)
        for half in connection.halves:
            while half.held.cost > self.limits.direction:
                self._delivery.force(connection, half)
        while self._delivery.held > self.limits.total and self._waiting:
            first = next(iter(self._waiting.values()))
            for half in first.halves:
                self._delivery.force(first, half)
            self._arrange(first)
        self._arrange(connection)

    def _arrange(self, connection: Connection) -> None:
        if connection.closed:
            return
        if all(half.finished and not half.held for half in connection.halves):
            self._finish(connection, "fin")
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

    def _decide(self, number: int) -> None:
        """Decide the bytes that are due at packet `number`."""
        undecided: list[Connection] = []
        while self._due and self._due[0][0] <= number:
            _, _, connection = heappop(self._due)
            if connection.closed:
                continue
            connection.due = 0
            before = number - self.limits.grace
            if connection.reset and connection.reset <= before:
                self._finish(connection, "rst")
                continue
            ripe = [half for half in connection.halves if half.since and half.since <= before]
            for half in ripe:
                self._delivery.start(half)
            self._delivery.deliver(connection)
            for half in ripe:
                if half.since:
                    self._decide_half(connection, half)
            undecided.append(connection)
        self._next_due = self._due[0][0] if self._due else _NEVER
        for connection in undecided:
            self._arrange(connection)

    def _decide_half(self, connection: Connection, half: Half) -> None:
        if half.blocked() and half.peer.acknowledged(half.peer.hole()):
            half = half.peer
        if half.acknowledged(half.hole()):
            self._delivery.give_up(half)
        elif half.blocked():
            half.peer.give_up()
            self._delivery.deliver_one(half)
        self._delivery.deliver(connection)
