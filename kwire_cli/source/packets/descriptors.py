"""Descriptors of segments, and the order in which parts are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine.compiled import octets
from kwire_cli.errors import InputError
from kwire_cli.source.files import Naming
from kwire_cli.source.packets.model import NO_TIME, FileRow, InRow, Merged, Notice, Segment, turned
from kwire_cli.source.packets.parts import PART_SIZE, Outline, Part, PartReader, outline
from kwire_cli.source.packets.points import Timed, capture_points
from kwire_cli.source.packets.segment_columns import DESCRIPTOR, payloads as payloads_of, segment_columns
from kwire_cli.source.packets.segments import Segments
from kwire_cli.stores import FileBytes, location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Sketch

    Octets = npt.NDArray[np.uint8]
    Rows = npt.NDArray[Any]
    Paths = Sequence[str] | Mapping[int, str]
    """Paths by the numbers of their files."""


# The parts of several captures in one order, by capture point.
#
# Files of a point that do not overlap in time are a chain, and packets are counted over it. More than one
# chain is merged by time, each in its own order.

_PACKED = 1 << 32
"""More packets than a packed file has, whose packets nobody has counted."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A part, the numbers of its file, its point and its chain in that, and how many packets of the chain were before
    the file.
    """

    part: Part
    file: int
    chain: int
    before: int
    point: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """A capture point: its name, the files of each chain, whether other files of its folder hold the same
    connections.
    """

    name: str
    chains: tuple[FileRow, ...]
    apart: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, chain by chain."""
        return tuple(file for chain in self.chains for file in chain.files)

    @property
    def last(self) -> int:
        """The number of the last packet, if there is one chain only, else 0."""
        return self.chains[0].packets if len(self.chains) == 1 else 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """All parts of all files, and the capture points; `faults` are files that cannot be read, and why.

    `secrets` are what decrypts TLS in them: those of key logs, and those in the files.
    """

    files: tuple[str, ...]
    parts: tuple[Scheduled, ...]
    points: tuple[Planned, ...]
    faults: tuple[tuple[str, str], ...]
    secrets: tuple[Secrets, ...] = ()

    def origin(self, number: int) -> Origin:
        """Return where the packets of a point are: for files that are merged this knows what it is told."""
        point = self.points[number]
        capture = point.name if len(self.points) > 1 else None
        return origin_of_chains(point.chains, point.name, capture=capture, several=len(self.files) > 1, index=number)


def origin_of_chains(
    chains: Sequence[FileRow], point: str, *, capture: str | None, several: bool, index: int, first: int = 0
) -> Origin:
    """Return where the packets of a capture point are, by the chains of its files. The other arguments are those of
    `Origin`, and `first` is that of `Merged`.
    """
    if len(chains) > 1:
        return Merged(chains, point, capture=capture, several=several, index=index, first=first)
    return InRow(chains[0], point, capture=capture, several=several, index=index)


def over_chain(
    packets: Iterable[int | None], latest: Iterable[int], first: int = 0
) -> tuple[list[int], list[int], int]:
    """Return the number of the last packet before each file of a chain, the latest moment before each, and the number
    of the last packet of all.

    The packets and the latest time of each file are given. Packets are counted on from `first`.
    """
    counts = [*accumulate((_PACKED if count is None else count for count in packets), initial=first)]
    moments = [*accumulate(latest, max, initial=NO_TIME)]
    return counts[:-1], moments[:-1], counts[-1]


Outlined = tuple[str, Outline | str]
"""A file with its outline, or why it has none."""


def outlined(path: str, size: int = PART_SIZE) -> Outlined:
    """The outline of a file that may be none."""
    try:
        return path, outline(path, size)
    except InputError as error:
        return path, error.reason


def schedule(
    found: Iterable[Outlined],
    secrets: Iterable[Secrets] = (),
    naming: Naming | None = None,
    sketched: Callable[[Sequence[str]], Iterable[Sketch]] | None = None,
) -> Schedule:
    """Put all files in one order, by capture point. `secrets` are of key logs; `naming` and `sketched` are as for
    `capture_points`.
    """
    faults: list[tuple[str, str]] = []
    outlines: dict[str, Outline] = {}
    for path, file_outline in found:
        if isinstance(file_outline, str):
            faults.append((path, file_outline))
        else:
            outlines[path] = file_outline
    times = [Timed(path, file_outline.first, file_outline.latest) for path, file_outline in outlines.items()]
    files: list[str] = []
    parts: list[Scheduled] = []
    points: list[Planned] = []
    for point in capture_points(times, naming or Naming(), sketched):
        rows = []
        for number, chain in enumerate(point.chains):
            own = [outlines[path] for path, _, _ in chain]
            befores, moments, packets = over_chain([each.packets for each in own], [each.latest for each in own])
            for (path, _, _), file_outline, before, moment in zip(chain, own, befores, moments, strict=True):
                parts += [
                    Scheduled(replace(part, moment=max(part.moment, moment)), len(files), number, before, len(points))
                    for part in file_outline.parts
                ]
                files.append(path)
            rows.append(FileRow(tuple(location(file.path) for file in chain), tuple(befores), packets))
        points.append(Planned(point.name, tuple(rows), point.apart))
    all_secrets = (*secrets, *(block for path in files for block in outlines[path].secrets))
    return Schedule(tuple(files), tuple(parts), tuple(points), tuple(faults), all_secrets)


# Segments of a part by connection, without their payloads, and segments again from these: between readers of
# files and owners of connections.
#
# The owner of a connection reads payloads from where they are. Those of packed files, where nothing can be
# read by its position, go along, and those of files of stores, where that costs a request.

FEW = 1024
"""Segments of a connection in a part, below which they are joined with those of the next parts."""
_DENSE = 16
"""A span of a file is read at once if it has at most this many times the bytes of the payloads in it."""


@dataclass(frozen=True, slots=True)
class Described:
    """Segments between the two ends in `ends`, in the order of their file: `rows` are DESCRIPTOR rows.

    Packets count over the chain of the file in its capture point. `kept` are the payloads that are not read from the
    file, None where there are none.
    """

    point: int
    ends: bytes
    chain: int
    file: int
    moment: int
    packet: int
    rows: bytes
    kept: bytes | None


def described(scheduled: Scheduled, reader: PartReader | None = None, *, payloads: bool = False) -> Iterator[Described]:
    """Yield the segments of a part, some packets at a time.

    If `payloads` is set, payloads go along. Those of packed files and of stores always do. What makes a file unreadable
    is a notice of the `reader`, which is one of the part.
    """
    part = scheduled.part
    reader = reader or PartReader(part)
    exact = Segments()
    moment = part.moment
    try:
        for data, packets in reader.chunks():
            columns = segment_columns(data, packets, exact, moment)
            moment = max(moment, int(packets.time.max()))
            for ends, rows in columns.by_group():
                rows["packet"] += scheduled.before
                kept = columns.kept if columns.kept and (rows["position"] < 0).any() else None
                if payloads or not reader.is_near:
                    out, offsets = payloads_of(data, rows, columns.kept)
                    kept, rows["position"] = out.tobytes(), -1 - offsets[:-1]
                first = rows[0]
                yield Described(
                    scheduled.point,
                    ends,
                    scheduled.chain,
                    scheduled.file,
                    int(first["moment"]),
                    int(first["packet"]),
                    rows.tobytes(),
                    kept,
                )
    except InputError as error:
        reader.notices.append(Notice(error.reason, 0, 0))


def _file(path: str) -> FileBytes | None:
    """The bytes of a file as it is now; none where it cannot be read any more."""
    try:
        status = Path(path).stat()
        return _opened(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except (InputError, OSError):
        return None


@lru_cache(maxsize=64)
def _opened(path: str, *_: int) -> FileBytes:
    """The bytes of a file in the state that the numbers say: a later reading in this process may find it changed."""
    return FileBytes(path)


@dataclass(frozen=True, slots=True)
class Run:
    """Segments of one connection in their order, and their payloads."""

    rows: Rows
    kept: bytes

    def segments(self, ends: bytes) -> Iterator[Segment]:
        """The segments."""
        both = ends, turned(ends)
        kept, new = self.kept, tuple.__new__
        for packet, time, _, position, sequence, acknowledgment, size, missing, flags, direction in self.rows.tolist():
            payload = kept[-1 - position : size - 1 - position]
            when = None if time == NO_TIME else time
            yield new(Segment, (packet, when, both[direction], sequence, acknowledgment, flags, payload, missing))


class Gathered:
    """Segments of one connection from small parts of files, until there are enough of them to be read at once."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.count = 0

    def add(self, run: Run) -> int:
        """Take segments that come next; return how many they are."""
        self._runs.append(run)
        self.count += len(run.rows)
        return len(run.rows)

    def runs(self) -> Iterator[Run]:
        """Yield all segments, and forget them: those of small parts in a row as one run."""
        some, self._runs, self.count = self._runs, [], 0
        for small, group in groupby(some, key=lambda run: len(run.rows) < FEW):
            if small:
                yield joined([*group])
            else:
                yield from group


def joined(some: list[Run]) -> Run:
    """Return copied segments as one run."""
    if len(some) == 1:
        return some[0]
    before, moved = 0, []
    for run in some:
        rows = run.rows.copy()
        rows["position"] -= before
        moved.append(rows)
        before += len(run.kept)
    return Run(np.concatenate(moved), b"".join(run.kept for run in some))


def runs(found: Iterable[Described], files: Paths, origin: Origin) -> Iterator[Run]:
    """The segments between two ends from all files of a point in one order, of what came sorted by moment, chain and
    packet.

    Those of several chains are merged by moment, and counted anew, as the `origin` is told. What is held meanwhile is
    what overlaps in time.
    """
    if not isinstance(origin, Merged):
        for piece in found:
            yield run_of(piece, files)
        return
    count = origin.count
    for chain, run in _merged(found, files):
        origin.add(count + 1, chain, run.rows["packet"].copy())
        run.rows["packet"] = np.arange(count + 1, count + 1 + len(run.rows))
        count += len(run.rows)
        yield run


def parted(each: Described, moment: int) -> tuple[Described | None, Described | None]:
    """Return the segments that are before a moment, and the others."""
    rows = np.frombuffer(each.rows, DESCRIPTOR)
    cut = int(np.searchsorted(rows["moment"], moment))
    if cut in {0, len(rows)}:
        return (each, None) if cut else (None, each)
    later = rows[cut:]
    return (
        replace(each, rows=rows[:cut].tobytes()),
        replace(each, rows=later.tobytes(), moment=int(later["moment"][0]), packet=int(later["packet"][0])),
    )


def in_turn(found: Iterable[Described], size: int) -> Iterator[list[Described]]:
    """Yield sorted segments in groups of about `size` bytes, with their descriptors: all of one are before the next."""
    group: list[Described] = []
    held = 0
    for piece in found:
        if held >= size:
            halves = [parted(earlier, piece.moment) for earlier in group]
            if before := [first for first, _ in halves if first]:
                yield before
            group = [later for _, later in halves if later]
            held = sum(size_of(later) + len(later.rows) for later in group)
        group.append(piece)
        held += size_of(piece) + len(piece.rows)
    if group:
        yield group


def size_of(piece: Described) -> int:
    """Return the bytes of the payloads of segments."""
    return int(np.frombuffer(piece.rows, DESCRIPTOR)["size"].sum())


def _merged(found: Iterable[Described], files: Paths) -> Iterator[tuple[int, Run]]:
    held: list[tuple[int, Run]] = []
    for piece in found:
        ready, held = _until(held, piece.moment)
        yield from ready
        held.append((piece.chain, run_of(piece, files)))
    yield from _until(held, None)[0]


def run_of(each: Described, files: Paths) -> Run:
    """Return the segments with their payloads. Bytes that the file has lost since it was read first are missing."""
    rows = np.frombuffer(each.rows, DESCRIPTOR)
    kept = each.kept or b""
    on_file = rows["position"] >= 0
    if not on_file.any():
        return Run(rows, kept)
    rows = rows.copy()
    file = _file(files[each.file])
    first = int(rows["position"][on_file].min())
    last = int((rows["position"] + rows["size"])[on_file].max())
    if file and last - first <= _DENSE * int(rows["size"][on_file].sum()):
        try:
            data = octets(file.read(first, last))
        except InputError:
            data = octets(b"")
        if len(data) == last - first:
            rows["position"][on_file] -= first
            out, offsets = payloads_of(data, rows, kept)
            rows["position"] = -1 - offsets[:-1]
            return Run(rows, out.tobytes())
    payloads = []
    at = 0
    for number, (position, size) in enumerate(zip(rows["position"].tolist(), rows["size"].tolist(), strict=True)):
        payload = kept[-1 - position : size - 1 - position] if position < 0 else _payload(file, position, size)
        payloads.append(payload)
        rows[number]["position"] = -1 - at
        rows[number]["missing"] += size - len(payload)
        rows[number]["size"] = len(payload)
        at += len(payload)
    return Run(rows, b"".join(payloads))


def _payload(file: FileBytes | None, position: int, size: int) -> bytes:
    if file is None:
        return b""
    try:
        return bytes(file.read(position, position + size))
    except InputError:
        return b""


def _until(held: list[tuple[int, Run]], moment: int | None) -> tuple[list[tuple[int, Run]], list[tuple[int, Run]]]:
    """The segments before a moment in one order, and those that are still held."""
    before: list[tuple[int, Run]] = []
    after: list[tuple[int, Run]] = []
    for chain, run in held:
        cut = len(run.rows) if moment is None else int(np.searchsorted(run.rows["moment"], moment))
        if cut:
            before.append((chain, Run(run.rows[:cut], run.kept)))
        if cut < len(run.rows):
            after.append((chain, Run(run.rows[cut:], run.kept)))
    if not before:
        return [], after
    which = np.repeat(np.arange(len(before)), [len(run.rows) for _, run in before])
    chains = np.array([number for number, _ in before])[which]
    rows = np.concatenate([run.rows for _, run in before])
    order = np.lexsort((rows["packet"], chains, rows["moment"]))
    which, rows = which[order], rows[order]
    cuts = np.flatnonzero(np.diff(which)) + 1
    out = []
    for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(rows)], strict=True):
        chain, run = before[int(which[start])]
        out.append((chain, Run(rows[start:stop].copy(), run.kept)))
    return out, after
