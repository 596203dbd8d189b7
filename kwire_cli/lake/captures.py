"""The tables of captures: one pass over the connections of each capture point, without Spark."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.bodies import Bodies
from kwire_cli.facts.columnar.frames import LINE_COLUMNS, UNRESOLVED, stretch_rows
from kwire_cli.facts.columnar.names import Learnt, learn_stretch, name_rows, tells_names, topics_of
from kwire_cli.facts.columnar.passes import point_items
from kwire_cli.facts.columnar.values import Values, values_in
from kwire_cli.filter.rows import FrameRow, filter_of
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import SAME_CONNECTIONS, file_fault, line_faults
from kwire_cli.lake.line_walks import AT_ONCE, MOST_LINES, Spent
from kwire_cli.lake.record_faults import record_faults
from kwire_cli.lake.tables import COSTS, DAY
from kwire_cli.message.known_layout import layouts
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import MOST_NAMES, Names, forget
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.points import APART
from kwire_cli.source.tls.decryption import Decryption

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from kwire_cli.message.known_layout import Layout, Layouts
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Schedule, Scheduled
    from kwire_cli.source.packets.model import Notice, Origin

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
            of_frames = stretch_rows(stretch, requests, responses, topics, origin, self.names)
            yield from (Rows("frames", rows) for rows in of_frames)
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
        return values_in(stretch.requests, catalog, wants), values_in(stretch.responses, catalog, wants)

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
            self._rows.append([LINE_COLUMNS[name].of_line(line) for name in UNRESOLVED.names])
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


def point_rows(plan: Schedule, number: int, tables: PointTables, port: int | None) -> Iterator[Rows]:
    """Yield the rows of all tables of the capture point with this number in a plan."""
    all_layouts = layouts(tables.redaction.catalog)
    noticed: list[Rows] = []

    def reader(ends: bytes, origin: Origin) -> EndsReader:
        return tables.reader(ends, all_layouts, port, origin, Decryption((), lambda: plan.secrets))

    def notice(part: Scheduled, notices: Sequence[Notice]) -> None:
        tables.unread += len(notices)
        if "faults" in tables.tables:
            faults = (
                file_fault(tables.point, part.part.file, packet, position, "TRUNCATED", text)
                for text, position, packet in notices
            )
            noticed.extend(Rows("faults", rows) for rows in faults)

    for item, of_ends in point_items(plan, number, reader, notice):
        yield from tables.item(item, of_ends)
        yield from noticed
        noticed.clear()
    yield from noticed
    if "faults" in tables.tables and plan.points[number].apart:
        yield Rows(
            "faults", file_fault(tables.point, plan.points[number].files[0], None, None, SAME_CONNECTIONS, APART)
        )
    yield from tables.close()
