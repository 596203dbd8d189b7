"""Capture points, and sketches that show whether files belong to one capture.

By default the files of a folder form one capture point: rotated files follow each other in time, and files that overlap
in time are merged. This is wrong if files contain the same connections, for example captures of one network at two
places. So files that overlap are compared by their sketches, which have a few numbers per connection.

Two files can belong to one capture if each contains data that the other lacks: other connections, directions or
packets. They cannot if both contain the same bytes of a connection, or connections between the same endpoints with
different sequence numbers at the same time. Each chain of rotated files is then a separate capture point.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import chain as joined
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import MASK, NO_TIME
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp_direction import FAR, UNKNOWN, signed
from kwire_cli.stores.paths import in_parallel, location, path_of
from kwire_cli.structs.network import RST, SYN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.source.files import Naming


MAX_DIRECTIONS = 1 << 16
"""Maximum number of directions in a sketch. Further directions of a file are not compared."""


MAX_PIECES = 256
"""Maximum number of pieces of a direction. Bytes in further pieces are not compared."""
SAME = 4
"""One in SAME bytes is the proportion of common bytes from which they cannot be retransmissions."""


@dataclass(slots=True)
class Stretch:
    """One direction of a connection: its bytes as pieces, with distances from the sequence number `start`.

    Attributes:
        since: The time of its first packet.
        until: The time of its last packet.
        isn: The sequence number of its SYN, or UNKNOWN.
        end: The end of its last byte. It can exceed 2^32.
        pieces: Start and end of each piece, in order.

    """

    start: int
    since: int
    until: int
    isn: int = UNKNOWN
    end: int = 0
    pieces: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of distinct bytes in the pieces."""
        return sum(high - low for low, high in self.pieces)

    def ahead(self, sequence: int) -> int:
        """Return the distance of a sequence number from the end."""
        return signed(sequence - self.start - self.end)

    def takes(self, sequence: int) -> bool:
        """Return whether a segment is close enough to belong to this connection."""
        return not self.pieces or abs(self.ahead(sequence)) < FAR

    def add(self, sequence: int, size: int, time: int) -> None:
        """Add a segment."""
        self.until = max(self.until, time)
        low = self.end + self.ahead(sequence)
        high = low + size
        self.end = max(self.end, high)
        pieces = self.pieces
        at = len(pieces)
        while at and pieces[at - 1][1] >= low:
            at -= 1
        stop = at
        while stop < len(pieces) and pieces[stop][0] <= high:
            stop += 1
        if at < stop:
            low = min(low, pieces[at][0])
            high = max(high, pieces[stop - 1][1])
        if at < stop or len(pieces) < MAX_PIECES:
            pieces[at:stop] = [(low, high)]


Sketch = dict[bytes, list[Stretch]]
"""The connections between two endpoints in order, by the `ends` of their sender."""


def sketch(path: str) -> Sketch:
    """Return the sketch of the readable part of a file."""
    by_ends: Sketch = {}
    segments = Segments()
    now = NO_TIME
    with contextlib.suppress(InputError):  # the reader of the file reports the error
        for batch in packets(path).batches():
            for _, time, ends, sequence, _, flags, payload, missing in segments(batch):
                now = max(now, NO_TIME if time is None else time)
                size = len(payload) + missing
                if (size < 2 and not flags & SYN) or flags & RST:
                    continue
                stretches = by_ends.get(ends)
                if stretches is None:
                    if len(by_ends) >= MAX_DIRECTIONS:
                        continue
                    stretches = []
                    by_ends[ends] = stretches
                begins = bool(flags & SYN) and not (stretches and stretches[-1].isn == sequence)
                start = sequence + 1 & MASK if flags & SYN else sequence
                if not stretches or not stretches[-1].takes(start) or (begins and stretches[-1].isn != UNKNOWN):
                    stretches.append(Stretch(start, now, now))
                last = stretches[-1]
                if flags & SYN:
                    last.isn = sequence
                last.add(start, size, now)
    return by_ends


def contradict(sketched: Iterable[tuple[int, int, Sketch]]) -> bool:
    """Return whether any two sketches with different numbers cannot belong to one capture.

    Each sketch comes with the number of its chain and the first time of its file, in the order of these times. The
    iteration stops as soon as the answer is known.
    """
    earlier: dict[bytes, list[tuple[int, Stretch]]] = defaultdict(list)
    shared: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for number, first, file_sketch in sketched:
        for ends, stretches in file_sketch.items():
            if ends in earlier:
                earlier[ends] = [item for item in earlier[ends] if item[1].until >= first]
            for other, theirs in earlier.get(ends, ()):
                for own in stretches:
                    if other == number or own.since > theirs.until or own.until < theirs.since:
                        continue
                    if _have_other_numbers(own, theirs):
                        return True
                    counts = shared[number, other]
                    counts[0] += _common_bytes(own, theirs)
                    counts[1] += own.size
                    counts[2] += theirs.size
        for (one, _), (common, own_size, their_size) in shared.items():
            if one == number and common and common * SAME >= min(own_size, their_size):
                return True
        for ends, stretches in file_sketch.items():
            earlier[ends] += [(number, item) for item in stretches]
    return False


def _have_other_numbers(one: Stretch, other: Stretch) -> bool:
    """Return whether two simultaneous connections between the same endpoints have different sequence numbers."""
    if UNKNOWN not in {one.isn, other.isn}:
        return one.isn != other.isn
    if not one.pieces or not other.pieces:
        return False
    ahead = _ahead(one, other)
    return ahead + other.pieces[0][0] - one.end > FAR or one.pieces[0][0] - ahead - other.end > FAR


def _ahead(one: Stretch, other: Stretch) -> int:
    """Return the distance of the start of `other` from the start of `one`, modulo 2^32 where their middles are
    nearest.
    """
    middle, theirs = ((stretch.pieces[0][0] + stretch.end) // 2 for stretch in (one, other))
    return signed(other.start + theirs - one.start - middle) + middle - theirs


def _common_bytes(one: Stretch, other: Stretch) -> int:
    """Return the number of bytes in the pieces of both."""
    if not one.pieces or not other.pieces:
        return 0
    ahead = _ahead(one, other)
    count = 0
    at = 0
    for low, high in other.pieces:
        while at < len(one.pieces) and one.pieces[at][1] <= low + ahead:
            at += 1
        for begin, end in one.pieces[at:]:
            if begin >= high + ahead:
                break
            count += min(high + ahead, end) - max(low + ahead, begin)
    return count


APART = "files that overlap in time hold the same connections, so each is a capture point of its own"
OVERLAP = 1_000_000_000
"""Nanoseconds by which a file may begin before the end of the previous file of its chain, at most a tenth of the
duration of that file: packets around a rotation can be out of order."""


class Timed(NamedTuple):
    """A capture file, the time of its first packet, and its latest time: nanoseconds since 1970 or NO_TIME."""

    path: str
    first: int
    latest: int


Chain = tuple[Timed, ...]
"""Files that follow each other in time."""


@dataclass(frozen=True, slots=True)
class Point:
    """A capture point and its files. `apart` is true if other files of its folder contain the same connections."""

    name: str
    chains: tuple[Chain, ...]
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, chain by chain."""
        return tuple(file.path for file in joined.from_iterable(self.chains))


def points_of_group(
    group: Sequence[Timed], naming: Naming, sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None
) -> list[Point]:
    """Return the capture points of files with the same key: one, or one per chain if the chains contradict.

    `sketched` returns the sketches of files that overlap in time. By default they are made in order.
    """
    name = naming.name(group[0].path)
    together = _chains(group)
    strict = [] if naming.merged else _chains(group, strict=True)
    if len(strict) > 1 and _hold_the_same(strict, sketched or partial(map, sketch)):
        return [Point(location(chain[0].path), (chain,), apart=True) for chain in strict]
    return [Point(name, tuple(together))]


def apart_notes(names: Iterable[str]) -> Iterator[str]:
    """Yield a note for each folder whose files became separate capture points."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(str(path_of(name).parent), []).append(path_of(name).name)
    for folder, files in folders.items():
        first = ", ".join(files[:2]) + (", …" if len(files) > 2 else "")
        yield f"{folder}: {APART} ({first}); --capture-point '*' puts them together"


def points_of(paths: Sequence[str], naming: Naming) -> list[Point]:
    """Return the capture points of local files or files of a store.

    Times are read only for points with several files. A file that cannot be read has no times.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        groups[naming.key(path)].append(path)
    several: list[str] = []
    for group in groups.values():
        several += group if len(group) > 1 else []
    times = dict(zip(several, in_parallel(timed, several), strict=True))
    points: list[Point] = []
    for group in groups.values():
        points += points_of_group([times.get(path) or Timed(path, NO_TIME, NO_TIME) for path in group], naming)
    return points


def timed(path: str) -> Timed:
    """Return a file with its times; NO_TIME for both if it cannot be read."""
    first: int | None = None
    latest = NO_TIME
    with contextlib.suppress(InputError):  # the reader of the file reports the error
        for batch in packets(path).batches():
            times = [NO_TIME if packet.time is None else packet.time for packet in batch]
            first = times[0] if first is None else first
            latest = max(latest, *times)
    return Timed(path, NO_TIME if first is None else first, latest)


def _chains(files: Iterable[Timed], *, strict: bool = False) -> list[Chain]:
    """Return the files in chains, in the order of their first packets, and by name if these times are equal or missing.

    A file continues a chain that ends before it. If there are several, it continues the one whose last file has the
    most similar name. In `strict` chains no file begins at the time of the previous file, because it may be a copy.
    """
    chains: list[list[Timed]] = []
    latest: list[int] = []
    free: list[int] = []
    for file in sorted(files, key=lambda each: (each.first, each.path)):
        ahead = [number for number, since in enumerate(free) if file.first >= since]
        if strict:
            ahead = [number for number in ahead if file.first != chains[number][-1].first]
        if ahead:
            at = ahead[0]
            if len(ahead) > 1:
                at = max(ahead, key=lambda number: _likeness(chains[number][-1].path, file.path))
            chains[at].append(file)
        else:
            at = len(chains)
            chains.append([file])
            latest.append(file.latest)
            free.append(file.latest)
        latest[at] = max(latest[at], file.latest)
        free[at] = latest[at] - min(OVERLAP, (latest[at] - file.first) // 10)
    return [tuple(chain) for chain in chains]


def _likeness(one: str, other: str) -> int:
    """Return the number of equal characters at the start and the end of two paths."""
    front = _common(one, other)
    return front + _common(one[front:][::-1], other[front:][::-1])


def _common(one: str, other: str) -> int:
    for at, (own, theirs) in enumerate(zip(one, other, strict=False)):
        if own != theirs:
            return at
    return min(len(one), len(other))


def _hold_the_same(chains: list[Chain], sketched: Callable[[Sequence[str]], Iterable[Sketch]]) -> bool:
    """Return whether any two chains contain the same connections."""
    files: list[tuple[int, int, str]] = []
    for number, chain in enumerate(chains):
        files += [(file.first, number, file.path) for file in chain]
    files.sort()
    sketches = sketched([path for _, _, path in files])
    return contradict(
        (number, first, file_sketch) for (first, number, _), file_sketch in zip(files, sketches, strict=True)
    )
