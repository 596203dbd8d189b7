"""Lines of captures walked by the compiled kernel, messages and record sets grouped by layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine import numba_loops
from kwire_cli.engine.arrow import batch_of, counts_of, numbers as arrow_numbers, sum_walk
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, octets, sum_many, walk_many
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.columns import COSTS
from kwire_cli.facts.costs.counting import HEADERS, no_frame
from kwire_cli.facts.costs.ledger import (
    GAP_PATH,
    GUESS_PATH,
    Kind,
    Ledger,
    in_batch,
    in_body,
    in_header,
    in_size,
)
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.message.encode import header_spec
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.spec.model import check_version
from kwire_cli.structs.messages import SIZE_PREFIX
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.known_layout import Layout
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]


# Messages of many kinds that lie in one buffer, walked by the compiled engine: those of each definition and
# version together.


class Place(NamedTuple):
    """A body: what it is, and where it lies."""

    spec: MessageSpec
    version: int
    start: int
    stop: int


def together(data: Any, places: Iterable[Place]) -> Iterator[Walk]:
    """Yield the bodies in `data`, a bytes-like, walked: those of one definition and version together, in their order.

    The nearest known layout serves for an unknown version. Raises InputError for a definition without versions.
    """
    groups: dict[tuple[int, int], list[Place]] = {}
    for place in places:
        groups.setdefault((id(place.spec), place.version), []).append(place)
    buffer = octets(data) if len(data) else octets(b"\0")
    for same in groups.values():
        spec, version = same[0].spec, same[0].version
        check_version(spec)
        valid = spec.valid_versions
        entry = entry_for(spec, min(max(version, valid.low), valid.high))
        jobs = jobs_of(entry, [place.start for place in same], [place.stop for place in same])
        yield walk_many(entry.program, buffer, jobs)


# The bytes of many record sets by field: batches of format v2 by the compiled engine, everything else set by
# set.
#
# What is counted is what `record_sets.RecordSets` counts on the wire, as a test holds: batches begin where
# sizes and checksums say so, and what is in them are spans, there as here.

_V2 = LAYOUTS["v2"]


_CRC = next(field.subcon for field in v2.BATCH.subcons if field.name == "crc")


def add_sets(ledger: Ledger, owner: Any, prefix: str, data: Octets, start: Ints, stop: Ints) -> None:
    """Count the bytes of the record sets [start, stop), with `prefix` before the paths."""
    begin, end, plain = _batches(data, start, stop)
    if len(begin):
        program = records_entry(v2.BATCH).program
        sums = sum_many(program, data, jobs_of(records_entry(v2.BATCH), begin, end))
        ledger.add_counts(owner, prefix, in_batch, counts_of(program, sums))
    irregular = ~plain & (start < stop)
    if irregular.any():
        exact = RecordSets(ledger, Ledger(), BatchSizes(), owner=owner, prefix=prefix)
        for at, until in zip(start[irregular].tolist(), stop[irregular].tolist(), strict=True):
            exact.add(data[at:until].tobytes(), 0, until - at)


def _batches(data: Octets, start: Ints, stop: Ints) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Return the start and end of each batch in the sets with only intact batches, and which sets these are.

    These sets hold only batches of format v2 with a valid checksum.
    """
    room = int(((stop - start) // (OVERHEAD + _V2.least)).sum())
    begin, end, which = np.empty((3, room), np.int64)
    places = SIZE_AT, MAGIC_AT, OVERHEAD, _V2.least, _V2.magic
    count = compiled(numba_loops.hop_sets)(data, start, stop, *places, begin, end, which)
    begin, end, which = begin[:count], end[:count], which[:count]
    said = arrow_numbers(_CRC, data, begin + _V2.crc_at)
    view, checksum, first = data.data, _V2.checksum, _V2.crc_from
    checksums = [checksum(view[at + first : until]) for at, until in zip(begin.tolist(), end.tolist(), strict=True)]
    wrong = np.zeros(len(start), np.bool_)
    wrong[which[said != np.array(checksums, np.int64)]] = True
    plain = np.zeros(len(start), np.bool_)
    plain[which] = True
    plain &= ~wrong
    kept = plain[which]
    return begin[kept], end[kept], plain


# What the fields of frames cost: many frames are walked at once by the compiled engine.
#
# Paths are those of `kwire overhead --by field`. Records are opened.

_ARROW = {"VARCHAR": pa.string(), "INTEGER": pa.int32(), "BIGINT": pa.int64()}
LEDGER = pa.schema([pa.field(column.name, _ARROW[column.type]) for column in COSTS if column.in_lakes])
"""The columns of `costs` that lakes have."""
AT_ONCE = 4 << 20
"""Bytes of frames that are walked together, about."""
MOST_LINES = 1 << 15
_MOST_FRONTS = 4096
"""Fronts of frames whose spans are kept."""
_Front = tuple["Layout", bytes]
"""A layout, and what follows the correlation id in a header."""
_Frame = tuple[str | None, str, int | None]
"""Api, kind and version: the owner of a frame's bytes."""
_Key = tuple[str | None, str, int | None, str]
"""The same, and what stands before the paths of a part."""


class Parts:
    """Frames in one buffer: where the parts of each are, by what stands before the paths in them; `other` are bytes
    without a layout.

    Sizes and headers of well-formed frames of known layouts are no parts: `fronts` has those of the first of all frames
    that differ in numbers alone, and how many frames these are.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.fronts: dict[_Front, list[Any]] = {}
        self.data = bytearray()
        self.places: dict[_Key, list[Place]] = {}
        self.other: list[tuple[_Frame, str, int]] = []

    def add(self, line: Captured) -> None:
        """Take a line: a frame by its parts, anything else as so many bytes of its kind."""
        at = len(self.data)
        plain = line.plain
        if plain is not None:
            layout = plain.layout
            self.data += plain.data
            self.fronts.setdefault((layout, plain.tail.data), [plain.data[: plain.start], 0])[1] += 1
            place = Place(self.catalog.message(layout.message), layout.version, at + plain.start, at + len(plain.data))
            self._place((layout.api, layout.kind, layout.version, f"{layout.message}."), place)
            return
        owner = line.api, line.kind, line.api_version
        frame = line.frame
        if frame is None:
            self.other.append((owner, no_frame(line.seen)[0], line.seen.size))
            return
        self.data += frame.data[frame.start : frame.stop]
        left = frame.size
        for name, part in frame.parts:
            start, stop = part.raw.start - frame.start, part.raw.stop - frame.start
            left -= stop - start
            if name == "body" and (frame.guess or part.guess):
                self.other.append((owner, GUESS_PATH, stop - start))
                continue
            prefix = "" if name == "size" else HEADERS.get(frame.kind, "") if name == "header" else f"{part.message}."
            place = Place(part.spec, part.version, at + start, at + stop)
            self._place((frame.api, line.kind, frame.api_version, prefix), place)
        if left:
            self.other.append((owner, GAP_PATH, left))

    def _place(self, key: _Key, place: Place) -> None:
        self.places.setdefault(key, []).append(place)

    def walks(self) -> Iterator[tuple[_Key, Walk]]:
        """Yield the parts of each key, walked."""
        data = bytes(self.data)
        for key, places in self.places.items():
            for same in together(data, places):
                yield key, same


class Spent:
    """The bytes of the frames of a capture point by api, kind, version and path: memory grows with these."""

    def __init__(self, catalog: Catalog, point: str | None = None) -> None:
        self.catalog, self.point = catalog, point
        self._ledger = Ledger()
        self._fronts: dict[_Front, tuple[Spans, Spans]] = {}

    def lines(self, lines: Iterable[Captured]) -> None:
        """Add lines, each by the layouts of its parts."""
        for parts in _gathered(lines, self.catalog):
            for (layout, tail), (front, times) in parts.fronts.items():
                self._front(layout, tail, front, times)
            for (api, kind, version, prefix), same in parts.walks():
                self._walked((api, kind, version), prefix, same)
            for owner, path, size in parts.other:
                self._ledger.add(owner, path, (Kind.GAP, Kind.GAP), 0, size, 1)

    def frames(self, frames: Frames) -> None:
        """Add frames of one layout: what stands before their bodies costs the same in all."""
        layout = frames.layout
        self._front(layout, frames.front[layout.tail_at :], frames.front, len(frames.walk.jobs))
        self._walked((layout.api, layout.kind, layout.version), f"{layout.message}.", frames.walk)

    def _front(self, layout: Layout, tail: bytes, front: bytes, times: int) -> None:
        """Add the sizes and headers of so many frames, which all end as those of the frame with this `front`."""
        spans = self._fronts.get((layout, tail))
        if spans is None:
            header = entry_for(header_spec(self.catalog, layout.kind), layout.header_version)
            spans = (
                walk(entry_for(SIZE_PREFIX, 0), front, 0, SIZE_BYTES),
                walk(header, front, SIZE_BYTES, len(front)),
            )
            if len(self._fronts) < _MOST_FRONTS:
                self._fronts[layout, tail] = spans
        of = layout.api, layout.kind, layout.version
        self._ledger.add_spans(of, "", in_size, spans[0], times)
        self._ledger.add_spans(of, HEADERS[layout.kind], in_header, spans[1], times)

    def batch(self) -> pa.RecordBatch:
        """All rows."""
        rows = self._ledger.rows(by_kinds=False)
        return batch_of(
            [(self.point, *row.owner, row.path, row.prefix_bytes, row.value_bytes, row.count) for row in rows], LEDGER
        )

    def _walked(self, of: _Frame, prefix: str, walked: Walk) -> None:
        """Add what was walked, with records opened: their bytes are those of batches and records, and no longer the
        field's.
        """
        leaves, sums = walked.program.leaves, sum_walk(walked)
        for number in np.flatnonzero(sums[:, 2]).tolist():
            if leaves[number].kind == "records":
                spans = np.flatnonzero(walked.node == number)
                sums[number, 1] = 0
                path = f"{prefix}{leaves[number].path}[]."
                add_sets(self._ledger, of, path, walked.data, walked.value[spans], walked.end[spans])
        self._ledger.add_counts(of, prefix, in_body, counts_of(walked.program, sums))


def _gathered(lines: Iterable[Captured], catalog: Catalog) -> Iterator[Parts]:
    """Yield so many lines at a time."""
    parts, count = Parts(catalog), 0
    for line in lines:
        parts.add(line)
        count += 1
        if len(parts.data) >= AT_ONCE or count >= MOST_LINES:
            yield parts
            parts, count = Parts(catalog), 0
    if count:
        yield parts
