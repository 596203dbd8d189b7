"""Sketches of capture files: which bytes of which connections a file holds, in a few numbers for each connection.

Two files that overlap in time can be one capture if each holds what the other lacks: other connections, other directions,
other packets. They can't if both hold the same bytes of a connection, or connections between the same ends with other
sequence numbers at the same time: these are views of two points, or conversations of two networks.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.capture.files import packets
from kwire_cli.source.capture.half import FAR, MASK, UNKNOWN, signed
from kwire_cli.source.capture.model import NO_TIME
from kwire_cli.source.capture.segments import Segments
from kwire_cli.structs.network.transport import RST, SYN

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 1 << 16
"""Directions of connections in a sketch: a file with more is judged by the first ones."""
MOST_PIECES = 256
"""Pieces of a direction: beyond that, two are counted as one with a hole in it."""
SAME = 4
"""One byte in so many that both files hold is too many for retransmissions."""


@dataclass(slots=True)
class Stretch:
    """A direction of a connection: its bytes in pieces, by how far they are from the sequence number `start`.

    `since` and `until` are the times of its packets; `isn` is that of its SYN, or UNKNOWN. A piece is where it begins,
    where it ends, and how many bytes of it are there.
    """

    start: int
    since: int
    until: int
    isn: int = UNKNOWN
    pieces: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Its bytes, each counted once."""
        return sum(size for _, _, size in self.pieces)

    def place(self, sequence: int) -> int:
        """Return how far a sequence number is from the start, beyond 2^32 too: it is near the last piece."""
        end = self.pieces[-1][1] if self.pieces else 0
        return end + signed(sequence - self.start - end)

    def takes(self, sequence: int) -> bool:
        """Whether a segment is near enough to belong to this connection."""
        return not self.pieces or -FAR < self.place(sequence) - self.pieces[-1][1] < FAR

    def add(self, sequence: int, size: int, time: int) -> None:
        """Take a segment in."""
        self.until = max(self.until, time)
        low = self.place(sequence)
        high, pieces = low + size, self.pieces
        at = len(pieces)
        while at and pieces[at - 1][1] >= low:
            at -= 1
        stop = at
        while stop < len(pieces) and pieces[stop][0] <= high:
            stop += 1
        if at < stop:
            size = sum(each for _, _, each in pieces[at:stop]) + _new(low, high, pieces[at:stop])
            low, high = min(low, pieces[at][0]), max(high, pieces[stop - 1][1])
        pieces[at:stop] = [(low, high, size)]
        if len(pieces) > MOST_PIECES:
            self.pieces = [(one[0], two[1], one[2] + two[2]) for one, two in zip(pieces[::2], pieces[1::2], strict=False)]


def _new(low: int, high: int, pieces: list[tuple[int, int, int]]) -> int:
    """Return how many bytes from `low` to `high` are in none of these pieces."""
    return high - low - sum(max(min(high, end) - max(low, begin), 0) for begin, end, _ in pieces)


Sketch = dict[bytes, list[Stretch]]
"""By ends as their sender has them, the connections one after the other."""


def sketch(path: str) -> Sketch:
    """Return the sketch of a file; that of what can be read of it."""
    found: Sketch = {}
    segments, now = Segments(), NO_TIME
    with contextlib.suppress(InputError):  # reading it says why
        for batch in packets(path).batches():
            for _, time, ends, sequence, _, flags, payload, missing in segments(batch):
                now = max(now, NO_TIME if time is None else time)
                size = len(payload) + missing
                if (size < 2 and not flags & SYN) or flags & RST:
                    continue
                stretches = found.get(ends)
                if stretches is None:
                    if len(found) >= MOST:
                        continue
                    stretches = found[ends] = []
                begins = bool(flags & SYN) and not (stretches and stretches[-1].isn == sequence)
                start = sequence + 1 & MASK if flags & SYN else sequence
                if not stretches or not stretches[-1].takes(start) or (begins and stretches[-1].isn != UNKNOWN):
                    stretches.append(Stretch(start, now, now))
                last = stretches[-1]
                if flags & SYN:
                    last.isn = sequence
                last.add(start, size, now)
    return found


def contradict(sketched: Iterable[tuple[int, int, Sketch]]) -> bool:
    """Whether any two sketches of files with different numbers can't be of one capture.

    Each comes with the number and the first time of its file, in the order of these times, until that is known.
    """
    known: dict[bytes, list[tuple[int, Stretch]]] = defaultdict(list)
    shared: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for number, first, found in sketched:
        for ends, stretches in found.items():
            if ends in known:
                known[ends] = [each for each in known[ends] if each[1].until >= first]
            for other, theirs in known.get(ends, ()):
                for own in stretches:
                    if other == number or own.since > theirs.until or own.until < theirs.since:
                        continue
                    if _other_numbers(own, theirs):
                        return True
                    counts = shared[number, other]
                    counts[0] += _twice(own, theirs)
                    counts[1] += own.size
                    counts[2] += theirs.size
        if any(twice and twice * SAME >= min(own, theirs) for (one, _), (twice, own, theirs) in shared.items() if one == number):
            return True
        for ends, stretches in found.items():
            known[ends] += [(number, each) for each in stretches]
    return False


def _other_numbers(one: Stretch, other: Stretch) -> bool:
    """Whether two connections between the same ends at the same time have sequence numbers of their own."""
    if UNKNOWN not in {one.isn, other.isn}:
        return one.isn != other.isn
    if not one.pieces or not other.pieces:
        return False
    ahead = _ahead(one, other)
    return ahead + other.pieces[0][0] - one.pieces[-1][1] > FAR or one.pieces[0][0] - ahead - other.pieces[-1][1] > FAR


def _ahead(one: Stretch, other: Stretch) -> int:
    """Return how far the start of `other` is from that of `one`: as numbers come round, where both are nearest."""
    middle, theirs = ((each.pieces[0][0] + each.pieces[-1][1]) // 2 for each in (one, other))
    return signed(other.start + theirs - one.start - middle) + middle - theirs


def _twice(one: Stretch, other: Stretch) -> int:
    """Return how many bytes are in both, about: of pieces with holes as many as would not fit into them."""
    if not one.pieces or not other.pieces:
        return 0
    ahead, count, at = _ahead(one, other), 0, 0
    for low, high, size in other.pieces:
        low, high = low + ahead, high + ahead  # noqa: PLW2901 - as `one` counts
        while at < len(one.pieces) and one.pieces[at][1] <= low:
            at += 1
        for begin, end, there in one.pieces[at:]:
            if begin >= high:
                break
            common = min(high, end) - max(low, begin)
            count += max(int(common * (size / (high - low) + there / (end - begin) - 1)), 0)
    return count
