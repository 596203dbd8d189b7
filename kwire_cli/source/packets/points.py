"""Capture points, and sketches of files that tell them apart."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain as joined
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp_direction import FAR, MASK, UNKNOWN, signed
from kwire_cli.stores import in_parallel, location, path_of
from kwire_cli.structs.network import RST, SYN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.source.files import Naming


# Sketches of capture files: which bytes of which connections a file holds, in a few numbers for each
# connection.
#
# Two files that overlap in time can be one capture if each holds what the other lacks: other connections,
# other directions, other packets. They can't if both hold the same bytes of a connection, or connections
# between the same ends with other sequence numbers at the same time: these are views of two points, or
# conversations of two networks.

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
        """Return whether a segment is near enough to belong to this connection."""
        return not self.pieces or -FAR < self.place(sequence) - self.pieces[-1][1] < FAR

    def add(self, sequence: int, size: int, time: int) -> None:
        """Take a segment in."""
        self.until = max(self.until, time)
        low = self.place(sequence)
        high = low + size
        pieces = self.pieces
        at = len(pieces)
        while at and pieces[at - 1][1] >= low:
            at -= 1
        stop = at
        while stop < len(pieces) and pieces[stop][0] <= high:
            stop += 1
        if at < stop:
            size = sum(count for _, _, count in pieces[at:stop]) + _new(low, high, pieces[at:stop])
            low, high = min(low, pieces[at][0]), max(high, pieces[stop - 1][1])
        pieces[at:stop] = [(low, high, size)]
        if len(pieces) > MOST_PIECES:
            self.pieces = [
                (one[0], two[1], one[2] + two[2]) for one, two in zip(pieces[::2], pieces[1::2], strict=False)
            ]


def _new(low: int, high: int, pieces: list[tuple[int, int, int]]) -> int:
    """Return how many bytes from `low` to `high` are in none of these pieces."""
    return high - low - sum(max(min(high, end) - max(low, begin), 0) for begin, end, _ in pieces)


Sketch = dict[bytes, list[Stretch]]
"""By ends as their sender has them, the connections one after the other."""


def sketch(path: str) -> Sketch:
    """Return the sketch of a file; that of what can be read of it."""
    by_ends: Sketch = {}
    segments = Segments()
    now = NO_TIME
    with contextlib.suppress(InputError):  # reading it says why
        for batch in packets(path).batches():
            for _, time, ends, sequence, _, flags, payload, missing in segments(batch):
                now = max(now, NO_TIME if time is None else time)
                size = len(payload) + missing
                if (size < 2 and not flags & SYN) or flags & RST:
                    continue
                stretches = by_ends.get(ends)
                if stretches is None:
                    if len(by_ends) >= MOST:
                        continue
                    stretches = by_ends[ends] = []
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
    """Return whether any two sketches of files with different numbers can't be of one capture.

    Each sketch comes with the number and the first time of its file, in the order of these times. Sketches are taken
    only until the answer is known.
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
                    if _other_numbers(own, theirs):
                        return True
                    counts = shared[number, other]
                    counts[0] += _twice(own, theirs)
                    counts[1] += own.size
                    counts[2] += theirs.size
        if any(
            twice and twice * SAME >= min(own, theirs)
            for (one, _), (twice, own, theirs) in shared.items()
            if one == number
        ):
            return True
        for ends, stretches in file_sketch.items():
            earlier[ends] += [(number, item) for item in stretches]
    return False


def _other_numbers(one: Stretch, other: Stretch) -> bool:
    """Return whether two connections of the same ends and time have different sequence numbers."""
    if UNKNOWN not in {one.isn, other.isn}:
        return one.isn != other.isn
    if not one.pieces or not other.pieces:
        return False
    ahead = _ahead(one, other)
    return ahead + other.pieces[0][0] - one.pieces[-1][1] > FAR or one.pieces[0][0] - ahead - other.pieces[-1][1] > FAR


def _ahead(one: Stretch, other: Stretch) -> int:
    """Return how far the start of `other` is from that of `one`: as numbers come round, where both are nearest."""
    middle, theirs = ((stretch.pieces[0][0] + stretch.pieces[-1][1]) // 2 for stretch in (one, other))
    return signed(other.start + theirs - one.start - middle) + middle - theirs


def _twice(one: Stretch, other: Stretch) -> int:
    """Return how many bytes are in both, about: of pieces with holes as many as would not fit into them."""
    if not one.pieces or not other.pieces:
        return 0
    ahead = _ahead(one, other)
    count = 0
    at = 0
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


# Capture points: which files were captured at the same place, and so are one capture.
#
# By default the files of a folder are: rotated files follow each other in time, and files that overlap in
# time are merged. Files of a folder that overlap and hold the same connections twice can't be one capture
# (see `sketches`): each chain of rotated files is then a capture point of its own.

"""The name of the point that `--merge-points` puts all others together to."""


APART = "files that overlap in time hold the same connections, so each is a capture point of its own"
OVERLAP = 1_000_000_000
"""Nanoseconds by which a file may begin before the one ahead of it ends, or a tenth of what that lasts: rotations need
not keep the order."""


class Timed(NamedTuple):
    """A capture file, the time of its first packet, and its latest time: nanoseconds since 1970 or NO_TIME."""

    path: str
    first: int
    latest: int


Chain = tuple[Timed, ...]
"""Files that follow each other in time."""


@dataclass(frozen=True, slots=True)
class Point:
    """A capture point and its files. `apart` says that other files of its folder hold the same connections."""

    name: str
    chains: tuple[Chain, ...]
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, chain by chain."""
        return tuple(file.path for file in joined.from_iterable(self.chains))


def capture_points(
    files: Iterable[Timed], naming: Naming, sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None
) -> list[Point]:
    """Return the capture points of files, in the order in which their first files were given.

    `sketched` makes sketches of files that overlap in time; by default one after the other.
    """
    groups: dict[str, list[Timed]] = {}
    for file in files:
        groups.setdefault(naming.key(file.path), []).append(file)
    return [point for group in groups.values() for point in points_of_group(group, naming, sketched)]


def points_of_group(
    group: Sequence[Timed], naming: Naming, sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None
) -> list[Point]:
    """Return the capture points of files that have the same key: one, or one for each chain if these contradict."""
    name = naming.name(group[0].path)
    together = _chains(group)
    strict = [] if naming.merged else _chains(group, strict=True)
    if len(strict) > 1 and _hold_the_same(strict, sketched or _one_by_one):
        return [Point(location(chain[0].path), (chain,), apart=True) for chain in strict]
    return [Point(name, tuple(together))]


def apart_notes(names: Iterable[str]) -> Iterator[str]:
    """Return what to say of files that became capture points of their own, a text for each folder."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(str(path_of(name).parent), []).append(path_of(name).name)
    for folder, files in folders.items():
        first = ", ".join(files[:2]) + (", …" if len(files) > 2 else "")
        yield f"{folder}: {APART} ({first}); --merge-points puts them together"


def points_of(paths: Sequence[str], naming: Naming) -> list[Point]:
    """Return the capture points of files that lie on this machine or a store.

    Files are looked through only if several are of the same point. A file that cannot be read has no times.
    """
    keys = [naming.key(path) for path in paths]
    several = {key for key, count in Counter(keys).items() if count > 1}
    unknown = [path for path, key in zip(paths, keys, strict=True) if key in several]
    times = dict(zip(unknown, in_parallel(timed, unknown), strict=True))
    return capture_points((times.get(path) or Timed(path, NO_TIME, NO_TIME) for path in paths), naming)


def timed(path: str) -> Timed:
    """Return a file with its times; NO_TIME for both if it cannot be read."""
    first: int | None = None
    latest = NO_TIME
    with contextlib.suppress(InputError):  # reading it says why
        for batch in packets(path).batches():
            times = [NO_TIME if packet.time is None else packet.time for packet in batch]
            first = times[0] if first is None else first
            latest = max(latest, *times)
    return Timed(path, NO_TIME if first is None else first, latest)


def _chains(files: Iterable[Timed], *, strict: bool = False) -> list[Chain]:
    """Return the files in chains, by their first packets, and by name if these are at the same time or have none.

    A file goes on with the chain that it follows; of several with the one whose last file has the most similar name.
    In `strict` chains no file begins at the time of the file before it: these may be copies.
    """
    chains: list[list[Timed]] = []
    latest: list[int] = []
    free: list[int] = []
    for file in sorted(files, key=lambda each: (each.first, each.path)):
        ahead = [number for number, since in enumerate(free) if file.first >= since]
        if strict:
            ahead = [number for number in ahead if file.first != chains[number][-1].first]
        if ahead:
            at = (
                max(ahead, key=lambda number: _likeness(chains[number][-1].path, file.path))
                if len(ahead) > 1
                else ahead[0]
            )
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
    """Return how many characters at the beginning and the end of two paths are the same."""
    front = _common(one, other)
    return front + _common(one[front:][::-1], other[front:][::-1])


def _common(one: str, other: str) -> int:
    return next(
        (at for at, (own, theirs) in enumerate(zip(one, other, strict=False)) if own != theirs),
        min(len(one), len(other)),
    )


def _hold_the_same(chains: list[Chain], sketched: Callable[[Sequence[str]], Iterable[Sketch]]) -> bool:
    """Return whether any two chains hold the same connections."""
    files = sorted(((file.first, number, file.path) for number, chain in enumerate(chains) for file in chain))
    sketches = sketched([path for _, _, path in files])
    return contradict(
        (number, first, file_sketch) for (first, number, _), file_sketch in zip(files, sketches, strict=True)
    )


def _one_by_one(paths: Sequence[str]) -> Iterable[Sketch]:
    return map(sketch, paths)
