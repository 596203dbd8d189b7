"""The rows of segments, indexes and request logs.

A file is read in parts, so that several tasks can share it: each task takes every n-th part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import repeat
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.lake.model import Faults
from kwire_cli.lake.request_logs import LOG_TABLES, rows_of
from kwire_cli.lake.segments import (
    FAULTS_NAME,
    RECORDS_AND_FAULTS,
    SEGMENT_FAULTS,
    SEGMENT_TABLES,
    index_rows,
    segment_parts,
    source_of_part,
)
from kwire_cli.lake.tables import FAULTS
from kwire_cli.source.logs.splitting import SPLIT_SIZE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kwire_cli.lake.inputs import Input
    from kwire_cli.lake.model import Reading
    from kwire_cli.lake.segments import Part, SegmentTable


def log_rows(
    file: Input, tables: Collection[str], reading: Reading, share: int = 0, shares: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a log, with their tables: of every `shares`-th part, beginning with `share`."""
    for table, rows in _rows_of(file, tables, reading, share, shares):
        yield table, shaped(table, rows)


def _rows_of(
    file: Input, tables: Collection[str], reading: Reading, share: int, shares: int
) -> Iterator[tuple[str, pa.RecordBatch]]:
    if file.kind == "segment":
        if segments := [table for table in (*SEGMENT_TABLES, SEGMENT_FAULTS) if table.name in tables]:
            for part in segment_parts(file.path, file.size, SPLIT_SIZE, share, shares):
                yield from _segment_rows(segments, part, reading)
    elif share:
        return
    elif file.kind == "request-log":
        if wanted := LOG_TABLES.intersection(tables):
            yield from rows_of(file.path, wanted, reading)
    elif not {"index", FAULTS_NAME}.isdisjoint(tables):
        yield from index_rows(file.path, tables, reading)


def _segment_rows(tables: Sequence[SegmentTable], part: Part, reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of tables of a part of a segment, which is opened once for all tables."""
    if {"records", FAULTS_NAME} <= {table.name for table in tables}:
        tables = [*(table for table in tables if table.name == "batches"), RECORDS_AND_FAULTS]
    opened = cache(partial(source_of_part, part, reading))
    for table, own in zip(tables, _readings(reading), strict=False):
        yield from table.read(part, own, opened)


def _readings(reading: Reading) -> Iterator[Reading]:
    """Yield the options for each table of a part. Only the first counts faults, as all would find the same gaps."""
    yield reading
    yield from repeat(replace(reading, faults=Faults()))


def shaped(table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with the columns of their table in a lake."""
    if table != "faults":
        return rows
    own = set(rows.schema.names)
    columns = [rows.column(each.name) if each.name in own else pa.nulls(rows.num_rows, each.type) for each in FAULTS]
    return pa.RecordBatch.from_arrays(columns, schema=FAULTS)
