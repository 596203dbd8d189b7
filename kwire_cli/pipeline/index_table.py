"""The table `index`: what indexes, producer snapshots and checkpoints say; and what is odd about them, as faults."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.row_batches import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.kinds import INDEXES, by_kind
from kwire_cli.pipeline.segment_filters import wanted
from kwire_cli.pipeline.segment_tables import FAULTS_NAME, PLACE, TIME, as_time
from kwire_cli.records.fault_columns import FAULTS, unreadable
from kwire_cli.source.logs.names import OFFSET_CHECKPOINTS, file_name
from kwire_cli.source.logs.reading import read_log_file
from kwire_cli.source.logs.segments import Segment, segment_at
from kwire_cli.stores import location, path_of, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.logs.model import Contents

    Rows = Callable[[Contents[Any], Segment], Iterator[pa.RecordBatch]]

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
"""`entry` counts from 0 in its file, `at` is where it begins there. What follows has the names that `kwire dump` gives it, as SQL writes them; a
column of which entries of a kind say nothing is null."""
_ROWS = 1 << 16
_SHARE = 32
"""Indexes of a part are so much smaller than segments of one: an entry, which is some bytes, takes as long as some hundred of a batch."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class IndexTable:
    """As `model.Table`; `rows` makes the rows of a file, with all columns, and `unread` those of one that cannot be read."""

    name: str
    schema: pa.Schema
    rows: Rows
    unread: Callable[[Segment, str], Iterator[pa.RecordBatch]]

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[tuple[Segment, ...]]:
        """Files that a task reads: some, as they are small."""
        (files,) = by_kind(paths, INDEXES)
        return self.parts_of(files, filters, split_size)

    def parts_of(self, files: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[tuple[Segment, ...]]:
        """The same of files that are known to be indexes."""
        found = wanted(self.name, filters)
        part: list[Segment] = []
        size = 0
        for path, bytes_of_file in zip(files, sizes(files), strict=True):
            file = segment_at(path_of(path))
            kind = file_name(path_of(path).name).kind
            own: dict[str, Any] = {"file": location(file.path), "kind": kind.value}
            if kind not in OFFSET_CHECKPOINTS:  # whose entries are of many partitions
                own |= {"topic": file.topic, "partition": file.partition}
            if not found.has(own):
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
        for file in part:
            try:
                contents = read_log_file(file.path)
            except InputError as error:
                reading.told.fault(file.path, error.reason)
                yield from (rows.select([*names]) for rows in self.unread(file, error.reason))
                continue
            reading.told.size += contents.size
            if reading.told.stop and contents.anomalies:
                reading.told.fault(file.path, f"{contents.anomalies[0].code}: {contents.anomalies[0].detail}")
            yield from (rows.select([*names]) for rows in self.rows(contents, file))


def _entries(contents: Contents[Any], file: Segment) -> Iterator[pa.RecordBatch]:
    """A row for each entry."""
    for start in range(0, len(contents.entries), _ROWS):
        some = contents.entries[start : start + _ROWS]
        names = [_HUMP.sub("_", name).lower() for name in some[0].to_json()]
        said: dict[str, Any] = {name: [each] * len(some) for name, each in zip(("file", "topic", "partition"), _place(file), strict=True)}
        said |= {"kind": [contents.kind.value] * len(some), "entry": range(start, start + len(some))}
        said |= zip(names, zip(*some, strict=True), strict=True)
        columns = {field.name: pa.array(said[field.name], field.type) for field in INDEX if field.name in said}
        if "timestamp" in columns:
            columns["time"] = as_time(columns["timestamp"])
        yield pa.RecordBatch.from_arrays([columns.get(field.name, pa.nulls(len(some), field.type)) for field in INDEX], schema=INDEX)


def _odd(contents: Contents[Any], file: Segment) -> Iterator[pa.RecordBatch]:
    """A row for each anomaly, which is where its bytes are."""
    if rows := [(*_place(file), note.offset, None, note.code, note.path, note.offset, note.detail) for note in contents.anomalies]:
        yield batch_of(rows, INDEX_FAULTS.schema)


def _unreadable(file: Segment, reason: str) -> Iterator[pa.RecordBatch]:
    yield batch_of([(*_place(file), *unreadable(reason).to_pylist()[0].values())], INDEX_FAULTS.schema)


def _place(file: Segment) -> tuple[str, str | None, int | None]:
    return location(file.path), file.topic, file.partition


INDEX_TABLE = IndexTable("index", INDEX, _entries, lambda _file, _reason: iter(()))
INDEX_FAULTS = IndexTable(FAULTS_NAME, pa.schema([*PLACE, *FAULTS]), _odd, _unreadable)
