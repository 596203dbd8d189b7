"""Lines of captures walked by the compiled kernel, messages and record sets grouped by layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.analysis.costs.ledger import (
    GAP_PATH,
    GUESS_PATH,
    Kind,
    Ledger,
    in_batch,
    in_body,
    in_header,
    in_size,
)
from kwire_cli.analysis.costs.measures import BatchSizes
from kwire_cli.analysis.costs.record_sets import RecordSets
from kwire_cli.analysis.costs.tallies import HEADERS, no_frame
from kwire_cli.engine import numba_loops
from kwire_cli.engine.arrow import batch_of, counts_of, field_rows, numbers as arrow_numbers, sum_walk
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, octets, sum_many, walk_many
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.message.encode import header_spec
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.spec.model import check_version
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.messages import SIZE_PREFIX
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.known_layout import Layout
    from kwire_cli.message.redaction import Redaction
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


@dataclass(frozen=True, slots=True)
class Group:
    """The bodies of one definition and version: `which` are their numbers among all that were given, in order; job k of
    `walk` is the k-th of them.

    `layout_version` differs from `version` where that is unknown and the nearest known layout served; then `guess` is
    true.
    """

    spec: MessageSpec
    version: int
    layout_version: int
    entry: Entry
    walk: Walk
    which: npt.NDArray[np.int64]

    @property
    def guess(self) -> bool:
        """Return whether the layout is that of another version."""
        return self.version != self.layout_version


def together(data: Any, places: Iterable[Place]) -> Iterator[Group]:
    """The groups of bodies in `data`, a bytes-like, by their first ones. InputError for a definition without
    versions.
    """
    groups: dict[tuple[int, int], list[tuple[int, Place]]] = {}
    for number, place in enumerate(places):
        groups.setdefault((id(place.spec), place.version), []).append((number, place))
    buffer = octets(data) if len(data) else octets(b"\0")
    for same in groups.values():
        spec, version = same[0][1].spec, same[0][1].version
        check_version(spec)
        valid = spec.valid_versions
        layout = min(max(version, valid.low), valid.high)
        entry = entry_for(spec, layout)
        jobs = jobs_of(entry, [place.start for _, place in same], [place.stop for _, place in same])
        yield Group(
            spec,
            version,
            layout,
            entry,
            walk_many(entry.program, buffer, jobs),
            np.array([number for number, _ in same], np.int64),
        )


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


# The fields of frames, and what they cost: many frames are walked at once by the compiled engine.
#
# Paths are those of `kwire overhead --by field`. Records are opened for what they cost; as rows of fields
# they are one field.

LEDGER = pa.schema(
    [
        pa.field("capture_point", pa.string()),
        pa.field("api", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("api_version", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("prefix_bytes", pa.int64()),
        pa.field("value_bytes", pa.int64()),
        pa.field("count", pa.int64()),
    ]
)


FIELDS = pa.schema(
    [
        pa.field("capture_point", pa.string()),
        pa.field("file", pa.string()),
        pa.field("packet", pa.int64()),
        pa.field("stream", pa.int64()),
        pa.field("src", pa.string()),
        pa.field("dst", pa.string()),
        pa.field("frame", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("api", pa.string()),
        pa.field("api_version", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("type", pa.string()),
        pa.field("start", pa.int64()),
        pa.field("prefix_bytes", pa.int64()),
        pa.field("value_bytes", pa.int64()),
        pa.field("value", pa.string()),
    ]
)
"""`start` is where the field's bytes begin in the frame."""
OF_FRAMES = FIELDS.names.index("path")
"""Columns of FIELDS that say which frame it is."""
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

    With `count_fronts` sizes and headers of well-formed frames of known layouts are no parts: `fronts` has those of the
    first of all frames that differ in numbers alone, and how many frames these are.
    """

    def __init__(self, catalog: Catalog, *, count_fronts: bool = False) -> None:
        self.catalog = catalog
        self.fronts: dict[_Front, list[Any]] | None = {} if count_fronts else None
        self.data = bytearray()
        self.places: dict[_Key, list[tuple[Place, int]]] = {}
        self.other: list[tuple[int, str, int, int]] = []
        self.begins: list[int] = []

    def add(self, line: Captured) -> None:
        """Take a line: a frame by its parts, anything else as so many bytes of its kind."""
        number, at = len(self.begins), len(self.data)
        self.begins.append(at)
        plain = line.plain
        if plain is not None:
            layout = plain.layout
            key = layout.api, layout.kind, layout.version
            begin, stop = at + plain.start, at + len(plain.data)
            self.data += plain.data
            if self.fronts is None:
                self._place((*key, ""), Place(SIZE_PREFIX, 0, at, at + SIZE_BYTES), number)
                header = Place(header_spec(self.catalog, layout.kind), layout.header_version, at + SIZE_BYTES, begin)
                self._place((*key, HEADERS[layout.kind]), header, number)
            else:
                self.fronts.setdefault((layout, plain.tail.data), [plain.data[: plain.start], 0])[1] += 1
            spec = self.catalog.message(layout.message)
            self._place((*key, f"{layout.message}."), Place(spec, layout.version, begin, stop), number)
            return
        frame = line.frame
        if frame is None:
            self.other.append((number, no_frame(line.seen)[0], 0, line.seen.size))
            return
        self.data += frame.data[frame.start : frame.stop]
        left = frame.size
        for name, part in frame.parts:
            start, stop = part.raw.start - frame.start, part.raw.stop - frame.start
            left -= stop - start
            if name == "body" and (frame.guess or part.guess):
                self.other.append((number, GUESS_PATH, start, stop - start))
                continue
            prefix = "" if name == "size" else HEADERS.get(frame.kind, "") if name == "header" else f"{part.message}."
            self._place(
                (frame.api, line.kind, frame.api_version, prefix),
                Place(part.spec, part.version, at + start, at + stop),
                number,
            )
        if left:
            self.other.append((number, GAP_PATH, frame.size - left, left))

    def _place(self, key: _Key, place: Place, number: int) -> None:
        self.places.setdefault(key, []).append((place, number))

    def groups(self) -> Iterator[tuple[_Key, Group, Any]]:
        """Each key with its parts walked, and the numbers of their lines."""
        data = bytes(self.data)
        for key, pairs in self.places.items():
            numbers = np.array([number for _, number in pairs], np.int64)
            for group in together(data, [place for place, _ in pairs]):
                yield key, group, numbers[group.which]


class Spent:
    """The bytes of the frames of a capture point by api, kind, version and path: memory grows with these."""

    def __init__(self, catalog: Catalog, point: str | None = None) -> None:
        self.catalog, self.point = catalog, point
        self._ledger = Ledger()
        self._fronts: dict[_Front, tuple[Spans, Spans]] = {}

    def lines(self, lines: Iterable[Captured]) -> None:
        """Add lines, each by the layouts of its parts."""
        for many, parts in _gathered(lines, self.catalog, count_fronts=True):
            for (layout, tail), (front, times) in (parts.fronts or {}).items():
                self._front(layout, tail, front, times)
            for (api, kind, version, prefix), group, _ in parts.groups():
                self._walked((api, kind, version), prefix, group.walk)
            for number, path, _, size in parts.other:
                line = many[number]
                self._ledger.add((line.api, line.kind, line.api_version), path, (Kind.GAP, Kind.GAP), 0, size, 1)

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


def fields_of(lines: Iterable[Captured], redaction: Redaction) -> Iterator[pa.RecordBatch]:
    """A row for each field of each frame; values that are secret are not shown."""
    for many, parts in _gathered(lines, redaction.catalog):
        begins = np.array(parts.begins, np.int64)
        frames = [
            (
                line.origin.point,
                *line.where,
                line.stream,
                line.src,
                line.dst,
                line.number,
                line.kind,
                line.api,
                line.api_version,
            )
            for line in many
        ]
        whole = [pa.array(column, field.type) for column, field in zip(zip(*frames, strict=True), FIELDS, strict=False)]
        hidden = {number: spans for number, line in enumerate(many) if (spans := redaction.line(line))}
        for (_, _, _, prefix), group, numbers in parts.groups():
            rows = field_rows(group.walk)
            message = numbers[rows.column("message").to_numpy()]
            path = rows.column("path").cast(pa.string())
            path = pc.binary_join_element_wise(prefix, path, "") if prefix else path
            start = (
                rows.column("start").to_numpy()
                + group.walk.jobs[rows.column("message").to_numpy(), 1]
                - begins[message]
            )
            value = (
                _without(rows, group, numbers, hidden, "header" if prefix in HEADERS.values() else "body")
                if prefix
                else rows.column("value")
            )
            which = pa.array(message)
            own = [
                path,
                rows.column("kind").cast(pa.string()),
                pa.array(start),
                rows.column("prefix_bytes"),
                rows.column("value_bytes"),
                value,
            ]
            yield pa.RecordBatch.from_arrays([*(column.take(which) for column in whole), *own], schema=FIELDS)
        if parts.other:
            which = pa.array([number for number, *_ in parts.other])
            rows = [(path, "gap", start, 0, size, None) for _, path, start, size in parts.other]
            own = [
                pa.array(column, field.type)
                for column, field in zip(zip(*rows, strict=True), list(FIELDS)[OF_FRAMES:], strict=True)
            ]
            yield pa.RecordBatch.from_arrays([*(column.take(which) for column in whole), *own], schema=FIELDS)


def _without(
    rows: pa.RecordBatch, group: Group, numbers: Any, hidden: dict[int, dict[str, frozenset[int]]], part: str
) -> pa.Array:
    """The values, without those that are secret."""
    value = rows.column("value")
    if not hidden:
        return value
    texts: list[Any] | None = None
    for job, number in enumerate(numbers.tolist()):
        for span in hidden.get(number, {}).get(part, ()):
            at = int(group.walk.first[job]) + span
            texts = value.to_pylist() if texts is None else texts
            texts[at] = redacted(rows.column("value_bytes")[at].as_py() or rows.column("prefix_bytes")[at].as_py())
    return value if texts is None else pa.array(texts, pa.string())


def _gathered(
    lines: Iterable[Captured], catalog: Catalog, *, count_fronts: bool = False
) -> Iterator[tuple[list[Captured], Parts]]:
    """So many lines at a time."""
    parts, many = Parts(catalog, count_fronts=count_fronts), []
    for line in lines:
        parts.add(line)
        many.append(line)
        if len(parts.data) >= AT_ONCE or len(many) >= MOST_LINES:
            yield many, parts
            parts, many = Parts(catalog, count_fronts=count_fronts), []
    if many:
        yield many, parts
