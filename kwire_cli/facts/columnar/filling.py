"""Tables in memory filled from a large capture, many frames at a time.

Connections are read apart, so a frame is known by its connection and its number there until all of the capture was
read. Until then rows wait: frames have no numbers of the capture, topics may be ids, and brokers are addresses. Then
frames are numbered in the order of their last packets, as `kwire decode` numbers them, and the rows go to DuckDB.

The reader returns stretches of frames, and single lines. Regular lines are collected over many connections, and become
rows together as stretches do. Each other line becomes one row.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.columnar.arrays import schema_of
from kwire_cli.facts.columnar.bodies import arrow_kind, body_column
from kwire_cli.facts.columnar.frames import (
    ADDRESS,
    LINE_COLUMNS,
    MEMORY,
    SESSION,
    frame_rows,
    resolved,
)
from kwire_cli.facts.columnar.names import topics_of
from kwire_cli.facts.columnar.parts import parts_of
from kwire_cli.facts.columnar.passes import point_items
from kwire_cli.facts.columnar.regular import Regular, regular_lines
from kwire_cli.facts.columnar.spool import Spool
from kwire_cli.facts.columnar.stretches import regular_stretch
from kwire_cli.facts.columnar.values import Values, values_in
from kwire_cli.facts.columns import values_of_line
from kwire_cli.facts.connections import CONNECTIONS, connection_row
from kwire_cli.facts.parts import KEY, PARTS
from kwire_cli.message.known_layout import layouts
from kwire_cli.source.captures import PointFiles
from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.packets.descriptors import Scheduled, packets_before
from kwire_cli.source.packets.model import Origin
from kwire_cli.source.packets.parts import outline
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.source.tls.stream import PROTOCOL
from kwire_cli.stores.paths import location

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.capture_inputs import CaptureInput
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.packets.model import Notice

    Ints = npt.NDArray[np.int64]

AT_ONCE = 4096
"""Rows of lines that become columns at a time."""
LINES = 1 << 12
"""Maximum number of regular lines that are collected, over all connections."""
HELD = 4 << 20
"""Maximum bytes of these lines."""
INSERTED = 1 << 16
"""Rows that are given to DuckDB at a time."""
OWNER = 40
"""Bits of the number of a frame between its two ends. The number of the pair of ends is in the bits above."""
FRAME = "frame"
REQUEST = "request_frame"
STREAM = "stream"
TOPIC = "topic"
FRAMES_TABLE = "frames"
CONNECTIONS_TABLE = "connections"
_FOR_NUMBERS_AND_NAMES = {FRAME, REQUEST, STREAM, "topics", "api_key", ADDRESS, SESSION}
"""The columns of frames without which a frame has no number, no names of topics and brokers, and no digest."""


def fill(tables: Tables, opened: CaptureInput) -> int:
    """Fill tables from a capture, and return the number of its frames, gaps and other lines.

    Return 0 and add no row if the capture can only be read packet by packet, or if it has TLS.
    """
    planned = _planned(opened)
    if planned is None:
        return 0
    with TemporaryDirectory(prefix="kwire-") as folder:
        filling = Filling(tables, *planned, opened, Path(folder))
        count = filling.fill()
    if not count:
        return 0
    opened.other_notices = [*filling.notices]
    opened.note_faults()
    return count


def _planned(opened: CaptureInput) -> tuple[list[Scheduled], Origin] | None:
    """Return the parts of a capture, and where its packets are.

    None for a pipe, a capture that grows, and secrets of TLS.
    """
    how = opened.how
    source = opened.source
    origin = source.origin if isinstance(source, PointFiles) else Origin()
    if not opened.files or how.follow or how.packets or how.verbose or how.key_logs:
        return None
    try:
        outlines = [outline(file) for file in opened.files]
    except InputError:
        return None
    if any(each.secrets for each in outlines):
        return None
    origin.files = [*map(location, opened.files)]
    origin.befores, origin.packets = packets_before(each.packets for each in outlines)
    parts: list[Scheduled] = []
    for number, file in enumerate(outlines):
        parts += [Scheduled(part, number, origin.befores[number]) for part in file.parts]
    return parts, origin


class _OneByOneError(Exception):
    """The frames have to be read one by one: the capture has TLS, or a value that is not of the type of its column."""


class Filling:
    """The rows of one capture point on their way into tables.

    `notices` are what ended the reading of parts early, with the path of the file.
    """

    def __init__(
        self, tables: Tables, parts: list[Scheduled], origin: Origin, opened: CaptureInput, folder: Path
    ) -> None:
        self._tables = tables
        self._parts = parts
        self._origin = origin
        self._opened = opened
        self._folder = folder
        self.notices: list[tuple[str, Notice]] = []
        self._names = Names()
        self._spools: dict[str, Spool] = {}
        self._lines: dict[str, list[Sequence[Any]]] = defaultdict(list)
        self._held: list[Captured] = []
        self._held_size = 0
        self._owners = 0
        self._passed = 0
        self._keys = array("q")
        self._packets = array("q")
        self._starts = array("q")
        needed = {column.name for column in tables.columns} | _FOR_NUMBERS_AND_NAMES
        self._schema = pa.schema([each for each in MEMORY if each.name in needed])
        self._columns = [LINE_COLUMNS[name] for name in self._schema.names]
        place = [pa.field(STREAM, pa.int64()), pa.field(FRAME, pa.int64())]
        self._kinds = {key: arrow_kind(structure) for key, structure in tables.structures.items()}
        self._schemas = {
            FRAMES_TABLE: self._schema,
            **{name: pa.schema([*place, *schema_of(columns[KEY:])]) for name, columns in PARTS.items()},
            CONNECTIONS_TABLE: schema_of(CONNECTIONS[2:]),
        } | {
            table_of(*key): pa.schema([*place, pa.field("api_version", pa.int32()), pa.field("body", kind)])
            for key, kind in self._kinds.items()
        }

    def fill(self) -> int:
        """Read all of the capture point into the tables. Return the number of frames, gaps and other lines.

        Return 0 and add no row if frames have to be read one by one.
        """
        caller = self._opened.caller
        try:
            for item, reader in point_items(self._parts, self._origin, self._reader, self._notice):
                if isinstance(item, Stretch):
                    self._stretch(item)
                else:
                    self._line(item, reader)
                if caller.stopped:
                    break
            self._flush_lines()
            for table in [*self._lines]:
                self._flush(table)
        except _OneByOneError:
            return 0
        finally:
            caller.done()
        return self._finish()

    def _reader(self, ends: bytes) -> EndsReader:
        after = self._owners << OWNER
        self._owners += 1
        port = self._opened.how.port
        tls = Decryption()

        def ended(connection: TcpConnection) -> None:
            start = reader.starts[connection.stream]
            self._starts.append(start)
            self._add(CONNECTIONS_TABLE, connection_row(start, 0, connection._replace(stream=start))[2:])

        known = layouts(self._tables.catalog)
        reader = EndsReader(ends, known, port, self._names, self._origin, tls, ended=ended, after=after)
        return reader  # which `ended` asks where the connection began

    def _notice(self, part: Scheduled, notices: Sequence[Notice]) -> None:
        self.notices += [(part.part.file, notice) for notice in notices]
        size = self._opened.size
        self._passed = size if part.part.stop is None else self._passed + part.part.stop - part.part.start
        self._opened.caller.progress(self._opened.label, self._passed, size)

    # Regular frames

    def _stretch(self, stretch: Stretch) -> None:
        catalog = self._tables.catalog
        requests = values_in(stretch.requests, catalog)
        responses = values_in(stretch.responses, catalog)
        if not (requests or responses):
            return
        topics = topics_of(self._names, stretch, requests, responses)
        self._regular(regular_stretch(stretch, requests, responses, topics, self._origin, self._names))

    def _regular(self, regular: Regular) -> None:
        self._spool(FRAMES_TABLE, frame_rows(regular, self._schema))
        self._keys.frombytes(regular.joined("number").tobytes())
        self._packets.frombytes(regular.place.tobytes())
        for values, part in regular.parts():
            streams = regular.stream[part]
            self._bodies(values, streams)
            numbers = values.frames.number
            topic_of = [str] * values.count  # the capture point may name them later
            for table, frame, row in parts_of(values, self._tables.parts, self._tables.catalog, topic_of):
                self._add(table, [int(streams[frame]), int(numbers[frame]), *row])

    def _bodies(self, values: Values, streams: Ints) -> None:
        frames = values.frames
        layout = frames.layout
        kind = self._kinds.get((layout.api, layout.kind))
        if kind is None:
            return
        spec = self._tables.catalog.message(layout.message)
        count = values.count
        table = table_of(layout.api, layout.kind)
        versions = np.full(count, layout.version, np.int32)
        if pa.types.is_struct(kind):
            body = body_column(spec, layout.version, frames.walk, kind, show_secrets=self._tables.show_secrets)
        else:
            body = pa.nulls(count, kind)
        columns = [pa.array(streams), pa.array(frames.number), pa.array(versions), body]
        self._spool(table, pa.RecordBatch.from_arrays(columns, schema=self._schemas[table]))

    # Lines

    def _line(self, line: Captured, reader: EndsReader) -> None:
        if line.seen.protocol == PROTOCOL:
            raise _OneByOneError
        line.stream = reader.starts[line.stream]
        if line.seen.plain is None:
            self._single(line)
            return
        self._held.append(line)
        self._held_size += line.seen.size
        if len(self._held) >= LINES or self._held_size > HELD:
            self._flush_lines()

    def _flush_lines(self) -> None:
        """Add the rows of the regular lines so far, and of those that turn out not to be regular."""
        regular, others = regular_lines(self._held, self._tables.catalog)
        self._held = []
        self._held_size = 0
        if regular:
            self._regular(regular)
        for line in others:
            self._single(line)

    def _single(self, line: Captured) -> None:
        self._keys.append(line.number)
        self._packets.append(line.place)
        self._lines[FRAMES_TABLE].append([*values_of_line(line, self._columns)])
        if len(self._lines[FRAMES_TABLE]) >= AT_ONCE:
            self._flush(FRAMES_TABLE)
        for table, values in self._tables.rows_of(line):
            self._add(table, [line.stream, line.number, *values])

    # Rows that wait

    def _add(self, table: str, row: Sequence[Any]) -> None:
        rows = self._lines[table]
        rows.append(row)
        if len(rows) >= AT_ONCE:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._lines[table]
        self._lines[table] = []
        if not rows:
            return
        try:
            columns = batch_of(rows, self._schemas[table])
        except (pa.ArrowException, OverflowError) as error:  # definitions may change the type of a field
            raise _OneByOneError from error
        self._spool(table, columns)

    def _spool(self, table: str, rows: pa.RecordBatch) -> None:
        if table not in self._spools:
            self._spools[table] = Spool(self._folder / f"{table}.arrows")
        self._spools[table].add(rows)

    # The end of the capture point, when everything has a number and a name

    def _finish(self) -> int:
        numbers = _Numbers.number(np.array(self._keys), np.array(self._packets))
        streams = np.unique(np.array(self._starts))
        count = len(numbers.keys)
        before = self._tables.count(count + len(streams))
        first = self._tables.connection_key(self._origin.capture, 0)
        self._tables.learn(self._origin.capture, self._names)
        for table, spool in self._spools.items():
            waiting: list[pa.RecordBatch] = []
            size = 0
            for rows in spool.taken():
                waiting.append(self._placed(table, rows, numbers, streams, first, before))
                size += rows.num_rows
                if size >= INSERTED:
                    self._tables.insert(table, pa.Table.from_batches(waiting))
                    waiting = []
                    size = 0
            if waiting:
                self._tables.insert(table, pa.Table.from_batches(waiting))
        return count

    def _placed(
        self, table: str, rows: pa.RecordBatch, numbers: _Numbers, streams: Ints, first: int, before: int
    ) -> pa.RecordBatch:
        """Return rows with names and with frame numbers of the whole capture."""
        if table == FRAMES_TABLE:
            schema = pa.schema([each for each in rows.schema if each.name not in {ADDRESS, SESSION}])
            rows = resolved(rows, self._names, schema)
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        stream = np.searchsorted(streams, columns.pop(STREAM).to_numpy())
        columns["connection"] = pa.array(stream + first)
        if table in {FRAMES_TABLE, CONNECTIONS_TABLE}:
            columns[STREAM] = pa.array(stream)
        if FRAME in columns:
            columns[FRAME] = pa.array(numbers.of_capture(columns[FRAME].to_numpy()))
        if table == FRAMES_TABLE:
            asked = columns[REQUEST]
            known = asked.is_valid().to_numpy(zero_copy_only=False)
            asked_numbers = numbers.of_capture(asked.fill_null(0).to_numpy())
            columns[REQUEST] = pa.array(asked_numbers, mask=~known)
            columns["ordinal"] = pc.add(columns[FRAME], before)
            wanted = {"connection", "ordinal", *(column.name for column in self._tables.columns)}
            columns = {name: column for name, column in columns.items() if name in wanted}
        elif table == CONNECTIONS_TABLE:
            columns["ordinal"] = pa.array(before + len(numbers.keys) + stream)
            columns["broker"] = pa.array(map(self._names.node, columns["broker_address"].to_pylist()), pa.int32())
        elif TOPIC in columns:
            topics = columns[TOPIC].to_pylist()
            columns[TOPIC] = pa.array([self._names.topics.get(topic, topic) for topic in topics], pa.string())
        return pa.RecordBatch.from_pydict(columns)


class _Numbers(NamedTuple):
    """The numbers of frames in the capture, in the order of `keys`: their numbers between their two ends, sorted."""

    keys: Ints
    numbers: Ints

    @classmethod
    def number(cls, keys: Ints, packets: Ints) -> _Numbers:
        """Number frames in the order of their last packets. No frame comes before another one of its connection."""
        order = np.argsort(keys)
        keys, packets = keys[order], packets[order]
        latest = np.maximum.accumulate((keys >> OWNER << OWNER) + packets) & ((1 << OWNER) - 1)
        numbers = np.empty(len(keys), np.int64)
        numbers[np.argsort(latest, kind="stable")] = np.arange(1, len(keys) + 1)
        return cls(keys, numbers)

    def of_capture(self, keys: Ints) -> Ints:
        """Return the numbers of frames with these keys."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        return self.numbers[at]
