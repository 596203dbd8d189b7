"""Descriptors of TCP segments, and the order in which the parts of captures are read.

Large captures are read in two steps. Readers of parts find the segments in the packets of a part, and emit a compact
descriptor row for each: numbers, flags, and the position of the payload in the file. The owner of a connection merges
the rows of all parts and reads the payloads. So packets are distributed by file position and segments by connection,
and payloads are not sent between tasks. The exceptions are compressed files, which cannot be read at a position, and
files of remote stores, where each read costs a request: their payloads are included.

Files of a capture point that do not overlap in time form a chain, over which packets are counted. Several chains are
merged by time, each in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine.compiled import octets
from kwire_cli.errors import InputError
from kwire_cli.source.packets.model import NO_TIME, Notice, Segment, turned
from kwire_cli.source.packets.segment_columns import DESCRIPTOR, payloads as payloads_of, segment_columns
from kwire_cli.source.packets.segments import Segments
from kwire_cli.stores.opening import FileBytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.packets.parts import Part, PartReader

    Octets = npt.NDArray[np.uint8]
    Rows = npt.NDArray[Any]
    Paths = Sequence[str] | Mapping[int, str]
    """Paths by the numbers of their files."""


_PACKED = 1 << 32
"""Assumed packet count of compressed files, which are not counted in advance."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A part with the numbers of its file, its capture point and its chain in that point. `before` is the number of
    packets of the chain before the file.
    """

    part: Part
    file: int
    chain: int
    before: int
    point: int = 0


def over_chain(
    packets: Iterable[int | None], latest: Iterable[int], first: int = 0
) -> tuple[list[int], list[int], int]:
    """Return the number of packets before each file of a chain, the latest time before each file, and the number of the
    last packet of the chain.

    `packets` has the packet count of each file, and `latest` its latest time. Counting starts after `first`.
    """
    sizes = [_PACKED if count is None else count for count in packets]
    counts = list(accumulate(sizes, initial=first))
    moments = list(accumulate(latest, max, initial=NO_TIME))
    return counts[:-1], moments[:-1], counts[-1]


_DENSE = 16
"""Maximum ratio of a span of a file to the payload bytes in it, up to which the span is read at once."""


@dataclass(frozen=True, slots=True)
class Described:
    """Segments between the two endpoints of `ends`, in file order. `rows` are rows of DESCRIPTOR.

    Packets are counted over the chain of the file. `kept` has the payloads that are not read from the file, or is None.
    """

    point: int
    ends: bytes
    chain: int
    file: int
    moment: int
    packet: int
    rows: bytes
    kept: bytes | None


def described(scheduled: Scheduled, reader: PartReader, *, payloads: bool = False) -> Iterator[Described]:
    """Yield the segments of a part in groups of packets. `reader` reads the part.

    Payloads are included if `payloads` is set, and for compressed files and files of stores. An error that makes the
    file unreadable becomes a notice of the reader.
    """
    exact = Segments()
    moment = scheduled.part.moment
    try:
        for data, packets in reader.chunks():
            columns = segment_columns(data, packets, exact, moment)
            moment = max(moment, int(packets.time.max()))
            for ends, rows in columns.by_group():
                rows["packet"] += scheduled.before
                kept = columns.kept if columns.kept and (rows["position"] < 0).any() else None
                if payloads or not reader.is_near:
                    out, offsets = payloads_of(data, rows, columns.kept)
                    kept = out.tobytes()
                    rows["position"] = -1 - offsets[:-1]
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
    """Return the bytes of a file in its current state, or None if it can no longer be read."""
    try:
        status = Path(path).stat()
        return _open_file_state(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except (InputError, OSError):
        return None


@lru_cache(maxsize=64)
def _open_file_state(path: str, *_: int) -> FileBytes:
    """Return the bytes of a file. The other arguments are the cache key: they change when the file changes."""
    return FileBytes(path)


@dataclass(frozen=True, slots=True)
class Run:
    """Segments of one connection in order, with their payloads."""

    rows: Rows
    kept: bytes

    def segments(self, ends: bytes) -> Iterator[Segment]:
        """Yield the segments, with `ends` as the addresses of direction 0."""
        both = ends, turned(ends)
        kept = self.kept
        new = tuple.__new__
        for packet, time, _, position, sequence, acknowledgment, size, missing, flags, direction in self.rows.tolist():
            payload = kept[-1 - position : size - 1 - position]
            when = None if time == NO_TIME else time
            yield new(Segment, (packet, when, both[direction], sequence, acknowledgment, flags, payload, missing))


class Gathered:
    """Collects the segments of one connection from small parts, so that they can be processed in larger runs."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.count = 0

    def add(self, run: Run) -> int:
        """Add the next segments. Return their number."""
        self._runs.append(run)
        self.count += len(run.rows)
        return len(run.rows)

    def take(self) -> Run:
        """Return and remove all segments."""
        before = 0
        rows = [np.zeros(0, DESCRIPTOR)]
        for run in self._runs:
            moved = run.rows.copy()
            moved["position"] -= before
            rows.append(moved)
            before += len(run.kept)
        kept = b"".join(run.kept for run in self._runs)
        self._runs = []
        self.count = 0
        return Run(np.concatenate(rows), kept)


def runs(found: Iterable[Described], files: Paths, origin: Origin) -> Iterator[Run]:
    """Yield the segments between two endpoints from all files of a point, in one order.

    `found` must be sorted by moment, chain and packet. Segments of several chains are merged by moment and renumbered,
    and the `origin` records the new numbers. Only segments that overlap in time are in memory.
    """
    if not origin.is_merged:
        for piece in found:
            yield run_of(piece, files)
        return
    for chain, run in _merged(found, files):
        first = origin.count + 1
        origin.add(chain, run.rows["packet"].tolist())
        run.rows["packet"] = np.arange(first, first + len(run.rows))
        yield run


def parted(each: Described, moment: int) -> tuple[Described | None, Described | None]:
    """Return the segments before a moment, and the others. Either is None if it is empty."""
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
    """Yield sorted segments in groups of about `size` bytes, including descriptors. Groups do not overlap in time."""
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
    """Return the total size of the payloads of segments."""
    return int(np.frombuffer(piece.rows, DESCRIPTOR)["size"].sum())


def _merged(found: Iterable[Described], files: Paths) -> Iterator[tuple[int, Run]]:
    """Yield the segments of several chains in one order, with the chain of each run."""
    for group in in_turn(found, 0):
        chains = [each.chain for each in group]
        group_runs = [run_of(each, files) for each in group]
        which = np.repeat(np.arange(len(group)), [len(run.rows) for run in group_runs])
        rows = np.concatenate([run.rows for run in group_runs])
        order = np.lexsort((rows["packet"], np.array(chains)[which], rows["moment"]))
        which = which[order]
        rows = rows[order]
        cuts = (np.flatnonzero(np.diff(which)) + 1).tolist()
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            number = int(which[start])
            yield chains[number], Run(rows[start:stop].copy(), group_runs[number].kept)


def run_of(each: Described, files: Paths = ()) -> Run:
    """Return the segments with their payloads. Bytes that the file has lost since its first reading are missing."""
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
