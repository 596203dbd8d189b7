"""Descriptors of TCP segments, in the order in which the parts of captures are read.

Large captures are read in two steps. Readers of parts find the segments in the packets of a part, and emit a compact
descriptor row for each: numbers, flags, and the position of the payload in the file. The owner of a connection merges
the rows of all parts and reads the payloads. So packets are distributed by file position and segments by connection,
and payloads are not sent between tasks. The exceptions are compressed files, which cannot be read at a position, and
files of remote stores, where each read costs a request: their payloads are included.

The files of a capture point follow each other in time, and packets are counted over them.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    from kwire_cli.source.packets.parts import Part, PartReader

    Octets = npt.NDArray[np.uint8]
    Rows = npt.NDArray[Any]
    Paths = Sequence[str] | Mapping[int, str]
    """Paths by the numbers of their files."""


_PACKED = 1 << 32
"""Assumed packet count of compressed files, which are not counted in advance."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A part with the numbers of its file and its capture point. `before` is the number of packets of the point before
    the file.
    """

    part: Part
    file: int
    before: int
    point: int = 0


def packets_before(packets: Iterable[int | None], first: int = 0) -> tuple[list[int], int]:
    """Return the number of packets before each file of a capture point, and the number of its last packet.

    `packets` has the packet count of each file. Counting starts after `first`.
    """
    counts = list(accumulate((_PACKED if count is None else count for count in packets), initial=first))
    return counts[:-1], counts[-1]


_DENSE = 16
"""Maximum ratio of a span of a file to the payload bytes in it, up to which the span is read at once."""


@dataclass(frozen=True, slots=True)
class Described:
    """Segments between the two endpoints of `ends`, in file order. `rows` are rows of DESCRIPTOR.

    Packets are counted over the files of the point. Rows of the same endpoints are sorted by `order`, which is 0 for
    segments, and then by `packet`. `kept` has the payloads, or is None if they are read from the file.
    """

    point: int
    ends: bytes
    order: int
    file: int
    packet: int
    rows: bytes
    kept: bytes | None


def described(scheduled: Scheduled, reader: PartReader, *, payloads: bool = False) -> Iterator[Described]:
    """Yield the segments of a part in groups of packets. `reader` reads the part.

    Payloads are included if `payloads` is set, and for compressed files and files of stores. An error that makes the
    file unreadable becomes a notice of the reader.
    """
    exact = Segments()
    try:
        for data, packets in reader.chunks():
            for ends, rows in segment_columns(data, packets, exact).by_group():
                rows["packet"] += scheduled.before
                kept = None
                if payloads or not reader.is_near:
                    out, offsets = payloads_of(data, rows)
                    kept = out.tobytes()
                    rows["position"] = offsets[:-1]
                first = int(rows[0]["packet"])
                yield Described(scheduled.point, ends, 0, scheduled.file, first, rows.tobytes(), kept)
        reader.notices += exact.notices(reader.columns.number, reader.position)
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
        for packet, time, position, sequence, acknowledgment, size, missing, flags, direction in self.rows.tolist():
            payload = kept[position : position + size]
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
            moved["position"] += before
            rows.append(moved)
            before += len(run.kept)
        kept = b"".join(run.kept for run in self._runs)
        self._runs = []
        self.count = 0
        return Run(np.concatenate(rows), kept)


def size_of(piece: Described) -> int:
    """Return the total size of the payloads of segments."""
    return int(np.frombuffer(piece.rows, DESCRIPTOR)["size"].sum())


def run_of(piece: Described, files: Paths = ()) -> Run:
    """Return the segments with their payloads. Bytes that the file has lost since its first reading are missing."""
    rows = np.frombuffer(piece.rows, DESCRIPTOR)
    if piece.kept is not None:
        return Run(rows, piece.kept)
    rows = rows.copy()
    file = _file(files[piece.file])
    first = int(rows["position"].min())
    last = int((rows["position"] + rows["size"]).max())
    if file and last - first <= _DENSE * int(rows["size"].sum()):
        data = _read(file, first, last)
        if len(data) == last - first:
            rows["position"] -= first
            out, offsets = payloads_of(octets(data), rows)
            rows["position"] = offsets[:-1]
            return Run(rows, out.tobytes())
    payloads = []
    at = 0
    for number, (position, size) in enumerate(zip(rows["position"].tolist(), rows["size"].tolist(), strict=True)):
        payload = _read(file, position, position + size)
        payloads.append(payload)
        rows[number]["position"] = at
        rows[number]["missing"] += size - len(payload)
        rows[number]["size"] = len(payload)
        at += len(payload)
    return Run(rows, b"".join(payloads))


def _read(file: FileBytes | None, start: int, stop: int) -> bytes:
    if file is None:
        return b""
    try:
        return bytes(file.read(start, stop))
    except InputError:
        return b""
