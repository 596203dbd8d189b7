"""What waits in the two directions of a connection, and how it is delivered. `tcp` decides when."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.source.capture.events import Conflict, Data, Event, Fin, Gap, GapKind
from kwire_cli.source.capture.half import MASK, UNKNOWN, Connection, Half, Tag
from kwire_cli.structs.network.transport import ACK

if TYPE_CHECKING:
    from kwire_cli.source.capture.model import Segment


class Delivery:
    """Methods append to `events`. `held` is about what all that waits takes of memory; `time` and `packet` are those of the packet at work."""

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
        before = half.held.cost
        size = len(payload)
        if half.next != UNKNOWN and start < half.position:
            old = min(half.position - start, size)
            self.count("duplicate", old)
            payload, missing, start, size = payload[old:], missing - max(half.position - start - size, 0), max(start + old, half.position), size - old
        if size:
            found = half.held.insert(start, size, payload, tag)
            self.count("duplicate", found.duplicate)
            if found.differs:
                events.append(Conflict(half.connection.number, half.direction, segment.time, segment.packet))
        if missing > 0:
            half.held.insert(start + size, missing, None, tag)
        self.held += half.held.cost - before
        return half.held.cost != before

    def start(self, half: Half) -> None:
        """In mid-stream: the lowest byte seen so far is the first. Of a stream of which only the FIN was seen that is all."""
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
        events.append(Gap(half.connection.number, half.direction, end - half.position, kind, 0, tag.time, tag.packet))
        half.advance(end - half.position)

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
        if data is None:
            events.append(Gap(half.connection.number, half.direction, size, "cut", tag.have, tag.time, tag.packet))
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
            if known := [half for half in holes if half.acknowledged(half.hole())]:
                self.give_up(known[0], "lost", events)
            elif holes:
                self.give_up(holes[0], "end", events)
            elif blocked := [half for half in connection.halves if half.ready()]:
                self.deliver_one(blocked[0], events)
            else:
                return
