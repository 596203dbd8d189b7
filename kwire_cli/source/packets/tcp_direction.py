"""One direction of a TCP connection: bytes that were delivered, and chunks that wait for missing bytes.

`Half` is the state of a direction, `Connection` has two of them, and `Delivery` moves bytes from chunks to events.
`tcp` decides when. Positions count the bytes of a direction from an arbitrary origin, so only differences between them
have a meaning. Sequence numbers are the numbers on the wire, modulo 2^32.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.packets.model import MASK, Chunks, Counts, Data, Event, Gap, Life
from kwire_cli.structs.network import ACK, ZERO_WINDOW

if TYPE_CHECKING:
    from kwire_cli.source.packets.model import Segment


HALF_RANGE = 1 << 31
UNKNOWN = -1

_ORIGIN = 1 << 40
"""Positions start here, so that positions before the first captured byte are positive and never equal UNKNOWN."""
YOUNG = 1 << 20
"""Maximum distance of a late SYN from the data that followed it, in bytes."""
KEEP_ALIVE = 1
"""Size of the payload of a keep-alive probe. Larger repeated payloads are retransmissions."""
FAR = 1 << 28
"""Sequence numbers at least this far apart belong to different connections, or one of them is damaged. Actual receive
windows are far smaller."""
MOST_AHEAD = 1 << 24
"""Receive windows that systems choose are smaller. Bytes farther ahead of the last acknowledgment were not
sent: a damaged sequence number puts them there."""


def signed(difference: int) -> int:
    """Return the difference of two sequence numbers, from -2^31 to 2^31 - 1."""
    return ((difference + HALF_RANGE) & MASK) - HALF_RANGE


NOTHING = Chunks()
"""The chunks of a direction without waiting bytes. All such directions share it, so it must stay empty."""


class Tag(NamedTuple):
    """The packet of a chunk, and its acknowledgment number. Data before that number must be delivered first."""

    time: int | None
    packet: int
    acknowledgment: int


NO_COUNTS = Counts()


@dataclass(slots=True, eq=False, repr=False)
class Half:
    """One direction of a connection.

    Attributes:
        next: The sequence number of the next byte to deliver; UNKNOWN before the start of the stream is known.
        position: The position of `next`, or of `anchor` while `next` is UNKNOWN.
        anchor: The sequence number at `position` while `next` is UNKNOWN, but data or a FIN was seen.
        calm: Whether nothing waits in either direction of the connection, and neither has ended.
        isn: The initial sequence number, from a SYN.
        hint: The start of the stream according to a SYN-ACK of the other side, if the SYN was not seen.
        least: The lowest acknowledgment of the other side while `next` is UNKNOWN. The stream starts there or before.
        unseen: Whether the capture seems to lack this direction.
        acked: The last acknowledgment of this side.
        held: The chunks that wait.
        mark: The highest position that the other side acknowledged, according to segments without data.
        fin: The sequence number of a FIN.
        since: The packet since which the waiting bytes could be delivered; 0 if they cannot, or if nothing waits.

    """

    connection: Connection
    direction: int
    peer: Half = field(init=False)
    calm: bool = False
    next: int = UNKNOWN
    anchor: int = UNKNOWN
    position: int = _ORIGIN
    isn: int = UNKNOWN
    hint: int = UNKNOWN
    least: int = UNKNOWN
    unseen: bool = False
    acked: int = UNKNOWN
    held: Chunks = NOTHING
    mark: int = UNKNOWN
    fin: int = UNKNOWN
    fin_tag: Tag = field(init=False)
    finished: bool = False
    counts: Counts = NO_COUNTS
    since: int = 0

    def at(self, sequence: int) -> int:
        """Return the position of a sequence number."""
        return self.position + signed(sequence - (self.next if self.next != UNKNOWN else self.anchor))

    def advance(self, size: int) -> None:
        """Advance by `size` bytes that were delivered or given up."""
        self.next = (self.next + size) & MASK
        self.position += size
        self.since = 0

    def begin(self, sequence: int) -> None:
        """Set the sequence number at which the stream starts."""
        if self.anchor != UNKNOWN:
            self.position = self.at(sequence)
        self.next = sequence
        self.anchor = UNKNOWN
        self.since = 0

    def begin_at_hint(self, sequence: int) -> None:
        """Start the stream at `hint`, if `sequence` follows it closely and no earlier byte was seen."""
        soon = self.next == UNKNOWN != self.hint and 0 <= signed(sequence - self.hint) < YOUNG
        if soon and (not self.held or self.at(self.hint) <= self.held.starts[0]):
            self.begin(self.hint)

    def receives(self, acknowledgment: int) -> None:
        """Record an acknowledgment of the other side while the start of the stream is unknown."""
        if (
            self.next == UNKNOWN
            and not self.unseen
            and (self.least == UNKNOWN or signed(acknowledgment - self.least) < 0)
        ):
            self.least = acknowledgment

    def behind(self, acknowledgment: int) -> bool:
        """Return whether an acknowledgment covers bytes of this side that are not delivered yet."""
        if self.next != UNKNOWN:
            return self.finished < signed(acknowledgment - self.next) < FAR
        if self.held and 0 < self.at(acknowledgment) - self.held.starts[0] < FAR:
            return True
        # If the SYN of the peer was seen, the capture has the start of this direction too, at `hint` or `least` at the
        # latest.
        starts = (self.hint, self.least if self.peer.isn != UNKNOWN else UNKNOWN)
        return any(start != UNKNOWN and 0 < signed(acknowledgment - start) < FAR for start in starts)

    def give_up(self) -> None:
        """Stop waiting for bytes of this side, which the capture seems to lack."""
        self.unseen = True
        self.hint = UNKNOWN
        self.least = UNKNOWN

    def blocked(self) -> bool:
        """Return whether the first chunk is next, but acknowledges bytes of the other side that are not delivered."""
        return self.ready() and self.peer.behind(self.held.chunks[0].tag.acknowledgment)

    def ready(self) -> bool:
        """Return whether the first chunk is next."""
        return self.next != UNKNOWN and bool(self.held) and self.held.starts[0] <= self.position

    def hole(self) -> int:
        """Return the end of the hole that blocks delivery, or UNKNOWN if there is no hole."""
        if self.next == UNKNOWN or self.ready():
            return UNKNOWN
        ends = [self.held.starts[0]] if self.held else []
        # A FIN takes one sequence number, so later acknowledgments of its sender are after it.
        last = self.at(self.fin) if self.fin != UNKNOWN else None
        if self.position < self.mark and (last is None or self.mark <= last):
            ends.append(self.mark)
        if last is not None and last > self.position:
            ends.append(last)
        return min(ends, default=UNKNOWN)

    def acknowledged(self, position: int) -> bool:
        """Return whether the other side has acknowledged all bytes before this position."""
        return position != UNKNOWN != self.peer.acked and position <= self.at(self.peer.acked) < self.position + FAR

    def is_unsent(self, position: int) -> bool:
        """Return whether a position is farther beyond the last acknowledgment of the other side than a window."""
        acked = self.peer.acked
        return acked != UNKNOWN and position - max(self.at(acked), self.position) > MOST_AHEAD

    def history(self, time: int | None) -> Counts:
        """Return the history of the direction up to a time."""
        heard = self.isn != UNKNOWN or self.next != UNKNOWN or self.anchor != UNKNOWN
        size = None if UNKNOWN in {self.isn, self.next} else (self.next - self.isn - 1) & MASK
        counts = self.counts.opens(time)
        return Counts(counts.repeated, counts.again, counts.lost, counts.cut, counts.shut, heard=heard, size=size)

    def repeats(self, again: int, size: int) -> None:
        """Count a segment of `size` payload bytes. `again` bytes are repeated. Truncated bytes are included."""
        if size > KEEP_ALIVE:
            counts = self.counts
            self.counts = counts._replace(repeated=counts.repeated + 1, again=counts.again + again)

    def opens_or_shuts(self, segment: Segment) -> None:
        """Update the time for which the receive window is zero, from a segment of this side."""
        counts = self.counts
        if segment.flags & ZERO_WINDOW:
            if counts.shut_since is None:
                self.counts = counts._replace(shut_since=segment.time)
        else:
            self.counts = counts.opens(segment.time)

    def busy(self) -> bool:
        """Return whether this side has waiting or expected bytes, a FIN, or a zero window."""
        if self.held or self.fin != UNKNOWN or self.counts.shut_since is not None or self.hole() != UNKNOWN:
            return True
        return self.next == UNKNOWN and not self.unseen and (self.hint != UNKNOWN or self.peer.isn != UNKNOWN)

    def can_go_on(self) -> bool:
        """Return whether the passing of packets decides when delivery continues.

        This is so if the start of the stream is unknown, if a chunk acknowledges missing bytes, and at a hole whose
        bytes the other side has acknowledged.
        """
        if self.next == UNKNOWN:
            return self.anchor != UNKNOWN
        hole = self.hole()
        return self.acknowledged(hole) if hole != UNKNOWN else self.blocked()


@dataclass(slots=True, eq=False, repr=False)
class Connection:
    """A connection with its two directions.

    Attributes:
        ends: The addresses and ports in segments of the first half.
        first: The half of direction 0.
        reset: The number of the packet with a RST; 0 without.
        reset_by: The half that sent the RST.
        due: The number of the packet at which the waiting bytes are decided; 0 if none wait.
        began: The time of the first packet.
        packet: The number of the first packet.
        last: The number of the last packet.
        syns: The number of SYNs.
        closed_by: The half that sent the first FIN or RST.
        ended: The time of that packet.

    """

    number: int
    ends: bytes
    first: Half = field(init=False)
    closed: bool = False
    reset: int = 0
    reset_by: Half | None = None
    due: int = 0
    began: int | None = None
    packet: int = 0
    last: int = 0
    syns: int = 0
    closed_by: Half | None = None
    ended: int | None = None

    def __post_init__(self) -> None:
        self.first = Half(self, 0)
        other = Half(self, 1)
        self.first.peer = other
        other.peer = self.first

    @property
    def halves(self) -> tuple[Half, Half]:
        """Both directions."""
        return self.first, self.first.peer

    def unlink(self) -> None:
        """Break the reference cycles between the halves and the connection, so that their memory is freed at once."""
        for half in self.halves:
            del half.peer, half.connection
        self.reset_by = None
        self.closed_by = None

    def close(self, half: Half, time: int | None) -> None:
        """Record which half closes the connection first, and when."""
        if self.closed_by is None:
            self.closed_by = half
            self.ended = time

    def life(self, time: int | None) -> Life:
        """Return the history of the connection up to a time."""
        one, other = self.halves
        until = self.ended if self.ended is not None else time
        return Life(
            self.syns,
            self.began,
            self.packet,
            None if self.closed_by is None else self.closed_by.direction,
            self.ended,
            self.closed_by is not None and self.closed_by is self.reset_by,
            (one.history(until), other.history(until)),
        )

    def settle(self) -> bool:
        """Update and return `calm`: whether nothing waits and nothing has ended."""
        calm = not self.closed and not self.reset and not any(half.busy() for half in self.halves)
        for half in self.halves:
            half.calm = calm
        return calm


class Delivery:
    """Delivers chunks as events.

    Attributes:
        events: The events that were not taken yet.
        held: The approximate memory of all waiting chunks.
        time: The time of the packet that is being processed.
        packet: The number of that packet.

    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()
        self.held = 0
        self.time: int | None = None
        self.packet = 0

    def count(self, kind: str, size: int) -> None:
        """Count payload bytes that will be in no event."""
        if size:
            self.counts[kind] += size

    def hold(self, half: Half, segment: Segment, sequence: int) -> bool:
        """Store the new part of a segment's payload, which starts at `sequence`. Return whether any part is new."""
        payload = segment.payload
        missing = segment.missing
        start = half.at(sequence)
        need = segment.acknowledgment if segment.flags & ACK else half.peer.next
        tag = Tag(segment.time, segment.packet, need)
        if not half.held:
            half.held = Chunks()
        before = half.held.cost
        size = len(payload)
        if half.next != UNKNOWN and start < half.position:
            behind = half.position - start
            old = min(behind, size)
            self.count("duplicate", old)
            half.repeats(min(behind, size + missing), size + missing)
            payload = payload[old:]
            missing -= max(behind - size, 0)
            start = max(start + old, half.position)
            size -= old
        duplicate = 0
        if size:
            duplicate = half.held.insert(start, size, payload, tag)
            self.count("duplicate", duplicate)
        if missing > 0:
            duplicate += half.held.insert(start + size, missing, None, tag)
        half.repeats(duplicate, duplicate)
        self.held += half.held.cost - before
        if not half.held:
            half.held = NOTHING
        return half.held.cost != before

    def start(self, half: Half) -> None:
        """Start a stream whose start was not captured: its lowest byte so far is the first. If only a FIN was seen, the
        stream is empty.
        """
        if half.next == UNKNOWN and half.anchor != UNKNOWN:
            first = half.held.starts[0] if half.held else half.at(half.fin)
            half.begin((half.anchor + first - half.position) & MASK)

    def force(self, connection: Connection, half: Half) -> None:
        """Deliver the first chunk although bytes before it are missing."""
        self.start(half)
        self.give_up(half)
        if half.ready():
            self.deliver_one(half)
        self.deliver(connection)

    def give_up(self, half: Half, *, were_sent: bool = True) -> None:
        """Turn the hole that blocks delivery, if any, into a gap.

        Its bytes count as lost if they `were_sent`: the other peer acknowledged them.
        """
        end = half.hole()
        if end == UNKNOWN:
            return
        if half.held and half.held.starts[0] == end:
            tag = half.held.chunks[0].tag
        else:
            tag = half.fin_tag if half.fin != UNKNOWN else Tag(self.time, self.packet, 0)
        size = end - half.position
        self.events.append(Gap(half.connection.number, half.direction, size, tag.time, tag.packet))
        if were_sent:
            half.counts = half.counts._replace(lost=half.counts.lost + size)
        half.advance(size)

    def drop(self, half: Half) -> None:
        """Forget what waits beyond a hole: its sequence numbers are damaged."""
        self.count("out of place", sum(chunk.size for chunk in half.held.chunks))
        self.held -= half.held.cost
        half.held = NOTHING
        half.fin = UNKNOWN
        half.mark = UNKNOWN

    def deliver(self, connection: Connection) -> None:
        """Deliver the next bytes of both directions. Each waits for bytes of the other that it acknowledges."""
        moved = True
        while moved:
            moved = False
            for half in connection.halves:
                while half.ready() and not half.blocked():
                    self.deliver_one(half)
                    moved = True
                if half.fin == half.next != UNKNOWN and not half.finished:
                    half.finished = True
                    moved = True

    def deliver_one(self, half: Half) -> None:
        """Deliver the first chunk. It must be next."""
        before = half.held.cost
        _, size, data, tag = half.held.pop()
        self.held += half.held.cost - before
        if not half.held:
            half.held = NOTHING
        if data is None:
            self.events.append(Gap(half.connection.number, half.direction, size, tag.time, tag.packet))
            half.counts = half.counts._replace(cut=half.counts.cut + size)
        else:
            self.events.append(Data(half.connection.number, half.direction, data, tag.time, tag.packet))
        half.advance(size)

    def deliver_all(self, connection: Connection) -> None:
        """Deliver everything that waits, with gaps for missing bytes."""
        for half in connection.halves:
            self.start(half)
        while True:
            self.deliver(connection)
            holes = [half for half in connection.halves if half.hole() != UNKNOWN]
            if acked := [half for half in holes if half.acknowledged(half.hole())]:
                self.give_up(acked[0])
            elif holes and holes[0].is_unsent(holes[0].hole()):
                self.drop(holes[0])
            elif holes:
                self.give_up(holes[0], were_sent=False)
            elif blocked := [half for half in connection.halves if half.ready()]:
                self.deliver_one(blocked[0])
            else:
                return
