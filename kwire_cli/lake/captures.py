"""The rows of the connections of a capture point, in the tables of a lake.

A reader yields stretches of regular frames, and single lines. Regular lines are collected over many connections, and
become rows column by column, as stretches do. All other lines become rows one by one. Costs are summed by file and day,
and become rows at the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.bodies import Bodies
from kwire_cli.facts.columnar.frames import LINE_COLUMNS, UNRESOLVED, frame_rows
from kwire_cli.facts.columnar.names import Learnt, learn_stretch, tells_names, topics_of
from kwire_cli.facts.columnar.parts import parts_of
from kwire_cli.facts.columnar.regular import regular_lines
from kwire_cli.facts.columnar.stretches import regular_stretch
from kwire_cli.facts.columnar.values import Values, values_in
from kwire_cli.facts.connections import CONNECTIONS, connection_row
from kwire_cli.facts.frame_values import is_misread, microseconds_of
from kwire_cli.facts.parts import part_rows
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import line_faults, record_faults
from kwire_cli.lake.hidden import one_array
from kwire_cli.lake.line_walks import Spent
from kwire_cli.lake.tables import CONNECTIONS_TABLE, COSTS, DAY, PART_TABLES, SHAPES
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import MOST_NAMES, Names, forget
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy.typing as npt

    from kwire_cli.facts.columnar.bodies import Table
    from kwire_cli.facts.columnar.regular import Regular
    from kwire_cli.message.known_layout import Layout, Layouts
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.source.tls.decryption import Decryption

    Ints = npt.NDArray[np.int64]
    Place = tuple[str | None, int | None]
    """A file and a day since 1970."""

LINES = 1 << 12
"""Maximum number of lines that are collected for a batch."""
AT_ONCE = 4 << 20
"""Approximate bytes of lines that are collected for a batch."""
DAY_NS = 86_400_000_000_000


@dataclass
class PointTables:
    """The tables of one capture point, filled from its connections.

    `tables` are the tables to write. BODIES means all tables of bodies. `write` receives the rows of a table when there
    are enough of them. `ended` are the TCP connections that have ended since `connections` was called.
    """

    redaction: Redaction
    tables: Collection[str]
    write: Callable[[str, pa.RecordBatch], None]
    names: Names = field(default_factory=Names)
    clients: dict[str, str] = field(default_factory=dict)
    ended: list[TcpConnection] = field(default_factory=list)
    _rows: list[list[Any]] = field(default_factory=list)
    _lines: list[Captured] = field(default_factory=list)
    _singles: list[Captured] = field(default_factory=list)
    _size: int = 0
    _connections: list[list[Any]] = field(default_factory=list)
    _parts: dict[str, list[Sequence[Any]]] = field(default_factory=lambda: defaultdict(list))
    _places: dict[Place, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._has_bodies = BODIES in self.tables
        self._part_tables = {part: table for table, part in PART_TABLES.items() if table in self.tables}
        self._bodies = Bodies(self.redaction)
        self._spent = Spent(self.redaction.catalog)

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

    def add(self, item: Stretch | Captured, origin: Origin) -> None:
        """Add the rows of an item of a reader."""
        if isinstance(item, Stretch):
            self._stretch(item, origin)
        else:
            self._line(item)

    def _stretch(self, stretch: Stretch, origin: Origin) -> None:
        requests, responses = self._values(stretch)
        if not (requests or responses):
            return
        topics = topics_of(self.names, stretch, requests, responses)
        for values in requests:
            for tail in values.frames.tails:
                self._client(tail.rest.get("clientId"), stretch.connection.software)
        regular = regular_stretch(stretch, requests, responses, topics, origin, self.names)
        self._regular(regular)
        if self._part_tables:
            self._parts_of(regular, [str] * len(regular.place))

    def _regular(self, regular: Regular) -> None:
        if "frames" in self.tables:
            self.write("frames", frame_rows(regular))
        if "faults" in self.tables:
            self._write_all("faults", record_faults(regular))
        if "costs" in self.tables:
            places, which = _places(regular)
            numbers = np.array([self._place(place) for place in places], np.int64)
            for values, part in regular.parts():
                self._spent.frames(values.frames, which[part], numbers)
        if self._has_bodies:
            self._write_bodies(self._bodies.regular(regular))

    def _write_all(self, table: str, batches: Iterable[pa.RecordBatch]) -> None:
        for rows in batches:
            self.write(table, rows)

    def _write_bodies(self, bodies: Iterable[Table]) -> None:
        for table, rows in bodies:
            self.write(table, rows)

    def _parts_of(self, regular: Regular, topic_of: Sequence[Callable[[str], str]]) -> None:
        for values, place in regular.parts():
            frames = values.frames
            for part, frame, row in parts_of(values, self._part_tables, self.redaction.catalog, topic_of[place]):
                at = place.start + frame
                time = int(frames.time[frame])
                moment = microseconds_of(None if time == NO_TIME else time)
                keys = moment, int(regular.connection[at]), int(frames.number[frame])
                self._part(part, (regular.file[at].as_py(), regular.packet[at].as_py(), *keys, *row))

    def _part(self, part: str, row: Sequence[Any]) -> None:
        """Add a row about a part of a frame."""
        table = self._part_tables[part]
        self._parts[table].append(row)
        if len(self._parts[table]) >= LINES:
            self._write_parts(table)

    def _write_parts(self, *tables: str) -> None:
        for table in tables:
            if rows := self._parts.pop(table, None):
                self.write(table, batch_of(rows, SHAPES[table].schema))

    def connections(self, fewest: int = LINES) -> None:
        """Write the rows of the TCP connections that have ended, if there are enough of them."""
        if "connections" in self.tables:
            self._connections += map(connection_cells, self.ended)
        self.ended.clear()
        if len(self._connections) >= fewest:
            self.write("connections", batch_of(self._connections, CONNECTIONS_TABLE))
            self._connections = []

    def learn(self, stretch: Stretch) -> None:
        """Learn the names and the fetch sessions of a stretch. Another task writes its rows."""
        learn_stretch(self.names, stretch, *self._values(stretch, tells_names))

    def _values(
        self, stretch: Stretch, wants: Callable[[Layout], bool] = lambda _: True
    ) -> tuple[list[Values], list[Values]]:
        catalog = self.redaction.catalog
        return values_in(stretch.requests, catalog, wants), values_in(stretch.responses, catalog, wants)

    def _line(self, line: Captured) -> None:
        seen = line.seen
        plain = seen.plain
        if line.software and seen.kind == "request":
            client_id = plain.tail.rest.get("clientId") if plain else line.client_id
            if client_id and self.clients.get(client_id) != line.software and line.kind == "request":
                self._client(line.client_id, line.software)
        if plain:
            self._lines.append(line)
        else:
            self._single(line)
        self._size += seen.size
        if self._size > AT_ONCE or len(self._lines) + len(self._singles) >= LINES:
            self._write_lines()

    def _single(self, line: Captured) -> None:
        """Add a line that is not regular."""
        self._singles.append(line)
        if "frames" in self.tables:
            self._rows.append([LINE_COLUMNS[name].of_line(line) for name in UNRESOLVED.names])
        if self._has_bodies:
            self._write_bodies(self._bodies.line(line))
        if self._part_tables and line.is_frame and not is_misread(line):
            place = (*line.where, microseconds_of(line.seen.time), line.connection.key, line.number)
            for part, row in part_rows(line, self._part_tables, self.redaction):
                self._part(part, (*place, *row))

    def flush(self) -> None:
        """Write all rows of the lines so far, and the costs of their bytes."""
        self._write_lines()
        self._write_bodies(self._bodies.close())
        self._write_parts(*self._parts)
        numbers, costs = self._spent.close()
        if costs.num_rows:
            self.write("costs", _with_places([*self._places], numbers, costs))
        self._places = {}
        self._spent = Spent(self.redaction.catalog)

    def _write_lines(self) -> None:
        regular, others = regular_lines(self._lines, self.redaction.catalog)
        self._lines = []
        self._size = 0
        if regular:
            self._regular(regular)
            if self._part_tables:
                self._parts_of(regular, [line.names.topic for line in regular.lines])
        for line in others:
            self._single(line)
        if self._rows:
            self.write("frames", batch_of(self._rows, UNRESOLVED))
        if "costs" in self.tables:
            for line in self._singles:
                self._spent.line(self._place((line.where.file, _day(line.seen.time))), line)
        if "faults" in self.tables:
            self._write_all("faults", line_faults(self._singles))
        self._rows = []
        self._singles = []

    def _place(self, place: Place) -> int:
        return self._places.setdefault(place, len(self._places))

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


def _places(regular: Regular) -> tuple[list[Place], Ints]:
    """Return the files and days of frames, and the number of each frame's file and day among these."""
    files = regular.file
    time = regular.joined("time")
    days = np.where((time == NO_TIME) | (time < 0), -1, time // DAY_NS)
    places = np.stack((files.indices.fill_null(-1).to_numpy(), days))
    some, which = np.unique(places, axis=1, return_inverse=True)
    names = files.dictionary.to_pylist()
    found = [(names[file] if file >= 0 else None, None if day < 0 else day) for file, day in some.T.tolist()]
    return found, which.ravel()


def _with_places(places: Sequence[Place], numbers: Ints, costs: pa.Table) -> pa.RecordBatch:
    """Return costs with the file and the day of each row."""
    which = pa.array(numbers)
    files = pa.DictionaryArray.from_arrays(which.cast(pa.int32()), pa.array([file for file, _ in places], pa.string()))
    columns = {"file": files, DAY: pa.array([day for _, day in places], pa.int32()).cast(pa.date32()).take(which)}
    columns |= zip(costs.column_names, (one_array(column) for column in costs.columns), strict=True)
    return pa.RecordBatch.from_arrays([columns[name] for name in COSTS.names], schema=COSTS)
