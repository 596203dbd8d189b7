"""One direction of a TCP connection: bytes in order, delivered or pending."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.packets.model import Chunks, Conflict, Data, Event, Fin, Gap, GapKind, Life
from kwire_cli.structs.network import ACK, ZERO_WINDOW

if TYPE_CHECKING:
    from kwire_cli.source.packets.model import Segment


# One direction of a TCP connection: what was delivered, what waits, what is known of the rest.
#
# Positions count the bytes of a direction; only differences between them mean anything. Sequence numbers are
# those of the wire, modulo 2^32.

MASK = 0xFFFFFFFF


HALF_RANGE = 1 << 31
UNKNOWN = -1

_ORIGIN = 1 << 40
"""Positions start here, so that those before the first one seen are no special numbers either."""
YOUNG = 1 << 20
"""Bytes by which a late SYN may follow the data that it opens."""
KEEP_ALIVE = 1
"""Bytes that a keep-alive probe repeats; more are sent again because they were not acknowledged."""
FAR = 1 << 28
"""Sequence numbers this far apart belong to different connections, or one of them is damaged. Windows in use are far
smaller."""


def signed(difference: int) -> int:
    """The difference of two sequence numbers, from -2^31 to 2^31 - 1."""
    return ((difference + HALF_RANGE) & MASK) - HALF_RANGE


NOTHING = Chunks()
"""What a direction holds in which nothing waits. Nothing is put into it."""


class Tag(NamedTuple):
    """The packet of a chunk, and what that packet acknowledged, which must be delivered first.

    `have` counts the bytes of payload that were captured.
    """

    time: int | None
    packet: int
    acknowledgment: int
    have: int


class Counts(NamedTuple):
    """What is counted of a direction for the `Life` of its connection. Most directions share NO_COUNTS.

    `repeated` segments had payload that was there before, `again` bytes of it. `lost` bytes are not in the capture, and
    `cut` bytes were cut off its packets. The side took no bytes for `shut` nanoseconds, and has taken none since
    `shut_since`.
    """

    repeated: int = 0
    again: int = 0
    lost: int = 0
    cut: int = 0
    shut: int = 0
    shut_since: int | None = None

    def shut_until(self, time: int | None) -> int:
        """Return for how many nanoseconds the side took no bytes, up to a time."""
        if self.shut_since is None or time is None:
            return self.shut
        return self.shut + max(time - self.shut_since, 0)


NO_COUNTS = Counts()


class Half:
    """See the module. `next` is the sequence number of the next byte to deliver, UNKNOWN before the start of the stream
    is known.
    """

    __slots__ = (
        "acked",
        "anchor",
        "calm",
        "connection",
        "counts",
        "direction",
        "fin",
        "fin_tag",
        "finished",
        "held",
        "hint",
        "isn",
        "least",
        "mark",
        "next",
        "peer",
        "position",
        "since",
        "stray",
        "unseen",
    )

    peer: Half
    fin_tag: Tag

    def __init__(self, connection: Connection, direction: int) -> None:
        self.connection, self.direction = connection, direction
        self.calm = False  # nothing waits in either direction, and none has ended
        self.next = UNKNOWN
        self.anchor = UNKNOWN  # the sequence number at `position`, while `next` is unknown but data or a FIN was seen
        self.position = _ORIGIN
        self.isn = UNKNOWN
        self.hint = UNKNOWN  # where the stream starts, by the other side's answer to a SYN that was not seen
        # the lowest number that the other side acknowledged while `next` is unknown: the stream starts there or before
        self.least = UNKNOWN
        self.unseen = False  # the capture does not seem to have this side
        self.acked = UNKNOWN  # what this side last acknowledged of the other's
        self.held = NOTHING
        self.mark = (
            UNKNOWN  # a position up to which this side sent, and the other received: by acknowledgments without data
        )
        self.fin = UNKNOWN  # the sequence number of a FIN
        self.finished = False
        self.counts = NO_COUNTS
        self.since = 0  # the packet since which what waits could go on; 0 while it can't, or nothing waits
        self.stray: Segment | None = None

    def at(self, sequence: int) -> int:
        """The position of a sequence number."""
        return self.position + signed(sequence - (self.next if self.next != UNKNOWN else self.anchor))

    def advance(self, size: int) -> None:
        """Move on by `size` bytes that were delivered or given up."""
        self.next = (self.next + size) & MASK
        self.position += size
        self.since = 0

    def passed(self, size: int, acknowledged: int, packet: int) -> None:
        """Move on by `size` bytes that came in order and were delivered by others.

        `packet` is the last packet of these bytes, and `acknowledged` is what that packet acknowledged.
        """
        self.next = (self.next + size) & MASK
        self.position += size
        self.acked = acknowledged
        self.connection.last = max(self.connection.last, packet)

    def begin(self, sequence: int) -> None:
        """The stream starts with this sequence number."""
        if self.anchor != UNKNOWN:
            self.position = self.at(sequence)
        self.next, self.anchor, self.since = sequence, UNKNOWN, 0

    def begin_at_hint(self, sequence: int) -> None:
        """Start the stream where the answer to its SYN says, if `sequence` is not long behind that, and no byte is
        there before.
        """
        soon = self.next == UNKNOWN != self.hint and 0 <= signed(sequence - self.hint) < YOUNG
        if soon and (not self.held or self.at(self.hint) <= self.held.starts[0]):
            self.begin(self.hint)

    def receives(self, acknowledgment: int) -> None:
        """Note what the other side acknowledged, while the start of the stream is not known."""
        if (
            self.next == UNKNOWN
            and not self.unseen
            and (self.least == UNKNOWN or signed(acknowledgment - self.least) < 0)
        ):
            self.least = acknowledgment

    def behind(self, acknowledgment: int) -> bool:
        """Return whether an acknowledgment is of bytes that this side sent but that are not delivered yet."""
        if self.next != UNKNOWN:
            return self.finished < signed(acknowledgment - self.next) < FAR
        if self.held and 0 < self.at(acknowledgment) - self.held.starts[0] < FAR:
            return True
        # Since a SYN was seen, the capture has the connection from its beginning: from `hint` or `least` on at the
        # latest.
        starts = (self.hint, self.least if self.peer.isn != UNKNOWN else UNKNOWN)
        return any(start != UNKNOWN and 0 < signed(acknowledgment - start) < FAR for start in starts)

    def give_up(self) -> None:
        """Wait no longer for this side, which the capture does not seem to have."""
        self.unseen, self.hint, self.least = True, UNKNOWN, UNKNOWN

    def blocked(self) -> bool:
        """Return whether the first chunk is next, but acknowledges what the other side has yet to deliver."""
        return self.ready() and self.peer.behind(self.held.chunks[0].tag.acknowledgment)

    def ready(self) -> bool:
        """Return whether the first chunk is next."""
        return self.next != UNKNOWN and bool(self.held) and self.held.starts[0] <= self.position

    def hole(self) -> int:
        """Return where the hole that blocks delivery ends, or UNKNOWN if there is no hole."""
        if self.next == UNKNOWN or self.ready():
            return UNKNOWN
        ends = [self.held.starts[0]] if self.held else []
        # A FIN counts as one byte, so that what its sender acknowledges later stands behind it.
        last = self.at(self.fin) if self.fin != UNKNOWN else None
        if self.position < self.mark and (last is None or self.mark <= last):
            ends.append(self.mark)
        if last is not None and last > self.position:
            ends.append(last)
        return min(ends, default=UNKNOWN)

    def acknowledged(self, position: int) -> bool:
        """Return whether the other side has everything before this position."""
        return position != UNKNOWN != self.peer.acked and position <= self.at(self.peer.acked) < self.position + FAR

    @property
    def heard(self) -> bool:
        """Return whether this side sent anything but a RST."""
        return self.isn != UNKNOWN or self.next != UNKNOWN or self.anchor != UNKNOWN

    @property
    def sent(self) -> int | None:
        """The bytes of payload from this side modulo 2^32; None if its beginning was not seen."""
        return None if UNKNOWN in {self.isn, self.next} else (self.next - self.isn - 1) & MASK

    def repeats(self, again: int, size: int) -> None:
        """Count a segment of `size` bytes of payload, `again` of which were there before, cut off bytes among them."""
        if size > KEEP_ALIVE:
            counts = self.counts
            self.counts = counts._replace(repeated=counts.repeated + 1, again=counts.again + again)

    def opens_or_shuts(self, segment: Segment) -> None:
        """Note whether a segment of this side says that it takes no more bytes, or takes some again."""
        counts = self.counts
        if segment.flags & ZERO_WINDOW:
            if counts.shut_since is None:
                self.counts = counts._replace(shut_since=segment.time)
        elif counts.shut_since is not None:
            self.counts = counts._replace(shut=counts.shut_until(segment.time), shut_since=None)

    def busy(self) -> bool:
        """Return whether anything waits here, has ended, is known to be on its way, or is not taken for now."""
        if self.held or self.fin != UNKNOWN or self.counts.shut_since is not None or self.hole() != UNKNOWN:
            return True
        return self.next == UNKNOWN and not self.unseen and (self.hint != UNKNOWN or self.peer.isn != UNKNOWN)

    def can_go_on(self) -> bool:
        """Return whether time alone decides when delivery goes on.

        This is so at the unknown start of a stream, at an answer before its question, and at a hole whose bytes the
        other side has acknowledged.
        """
        if self.next == UNKNOWN:
            return self.anchor != UNKNOWN
        hole = self.hole()
        return self.acknowledged(hole) if hole != UNKNOWN else self.blocked()


class Connection:
    """Two halves; `reset` is the packet with a RST, 0 without; `due` the packet at which what waits is decided, 0 for
    none.

    `first` is the first half, and `ends` are those of its segments. `began` is the time of the first packet, whose
    number is `packet`, and `last` is the number of the last one; `syns` counts SYNs. `closed_by` is the half that sent
    the first FIN or RST, at the time `ended`.
    """

    __slots__ = (
        "began",
        "closed",
        "closed_by",
        "due",
        "ended",
        "ends",
        "first",
        "last",
        "number",
        "packet",
        "reset",
        "reset_by",
        "syns",
    )

    def __init__(self, number: int, ends: bytes) -> None:
        self.number, self.ends = number, ends
        self.first, other = Half(self, 0), Half(self, 1)
        self.first.peer, other.peer = other, self.first
        self.closed = False
        self.reset = self.due = 0
        self.reset_by: Half | None = None
        self.began: int | None = None
        self.ended: int | None = None
        self.closed_by: Half | None = None
        self.packet = self.last = self.syns = 0

    @property
    def halves(self) -> tuple[Half, Half]:
        """Both directions."""
        return self.first, self.first.peer

    def unlink(self) -> None:
        """Break the circles between the halves and the connection, which then takes no memory any more."""
        for half in self.halves:
            del half.peer, half.connection
        self.reset_by = self.closed_by = None

    def close(self, half: Half, time: int | None) -> None:
        """Note who closes the connection first, and when."""
        if self.closed_by is None:
            self.closed_by, self.ended = half, time

    def life(self, time: int | None) -> Life:
        """The course of the connection up to a time."""
        one, other = self.halves
        mine, theirs = one.counts, other.counts
        until = self.ended if self.ended is not None else time
        return Life(
            self.syns,
            (one.heard, other.heard),
            (one.sent, other.sent),
            (mine.repeated, theirs.repeated),
            self.began,
            self.packet,
            None if self.closed_by is None else self.closed_by.direction,
            self.ended,
            self.closed_by is not None and self.closed_by is self.reset_by,
            (mine.again, theirs.again),
            (mine.shut_until(until), theirs.shut_until(until)),
            (mine.lost, theirs.lost),
            (mine.cut, theirs.cut),
        )

    def settle(self) -> bool:
        """Work out whether all is calm: nothing waits, nothing has ended."""
        calm = not self.closed and not self.reset and not any(half.busy() for half in self.halves)
        for half in self.halves:
            half.calm = calm
        return calm


# What waits in the two directions of a connection, and how it is delivered. `tcp` decides when.


class Delivery:
    """Methods append to `events`. `held` is about what all that waits takes of memory; `time` and `packet` are those of
    the packet at work.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.held = 0
        self.time: int | None = None
        self.packet = 0

    def count(self, kind: str, size: int) -> None:
        """So many bytes of payload will be in no event."""
        self.counts[kind] += size
        if not self.counts[kind]:
            del self.counts[kind]

    def hold(self, half: Half, segment: Segment, sequence: int, events: list[Event]) -> bool:
        """Keep what is new of a segment's payload, which starts at `sequence`; whether anything is."""
        payload, missing, start = segment.payload, segment.missing, half.at(sequence)
        need = segment.acknowledgment if segment.flags & ACK else half.peer.next
        tag = Tag(segment.time, segment.packet, need, len(payload))
        if not half.held:
            half.held = Chunks()
        before = half.held.cost
        size = len(payload)
        if half.next != UNKNOWN and start < half.position:
            behind = half.position - start
            old = min(behind, size)
            self.count("duplicate", old)
            half.repeats(min(behind, size + missing), size + missing)
            payload, missing, start, size = (
                payload[old:],
                missing - max(behind - size, 0),
                max(start + old, half.position),
                size - old,
            )
        duplicate = 0
        if size:
            insertion = half.held.insert(start, size, payload, tag)
            duplicate = insertion.duplicate
            self.count("duplicate", duplicate)
            if insertion.differs:
                events.append(Conflict(half.connection.number, half.direction, segment.time, segment.packet))
        if missing > 0:
            duplicate += half.held.insert(start + size, missing, None, tag).duplicate
        half.repeats(duplicate, duplicate)
        self.held += half.held.cost - before
        if not half.held:
            half.held = NOTHING
        return half.held.cost != before

    def start(self, half: Half) -> None:
        """In mid-stream: the lowest byte seen so far is the first. Of a stream of which only the FIN was seen that is
        all.
        """
        if half.next == UNKNOWN and half.anchor != UNKNOWN:
            first = half.held.starts[0] if half.held else half.at(half.fin)
            half.begin((half.anchor + first - half.position) & MASK)

    def force(self, connection: Connection, half: Half, events: list[Event]) -> None:
        """Deliver the first chunk, whatever is missing before it."""
        self.start(half)
        self.give_up(half, "limit", events)
        if half.ready():
            self.deliver_one(half, events)
        self.deliver(connection, events)

    def give_up(self, half: Half, kind: GapKind, events: list[Event]) -> None:
        """The hole that delivery waits at, if there is one, becomes a gap."""
        end = half.hole()
        if end == UNKNOWN:
            return
        if half.held and half.held.starts[0] == end:
            tag = half.held.chunks[0].tag
        else:
            tag = half.fin_tag if half.fin != UNKNOWN else Tag(self.time, self.packet, 0, 0)
        size = end - half.position
        events.append(Gap(half.connection.number, half.direction, size, kind, 0, tag.time, tag.packet))
        if kind != "end":  # nobody acknowledged what is missing at the end
            half.counts = half.counts._replace(lost=half.counts.lost + size)
        half.advance(size)

    def deliver(self, connection: Connection, events: list[Event]) -> None:
        """Deliver what is next in both directions, each no further than the other lets it."""
        moved = True
        while moved:
            moved = False
            for half in connection.halves:
                while half.ready() and not half.blocked():
                    self.deliver_one(half, events)
                    moved = True
                if half.fin == half.next != UNKNOWN and not half.finished:
                    half.finished = moved = True
                    events.append(Fin(connection.number, half.direction, half.fin_tag.time, half.fin_tag.packet))

    def deliver_one(self, half: Half, events: list[Event]) -> None:
        """Deliver the first chunk, which has to be next."""
        before = half.held.cost
        _, size, data, tag = half.held.pop()
        self.held += half.held.cost - before
        if not half.held:
            half.held = NOTHING
        if data is None:
            events.append(Gap(half.connection.number, half.direction, size, "cut", tag.have, tag.time, tag.packet))
            half.counts = half.counts._replace(cut=half.counts.cut + size)
        else:
            events.append(Data(half.connection.number, half.direction, data, tag.time, tag.packet))
        half.advance(size)

    def deliver_all(self, connection: Connection, events: list[Event]) -> None:
        """Deliver all that waits, with gaps where bytes are missing."""
        for half in connection.halves:
            self.start(half)
        while True:
            self.deliver(connection, events)
            holes = [half for half in connection.halves if half.hole() != UNKNOWN]
            if acked := [half for half in holes if half.acknowledged(half.hole())]:
                self.give_up(acked[0], "lost", events)
            elif holes:
                self.give_up(holes[0], "end", events)
            elif blocked := [half for half in connection.halves if half.ready()]:
                self.deliver_one(blocked[0], events)
            else:
                return
