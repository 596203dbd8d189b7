"""`spark.readStream.format("kwire")`: the tables that files hold, of files that arrive and grow."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from kwire_cli.errors import InputError
from kwire_cli.pipeline.packet_table import PACKET_TABLE, Wanted
from kwire_cli.pipeline.segment_tables import FAULTS_NAME, SEGMENT_FAULTS, SEGMENT_TABLES
from kwire_cli.pipeline.streaming.arrivals import MEANING, Arrivals
from kwire_cli.pipeline.streaming.files import CaptureFiles, SegmentFiles, is_glob
from kwire_cli.pipeline.streaming.progress import Progress
from kwire_cli.source.capture.model import NO_TIME
from kwire_cli.source.capture.parts import Part as CapturePart, PartReader
from kwire_cli.source.naming import named
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.pipeline.model import Reading, Table

OPTIONS = {"maxBytesPerTrigger": 1 << 30, "patience": 60}
"""Options of streams, and what they are otherwise: bytes of a batch; seconds after which nothing is waited for in a capture that nobody writes to."""
FEWEST_BYTES = 16 << 20
"""Bytes up to which a task reads several parts."""
_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Task:
    """A part to read: of captures `before` packets were before it and are not of its file, and `through` is the last packet of the batch."""

    part: Any
    before: int
    through: int
    faults: tuple[tuple[str, str], ...] = ()


class TasksToDo(InputPartition):
    """What one Spark task reads."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows of one table; `paths` may be there later.

    Spark calls `latestOffset` and `partitions` in one Python that lives as long as the query, and `read` in tasks.
    """

    def __init__(self, paths: Sequence[str], schema: pa.Schema, reading: Reading, split_size: int, options: Mapping[str, int]) -> None:
        self.paths, self.schema, self.reading, self.split_size = paths, schema, reading, split_size
        self.most = options["maxBytesPerTrigger"]
        self.arrivals = Arrivals(paths, self.kinds(options["patience"]))

    @property
    def names(self) -> list[str]:
        """The columns that are asked for."""
        names: list[str] = self.schema.names
        return names

    def kinds(self, patience: int) -> list[Any]:
        """The kinds of files that it reads."""
        return [CaptureFiles(patience)]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        raise NotImplementedError

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - PySpark's names, here and below
        """Nothing was read. InputError where there is no such folder: one that is empty is there."""
        for path in self.paths:
            if not is_glob(path):
                named(path)
        return Progress().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """As the option says."""
        return ReadMaxBytes(self.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What comes from now on is for the next query."""
        self.arrivals.stop_here()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the files are whole."""
        most = limit.max_bytes if isinstance(limit, ReadMaxBytes) else _ALL
        before = Progress.of(start)
        later = self.arrivals.later(before, most)
        return start if later is before else later.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What is new, in the order of the times of first packets."""
        before, after = Progress.of(start), Progress.of(end)
        new = [(each, [*each.portions(self.split_size)]) for each in self.arrivals.between(before, after)]
        new.sort(key=lambda each: (each[1][0].first if each[1] else 0, each[0].path))
        count, held = before.packets, 0
        out: list[list[Task]] = [[]]
        for each, portions in new:
            if each.faults:
                out[-1].append(Task(None, 0, 0, tuple((each.path, code) for code in each.faults)))
            for part, packets, _ in portions:
                earlier = part.packets if isinstance(part, CapturePart) else 0
                size = (part.stop or self.split_size) - part.start
                if held + size > FEWEST_BYTES and out[-1]:
                    out.append([])
                    held = 0
                out[-1].append(Task(part, count - earlier, after.packets))
                count, held = count + packets, held + size
        return [TasksToDo(tasks) for tasks in out if tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some tasks."""
        if isinstance(partition, TasksToDo):
            for task in partition.value:
                for rows in self.rows(task):
                    yield rows.cast(self.schema)


class TableReader(StreamReader):
    """The rows of a table of the data source."""

    def __init__(self, table: str, *args: Any) -> None:
        self.table = table
        super().__init__(*args)

    def kinds(self, patience: int) -> list[Any]:
        """Those of the table: of faults both."""
        segments = [SegmentFiles()] if self.table in _SEGMENTS else []
        return [*segments, *([CaptureFiles(patience)] if self.table in {PACKET_TABLE.name, FAULTS_NAME} else [])]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """As `StreamReader`."""
        if self.table == FAULTS_NAME and task.faults:
            yield _faults([(path, 0, code, MEANING[code]) for path, code in task.faults], self.names)
        if task.part is None:
            return
        if not isinstance(task.part, CapturePart):
            yield from _SEGMENTS[self.table].read(task.part, self.names, self.reading)
        elif self.table == FAULTS_NAME:
            yield from _of_capture(task.part, self.names)
        else:
            yield from PACKET_TABLE.read(Wanted(task.part, NO_TIME, sys.maxsize, self.reading.naming.name(task.part.file)), self.names, self.reading)


_SEGMENTS: dict[str, Table] = {table.name: table for table in (*SEGMENT_TABLES, SEGMENT_FAULTS)}
STREAMED = (*_SEGMENTS, PACKET_TABLE.name)
"""The tables that can be streams."""


def _of_capture(part: CapturePart, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """What ends the reading of a part of a capture early."""
    reader = PartReader(part)
    try:
        for _ in reader.chunks():
            pass
        found = [(part.file, notice.position, "TRUNCATED", notice.text) for notice in reader.notices]
    except InputError as error:
        found = [(part.file, 0, "UNREADABLE", error.reason)]
    if found:
        yield _faults(found, names)


def _faults(found: Sequence[tuple[str, int, str, str]], names: Sequence[str]) -> pa.RecordBatch:
    """Faults of files as rows of the table."""
    rows = [
        {"file": location(file), "position": at, "size": 0, "code": code, "path": "", "offset": at, "detail": detail}
        for file, at, code, detail in found
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SEGMENT_FAULTS.schema).select([*names])
