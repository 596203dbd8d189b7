"""Connections that go on from batch to batch of a stream: TCP segments in, rows of tables out.

What is shuffled are segments with their payloads. What is known of the connections between two ends at the end of a
batch is put away as bytes in Spark's state store, with the checkpoint; so it is the same after a restart, on whichever
machine.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.message.known_layout import layouts
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.capture_faults import UNREADABLE, file_fault
from kwire_cli.pipeline.lake.captures import PointTables
from kwire_cli.pipeline.lake.descriptors import MOST_BYTES
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import shaped
from kwire_cli.pipeline.lake.names import NAMES, Learnt
from kwire_cli.pipeline.segments import FAULTS_NAME
from kwire_cli.pipeline.stream_files import CaptureFiles
from kwire_cli.pipeline.stream_logs import fault_rows, packed
from kwire_cli.pipeline.stream_reader import StreamReader, Task
from kwire_cli.source.kafka.bulk_frames import EndsReader
from kwire_cli.source.kafka.kept import FORM, put_away, taken_up
from kwire_cli.source.packets.descriptors import Run, Scheduled, described
from kwire_cli.source.packets.model import Origin, Place
from kwire_cli.source.packets.parts import PartReader
from kwire_cli.source.packets.segment_columns import DESCRIPTOR
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from kwire_cli.message.known_layout import Layouts
    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.kafka.bulk_frames import Stretch
    from kwire_cli.source.kafka.captured import Captured

SEGMENTS = pa.schema(
    [
        pa.field("point", pa.string()),
        pa.field("ends", pa.binary()),
        pa.field("file", pa.string()),
        pa.field("before", pa.int64()),
        pa.field("through", pa.int64()),
        pa.field("rows", pa.binary()),
        pa.field("payloads", pa.binary()),
    ]
)
"""Segments between two ends at a capture point, DESCRIPTOR rows with their payloads beside them. Packets are numbered
over the stream: `before` of them are not of the file, and `through` is the last one of the batch. Without ends `rows`
are faults of files, as an Arrow stream."""
STATE_VERSION = f"{VERSION}/{FORM}"
"""Of kwire, and of the form of what it puts away: nobody else takes that up."""
STATE = "version string, active bigint, kept binary"
MADE = "table string, point string, rows binary"
MOST_PLACES = 256
"""Files of a connection that are kept in mind, to say in which one a frame ended."""
LONG_AFTER = 1 << 16
"""Packets that go by before a connection of which nothing was heard any more is closed."""


class SegmentReader(StreamReader):
    """The rows of SEGMENTS."""

    def kinds(self, patience: int) -> list[Any]:
        """As `StreamReader`."""
        return [CaptureFiles(patience, self.reading.naming)]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """As `StreamReader`."""
        name = self.reading.naming.name
        for path, code in task.faults:
            yield _fault_row(name(path), fault_rows(name(path), [(path, code)]))
        if task.part is None:
            return
        rows: list[tuple[Any, ...]] = []
        size, point, file, reader = 0, name(task.part.file), task.part.file, PartReader(task.part)
        for descriptor in described(Scheduled(task.part, 0, 0, task.before), reader, payloads=True):
            rows.append((point, descriptor.ends, file, task.before, task.through, descriptor.rows, descriptor.kept))
            size += len(descriptor.rows) + len(descriptor.kept or b"")
            if size > MOST_BYTES:
                yield batch_of(rows, SEGMENTS)
                rows, size = [], 0
        if rows:
            yield batch_of(rows, SEGMENTS)
        for text, position, packet in reader.notices:
            fault = (
                file_fault(point, file, packet, position, "TRUNCATED", text)
                if position
                else file_fault(point, file, None, None, UNREADABLE, text)
            )
            yield _fault_row(point, [shaped(FAULTS_NAME, fault)])


def _fault_row(point: str, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batch_of([(point, b"", "", 0, 0, packed(rows), b"")], SEGMENTS)


class _Place(NamedTuple):
    """From this packet on they are of the file, and so many were before it."""

    packet: int
    file: str
    before: int


class Known(Origin):
    """The connections between two ends: their `reader`, in which files their packets were, and what was `learnt`, of
    which some rows were given.
    """

    reader: EndsReader

    def __init__(self, point: str) -> None:
        super().__init__(point)
        self.places: list[_Place] = []
        self.last = 0
        self.learnt = Learnt()
        self._told: set[tuple[str, ...]] = set()

    def new_names(self) -> list[tuple[str, ...]]:
        """Return the rows of names that were not given yet."""
        rows = [tuple(row.values()) for row in self.learnt.rows().to_pylist()]
        new = [row for row in rows if row not in self._told]
        self._told.update(new)
        return new

    def run(self, given: Sequence[Any]) -> Run:
        """Return all segments of a batch in the order of their times, with numbers that grow."""
        given = sorted(given, key=lambda row: (row.before, bytes(row.rows)))
        tables = [np.frombuffer(bytes(input_row.rows), DESCRIPTOR).copy() for input_row in given]
        payloads = [bytes(input_row.payloads or b"") for input_row in given]
        at = 0
        for table, own in zip(tables, payloads, strict=True):
            table["position"] -= at
            at += len(own)
        rows, which = np.concatenate(tables), np.repeat(np.arange(len(given)), [len(table) for table in tables])
        order = np.lexsort((rows["packet"], rows["moment"]))
        rows, which = rows[order], which[order]
        steps = np.arange(len(rows))
        numbers = np.maximum.accumulate(np.maximum(rows["packet"] - steps, self.last + 1)) + steps
        before = np.array([input_row.before for input_row in given])[which] + numbers - rows["packet"]
        for row in np.flatnonzero(np.append(True, (np.diff(which) != 0) | (np.diff(before) != 0))).tolist():
            self.places.append(_Place(int(numbers[row]), location(given[which[row]].file), int(before[row])))
        rows["packet"], self.last = numbers, int(numbers[-1])
        return Run(rows, b"".join(payloads))

    def place(self, packet: int) -> Place:
        """The file of a packet, and its number there; neither where that is not known any more."""
        at = bisect_right(self.places, packet, key=lambda place: place.packet) - 1
        return Place(self.places[at].file, packet - self.places[at].before) if at >= 0 else Place(None, None)

    def put_away(self) -> bytes:
        """Return all of it as bytes, but for the files of packets that no frame can end in any more."""
        return pickle.dumps((put_away(self.reader), self.learnt, self.places[-MOST_PLACES:], self.last))

    @classmethod
    def taken_up(cls, kept: bytes, point: str, layouts: Layouts) -> Known:
        """Return what was put away."""
        known = cls(point)
        reader, known.learnt, known.places, known.last = pickle.loads(kept)  # noqa: S301 - our own
        known.reader = taken_up(reader, layouts, known.learnt.names, known, Decryption())
        known.new_names()
        return known


class Connections(StatefulProcessor):
    """Makes rows of `tables` of the connections between two ends at a capture point, which are the key.

    Rows of a table are an Arrow stream. Names known so far between these ends are in frames; rows of `names` are those
    that are new.
    """

    def __init__(self, tables: Collection[str], reading: Reading, port: int | None, idle: int) -> None:
        self._tables, self._reading, self._port, self._idle = tables, reading, port, idle * 1000

    def init(self, handle: StatefulProcessorHandle) -> None:
        """As PySpark calls it, once in a task."""
        self._handle = handle
        self._state = handle.getValueState("connections", STATE)
        self._layouts = layouts(self._reading.catalog)
        self._redaction = Redaction(self._reading.catalog, show_secrets=self._reading.show_secrets)

    def handleInputRows(self, key: tuple[Any, ...], rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - PySpark's names
        """Yield the rows of the frames that a batch completes."""
        point, ends = key[0], bytes(key[1])
        if not ends:
            if FAULTS_NAME in self._tables:
                yield from (Row(table=FAULTS_NAME, point=point, rows=bytes(row.rows)) for row in rows)
            return
        now = timerValues.getCurrentProcessingTimeInMs()
        if kept := self._state.get():
            known = self._taken_up(kept, point)
        else:
            known = Known(point)
            known.reader = EndsReader(ends, self._layouts, self._port, known.learnt.names, known, Decryption())
            self._handle.registerTimer(now + self._idle)
        given = list(rows)
        yield from self._given(known, self._found(known, given))
        self._state.update((STATE_VERSION, now, known.put_away()))

    def handleExpiredTimer(self, key: tuple[Any, ...], timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803 - as above
        """Nothing has come for a while: unless something has, what waits is given, and the connections end."""
        now = timerValues.getCurrentProcessingTimeInMs()
        kept = self._state.get()
        if kept is None:
            return
        active = kept[1]
        if now < active + self._idle:
            self._handle.registerTimer(active + self._idle)
            return
        known = self._taken_up(kept, key[0])
        yield from self._given(known, known.reader.close(known.last + LONG_AFTER))
        self._state.clear()

    def _taken_up(self, kept: tuple[Any, ...], point: str) -> Known:
        version, _, data = kept
        if version != STATE_VERSION:
            said = f"the connections of this stream were put away by kwire {version}, and this is {STATE_VERSION}"
            raise InputError(f"{said}: continue that stream, or start with a new checkpoint")
        return Known.taken_up(bytes(data), point, self._layouts)

    def _found(self, known: Known, given: Sequence[Any]) -> Iterator[Stretch | Captured]:
        yield from known.reader.take(known.run(given))
        yield from known.reader.pass_by(max(row.through for row in given))

    def _given(self, known: Known, found: Iterable[Stretch | Captured]) -> Iterator[Row]:
        """Yield the rows of what was found, table by table."""
        own, learnt = [table for table in self._tables if table != "names"], known.learnt
        tables = PointTables(known.point or "", self._redaction, own, names=learnt.names, clients=learnt.clients)
        held: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        size = 0
        for item in found:
            for table, rows in tables.item(item, known.reader):
                held[table].append(rows)
                size += rows.nbytes
            if size > MOST_BYTES:
                yield from self._rows(known, held)
                held, size = defaultdict(list), 0
        for table, rows in tables.close():
            held[table].append(rows)
        if "names" in self._tables and (new := known.new_names()):
            held["names"].append(batch_of(new, NAMES))
        yield from self._rows(known, held)
        known.learnt = tables.told(0)

    def _rows(self, known: Known, held: dict[str, list[pa.RecordBatch]]) -> Iterator[Row]:
        for table, some in held.items():
            if table == "frames":
                shown = [resolved(rows, known.learnt.names) for rows in some]
            else:
                shown = [shaped(table, rows) for rows in some]
            yield Row(table=table, point=known.point or "", rows=packed(shown))
