"""The tables of log directories and request logs: the rows of one file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import repeat
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
    source_of_part,
)
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.request_log.reading import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

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
    file: Input, tables: Collection[str], reading: Reading, share: int = 0, shares: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a log, with their tables; of all parts of the file every one in `shares`, from `share` on."""
    sources = [source for source in OF_KINDS[file.kind] if source.name in tables]
    if not sources:
        return
    is_log = file.kind == "request-log"
    parts = parts_of(file.path, SPLIT_SIZE) if is_log else sources[0].parts_of([file.path], (), SPLIT_SIZE)
    for number, part in enumerate(parts):
        if number % shares != share:
            continue
        if is_log:
            wanted = {source.name: source.schema for source in sources}
            yield from ((table, shaped(table, rows)) for table, rows in rows_of(part, wanted, reading))
            continue
        if file.kind == "segment":
            yield from _segment_rows(sources, part, reading)
            continue
        contents = cache(read_log_file)
        for source, own in zip(sources, _readings(reading), strict=False):
            yield from ((source.name, rows) for rows in part_rows(source, part, own, contents))


def _segment_rows(tables: Sequence[SegmentTable], part: Any, reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows that tables have of a part of a segment, which is opened once."""
    opened = cache(partial(source_of_part, part, reading))
    if {"records", FAULTS_NAME} <= {table.name for table in tables}:
        tables = [*(table for table in tables if table.name == "batches"), RECORDS_AND_FAULTS]
    for table, own in zip(tables, _readings(reading), strict=False):
        for name, rows in table.read_all(part, table.schema.names, own, opened):
            yield name, shaped(name, rows)


def _readings(reading: Reading) -> Iterator[Reading]:
    """Yield how the tables of a part are read: those behind the first would tell the same gaps."""
    yield reading
    yield from repeat(replace(reading, told=Told(stop=reading.told.stop)))


def part_rows(source: Any, part: Any, reading: Reading, *opened: Callable[..., Any]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a table of OF_KINDS has of a part of a log, which `opened` reads, if it says how."""
    return (shaped(source.name, rows) for rows in source.read(part, source.schema.names, reading, *opened))


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
