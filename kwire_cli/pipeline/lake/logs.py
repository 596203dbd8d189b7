"""The tables of log directories and request logs: the rows of one file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
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
    SEGMENT_FAULTS,
    SEGMENT_TABLES,
    source_of_part,
)
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.request_log.reading import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from kwire_cli.pipeline.lake.units import Input
    from kwire_cli.pipeline.model import Reading
    from kwire_cli.records.batch import Source
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
        opened = (cache(partial(source_of_part, part, reading)),) if file.kind == "segment" else ()
        own = reading
        for source in sources:
            yield from ((source.name, rows) for rows in part_rows(source, part, own, *opened))
            own = replace(reading, told=Told(stop=reading.told.stop))  # each table would tell the same gaps


def part_rows(source: Any, part: Any, reading: Reading, *opened: Callable[[], Source]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a table of OF_KINDS has of a part of a log; of a segment's, `opened` may give the source."""
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
