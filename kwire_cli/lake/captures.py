"""The rows of the connections of a capture point, in the tables of a lake.

A reader yields stretches of regular frames, which become rows column by column, and single lines, which are collected
until they fill a batch. Costs are summed by file and day, and become rows at the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.arrays import word
from kwire_cli.facts.columnar.bodies import Bodies
from kwire_cli.facts.columnar.frames import LINE_COLUMNS, UNRESOLVED, places_of, stretch_rows
from kwire_cli.facts.columnar.names import Learnt, learn_stretch, tells_names, topics_of
from kwire_cli.facts.columnar.parts import parts_of
from kwire_cli.facts.columnar.values import Values, values_in
from kwire_cli.facts.connections import CONNECTIONS, connection_row
from kwire_cli.facts.frame_values import is_misread, microseconds_of
from kwire_cli.facts.parts import part_rows
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import line_faults
from kwire_cli.lake.line_walks import AT_ONCE, MOST_LINES, Spent
from kwire_cli.lake.record_faults import record_faults
from kwire_cli.lake.tables import CONNECTIONS_TABLE, COSTS, DAY, PART_TABLES, SHAPES
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import MOST_NAMES, Names, forget
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from kwire_cli.message.known_layout import Layout, Layouts
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.tls.decryption import Decryption

ROWS = 4096
"""Maximum number of lines that are collected for a batch."""
DAY_NS = 86_400_000_000_000


class Rows(NamedTuple):
    """Rows of a table."""

    table: str
    rows: pa.RecordBatch


@dataclass
class PointTables:
    """The tables of one capture point, filled from its connections.

    `tables` are the tables to write. BODIES means all tables of bodies. `ended` are the TCP connections that have ended
    since `connections` was called.
    """

    point: str
    redaction: Redaction
    tables: Collection[str]
    names: Names = field(default_factory=Names)
    clients: dict[str, str] = field(default_factory=dict)
    ended: list[TcpConnection] = field(default_factory=list)
    _rows: list[list[Any]] = field(default_factory=list)
    _lines: list[Captured] = field(default_factory=list)
    _size: int = 0
    _parts: dict[str, list[Sequence[Any]]] = field(default_factory=lambda: defaultdict(list))
    _spent: dict[tuple[str | None, int | None], Spent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._has_bodies = BODIES in self.tables
        self._part_tables = {part: table for table, part in PART_TABLES.items() if table in self.tables}
        self._bodies = Bodies(self.redaction)

    def told(self, since: int) -> Learnt:
        """Return the names that a connection, which began at the packet `since`, has provided, and forget them.

        Other connections of the capture point may belong to another task.
        """
        names = self.names
        self.names = Names()
        clients = self.clients
        self.clients = {}
        learnt = Names(names.topics, names.brokers, names.sessions)
        return Learnt(learnt, clients, dict.fromkeys((*names.topics, *clients), since))

    def reader(self, ends: bytes, layouts: Layouts, port: int | None, origin: Origin, tls: Decryption) -> EndsReader:
        """Return a reader of the frames between two addresses."""
        return EndsReader(ends, layouts, port, self.names, origin, tls, ended=self.ended.append)

    def stretch(self, stretch: Stretch, origin: Origin) -> Iterator[Rows]:
        """Yield the rows of a stretch, and learn its names."""
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
                for file, day, part in _by_file_and_day(frames, origin):
                    self._spent_on(file, day).frames(part)
        if self._has_bodies:
            for frames in stretch.frames:
                yield from (Rows(*each) for each in self._bodies.frames(frames, stretch.connection.key, origin))
        if self._part_tables:
            for values in (*requests, *responses):
                yield from self._parts_of(values, stretch.connection.key, origin)

    def _parts_of(self, values: Values, connection: int, origin: Origin) -> Iterator[Rows]:
        frames = values.frames
        for part, at, row in parts_of(values, self._part_tables, self.redaction.catalog):
            place = origin.place(int(frames.packet[at]))
            time = int(frames.time[at])
            moment = microseconds_of(None if time == NO_TIME else time)
            yield from self._part(part, (*place, moment, connection, int(frames.number[at]), *row))

    def _part(self, part: str, row: Sequence[Any]) -> Iterator[Rows]:
        """Add a row about a part of a frame. Yield rows when there are enough of them."""
        table = self._part_tables[part]
        rows = self._parts[table]
        rows.append(row)
        if len(rows) >= ROWS:
            yield from self._part_batches(table)

    def _part_batches(self, *tables: str) -> Iterator[Rows]:
        for table in tables:
            if rows := self._parts.pop(table, None):
                yield Rows(table, batch_of(rows, SHAPES[table].schema))

    def connections(self) -> Iterator[Rows]:
        """Yield the rows of the TCP connections that have ended since the last call."""
        rows = [connection_cells(each) for each in self.ended]
        self.ended.clear()
        if rows and "connections" in self.tables:
            yield Rows("connections", batch_of(rows, CONNECTIONS_TABLE))

    def learn(self, stretch: Stretch) -> None:
        """Learn the names and the fetch sessions of a stretch. Another task writes its rows."""
        learn_stretch(self.names, stretch, *self._values(stretch, tells_names))

    def _values(
        self, stretch: Stretch, wants: Callable[[Layout], bool] = lambda _: True
    ) -> tuple[list[Values], list[Values]]:
        catalog = self.redaction.catalog
        return values_in(stretch.requests, catalog, wants), values_in(stretch.responses, catalog, wants)

    def item(self, item: Stretch | Captured, reader: EndsReader) -> Iterator[Rows]:
        """Yield the rows of an item of a reader."""
        if isinstance(item, Stretch):
            return self.stretch(item, reader.origin)
        return self.line(item)

    def line(self, line: Captured) -> Iterator[Rows]:
        """Add a line. Yield rows when there are enough lines."""
        if line.kind == "request":
            self._client(line.client_id, line.software)
        if "frames" in self.tables:
            self._rows.append([LINE_COLUMNS[name].of_line(line) for name in UNRESOLVED.names])
        if self._has_bodies:
            yield from (Rows(*each) for each in self._bodies.line(line))
        if self._part_tables and line.is_frame and not is_misread(line):
            place = (*line.where, microseconds_of(line.seen.time), line.connection.key, line.number)
            for part, row in part_rows(line, self._part_tables, self.redaction):
                yield from self._part(part, (*place, *row))
        self._lines.append(line)
        self._size += line.seen.size
        if self._size > AT_ONCE or len(self._lines) >= min(MOST_LINES, ROWS):
            yield from self._of_lines()

    def flush(self) -> Iterator[Rows]:
        """Yield all rows of the lines so far, and the costs of their bytes."""
        yield from self._of_lines()
        yield from (Rows(*each) for each in self._bodies.close())
        yield from self._part_batches(*self._parts)
        spent = self._spent
        self._spent = {}
        for (file, day), own in spent.items():
            yield Rows("costs", _with_place(file, day, own.batch()))

    def _of_lines(self) -> Iterator[Rows]:
        lines = self._lines
        self._lines = []
        self._size = 0
        rows = self._rows
        self._rows = []
        if rows:
            yield Rows("frames", batch_of(rows, UNRESOLVED))
        if "costs" in self.tables:
            places: dict[tuple[str | None, int | None], list[Captured]] = defaultdict(list)
            for line in lines:
                places[line.where.file, _day(line.seen.time)].append(line)
            for place, those in places.items():
                self._spent_on(*place).lines(those)
        if "faults" in self.tables:
            yield from (Rows("faults", each) for each in line_faults(lines))

    def _spent_on(self, file: str | None, day: int | None) -> Spent:
        if (file, day) not in self._spent:
            self._spent[file, day] = Spent(self.redaction.catalog, self.point)
        return self._spent[file, day]

    def _client(self, client_id: str | None, software: str | None) -> None:
        if client_id and software:
            self.clients[client_id] = software
            forget(self.clients, MOST_NAMES)


_CONNECTION_NAMES = [name for name, _ in CONNECTIONS]
_CONNECTION_COLUMNS = [_CONNECTION_NAMES.index(name) for name in CONNECTIONS_TABLE.names]


def connection_cells(connection: TcpConnection) -> list[Any]:
    """Return a TCP connection as a row of CONNECTIONS_TABLE."""
    row = connection_row(connection.key, 0, connection)
    return [row[at] for at in _CONNECTION_COLUMNS]


def _day(time: int | None) -> int | None:
    return None if time is None or time < 0 else time // DAY_NS


def _by_file_and_day(frames: Frames, origin: Origin) -> Iterator[tuple[str | None, int | None, Frames]]:
    """Yield frames of one layout by the file and the day of each."""
    files = places_of(frames.packet, origin)[0]
    days = np.where(frames.time == NO_TIME, -1, frames.time // DAY_NS)
    places = np.stack((files.indices.fill_null(-1).to_numpy(), days))
    some, which_one = np.unique(places, axis=1, return_inverse=True)
    for number, (file, day) in enumerate(some.T.tolist()):
        which = np.flatnonzero(which_one.ravel() == number)
        part = frames
        if some.shape[1] > 1:
            part = replace(frames, walk=frames.walk.only(which), which=frames.which[which])
        yield files.dictionary[file].as_py() if file >= 0 else None, None if day < 0 else day, part


def _with_place(file: str | None, day: int | None, costs: pa.RecordBatch) -> pa.RecordBatch:
    days = pa.array([day] * costs.num_rows, pa.int32()).cast(pa.date32())
    columns = {DAY: days, "file": word(file, costs.num_rows)}
    return pa.RecordBatch.from_arrays(
        [columns[name] if name in columns else costs.column(name) for name in COSTS.names], schema=COSTS
    )
