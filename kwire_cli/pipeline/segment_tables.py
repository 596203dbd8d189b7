"""The tables of segments: their columns, and what makes rows of a part of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.payload.records import OWN_TOPICS
from kwire_cli.pipeline.kinds import SEGMENTS, by_kind
from kwire_cli.pipeline.segment_filters import wanted
from kwire_cli.records.batch_columns import BATCHES, batch_columns
from kwire_cli.records.fault_columns import FAULTS, fault_columns, unreadable
from kwire_cli.records.model import PADDING, Gap
from kwire_cli.records.recognised import recognised_source
from kwire_cli.records.record_columns import RECORDS, record_columns
from kwire_cli.source.logs.segments import Segment, segment_at
from kwire_cli.source.logs.splitting import split_file
from kwire_cli.stores import in_parallel, location, mapped, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading, Told
    from kwire_cli.records.model import Source
    from kwire_cli.records.selecting import Selection

    Rows = Callable[[Source, int, int, list[str], Selection, Reading], Iterator[pa.RecordBatch | Gap]]

PLACE = (pa.field("file", pa.string()), pa.field("topic", pa.string()), pa.field("partition", pa.int32()))
"""What all tables begin with; topic and partition are what the file's folder says, null where it says nothing."""
TIME = pa.timestamp("us", "UTC")
_LAST = 253402300799999
"""The last millisecond that a time can be: that of the year 9999."""


@dataclass(frozen=True)
class Part:
    """The bytes [start, stop) of a segment, and which of its batches are wanted; a `stop` of None is the end of a file that could not be read."""

    segment: Segment
    selection: Selection
    start: int
    stop: int | None


@dataclass(frozen=True)
class SegmentTable:
    """A table of segments. `rows` makes its columns, but for those in PLACE and `times`, which are milliseconds of other columns as a time."""

    name: str
    schema: pa.Schema
    rows: Rows
    times: dict[str, str]

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Part]:
        """As `model.Table`. InputError for what there is not; a file that cannot be read is one part."""
        (files,) = by_kind(paths, SEGMENTS)
        return self.parts_of(files, filters, split_size)

    def parts_of(self, files: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Part]:
        """The same of files that are known to be segments."""
        found = wanted(self.name, filters)
        segments = [segment_at(path_of(path)) for path in files]
        some = [each for each in segments if found.has({"file": location(each.path), "topic": each.topic, "partition": each.partition})]
        for segment, places in zip(some, in_parallel(partial(_places, split_size), some, lambda each: each.path), strict=True):
            for start, stop in places:
                yield Part(segment, found.selection, start, stop)

    def read(self, part: Part, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`; of faults, a file that cannot be read, or not to its end, is one."""
        try:
            yield from self._read(part, names, reading)
        except InputError as error:  # the file is gone, or became shorter while it was read
            reading.told.fault(part.segment.path, error.reason)
            if self.name == FAULTS_NAME:
                yield self._shown(part, unreadable(error.reason), names)

    def _read(self, part: Part, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        own = [name for name in self.rows_schema.names if name in names or name in {self.times.get(each) for each in names}]
        data = mapped(part.segment.path, part.start, part.stop)
        source = recognised_source(data, folder=part.segment.topic, catalog=reading.catalog, limits=reading.limits, start=part.start)
        size = len(source.data)  # which may be less than when the file was looked at
        stop = size if part.stop is None else min(part.stop, size)
        reading.told.size += max(stop - part.start, 0)
        if reading.told.stop:
            _stop_at_faults(source, part.segment.path, min(part.start, stop), stop, reading.told)
        first = own or self.rows_schema.names[:1]  # the number of rows is asked for in any case
        for found in self.rows(source, min(part.start, stop), stop, first, part.selection, reading):
            if not isinstance(found, Gap):
                yield self._shown(part, found, names)
            elif found.code != PADDING:
                reading.told.fault(part.segment.path, f"{found.code}: {found.size} bytes at {found.position}, {MEANING[found.code]}")

    @property
    def rows_schema(self) -> pa.Schema:
        """Those columns that `rows` makes."""
        return pa.schema([field for field in self.schema if field not in PLACE and field.name not in self.times])

    def _shown(self, part: Part, found: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        place = {"file": location(part.segment.path), "topic": part.segment.topic, "partition": part.segment.partition}
        made = []
        for name in names:
            field = self.schema.field(name)
            if name in place:
                made.append(pa.repeat(pa.scalar(place[name], field.type), found.num_rows))
            elif name in self.times:
                made.append(as_time(found.column(self.times[name])))
            else:
                made.append(found.column(name))
        return pa.RecordBatch.from_arrays(made, names=[*names])


def _places(split_size: int, segment: Segment) -> list[tuple[int, int | None]]:
    """Where the parts of a segment begin and end; a file that cannot be read is one."""
    try:
        return [*split_file(segment.path, split_size)]
    except InputError:
        return [(0, None)]


def _stop_at_faults(source: Source, path: str, start: int, stop: int, told: Told) -> None:
    """Tell the first fault, if there is any: a look at all of the bytes, which is a pass over them that nothing else needs."""
    for found in fault_columns(source, start, stop):
        fault = found.slice(0, 1).to_pylist()[0]
        told.fault(path, f"{fault['code']}: {fault['detail']}")


def as_time(milliseconds: pa.Array) -> pa.Array:
    """Milliseconds since 1970 as a time; null where they are negative, which is none, or beyond the year 9999."""
    there = pc.and_(pc.greater_equal(milliseconds, 0), pc.less_equal(milliseconds, _LAST))
    return pc.if_else(there, milliseconds, None).cast(pa.timestamp("ms", "UTC")).cast(TIME)


def _with_time(schema: pa.Schema, name: str, of: str) -> pa.Schema:
    """The schema with a time behind the column of its milliseconds."""
    return pa.schema([*PLACE, *(field for each in schema for field in ([each, pa.field(name, TIME)] if each.name == of else [each]))])


def _batches(source: Source, start: int, stop: int, names: list[str], selection: Selection, _reading: Reading) -> Iterator[Any]:
    return batch_columns(source, start, stop, names, selection)


def _records(source: Source, start: int, stop: int, names: list[str], selection: Selection, reading: Reading) -> Iterator[Any]:
    redaction = Redaction(reading.catalog, show_secrets=reading.show_secrets)
    hide = redaction.record if source.topic in OWN_TOPICS else None
    return record_columns(source, start, stop, names, selection, hide=hide)


def _faults(source: Source, start: int, stop: int, _names: list[str], _selection: Selection, _reading: Reading) -> Iterator[Any]:
    return fault_columns(source, start, stop)


FAULTS_NAME = "faults"
SEGMENT_FAULTS = SegmentTable(FAULTS_NAME, pa.schema([*PLACE, *FAULTS]), _faults, {})
SEGMENT_TABLES = (
    SegmentTable("batches", _with_time(BATCHES, "max_time", "max_timestamp"), _batches, {"max_time": "max_timestamp"}),
    SegmentTable("records", _with_time(RECORDS, "time", "timestamp"), _records, {"time": "timestamp"}),
)
