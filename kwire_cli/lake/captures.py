"""The rows of the connections of a capture point, in the tables of a lake.

A reader yields stretches of regular frames, and single lines. Regular lines are collected over many connections, and
become rows column by column, as stretches do. All other lines become rows one by one. Costs are summed by file and day,
and become rows at the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.arrays import word
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
from kwire_cli.lake.capture_faults import line_faults
from kwire_cli.lake.line_walks import Spent, spend
from kwire_cli.lake.record_faults import record_faults
from kwire_cli.lake.tables import CONNECTIONS_TABLE, COSTS, DAY, PART_TABLES, SHAPES
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import MOST_NAMES, Names, forget
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import numpy.typing as npt

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
    _singles: list[Captured] = field(default_factory=list)
    _size: int = 0
    _connections: list[list[Any]] = field(default_factory=list)
    _parts: dict[str, list[Sequence[Any]]] = field(default_factory=lambda: defaultdict(list))
    _spent: dict[Place, Spent] = field(default_factory=dict)

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
        if not (requests or responses):
            return
        topics = topics_of(self.names, stretch, requests, responses)
        for values in requests:
            for tail in values.frames.tails:
                self._client(tail.rest.get("clientId"), stretch.connection.software)
        regular = regular_stretch(stretch, requests, responses, topics, origin, self.names)
        yield from self._regular(regular)
        if self._part_tables:
            yield from self._parts_of(regular, [str] * len(regular.place))

    def _regular(self, regular: Regular) -> Iterator[Rows]:
        if "frames" in self.tables:
            yield Rows("frames", frame_rows(regular))
        if "faults" in self.tables:
            yield from (Rows("faults", rows) for rows in record_faults(regular))
        if "costs" in self.tables:
            places, which = _places(regular)
            spent = [self._spent_on(place) for place in places]
            for values, part in regular.parts():
                spend(values.frames, which[part], spent)
        if self._has_bodies:
            yield from (Rows(*each) for each in self._bodies.regular(regular))

    def _parts_of(self, regular: Regular, topic_of: Sequence[Callable[[str], str]]) -> Iterator[Rows]:
        for values, place in regular.parts():
            frames = values.frames
            for part, frame, row in parts_of(values, self._part_tables, self.redaction.catalog, topic_of[place]):
                at = place.start + frame
                time = int(frames.time[frame])
                moment = microseconds_of(None if time == NO_TIME else time)
                keys = moment, int(regular.connection[at]), int(frames.number[frame])
                yield from self._part(part, (regular.file[at].as_py(), regular.packet[at].as_py(), *keys, *row))

    def _part(self, part: str, row: Sequence[Any]) -> Iterator[Rows]:
        """Add a row about a part of a frame. Yield rows when there are enough of them."""
        table = self._part_tables[part]
        rows = self._parts[table]
        rows.append(row)
        if len(rows) >= LINES:
            yield from self._part_batches(table)

    def _part_batches(self, *tables: str) -> Iterator[Rows]:
        for table in tables:
            if rows := self._parts.pop(table, None):
                yield Rows(table, batch_of(rows, SHAPES[table].schema))

    def connections(self, fewest: int = LINES) -> Iterator[Rows]:
        """Yield the rows of the TCP connections that have ended, if there are enough of them."""
        if "connections" in self.tables:
            self._connections += map(connection_cells, self.ended)
        self.ended.clear()
        if len(self._connections) >= fewest:
            yield Rows("connections", batch_of(self._connections, CONNECTIONS_TABLE))
            self._connections = []

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
        plain = line.seen.plain
        if line.software and line.seen.kind == "request":
            client_id = plain.tail.rest.get("clientId") if plain else line.client_id
            if client_id and self.clients.get(client_id) != line.software and line.kind == "request":
                self._client(line.client_id, line.software)
        if plain:
            self._lines.append(line)
        else:
            yield from self._single(line)
        self._size += line.seen.size
        if self._size > AT_ONCE or len(self._lines) + len(self._singles) >= LINES:
            yield from self._of_lines()

    def _single(self, line: Captured) -> Iterator[Rows]:
        """Add a line that is not regular."""
        self._singles.append(line)
        if "frames" in self.tables:
            self._rows.append([LINE_COLUMNS[name].of_line(line) for name in UNRESOLVED.names])
        if self._has_bodies:
            yield from (Rows(*each) for each in self._bodies.line(line))
        if self._part_tables and line.is_frame and not is_misread(line):
            place = (*line.where, microseconds_of(line.seen.time), line.connection.key, line.number)
            for part, row in part_rows(line, self._part_tables, self.redaction):
                yield from self._part(part, (*place, *row))

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
        regular, others = regular_lines(self._lines, self.redaction.catalog)
        self._lines = []
        self._size = 0
        if regular:
            yield from self._regular(regular)
            if self._part_tables:
                yield from self._parts_of(regular, [line.names.topic for line in regular.lines])
        for line in others:
            yield from self._single(line)
        if self._rows:
            yield Rows("frames", batch_of(self._rows, UNRESOLVED))
        if "costs" in self.tables:
            for line in self._singles:
                self._spent_on((line.where.file, _day(line.seen.time))).lines([line])
        if "faults" in self.tables:
            yield from (Rows("faults", each) for each in line_faults(self._singles))
        self._rows = []
        self._singles = []

    def _spent_on(self, place: Place) -> Spent:
        if place not in self._spent:
            self._spent[place] = Spent(self.redaction.catalog, self.point)
        return self._spent[place]

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


def _with_place(file: str | None, day: int | None, costs: pa.RecordBatch) -> pa.RecordBatch:
    days = pa.array([day] * costs.num_rows, pa.int32()).cast(pa.date32())
    columns = {DAY: days, "file": word(file, costs.num_rows)}
    return pa.RecordBatch.from_arrays(
        [columns[name] if name in columns else costs.column(name) for name in COSTS.names], schema=COSTS
    )
