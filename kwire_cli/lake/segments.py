"""The tables of partition folders: `batches` and `records` from segments, `index` from the other files, and `faults`.

A segment is read in parts, so that several tasks can share it. Indexes, producer snapshots and checkpoints are small,
and are read whole.
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
    from collections.abc import Callable, Collection, Iterator, Sequence

    from kwire_cli.lake.model import Reading
    from kwire_cli.records.batch import Source
    from kwire_cli.source.logs.model import Contents

    Rows = Callable[[Source, int, int, Reading], Iterator[pa.RecordBatch | Gap | Faults]]


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


def segment_parts(path: str, size: int, split_size: int, share: int = 0, shares: int = 1) -> Iterator[Part]:
    """Yield every `shares`-th part of the first `size` bytes of a segment, beginning with part `share`.

    Parts have about `split_size` bytes and end with a batch. A file that cannot be read is one part, and so is a file
    without bytes.
    """
    segment = segment_at(path_of(path))
    places: Sequence[tuple[int, int | None]] = ((0, size or None),)
    if size > split_size:
        with suppress(InputError, OSError):
            now = path_of(path).stat()
            places = _places(path, split_size, size, now.st_size, now.st_mtime)
    for start, stop in places[share::shares]:
        yield Part(segment, start, stop)


@lru_cache(maxsize=4)
def _places(path: str, split_size: int, size: int, *_: float) -> Sequence[tuple[int, int | None]]:
    """Split a segment into parts. The result is cached, as a process may read several shares of a segment.

    The last arguments are the current size and time of the file: they make a changed file a new cache entry.
    """
    return split_file(path, split_size, size)


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


def index_rows(path: str, tables: Collection[str], reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of `index` and `faults` of a file, with the names of their tables."""
    file = segment_at(path_of(path))
    place = location(path), file.topic, file.partition
    faults: list[tuple[Any, ...]] = []
    try:
        contents = read_log_file(path)
    except InputError as error:
        reading.faults.count += 1
        faults.append((*place, *unreadable(error.reason).to_pylist()[0].values()))
    else:
        if "index" in tables:
            yield from (("index", rows) for rows in _entries(contents, place))
        for each in contents.anomalies:
            faults.append((*place, each.offset, None, each.code, each.path, each.offset, each.detail))  # noqa: PERF401
    if faults and FAULTS_NAME in tables:
        yield FAULTS_NAME, batch_of(faults, SEGMENT_FAULTS.schema)


def _entries(contents: Contents[Any], place: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each entry."""
    for start in range(0, len(contents.entries), _ROWS):
        entries = contents.entries[start : start + _ROWS]
        count = len(entries)
        names = entries[0]._fields
        values: dict[str, Any] = {field.name: [value] * count for field, value in zip(PLACE, place, strict=True)}
        values |= {"kind": [contents.kind.value] * count, "entry": range(start, start + count)}
        values |= zip(names, zip(*entries, strict=True), strict=True)
        columns = {field.name: pa.array(values[field.name], field.type) for field in INDEX if field.name in values}
        if "timestamp" in columns:
            columns["time"] = as_time(columns["timestamp"])
        arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in INDEX]
        yield pa.RecordBatch.from_arrays(arrays, schema=INDEX)
