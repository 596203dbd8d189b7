"""Rows of log directories and request logs that arrive, as a stream to a lake has them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.capture_faults import file_fault
from kwire_cli.pipeline.lake.logs import OF_KINDS, part_rows, shaped
from kwire_cli.pipeline.lake.units import key_of, log_point
from kwire_cli.pipeline.model import INDEXES, found, of_kind
from kwire_cli.pipeline.segments import FAULTS_NAME
from kwire_cli.pipeline.stream_files import Files, IndexFiles, IndexFolder, RequestLogFiles, SegmentFiles
from kwire_cli.pipeline.stream_reader import MEANING, StreamReader
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.request_log.reading import LogPart
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.pipeline.stream_reader import Task

ROWS = pa.schema(
    [
        pa.field("table", pa.string()),
        pa.field("point", pa.string()),
        pa.field("unit", pa.string()),
        pa.field("rows", pa.binary()),
    ]
)
"""Rows of any table, as an Arrow stream. Those of a `unit` stand for all rows that it had before; there may be none."""
_FILES: dict[str, type[Files]] = {"segment": SegmentFiles, "index": IndexFiles, "request-log": RequestLogFiles}
MOST_BYTES = 8 << 20
"""Bytes of rows in an Arrow stream, about."""


def packed(rows: list[pa.RecordBatch]) -> bytes:
    """Return rows of one table as an Arrow stream."""
    table = pa.Table.from_batches(rows).unify_dictionaries()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return bytes(out.getvalue())


def unpacked(data: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the rows in an Arrow stream."""
    with pa.ipc.open_stream(data) as stream:
        yield from stream


def fault_rows(point: str, faults: Iterable[tuple[str, str]]) -> list[pa.RecordBatch]:
    """Return the rows of what happened to files: each has its path and a code."""
    return [shaped(FAULTS_NAME, file_fault(point, path, None, None, code, MEANING[code])) for path, code in faults]


class LogReader(StreamReader):
    """The rows of ROWS that logs have: those of some `tables`. `files` are paths by kind, as OF_KINDS has it."""

    def __init__(self, tables: Collection[str], files: Mapping[str, Sequence[str]], *args: Any) -> None:
        self.tables, self.files = tables, files
        super().__init__(*args)

    def kinds(self, patience: int) -> list[Any]:
        """Return the kinds of files that hold rows of the tables."""
        return [_FILES[kind](patience, paths) for kind, paths in self.files.items() if paths and self._sources(kind)]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """As `StreamReader`."""
        if FAULTS_NAME in self.tables:
            for path, code in task.faults:
                yield _row(FAULTS_NAME, log_point(path), None, fault_rows(log_point(path), [(path, code)]))
        if isinstance(task.part, IndexFolder):
            yield from self._indexes(task.part.folder)
        elif task.part is not None:
            is_log = isinstance(task.part, LogPart)
            kind, path = ("request-log", task.part.path) if is_log else ("segment", str(task.part.segment.path))
            for source in self._sources(kind):
                rows = part_rows(source, task.part, self.reading)
                for some in _together(rows):
                    yield _row(source.name, log_point(path), None, some)

    def _sources(self, kind: str) -> list[Any]:
        return [source for source in OF_KINDS[kind] if source.name in self.tables]

    def _indexes(self, folder: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all indexes in a folder."""
        unit = key_of(folder)
        by_point: dict[str, list[Any]] = defaultdict(list)
        try:
            files = of_kind(found([folder], INDEXES), INDEXES)
        except InputError:  # they are gone
            return
        for path in sorted(files):
            if str(path_of(path).parent) == folder:
                by_point[log_point(path)].append(segment_at(path_of(path)))
        for point, segments in by_point.items():
            for source in self._sources("index"):
                yield _row(source.name, point, unit, [*part_rows(source, tuple(segments), self.reading)])


def _row(table: str, point: str, unit: str | None, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batch_of([(table, point, unit, packed(rows) if rows else b"")], ROWS)


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield rows in lists of some size."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size > MOST_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held
