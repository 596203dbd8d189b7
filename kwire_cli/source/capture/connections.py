"""Which connection a segment belongs to: the same two ends meet more than once in a capture."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kwire_cli.source.capture.half import FAR, MASK, UNKNOWN, YOUNG, Connection, Half, signed
from kwire_cli.source.capture.model import turned
from kwire_cli.structs.network.transport import ACK, RST, SYN

if TYPE_CHECKING:
    from kwire_cli.source.capture.model import Segment


class Connections:
    """`halves` finds a segment's half by its ends. Of closed connections the last `keep` stay, to tell late packets from new connections.

    `count` is the number of the next connection.
    """

    def __init__(self, keep: int, first: int = 0) -> None:
        self.halves: dict[bytes, Half] = {}
        self.open, self.count = 0, first
        self._keep = keep
        self._closed: deque[Connection] = deque()
        self._ends: dict[int, tuple[bytes, bytes]] = {}

    def add(self, segment: Segment) -> tuple[Half, bytes]:
        """A new connection's half of this segment, and its ends as seen from its first half."""
        connection = Connection(self.count)
        self.count += 1
        self.open += 1
        answer = segment.flags & (SYN | ACK) == SYN | ACK
        ends = (turned(segment.ends), segment.ends) if answer else (segment.ends, turned(segment.ends))
        self._ends[connection.number] = ends
        self.halves[ends[1]], self.halves[ends[0]] = connection.halves[1], connection.halves[0]
        return connection.halves[answer], ends[0]

    def turn(self, connection: Connection) -> None:
        """Direction 1 was that of the side that opened it."""
        connection.halves = connection.halves[::-1]
        for direction, half in enumerate(connection.halves):
            half.direction = direction
        self._ends[connection.number] = self._ends[connection.number][::-1]

    def get(self, number: int) -> Connection | None:
        """The connection of this number, unless it is forgotten or another has taken its place."""
        half = self.halves.get(self._ends.get(number, (b"",))[0])
        return half.connection if half is not None and half.connection.number == number else None

    def open_ones(self) -> list[Connection]:
        """Those that are open, oldest first."""
        found = {half.connection.number: half.connection for half in self.halves.values() if not half.connection.closed}
        return [found[number] for number in sorted(found)]

    def close(self, connection: Connection) -> None:
        """It has ended."""
        self.open -= 1
        self._closed.append(connection)
        while len(self._closed) > self._keep:
            number = self._closed.popleft().number
            for ends in self._ends.pop(number):
                if self.halves[ends].connection.number == number:
                    del self.halves[ends]

    def clear(self) -> None:
        """Forget all."""
        self.halves.clear()
        self._ends.clear()
        self._closed.clear()


def begins_another(half: Half, segment: Segment) -> bool:
    """Whether a segment between the ends of a closed connection begins another one; else it is late."""
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
    """Whether a SYN is of another connection than the one that is open between its ends."""
    start = (segment.sequence + 1) & MASK
    if _late_syn(half, segment):
        return False
    if half.isn != UNKNOWN or half.next != UNKNOWN:
        damaged = bool(segment.flags & ACK and segment.payload)  # a data segment with a wrong bit: an answer to a SYN carries no data
        return segment.sequence != half.isn and not damaged
    return half.anchor != UNKNOWN and bool(half.held) and not 0 <= half.held.starts[0] - half.at(start) < YOUNG


def _late_syn(half: Half, segment: Segment) -> bool:
    """Whether a SYN opened what was seen before it. That of a new connection lies beyond the numbers of the one before."""
    start = (segment.sequence + 1) & MASK
    return half.isn == UNKNOWN and (half.hint == start or (half.next != UNKNOWN and 0 <= signed(half.next - start) < YOUNG))
