"""The rows of segments, indexes and request logs.

A file is read in parts, so that several tasks can share it: each task takes every n-th part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import groupby, islice, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.lake.model import Faults
from kwire_cli.lake.request_logs import LOG_TABLES, rows_of
from kwire_cli.lake.segments import (
    FAULTS_NAME,
    INDEX_FAULTS,
    INDEX_TABLE,
    RECORDS_AND_FAULTS,
    SEGMENT_FAULTS,
    SEGMENT_TABLES,
    Share,
    index_parts,
    index_rows,
    segment_parts,
    source_of_part,
)
from kwire_cli.lake.tables import FAULTS
from kwire_cli.source.logs.splitting import SPLIT_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kwire_cli.lake.inputs import Input
    from kwire_cli.lake.model import Reading
    from kwire_cli.lake.segments import Part, SegmentTable


def log_rows(
    files: Iterable[Input], tables: Collection[str], reading: Reading, share: int = 0, shares: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of logs, with their tables. With `shares`, read every `shares`-th part, beginning with `share`."""
    indexes = [table for table in (INDEX_TABLE, INDEX_FAULTS) if table.name in tables]
    segments = [table for table in (*SEGMENT_TABLES, SEGMENT_FAULTS) if table.name in tables]
    logs = LOG_TABLES.intersection(tables)
    readers: dict[str, tuple[Collection[Any], Callable[[Any], Iterable[tuple[str, pa.RecordBatch]]]]] = {
        "index": (indexes, lambda part: index_rows(indexes, part, reading)),
        "request-log": (logs, lambda part: rows_of(part, logs, reading)),
        "segment": (segments, lambda part: _segment_rows(segments, part, reading)),
    }
    for kind, same in groupby(files, lambda file: file.kind):
        wanted, read = readers[kind]
        for part in islice(_parts_of(kind, same) if wanted else (), share, None, shares):
            yield from ((table, shaped(table, rows)) for table, rows in read(part))


def _parts_of(kind: str, files: Iterable[Input]) -> Iterator[Any]:
    if kind == "request-log":
        return (file.path for file in files)
    sized = ((file.path, file.size) for file in files)
    return segment_parts(sized, SPLIT_SIZE) if kind == "segment" else index_parts(sized, SPLIT_SIZE)


def _segment_rows(
    tables: Sequence[SegmentTable], part: Part | Share, reading: Reading
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of tables of a segment. Each part is opened once for all tables."""
    if {"records", FAULTS_NAME} <= {table.name for table in tables}:
        tables = [*(table for table in tables if table.name == "batches"), RECORDS_AND_FAULTS]
    for each in part.parts() if isinstance(part, Share) else (part,):
        opened = cache(partial(source_of_part, each, reading))
        for table, own in zip(tables, _readings(reading), strict=False):
            yield from table.read(each, own, opened)


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
