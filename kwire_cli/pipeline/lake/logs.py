"""The tables of log directories and request logs: the rows of files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import groupby, islice, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.pipeline.capture_faults import UNREADABLE, file_fault
from kwire_cli.pipeline.lake.request_logs import LOG_FAULTS, LOG_FRAMES, rows_of
from kwire_cli.pipeline.lake.tables import FAULTS
from kwire_cli.pipeline.model import Told
from kwire_cli.pipeline.segments import (
    FAULTS_NAME,
    INDEX_FAULTS,
    INDEX_TABLE,
    RECORDS_AND_FAULTS,
    SEGMENT_FAULTS,
    SEGMENT_TABLES,
    index_rows,
    parts_in,
    source_of_part,
)
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.request_log.reading import parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.pipeline.lake.units import Input
    from kwire_cli.pipeline.model import Reading
    from kwire_cli.pipeline.segments import SegmentTable
    from kwire_cli.source.packets.descriptors import Schedule


OF_KINDS: Mapping[str, Sequence[Any]] = {
    "request-log": (LOG_FRAMES, LOG_FAULTS),
    "index": (INDEX_TABLE, INDEX_FAULTS),
    "segment": (*SEGMENT_TABLES, SEGMENT_FAULTS),
}
"""The tables that each kind of log has rows of."""


def log_rows(
    files: Iterable[Input], tables: Collection[str], reading: Reading, share: int = 0, shares: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of logs, with their tables; of the parts of one file every one in `shares`, from `share` on."""
    for kind, same in groupby(files, lambda file: file.kind):
        sources = [source for source in OF_KINDS[kind] if source.name in tables]
        parts = _parts_of(kind, sources, same) if sources else ()
        for part in islice(parts, share, None, shares):
            if kind == "request-log":
                wanted = {source.name: source.schema for source in sources}
                rows = rows_of(part, wanted, reading)
            elif kind == "segment":
                rows = (row for own in parts_in(part) for row in _segment_rows(sources, own, reading))
            else:
                rows = index_rows(sources, part, reading)
            yield from ((table, shaped(table, batch)) for table, batch in rows)


def _parts_of(kind: str, sources: Sequence[Any], files: Iterable[Input]) -> Iterator[Any]:
    if kind == "request-log":
        return (part for file in files for part in parts_of(file.path, SPLIT_SIZE))
    parts: Iterator[Any] = sources[0].parts_of(((file.path, file.size) for file in files), (), SPLIT_SIZE)
    return parts


def _segment_rows(tables: Sequence[SegmentTable], part: Any, reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows that tables have of a part of a segment, which is opened once."""
    opened = cache(partial(source_of_part, part, reading))
    if {"records", FAULTS_NAME} <= {table.name for table in tables}:
        tables = [*(table for table in tables if table.name == "batches"), RECORDS_AND_FAULTS]
    for table, own in zip(tables, _readings(reading), strict=False):
        yield from table.read_all(part, table.schema.names, own, opened)


def _readings(reading: Reading) -> Iterator[Reading]:
    """Yield how the tables of a part are read: those behind the first would tell the same gaps."""
    yield reading
    yield from repeat(replace(reading, told=Told(stop=reading.told.stop)))


def part_rows(source: Any, part: Any, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a table of OF_KINDS has of a part of a log."""
    return (shaped(source.name, rows) for rows in source.read(part, source.schema.names, reading))


def unreadable(plan: Schedule) -> Iterator[pa.RecordBatch]:
    """Yield the faults of captures that cannot be read."""
    for path, reason in plan.faults:
        yield shaped(FAULTS_NAME, file_fault(None, path, None, None, UNREADABLE, reason))


def shaped(table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with the columns of their table in a lake."""
    if table != "faults":
        return rows
    own = set(rows.schema.names)
    columns = [rows.column(each.name) if each.name in own else pa.nulls(rows.num_rows, each.type) for each in FAULTS]
    return pa.RecordBatch.from_arrays(columns, schema=FAULTS)
