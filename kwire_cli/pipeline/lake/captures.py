"""The tables of captures: one pass over the connections of each capture point, without Spark."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.filter.rows import FrameRow, filter_of
from kwire_cli.message.known_layout import layouts
from kwire_cli.pipeline.capture_faults import SAME_CONNECTIONS, file_fault, line_faults
from kwire_cli.pipeline.lake import BODIES
from kwire_cli.pipeline.lake.bodies import Bodies
from kwire_cli.pipeline.lake.frames import LINE_COLUMNS, UNRESOLVED, Values, nodes_of, stretch_rows
from kwire_cli.pipeline.lake.hidden import Stream, streamed
from kwire_cli.pipeline.lake.names import Learnt, learn_stretch, name_rows, tells_names, topics_of
from kwire_cli.pipeline.lake.record_faults import record_faults
from kwire_cli.pipeline.lake.tables import COSTS, DAY
from kwire_cli.pipeline.line_walks import AT_ONCE, MOST_LINES, Spent
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import MOST_NAMES, Names, forget
from kwire_cli.source.packets.descriptors import Gathered, described, run_of, runs
from kwire_cli.source.packets.model import NO_TIME, Merged
from kwire_cli.source.packets.parts import PartReader
from kwire_cli.source.packets.points import APART
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from kwire_cli.message.known_layout import Layout, Layouts
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Described, Schedule, Scheduled
    from kwire_cli.source.packets.model import Origin

ROWS = 4096
"""Rows of lines that are made into a batch."""
DAY_NS = 86_400_000_000_000


class Rows(NamedTuple):
    """Rows of a table."""

    table: str
    rows: pa.RecordBatch


@dataclass
class PointTables:
    """The tables of one capture point, filled from its connections.

    `tables` are those that are wanted; BODIES stands for all tables of bodies. With a `filter` rows are of frames that
    match; names are learnt from all.
    """

    point: str
    redaction: Redaction
    tables: Collection[str]
    filter: str | None = None
    names: Names = field(default_factory=Names)
    clients: dict[str, str] = field(default_factory=dict)
    unread: int = 0
    """Files that could not be read to their end."""
    _rows: list[list[Any]] = field(default_factory=list)
    _lines: list[Captured] = field(default_factory=list)
    _size: int = 0
    _spent: dict[int | None, Spent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._has_bodies = BODIES in self.tables
        self._bodies = Bodies(self.redaction)
        self._filter = filter_of(self.redaction.catalog, self.filter) if self.filter else None

    def told(self, since: int) -> Learnt:
        """Return what a connection told that began at this packet, and forget it: others may be another task's."""
        names, self.names = self.names, Names()
        clients, self.clients = self.clients, {}
        learnt = Names(names.topics, names.brokers, names.sessions)
        return Learnt(learnt, clients, dict.fromkeys((*names.topics, *clients), since))

    def reader(self, ends: bytes, layouts: Layouts, port: int | None, origin: Origin, tls: Decryption) -> EndsReader:
        """Return what reads the frames between two ends: one by one if they are filtered."""
        return EndsReader(ends, layouts, port, self.names, origin, tls, stretches=self._filter is None)

    def stretch(self, stretch: Stretch, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a stretch, whose names are learnt."""
        requests, responses = self._values(stretch)
        topics = topics_of(self.names, stretch, requests, responses)
        for values in requests:
            self._client(values.frames.client_id, stretch.connection.software)
        if "frames" in self.tables:
            yield from (Rows("frames", rows) for rows in stretch_rows(stretch, requests, responses, topics, origin))
        if "faults" in self.tables:
            for values in (*requests, *responses):
                yield from (Rows("faults", rows) for rows in record_faults(values, stretch, origin))
        if "costs" in self.tables:
            for frames in stretch.frames:
                for day, part in _by_day(frames):
                    self._spent_on(day).frames(part)
        if self._has_bodies:
            for frames in stretch.frames:
                yield from (Rows(*each) for each in self._bodies.frames(frames, stretch.stream))

    def learn(self, stretch: Stretch) -> None:
        """Learn the names and the fetch sessions of a stretch, whose rows another task makes."""
        learn_stretch(self.names, stretch, *self._values(stretch, tells_names))

    def _values(
        self, stretch: Stretch, wants: Callable[[Layout], bool] = lambda _: True
    ) -> tuple[list[Values], list[Values]]:
        catalog = self.redaction.catalog
        requests, responses = (
            [
                Values(frames, nodes_of(catalog.message(frames.layout.message), frames.layout))
                for frames in side
                if wants(frames.layout)
            ]
            for side in (stretch.requests, stretch.responses)
        )
        return requests, responses

    def item(self, item: Stretch | Captured, reader: EndsReader) -> Iterator[Rows]:
        """Yield the rows of what a reader found."""
        if isinstance(item, Stretch):
            return self.stretch(item, reader.origin)
        return self.line(item, reader.starts[item.stream])

    def line(self, line: Captured, stream: int) -> Iterator[Rows]:
        """Yield rows where there are enough lines for some."""
        line.stream = stream
        if line.kind == "request":
            self._client(line.client_id, line.software)
        if self._filter and not self._filter.matches(FrameRow(line, self.redaction)):
            return
        if "frames" in self.tables:
            self._rows.append([LINE_COLUMNS[name](line) for name in UNRESOLVED.names])
        if self._has_bodies:
            yield from (Rows(*each) for each in self._bodies.line(line))
        self._lines.append(line)
        self._size += line.seen.size
        if self._size > AT_ONCE or len(self._lines) >= min(MOST_LINES, ROWS):
            yield from self._of_lines()

    def close(self) -> Iterator[Rows]:
        """Yield what is left: rows of lines, and those that are about all of the capture point."""
        yield from self._of_lines()
        yield from (Rows(*each) for each in self._bodies.close())
        for day, spent in self._spent.items():
            yield Rows("costs", _with_day(day, spent.batch()))
        if "names" in self.tables:
            yield Rows("names", name_rows(self.names, self.clients))

    def _of_lines(self) -> Iterator[Rows]:
        lines, self._lines, self._size = self._lines, [], 0
        rows, self._rows = self._rows, []
        if rows:
            yield Rows("frames", batch_of(rows, UNRESOLVED))
        if "costs" in self.tables:
            by_day: dict[int | None, list[Captured]] = defaultdict(list)
            for line in lines:
                by_day[_day(line.seen.time)].append(line)
            for day, those in by_day.items():
                self._spent_on(day).lines(those)
        if "faults" in self.tables:
            yield from (Rows("faults", each) for each in line_faults(lines))

    def _spent_on(self, day: int | None) -> Spent:
        if day not in self._spent:
            self._spent[day] = Spent(self.redaction.catalog, self.point)
        return self._spent[day]

    def _client(self, client_id: str | None, software: str | None) -> None:
        if client_id and software:
            self.clients[client_id] = software
            forget(self.clients, MOST_NAMES)


def _day(time: int | None) -> int | None:
    return None if time is None or time < 0 else time // DAY_NS


def _by_day(frames: Frames) -> Iterator[tuple[int | None, Frames]]:
    """Yield frames of one layout by the day of each."""
    days = np.where(frames.time == NO_TIME, -1, frames.time // DAY_NS)
    some = np.unique(days).tolist()
    for day in some:
        which = np.flatnonzero(days == day)
        part = frames if len(some) == 1 else replace(frames, walk=frames.walk.only(which), which=frames.which[which])
        yield None if day < 0 else day, part


def _with_day(day: int | None, costs: pa.RecordBatch) -> pa.RecordBatch:
    days = pa.array([day] * costs.num_rows, pa.int32()).cast(pa.date32())
    columns = [days if name == DAY else costs.column(name) for name in COSTS.names]
    return pa.RecordBatch.from_arrays(columns, schema=COSTS)


# One pass over a capture point.

ENOUGH = 4096
"""Segments of a connection that are read at once: of small files, those of several ones."""
MOST_HELD = 1 << 17
"""Segments of all connections that wait for more."""
MOST_OVER = 4096
"""Pairs of ends between which no connection is open, and a late segment may still come."""


def point_rows(plan: Schedule, number: int, tables: PointTables, port: int | None) -> Iterator[Rows]:
    """Yield the rows of all tables of the capture point with this number in a plan."""
    pass_ = _Pass(plan, number, tables, port)
    parts = sorted(
        (part for part in plan.parts if part.point == number),
        key=lambda part: (part.chain, part.before, part.part.start),
    )
    origin = plan.origin(number)
    if isinstance(origin, Merged):
        yield from pass_.merged(parts)
    else:
        yield from pass_.in_row(parts, origin)
    if "faults" in tables.tables and plan.points[number].apart:
        yield Rows(
            "faults", file_fault(tables.point, plan.points[number].files[0], None, None, SAME_CONNECTIONS, APART)
        )
    yield from tables.close()


class _Pass:
    def __init__(self, plan: Schedule, number: int, tables: PointTables, port: int | None) -> None:
        self.plan, self.number, self.tables, self.port = plan, number, tables, port
        self.layouts = layouts(tables.redaction.catalog)

    def in_row(self, parts: Sequence[Scheduled], origin: Origin) -> Iterator[Rows]:
        """Yield the rows of files that follow each other: segments are read as they come."""
        readers: dict[bytes, tuple[EndsReader, Gathered]] = {}
        held = 0
        for part in parts:
            reader = PartReader(part.part)
            for descriptor in described(part, reader):
                if descriptor.ends not in readers:
                    readers[descriptor.ends] = self._reader(descriptor.ends, origin), Gathered()
                ends, gathered = readers[descriptor.ends]
                held += gathered.add(run_of(descriptor, self.plan.files))
                if gathered.count >= ENOUGH:
                    held -= gathered.count
                    yield from self._gathered(ends, gathered)
            yield from self._notices(part, reader)
            if held > MOST_HELD:
                held = 0
                for ends, gathered in readers.values():
                    yield from self._gathered(ends, gathered)
                yield from self._let_go(readers, part.before)
        for ends, gathered in readers.values():
            yield from self._gathered(ends, gathered)
            yield from self._rows(ends.close(self.plan.points[self.number].last), ends)

    def _let_go(self, readers: dict[bytes, tuple[EndsReader, Gathered]], packet: int) -> Iterator[Rows]:
        """Yield what is left of connections that are over, the oldest first, if there are too many of them."""
        over = [key for key, (reader, _) in readers.items() if reader.is_over]
        for key in over[: max(len(over) - MOST_OVER, 0)]:
            reader, _ = readers.pop(key)
            yield from self._rows(reader.close(packet), reader)

    def _gathered(self, ends: EndsReader, gathered: Gathered) -> Iterator[Rows]:
        for run in gathered.runs():
            yield from self._rows(ends.take(run), ends)

    def merged(self, parts: Sequence[Scheduled]) -> Iterator[Rows]:
        """Yield the rows of files that overlap in time, connection by connection."""
        by_ends: dict[bytes, list[Described]] = defaultdict(list)
        for part in parts:
            reader = PartReader(part.part)
            for descriptor in described(part, reader):
                by_ends[descriptor.ends].append(descriptor)
            yield from self._notices(part, reader)
        for ends, descriptors in by_ends.items():
            descriptors.sort(key=lambda each: (each.moment, each.chain, each.packet))
            origin = self.plan.origin(self.number)
            reader_of_ends = self._reader(ends, origin)
            whole = reader_of_ends.whole(runs(descriptors, self.plan.files, origin), self.plan.points[self.number].last)
            yield from self._rows(whole, reader_of_ends)

    def _reader(self, ends: bytes, origin: Origin) -> EndsReader:
        tls = Decryption((), lambda: self.plan.secrets)
        return self.tables.reader(ends, self.layouts, self.port, origin, tls)

    def _rows(self, found: Iterable[Stretch | Captured], reader: EndsReader) -> Iterator[Rows]:
        for item in found:
            yield from self.tables.item(item, reader)

    def _notices(self, part: Scheduled, reader: PartReader) -> Iterator[Rows]:
        self.tables.unread += len(reader.notices)
        if "faults" in self.tables.tables:
            for text, position, packet in reader.notices:
                yield Rows("faults", file_fault(self.tables.point, part.part.file, packet, position, "TRUNCATED", text))


# Rows that wait for what only the end of a capture point tells.

SPOOLED = 64 << 20
"""Bytes of rows that are kept in memory."""


class Spool:
    """Rows of a capture point, kept in memory as long as they are few, then in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[pa.RecordBatch] = []
        self._size = 0
        self._out: Stream | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows."""
        self._rows.append(rows)
        self._size += rows.nbytes
        if self._size > SPOOLED:
            self._out = self._out or Stream(self._path, rows.schema)
            for each in self._rows:
                self._out.add(each)
            self._rows, self._size = [], 0

    def taken(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order in which they came, and forget them."""
        if self._out is not None:
            self._out.close()
            self._out = None
            yield from streamed(self._path)
            self._path.unlink()
        rows, self._rows, self._size = self._rows, [], 0
        yield from rows
