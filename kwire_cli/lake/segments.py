"""The tables of partition folders: `batches` and `records` from segments, `index` from the other files, and `faults`.

A segment is read in parts, so that several tasks can share it. Indexes, producer snapshots and checkpoints are small:
one task reads several of them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.batch import PADDING
from kwire_cli.records.columns import (
    BATCHES,
    FAULTS,
    RECORDS,
    Faults,
    batch_columns,
    fault_columns,
    record_columns,
    unreadable,
)
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import recognised_source
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import Segment, segment_at
from kwire_cli.source.logs.splitting import split_file
from kwire_cli.stores.paths import location, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.lake.model import Reading
    from kwire_cli.records.batch import Source
    from kwire_cli.source.logs.model import Contents

    Rows = Callable[[Source, int, int, Reading], Iterator[pa.RecordBatch | Gap | Faults]]
    _Index = tuple[Contents[Any], Segment]
    """The contents of a file that has entries and no batches, with the location of the file."""
    IndexRows = Callable[[Iterable[_Index]], Iterator[pa.RecordBatch]]


# Tables of segments.

PLACE = (pa.field("file", pa.string()), pa.field("topic", pa.string()), pa.field("partition", pa.int32()))
"""The first columns of all tables. The name of the file's folder gives topic and partition; otherwise they are null."""


TIME = pa.timestamp("us", "UTC")
_LAST = 253402300799999
"""The last millisecond of the year 9999. Later timestamps become null."""


@dataclass(frozen=True)
class Part:
    """The bytes [start, stop) of a segment; a `stop` of None is the end of a file that could not be read."""

    segment: Segment
    start: int
    stop: int | None


@dataclass(frozen=True)
class Share:
    """One of several shares of the first `size` bytes of a large segment.

    The segment is split at batch boundaries into parts of about `split_size` bytes. The reader of a share finds these
    boundaries.
    """

    segment: Segment
    size: int
    split_size: int
    share: int
    shares: int

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the share; the first share of a file that cannot be read is one part."""
        path = self.segment.path
        places = _UNREAD
        with suppress(InputError, OSError):
            now = path_of(path).stat()
            places = _places(path, self.split_size, self.size, now.st_size, now.st_mtime)
        for start, stop in places[self.share :: self.shares]:
            yield Part(self.segment, start, stop)


_UNREAD: Sequence[tuple[int, int | None]] = ((0, None),)


@lru_cache(maxsize=4)
def _places(path: str, split_size: int, size: int, *_: float) -> Sequence[tuple[int, int | None]]:
    """Split a segment into parts. The result is cached, as a process may read several shares of a segment.

    The last arguments are the current size and time of the file: they make a changed file a new cache entry.
    """
    return split_file(path, split_size, size)


def segment_parts(files: Iterable[tuple[str, int]], split_size: int) -> Iterator[Part | Share]:
    """Yield the parts of segments, given as paths with sizes in bytes. No file is opened."""
    for path, size in files:
        segment = segment_at(path_of(path))
        shares = round(size / split_size)
        if shares > 1:
            yield from (Share(segment, size, split_size, share, shares) for share in range(shares))
        else:
            yield Part(segment, 0, size or None)


@dataclass(frozen=True)
class SegmentTable:
    """A table of segments.

    `rows` creates the columns, except the columns in PLACE and in `times`: a column in `times` is a column of
    milliseconds as a timestamp. With `faults`, `rows` also creates the rows of the table `faults`.
    """

    name: str
    schema: pa.Schema
    rows: Rows
    times: dict[str, str]
    faults: bool = False

    def read(self, part: Part, reading: Reading, source: Callable[[], Source]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the rows of a part, with the names of their tables. With `faults`, include the rows of that table.

        `source` returns the part's record set, like `source_of_part`. Several tables may share one record set.
        A file that becomes unreadable yields no further rows of this table, and one row of `faults`.
        """
        try:
            for rows in self._read(part, reading, source()):
                if isinstance(rows, Faults):
                    yield FAULTS_NAME, SEGMENT_FAULTS.placed(part, rows.rows)
                else:
                    yield self.name, self.placed(part, rows)
        except InputError as error:  # the file is gone, or became shorter while it was read
            reading.faults.count += 1
            if self.faults or self.name == FAULTS_NAME:
                yield FAULTS_NAME, SEGMENT_FAULTS.placed(part, unreadable(error.reason))

    def _read(self, part: Part, reading: Reading, source: Source) -> Iterator[pa.RecordBatch | Faults]:
        size = source.size  # may be smaller than when the file was listed
        stop = size if part.stop is None else min(part.stop, size)
        for item in self.rows(source, min(part.start, stop), stop, reading):
            if not isinstance(item, Gap):
                yield item
            elif item.code != PADDING:
                reading.faults.count += 1

    def placed(self, part: Part, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of a part with all columns of the table."""
        place = {"file": location(part.segment.path), "topic": part.segment.topic, "partition": part.segment.partition}
        columns = []
        for field in self.schema:
            if field.name in place:
                columns.append(pa.repeat(pa.scalar(place[field.name], field.type), rows.num_rows))
            elif field.name in self.times:
                columns.append(as_time(rows.column(self.times[field.name])))
            else:
                columns.append(rows.column(field.name))
        return pa.RecordBatch.from_arrays(columns, names=self.schema.names)


def source_of_part(part: Part, reading: Reading) -> Source:
    """Open a part of a segment as a record set of its topic.

    Raises:
        InputError: The segment cannot be read.

    """
    return recognised_source(
        part.segment.path, folder=part.segment.topic, catalog=reading.catalog, limits=reading.limits, start=part.start
    )


def as_time(milliseconds: pa.Array) -> pa.Array:
    """Convert milliseconds since 1970 to timestamps. Negative values and values after the year 9999 become null."""
    values = (milliseconds.fill_null(-1) if milliseconds.null_count else milliseconds).to_numpy()
    none = (values < 0) | (values > _LAST)
    return pa.array(np.where(none, 0, values) * 1000, mask=none if none.any() else None).view(TIME)


def _with_time(schema: pa.Schema, name: str, source_name: str) -> pa.Schema:
    fields = list(PLACE)
    for column in schema:
        fields.append(column)
        if column.name == source_name:
            fields.append(pa.field(name, TIME))
    return pa.schema(fields)


def _batches(source: Source, start: int, stop: int, _: Reading) -> Iterator[Any]:
    return batch_columns(source, start, stop)


def _records(source: Source, start: int, stop: int, reading: Reading, *, faults: bool = False) -> Iterator[Any]:
    redaction = Redaction(reading.catalog, show_secrets=reading.show_secrets)
    return record_columns(source, start, stop, hide=redaction.record, faults=faults)


def _faults(source: Source, start: int, stop: int, reading: Reading) -> Iterator[Any]:
    redaction = Redaction(reading.catalog, show_secrets=reading.show_secrets)
    return fault_columns(source, start, stop, hide=redaction.record)


FAULTS_NAME = "faults"
SEGMENT_FAULTS = SegmentTable(FAULTS_NAME, pa.schema([*PLACE, *FAULTS]), _faults, {})
_RECORDS = SegmentTable("records", _with_time(RECORDS, "time", "timestamp"), _records, {"time": "timestamp"})
SEGMENT_TABLES = (
    SegmentTable("batches", _with_time(BATCHES, "max_time", "max_timestamp"), _batches, {"max_time": "max_timestamp"}),
    _RECORDS,
)
RECORDS_AND_FAULTS = replace(_RECORDS, rows=partial(_records, faults=True), faults=True)
"""The table `records` with the rows of `faults`: records that kwire decodes are decoded once for both."""


# The table `index`: the entries of indexes, producer snapshots and checkpoints. Their anomalies are rows of `faults`.

_ENTRY = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("entry", pa.int64()),
        pa.field("at", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("time", TIME),
        pa.field("epoch", pa.int32()),
        pa.field("start_offset", pa.int64()),
        pa.field("producer_id", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("last_stable_offset", pa.int64()),
        pa.field("last_sequence", pa.int32()),
        pa.field("offset_delta", pa.int32()),
        pa.field("coordinator_epoch", pa.int32()),
        pa.field("current_txn_first_offset", pa.int64()),
        pa.field("version", pa.int16()),
    ]
)


INDEX = pa.schema([*PLACE, *_ENTRY])
"""`entry` is the number of an entry in its file, from 0, and `at` its offset in bytes. The other columns have the names
in `kwire dump`, in snake case. A column is null if entries of the kind do not have it."""
_ROWS = 1 << 16
_SHARE = 32
"""How much smaller a part of indexes is than a part of segments: an entry has few bytes but takes as long as some
hundred bytes of a batch."""


@dataclass(frozen=True)
class IndexTable:
    """A table of indexes and checkpoints.

    `rows` creates the rows of some files, and `unread` the rows of an unreadable file.
    """

    name: str
    schema: pa.Schema
    rows: IndexRows
    unread: Callable[[Segment, str], Iterator[pa.RecordBatch]]


def index_parts(files: Iterable[tuple[str, int]], split_size: int) -> Iterator[tuple[Segment, ...]]:
    """Yield parts of several indexes each, as indexes are small. `files` are paths with sizes in bytes."""
    part: list[Segment] = []
    size = 0
    for path, bytes_of_file in files:
        part.append(segment_at(path_of(path)))
        size += bytes_of_file
        if size * _SHARE >= split_size:
            yield tuple(part)
            part = []
            size = 0
    if part:
        yield tuple(part)


def index_rows(
    tables: Sequence[IndexTable], part: Iterable[Segment], reading: Reading
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of tables of indexes, with the names of their tables. Every file is read once."""
    indexes: list[_Index] = []
    entries = 0
    for file in part:
        try:
            contents = read_log_file(file.path)
        except InputError as error:
            reading.faults.count += 1
            yield from _rows_of(tables, indexes)
            indexes = []
            entries = 0
            for table in tables:
                for rows in table.unread(file, error.reason):
                    yield table.name, rows
            continue
        indexes.append((contents, file))
        entries += len(contents.entries)
        if entries >= _ROWS:
            yield from _rows_of(tables, indexes)
            indexes = []
            entries = 0
    yield from _rows_of(tables, indexes)


def _rows_of(tables: Sequence[IndexTable], indexes: Sequence[_Index]) -> Iterator[tuple[str, pa.RecordBatch]]:
    for table in tables:
        for rows in table.rows(indexes):
            yield table.name, rows


def _entries(indexes: Iterable[_Index]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each entry."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for contents, file in indexes:
        for start in range(0, len(contents.entries), _ROWS):
            entries = contents.entries[start : start + _ROWS]
            names = entries[0]._fields
            values: dict[str, Iterable[Any]] = {
                name: [constant] * len(entries)
                for name, constant in zip(("file", "topic", "partition"), _place(file), strict=True)
            }
            values |= {"kind": [contents.kind.value] * len(entries), "entry": range(start, start + len(entries))}
            values |= zip(names, zip(*entries, strict=True), strict=True)
            for name in {*columns, *values}:
                columns.setdefault(name, [None] * count).extend(values.get(name, [None] * len(entries)))
            count += len(entries)
            if count >= _ROWS:
                yield _index_batch(columns, count)
                columns = {}
                count = 0
    if count:
        yield _index_batch(columns, count)


def _index_batch(values: dict[str, list[Any]], count: int) -> pa.RecordBatch:
    columns = {field.name: pa.array(values[field.name], field.type) for field in INDEX if field.name in values}
    if "timestamp" in columns:
        columns["time"] = as_time(columns["timestamp"])
    return pa.RecordBatch.from_arrays(
        [columns.get(field.name, pa.nulls(count, field.type)) for field in INDEX], schema=INDEX
    )


def _anomalies(indexes: Iterable[_Index]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each anomaly, with the offset of its bytes."""
    rows: list[tuple[Any, ...]] = []
    for contents, file in indexes:
        place = _place(file)
        rows += [
            (*place, each.offset, None, each.code, each.path, each.offset, each.detail) for each in contents.anomalies
        ]
    if rows:
        yield batch_of(rows, INDEX_FAULTS.schema)


def _unreadable(file: Segment, reason: str) -> Iterator[pa.RecordBatch]:
    yield batch_of([(*_place(file), *unreadable(reason).to_pylist()[0].values())], INDEX_FAULTS.schema)


def _place(file: Segment) -> tuple[str, str | None, int | None]:
    return location(file.path), file.topic, file.partition


INDEX_TABLE = IndexTable("index", INDEX, _entries, lambda _file, _reason: iter(()))
INDEX_FAULTS = IndexTable(FAULTS_NAME, pa.schema([*PLACE, *FAULTS]), _anomalies, _unreadable)
