"""Tables of segments, indexes and faults of partitions."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.model import INDEXES, SEGMENTS, by_kind
from kwire_cli.pipeline.pushdown import wanted
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
from kwire_cli.records.selection import Selection
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import Segment, segment_at
from kwire_cli.source.logs.model import OFFSET_CHECKPOINTS, file_name
from kwire_cli.source.logs.splitting import split_file
from kwire_cli.stores import location, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.records.batch import Source
    from kwire_cli.source.logs.model import Contents

    Rows = Callable[[Source, int, int, list[str], Selection, Reading], Iterator[pa.RecordBatch | Gap | Faults]]
    _Index = tuple[Contents[Any], Segment]
    """A file that has entries and no batches: what it says, and where it lies."""
    IndexRows = Callable[[Iterable[_Index]], Iterator[pa.RecordBatch]]
    PartitionPart = tuple[int, Any]
    """The number of a table in TABLES, and a part of it."""


# The tables of segments: their columns, and what makes rows of a part of a file.

PLACE = (pa.field("file", pa.string()), pa.field("topic", pa.string()), pa.field("partition", pa.int32()))
"""The first columns of all tables; topic and partition are those of the file's folder, null if it names none."""


TIME = pa.timestamp("us", "UTC")
_LAST = 253402300799999
"""The last millisecond that a time can be: that of the year 9999."""


@dataclass(frozen=True)
class Part:
    """The bytes [start, stop) of a segment, and which of its batches are wanted; a `stop` of None is the end of a file
    that could not be read.
    """

    segment: Segment
    selection: Selection
    start: int
    stop: int | None


@dataclass(frozen=True)
class Share:
    """One of several shares of the first `size` bytes of a segment, which are many. They are cut into parts of about
    `split_size` bytes where batches begin: who reads a share looks where that is.
    """

    segment: Segment
    selection: Selection
    size: int
    split_size: int
    share: int
    shares: int

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the share; the first share of a file that cannot be read is one part."""
        path, places = self.segment.path, _UNREAD
        with suppress(InputError, OSError):
            now = path_of(path).stat()
            places = _places(path, self.split_size, self.size, now.st_size, now.st_mtime)
        for start, stop in places[self.share :: self.shares]:
            yield Part(self.segment, self.selection, start, stop)


_UNREAD: Sequence[tuple[int, int | None]] = ((0, None),)


@lru_cache(maxsize=4)
def _places(path: str, split_size: int, size: int, *_: float) -> Sequence[tuple[int, int | None]]:
    """Return where the parts of a segment are, which is in the state that the last numbers say. A process may read
    several shares of it.
    """
    return split_file(path, split_size, size)


@dataclass(frozen=True)
class SegmentTable:
    """A table of segments. `rows` makes its columns, but for those in PLACE and `times`, which are milliseconds of
    other columns as a time. With `faults` it also makes the rows of that table.
    """

    name: str
    schema: pa.Schema
    rows: Rows
    times: dict[str, str]
    faults: bool = False

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Part | Share]:
        """As `model.Table`. InputError for what there is not; a file that cannot be read is one part."""
        (files,) = by_kind(paths, SEGMENTS)
        return self.parts_of(sized(files), filters, split_size)

    def parts_of(
        self, files: Iterable[tuple[str, int]], filters: Sequence[Filter], split_size: int
    ) -> Iterator[Part | Share]:
        """The same of files that are known to be segments, of so many bytes each."""
        limits = wanted(self.name, filters)
        for path, size in files:
            segment = segment_at(path_of(path))
            if not limits.has({"file": location(segment.path), "topic": segment.topic, "partition": segment.partition}):
                continue
            shares = round(size / split_size)
            if shares > 1:
                yield from (
                    Share(segment, limits.selection, size, split_size, share, shares) for share in range(shares)
                )
            else:
                yield Part(segment, limits.selection, 0, size or None)

    def read(self, part: Part | Share, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`; of faults, a file that cannot be read, or not to its end, is one."""
        return (rows for own in parts_in(part) for _, rows in self.read_all(own, names, reading))

    def read_all(
        self, part: Part, names: Sequence[str], reading: Reading, source: Callable[[], Source] | None = None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield what `read` does, with the name of the table of each; with `faults` those in all columns too.

        `source` gives the part's record set, by default `source_of_part`: several tables may share what was opened.
        """
        try:
            for rows in self._read(part, names, reading, source or partial(source_of_part, part, reading)):
                if isinstance(rows, Faults):
                    yield FAULTS_NAME, SEGMENT_FAULTS.placed(part, rows.rows)
                else:
                    yield self.name, self.placed(part, rows, names)
        except InputError as error:  # the file is gone, or became shorter while it was read
            reading.told.fault(part.segment.path, error.reason)
            if self.faults:
                yield FAULTS_NAME, SEGMENT_FAULTS.placed(part, unreadable(error.reason))
            elif self.name == FAULTS_NAME:
                yield FAULTS_NAME, self.placed(part, unreadable(error.reason), names)

    def _read(
        self, part: Part, names: Sequence[str], reading: Reading, source_of: Callable[[], Source]
    ) -> Iterator[pa.RecordBatch | Faults]:
        own = [
            name
            for name in self.rows_schema.names
            if name in names or name in {self.times.get(column) for column in names}
        ]
        source = source_of()
        size = source.size  # which may be less than when the file was looked at
        stop = size if part.stop is None else min(part.stop, size)
        reading.told.size += max(stop - part.start, 0)
        if reading.told.stop:
            _stop_at_faults(source, part.segment.path, min(part.start, stop), stop, reading)
        first = own or self.rows_schema.names[:1]  # the number of rows is asked for in any case
        for item in self.rows(source, min(part.start, stop), stop, first, part.selection, reading):
            if not isinstance(item, Gap):
                yield item
            elif item.code != PADDING:
                reading.told.fault(
                    part.segment.path, f"{item.code}: {item.size} bytes at {item.position}, {MEANING[item.code]}"
                )

    @cached_property
    def rows_schema(self) -> pa.Schema:
        """The columns that `rows` makes."""
        return pa.schema([field for field in self.schema if field not in PLACE and field.name not in self.times])

    def placed(self, part: Part, found: pa.RecordBatch, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return rows of a part with these columns, by default all, those in PLACE and times among them."""
        place = {"file": location(part.segment.path), "topic": part.segment.topic, "partition": part.segment.partition}
        columns = []
        names = self.schema.names if names is None else [*names]
        for name in names:
            field = self.schema.field(name)
            if name in place:
                columns.append(pa.repeat(pa.scalar(place[name], field.type), found.num_rows))
            elif name in self.times:
                columns.append(as_time(found.column(self.times[name])))
            else:
                columns.append(found.column(name))
        return pa.RecordBatch.from_arrays(columns, names=names)


def sized(paths: Sequence[str]) -> Iterable[tuple[str, int]]:
    """Return files with the bytes that each has now; 0 for one that cannot be read."""
    return zip(paths, sizes(paths), strict=True)


def parts_in(part: Part | Share) -> Iterable[Part]:
    """Return the parts of a share, or the part itself."""
    return part.parts() if isinstance(part, Share) else (part,)


def source_of_part(part: Part, reading: Reading) -> Source:
    """Open a part of a segment, as the record set that its topic makes it. InputError if it cannot be read."""
    return recognised_source(
        part.segment.path, folder=part.segment.topic, catalog=reading.catalog, limits=reading.limits, start=part.start
    )


def _stop_at_faults(source: Source, path: str, start: int, stop: int, reading: Reading) -> None:
    """Tell the first fault, if there is any: a look at all of the bytes, which is a pass over them that nothing else
    needs.
    """
    for batch in _faults(source, start, stop, [], Selection(), reading):
        fault = batch.slice(0, 1).to_pylist()[0]
        reading.told.fault(path, f"{fault['code']}: {fault['detail']}")


def as_time(milliseconds: pa.Array) -> pa.Array:
    """Milliseconds since 1970 as a time; null where they are negative, which is none, or beyond the year 9999."""
    values = (milliseconds.fill_null(-1) if milliseconds.null_count else milliseconds).to_numpy()
    none = (values < 0) | (values > _LAST)
    return pa.array(np.where(none, 0, values) * 1000, mask=none if none.any() else None).view(TIME)


def _with_time(schema: pa.Schema, name: str, of: str) -> pa.Schema:
    """The schema with a time behind the column of its milliseconds."""
    return pa.schema(
        [
            *PLACE,
            *(
                field
                for column in schema
                for field in ([column, pa.field(name, TIME)] if column.name == of else [column])
            ),
        ]
    )


def _batches(
    source: Source, start: int, stop: int, names: list[str], selection: Selection, _reading: Reading
) -> Iterator[Any]:
    return batch_columns(source, start, stop, names, selection)


def _records(
    source: Source,
    start: int,
    stop: int,
    names: list[str],
    selection: Selection,
    reading: Reading,
    *,
    faults: bool = False,
) -> Iterator[Any]:
    redaction = Redaction(reading.catalog, show_secrets=reading.show_secrets)
    return record_columns(source, start, stop, names, selection, hide=redaction.record, faults=faults)


def _faults(
    source: Source, start: int, stop: int, _names: list[str], _selection: Selection, reading: Reading
) -> Iterator[Any]:
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


# The table `index`: what indexes, producer snapshots and checkpoints say; and what is odd about them, as
# faults.

_SAID = pa.schema(
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


INDEX = pa.schema([*PLACE, *_SAID])
"""`entry` counts from 0 in its file, `at` is where it begins there. What follows has the names that `kwire dump` gives
it, as SQL writes them; a column of which entries of a kind say nothing is null."""
_ROWS = 1 << 16
_SHARE = 32
"""Indexes of a part are so much smaller than segments of one: an entry, which is some bytes, takes as long as some
hundred of a batch."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class IndexTable:
    """As `model.Table`; `rows` makes the rows of some files, with all columns, and `unread` those of one that cannot be
    read.
    """

    name: str
    schema: pa.Schema
    rows: IndexRows
    unread: Callable[[Segment, str], Iterator[pa.RecordBatch]]

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[tuple[Segment, ...]]:
        """Files that a task reads: some, as they are small."""
        (files,) = by_kind(paths, INDEXES)
        return self.parts_of(sized(files), filters, split_size)

    def parts_of(
        self, files: Iterable[tuple[str, int]], filters: Sequence[Filter], split_size: int
    ) -> Iterator[tuple[Segment, ...]]:
        """The same of files that are known to be indexes, of so many bytes each."""
        limits = wanted(self.name, filters)
        part: list[Segment] = []
        size = 0
        for path, bytes_of_file in files:
            file = segment_at(path_of(path))
            kind = file_name(path_of(path).name).kind
            own: dict[str, Any] = {"file": location(file.path), "kind": kind.value}
            if kind not in OFFSET_CHECKPOINTS:  # whose entries are of many partitions
                own |= {"topic": file.topic, "partition": file.partition}
            if not limits.has(own):
                continue
            part.append(file)
            size += bytes_of_file
            if size * _SHARE >= split_size:
                yield tuple(part)
                part, size = [], 0
        if part:
            yield tuple(part)

    def read(self, part: tuple[Segment, ...], names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`."""
        return (rows.select([*names]) for _, rows in index_rows((self,), part, reading))


def index_rows(
    tables: Sequence[IndexTable], part: Iterable[Segment], reading: Reading
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows that tables have of indexes, with the name of the table of each; every file is read once."""
    indexes: list[_Index] = []
    entries = 0
    for file in part:
        try:
            contents = read_log_file(file.path)
        except InputError as error:
            reading.told.fault(file.path, error.reason)
            yield from _rows_of(tables, indexes)
            indexes, entries = [], 0
            yield from ((table.name, rows) for table in tables for rows in table.unread(file, error.reason))
            continue
        reading.told.size += contents.size
        if reading.told.stop and contents.anomalies:
            reading.told.fault(file.path, f"{contents.anomalies[0].code}: {contents.anomalies[0].detail}")
        indexes.append((contents, file))
        entries += len(contents.entries)
        if entries >= _ROWS:
            yield from _rows_of(tables, indexes)
            indexes, entries = [], 0
    yield from _rows_of(tables, indexes)


def _rows_of(tables: Sequence[IndexTable], indexes: Sequence[_Index]) -> Iterator[tuple[str, pa.RecordBatch]]:
    return ((table.name, rows) for table in tables for rows in table.rows(indexes))


def _entries(indexes: Iterable[_Index]) -> Iterator[pa.RecordBatch]:
    """A row for each entry."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for contents, file in indexes:
        for start in range(0, len(contents.entries), _ROWS):
            entries = contents.entries[start : start + _ROWS]
            names = [_HUMP.sub("_", name).lower() for name in entries[0].to_json()]
            said: dict[str, Iterable[Any]] = {
                name: [constant] * len(entries)
                for name, constant in zip(("file", "topic", "partition"), _place(file), strict=True)
            }
            said |= {"kind": [contents.kind.value] * len(entries), "entry": range(start, start + len(entries))}
            said |= zip(names, zip(*entries, strict=True), strict=True)
            for name in {*columns, *said}:
                columns.setdefault(name, [None] * count).extend(said.get(name, [None] * len(entries)))
            count += len(entries)
            if count >= _ROWS:
                yield _index_batch(columns, count)
                columns, count = {}, 0
    if count:
        yield _index_batch(columns, count)


def _index_batch(said: dict[str, list[Any]], count: int) -> pa.RecordBatch:
    columns = {field.name: pa.array(said[field.name], field.type) for field in INDEX if field.name in said}
    if "timestamp" in columns:
        columns["time"] = as_time(columns["timestamp"])
    return pa.RecordBatch.from_arrays(
        [columns.get(field.name, pa.nulls(count, field.type)) for field in INDEX], schema=INDEX
    )


def _odd(indexes: Iterable[_Index]) -> Iterator[pa.RecordBatch]:
    """A row for each anomaly, which is where its bytes are."""
    if rows := [
        (*_place(file), note.offset, None, note.code, note.path, note.offset, note.detail)
        for contents, file in indexes
        for note in contents.anomalies
    ]:
        yield batch_of(rows, INDEX_FAULTS.schema)


def _unreadable(file: Segment, reason: str) -> Iterator[pa.RecordBatch]:
    yield batch_of([(*_place(file), *unreadable(reason).to_pylist()[0].values())], INDEX_FAULTS.schema)


def _place(file: Segment) -> tuple[str, str | None, int | None]:
    return location(file.path), file.topic, file.partition


INDEX_TABLE = IndexTable("index", INDEX, _entries, lambda _file, _reason: iter(()))
INDEX_FAULTS = IndexTable(FAULTS_NAME, pa.schema([*PLACE, *FAULTS]), _odd, _unreadable)


# The table `faults` of log directories: those of segments, and of indexes and checkpoints beside them.

TABLES: tuple[SegmentTable | IndexTable, ...] = (SEGMENT_FAULTS, INDEX_FAULTS)


@dataclass(frozen=True)
class PartitionFaults:
    """As `model.Table`."""

    name: str = FAULTS_NAME
    schema: pa.Schema = SEGMENT_FAULTS.schema

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[PartitionPart]:
        """Yield the parts of segments, and the parts of indexes."""
        files_by_kind = by_kind(paths, SEGMENTS, INDEXES)
        for number, (table, files) in enumerate(zip(TABLES, files_by_kind, strict=True)):
            yield from ((number, part) for part in table.parts_of(sized(files), filters, split_size))

    def read(self, part: PartitionPart, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`."""
        number, own = part
        return TABLES[number].read(own, names, reading)


PARTITION_FAULTS = PartitionFaults()
