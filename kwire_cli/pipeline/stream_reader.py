"""Spark's reader of streams, and arrivals."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from kwire_cli.errors import InputError
from kwire_cli.pipeline.packet_table import PACKET_TABLE, Wanted
from kwire_cli.pipeline.segments import SEGMENT_TABLES
from kwire_cli.pipeline.stream_files import CaptureFiles, IndexFolder, SegmentFiles, is_glob
from kwire_cli.pipeline.stream_progress import FIRST, Mark, Progress, beginning_of, key_of, shortened
from kwire_cli.source.files import named
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.parts import Part as CapturePart
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kwire_cli.pipeline.model import Reading, Table
    from kwire_cli.pipeline.stream_files import Entry, Files, Portion


# What is new in the files of a stream: from one progress to the next, and what lies between two of them.
#
# The next one is decided by looking at the folder. What lies between two is the same whenever it is asked, so
# that a batch can be done again.

_TRIES = 20
"""Looks in vain at a folder that cannot be read, after which that is an error."""


REPLACED, GONE = "REPLACED", "GONE"
MEANING = {
    REPLACED: "another file has this path now, or this one was cut: it is read from its beginning",
    GONE: "the file is gone, and was not read to its end",
}


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a file that are new, and what was wrong with it."""

    path: str
    kind: Files
    start: int
    stop: int
    faults: tuple[str, ...] = ()

    def portions(self, size: int) -> Iterator[Portion]:
        """Return the portions of the new bytes that tasks read, each of about `size` bytes."""
        return self.kind.parts(self.path, self.start, self.stop, size) if self.stop > self.start else iter(())


class Arrivals:
    """The files of some kinds that paths name, now and later."""

    def __init__(self, paths: Sequence[str], kinds: Sequence[Files]) -> None:
        self._paths, self.kinds = paths, kinds
        self._seen: dict[str, tuple[Mark, tuple[int, float, bool]]] = {}
        self._until: dict[str, int] | None = None
        self._unlisted = 0

    def stop_here(self) -> None:
        """Give nothing that comes from now on."""
        self._until = {path: entry.size for path, entry in self._listed().items()}

    def _listed(self) -> dict[str, Entry]:
        """The files that are there. InputError where a folder is not, or cannot be read."""
        return {entry.path: entry for kind in self.kinds for entry in kind.listed(self._paths)}

    def later(self, start: Progress, most: int) -> Progress:
        """The progress after about `most` bytes more, of the oldest files first; `start` itself where nothing has come
        that can be read.
        """
        try:
            listed = self._listed()
        except InputError:
            self._unlisted += 1
            if self._unlisted > _TRIES:
                raise
            return start  # a folder may be away for a moment: nothing in it is gone for that
        self._unlisted = 0
        marks, missing = _marks(start, listed)
        files: dict[str, Mark] = {}
        states, unchanged, packets, left = {}, [], {**start.packets}, most
        changed = any(mark.at < mark.size for mark in missing)
        for path, entry in sorted(listed.items(), key=lambda each: each[1].kind.order(each[1], marks[each[0]])):
            before, state = marks[path], (entry.size, entry.modified, entry.ended)
            files[path] = before
            if self._seen.get(path) == (before, state):
                states[path] = before, state
                unchanged.append(path)
                continue
            mark = self._checked(entry, before)
            upto = entry.size if self._until is None else self._until.get(path, 0)
            at, count = entry.kind.advanced(entry, mark, left) if left > 0 and mark.at < upto else (mark.at, 0)
            if at > mark.at:
                left -= at - mark.at
                if count:
                    point = entry.kind.point(path)
                    packets[point] = packets.get(point, 0) + count
                mark = replace(mark, at=at, size=max(entry.size, at), beginning=beginning_of(_first_bytes(path, at)))
                if entry.kind.advanced(entry, mark, 1)[0] > at:
                    left = 0  # it goes on: what is newer has to wait
            elif left > 0:
                states[path] = mark, state
            if mark == before:
                unchanged.append(path)
                files[path] = replace(mark, size=entry.size) if not mark.at else mark
            else:
                changed = True
                files[path] = mark
        self._seen = states
        spelled, done = shortened(files, unchanged)
        return Progress(spelled, done, packets) if changed else start

    def _checked(self, entry: Entry, mark: Mark) -> Mark:
        """The mark, or one to begin anew with where the file is another one."""
        if not mark.at:
            return mark
        first = _first_bytes(entry.path, mark.at)
        same = entry.size >= mark.at and beginning_of(first) == mark.beginning
        if (not first and entry.size) or (same and entry.size == mark.at):
            return mark  # it cannot be read just now, or has not changed
        if same and entry.kind.goes_on(entry.path):
            return mark
        if entry.kind.rewritten(entry, mark):
            return replace(
                mark, at=entry.size, size=entry.size, beginning=beginning_of(_first_bytes(entry.path, entry.size))
            )
        entry.kind.forget(entry.path)
        return Mark(turn=mark.turn + 1)

    def between(self, start: Progress, end: Progress) -> list[Range]:
        """Return what is new in the progress `end` since `start`, in the order of paths."""
        kinds = self._kind_of(end)
        earlier = start.by_key() if any(mark.was for mark in end.files.values()) else {}
        ranges = []
        for path, mark in end.files.items():
            before = start.mark(path) or earlier.get(bytes.fromhex(mark.was)) or Mark()
            anew = mark.turn > before.turn
            faults = (REPLACED,) if anew and not kinds[path].says_the_last else ()
            at = 0 if anew else before.at
            if mark.at > at or faults:
                ranges.append(Range(path, kinds[path], at, mark.at, faults))
        renamed = {mark.was for mark in end.files.values()}
        for path, mark in start.files.items():
            if mark.at < mark.size and end.mark(path) is None and key_of(path).hex() not in renamed:
                ranges.append(Range(path, self.kinds[0], mark.at, mark.at, (GONE,)))
        return sorted(ranges, key=lambda each: each.path)

    def _kind_of(self, end: Progress) -> Mapping[str, Files]:
        """The kinds of files; of one that is gone meanwhile, the first one."""
        listed = {entry.path: entry.kind for entry in self._listed().values()}
        return {path: listed.get(path, self.kinds[0]) for path in end.files}


def _marks(start: Progress, listed: Iterable[str]) -> tuple[dict[str, Mark], list[Mark]]:
    """Return the marks of the files that are there, and the marks of the files that are gone.

    Renamed files are recognised by their first bytes.
    """
    earlier = start.by_key()
    marks: dict[str, Mark] = {}
    new = []
    for path in listed:
        mark = earlier.pop(key_of(path), None)
        marks[path] = replace(mark, was="") if mark and mark.was else mark or Mark()
        if mark is None:
            new.append(path)
    for path in new if earlier else ():
        beginnings: dict[int, int] = {}
        for key, other in earlier.items():
            first = min(other.at, FIRST)
            if first and first not in beginnings:
                beginnings[first] = beginning_of(_first_bytes(path, first))
            if first and beginnings[first] == other.beginning:
                marks[path] = replace(other, was=key.hex())
                del earlier[key]
                break
    return marks, [*earlier.values()]


def _first_bytes(path: str, at: int) -> bytes:
    """Return the first `at` bytes of a file, FIRST at most, or no bytes if the file cannot be read."""
    with contextlib.suppress(OSError, InputError), path_of(path).open("rb") as file:
        return file.read(min(at, FIRST)) or b""
    return b""


# `spark.readStream.format("kwire")`: the tables that files hold, of files that arrive and grow.

OPTIONS = {"maxBytesPerTrigger": 1 << 30, "patience": 60}
"""Options of streams, and what they are otherwise: bytes of a batch; seconds after which nothing is waited for in a
capture that nobody writes to."""


FEWEST_BYTES = 16 << 20
"""Bytes up to which a task reads several parts."""
_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Task:
    """A part to read: of captures `before` packets of the capture point were before it and are not of its file, and
    `through` is the last one of the batch.
    """

    part: Any
    before: int
    through: int
    faults: tuple[tuple[str, str], ...] = ()


class TasksToDo(InputPartition):
    """The parts of files that one Spark task reads."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows of one table; `paths` may be there later.

    Spark calls `latestOffset` and `partitions` in one Python that lives as long as the query, and `read` in tasks.
    """

    def __init__(
        self, paths: Sequence[str], schema: pa.Schema, reading: Reading, split_size: int, options: Mapping[str, int]
    ) -> None:
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
        """Leave data that arrives from now on to the next query."""
        self.arrivals.stop_here()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the offset up to which the files are complete, within the read limit."""
        most = limit.max_bytes if isinstance(limit, ReadMaxBytes) else _ALL
        before = Progress.of(start)
        later = self.arrivals.later(before, most)
        return start if later is before else later.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the new data as partitions, in the order of the times of first packets."""
        before, after = Progress.of(start), Progress.of(end)
        new = [(file, [*file.portions(self.split_size)]) for file in self.arrivals.between(before, after)]
        new.sort(key=lambda pair: (pair[1][0].first if pair[1] else 0, pair[0].path))
        counts, held = {**before.packets}, 0
        folders: set[str] = set()
        out: list[list[Task]] = [[]]
        for file, portions in new:
            if file.faults:
                out[-1].append(Task(None, 0, 0, tuple((file.path, code) for code in file.faults)))
            point = file.kind.point(file.path)
            for part, packets, _ in portions:
                if isinstance(part, IndexFolder):
                    if part.folder in folders:
                        continue
                    folders.add(part.folder)
                earlier = part.packets if isinstance(part, CapturePart) else 0
                size = (part.stop or self.split_size) - part.start
                if held + size > FEWEST_BYTES and out[-1]:
                    out.append([])
                    held = 0
                count = counts.get(point, 0)
                out[-1].append(Task(part, count - earlier, after.packets.get(point, 0)))
                counts[point] = count + packets
                held += size
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
        """Return the kinds of files that hold the table's rows."""
        return [SegmentFiles()] if self.table in _SEGMENTS else [CaptureFiles(patience)]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """As `StreamReader`."""
        if task.part is None:
            return
        if self.table in _SEGMENTS:
            yield from _SEGMENTS[self.table].read(task.part, self.names, self.reading)
        else:
            point = self.reading.naming.name(task.part.file)
            yield from PACKET_TABLE.read(Wanted(task.part, NO_TIME, sys.maxsize, point), self.names, self.reading)


_SEGMENTS: dict[str, Table] = {table.name: table for table in SEGMENT_TABLES}
STREAMED = (*_SEGMENTS, PACKET_TABLE.name)
"""The tables of the data source that can be streams."""
