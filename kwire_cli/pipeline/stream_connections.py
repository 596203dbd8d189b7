"""Connections carried over from batch to batch, and their tables."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import MOST_BYTES, layouts
from kwire_cli.pipeline.line_columns import FRAMES, Line, Options, frame_rows
from kwire_cli.pipeline.line_walks import FIELDS, fields_of
from kwire_cli.pipeline.model import Reading
from kwire_cli.pipeline.stream_reader import STREAMED, StreamReader, Task
from kwire_cli.source.kafka.traffic import FORM, Ongoing, taken_up
from kwire_cli.source.packets.descriptors import Run, Scheduled, described
from kwire_cli.source.packets.model import Origin, Place
from kwire_cli.source.packets.segment_columns import DESCRIPTOR
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.model import Segment

    Rows = Callable[[Iterator[Line], Options], Iterator[pa.RecordBatch]]


# Connections that go on from batch to batch of a stream: TCP segments by connection in, rows of frames out,
# the state of each kept by Spark.
#
# What is shuffled are segments with their payloads. What is known of a connection at the end of a batch is
# put away as bytes by `source.kafka.ongoing` in Spark's state store, with the checkpoint; so it is the same
# after a restart, on whichever machine.

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
"""Segments between two ends at a capture point, DESCRIPTOR rows with their payloads beside them.
Packets are numbered over the stream: `before` of them are not of the
file, and `through` is the last one of the batch."""


STATE_VERSION = f"{VERSION}/{FORM}"
"""Of kwire, and of the form of what it puts away: nobody else takes that up."""
STATE = "version string, active bigint, kept binary"
MADE = "rows binary"
MOST_PLACES = 256
"""Files of a connection that are kept in mind, to say in which one a frame ended."""
AT_ONCE = 1 << 16
"""Segments that are objects at the same time."""


class SegmentReader(StreamReader):
    """The rows of SEGMENTS."""

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """As `StreamReader`."""
        if task.part is None:
            return
        rows: list[tuple[Any, ...]] = []
        size, point = 0, self.reading.naming.name(task.part.file)
        for descriptor in described(Scheduled(task.part, 0, 0, task.before), payloads=True):
            rows.append(
                (point, descriptor.ends, task.part.file, task.before, task.through, descriptor.rows, descriptor.kept)
            )
            size += len(descriptor.rows) + len(descriptor.kept or b"")
            if size > MOST_BYTES:
                yield batch_of(rows, SEGMENTS)
                rows, size = [], 0
        if rows:
            yield batch_of(rows, SEGMENTS)


class _Place(NamedTuple):
    """From this packet on they are of the file, and so many were before it."""

    packet: int
    file: str
    before: int


class Known(Origin):
    """The state kept of the connections between two ends.

    This is in which files their packets were, and `ongoing`, the connections themselves.
    """

    ongoing: Ongoing

    def __init__(self, point: str) -> None:
        super().__init__(point)
        self.places: list[_Place] = []
        self.last = 0

    def segments(self, ends: bytes, given: Sequence[Any]) -> Iterator[Segment]:
        """All segments of a batch in the order of their times, with numbers that grow."""
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
        kept = b"".join(payloads)
        for start in range(0, len(rows), AT_ONCE):
            yield from Run(rows[start : start + AT_ONCE], memoryview(b""), kept).segments(ends)

    def place(self, packet: int) -> Place:
        """The file of a packet, and its number there; neither where that is not known any more."""
        at = bisect_right(self.places, packet, key=lambda place: place.packet) - 1
        return Place(self.places[at].file, packet - self.places[at].before) if at >= 0 else Place(None, None)

    def forget_places(self) -> None:
        """The files of packets that no line can end in any more, beyond those that are few."""
        del self.places[:-MOST_PLACES]


class Connections(StatefulProcessor):
    """Makes rows of the connections between two ends at a capture point, which are the key. A row holds an Arrow
    stream.
    """

    def __init__(self, rows: Rows, reading: Reading, port: int | None, idle: int) -> None:
        self._rows, self._reading, self._port, self._idle = rows, reading, port, idle * 1000

    def init(self, handle: StatefulProcessorHandle) -> None:
        """As PySpark calls it, once in a task."""
        self._handle = handle
        self._state = handle.getValueState("connections", STATE)
        self._layouts = layouts(self._reading.catalog)

    def handleInputRows(self, key: tuple[Any, ...], rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - PySpark's names
        """The lines that a batch completes."""
        now = timerValues.getCurrentProcessingTimeInMs()
        if kept := self._state.get():
            known = self._taken_up(kept, key)
        else:
            known = Known(key[0])
            known.ongoing = Ongoing(self._layouts, self._port, known)
            self._handle.registerTimer(now + self._idle)
        given = list(rows)
        yield from self._shown(known.ongoing.take(known.segments(bytes(key[1]), given)))
        yield from self._shown(known.ongoing.pass_by(max(row.through for row in given)))
        known.forget_places()
        self._state.update((STATE_VERSION, now, self._put_away(known)))

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
        connection = self._taken_up(kept, key)
        yield from self._shown(connection.ongoing.close())
        self._state.clear()

    def _shown(self, lines: Iterator[tuple[Captured, int]]) -> Iterator[Row]:
        how = Options(self._reading.catalog, show_secrets=self._reading.show_secrets)
        all_lines = (Line(captured, stream, how) for captured, stream in lines)
        for rows in self._rows(all_lines, how):
            out = pa.BufferOutputStream()
            with pa.ipc.new_stream(out, rows.schema) as stream:
                stream.write_batch(rows)
            yield Row(rows=out.getvalue().to_pybytes())

    def _put_away(self, known: Known) -> bytes:
        return pickle.dumps((known.ongoing.put_away(self._layouts), known.places, known.last))

    def _taken_up(self, kept: tuple[Any, ...], key: tuple[Any, ...]) -> Known:
        version, _, data = kept
        if version != STATE_VERSION:
            said = f"the connections of this stream were put away by kwire {version}, and this is {STATE_VERSION}"
            raise InputError(f"{said}: continue that stream, or start with a new checkpoint")
        ongoing, places, last = pickle.loads(bytes(data))  # noqa: S301 - our own
        known = Known(key[0])
        known.ongoing, known.places, known.last = taken_up(ongoing, self._layouts, known), places, last
        return known


def unwrapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in Arrow streams."""
    for batch in batches:
        for scalar in batch.column(0):
            with pa.ipc.open_stream(scalar.as_buffer()) as stream:
                yield from stream


# The tables of a folder as streams.

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"


ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IDLE = 300
"""Seconds of silence after which connections are over."""
OF_CONNECTIONS = {"frames": FRAMES, "fields": FIELDS}


class Streams:
    """The tables of files that arrive: `batches`, `records`, `packets` and `faults`, and of connections `frames` and
    `fields`.

    Args:
        spark: A session.
        paths: Folders, files that grow, globs.
        reading: Limits, definitions, and whether secrets are shown.
        port: The broker's, where the bytes do not tell it.
        idle: Seconds after which connections of which nothing was heard are over; what waits is given then.
        options: Those of the data source: `maxBytesPerTrigger`, `patience`, `splitSize`.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        reading: Reading | None = None,
        port: int | None = None,
        idle: int = IDLE,
        options: dict[str, Any],
    ) -> None:
        self._spark, self._paths, self._reading, self._port, self._idle, self._options = (
            spark,
            paths,
            reading or Reading(),
            port,
            idle,
            options,
        )
        spark.conf.set(STATE_STORE, ROCKSDB)  # the only one that transformWithState works with

    def __getitem__(self, name: str) -> DataFrame:
        return self.table(name)

    def table(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """A streaming DataFrame with these columns; all by default. InputError where there is no such table or
        column.
        """
        if name in OF_CONNECTIONS:
            return self._of_connections(name, columns)
        if name not in STREAMED:
            raise InputError(
                f"there is no stream of the table {name!r}: there are {', '.join((*STREAMED, *OF_CONNECTIONS))}"
            )
        dataframe = self._source("kwire").option("table", name).load()
        return dataframe if columns is None else dataframe.select(*columns)

    def _of_connections(self, name: str, columns: Sequence[str] | None) -> DataFrame:
        schema = OF_CONNECTIONS[name]
        names = [*(schema.names if columns is None else columns)]
        if unknown := [column for column in names if column not in schema.names]:
            raise InputError(f"the table {name} has no column {unknown[0]}: its columns are {', '.join(schema.names)}")
        processor = Connections(partial(_rows, name, names), self._reading, self._port, self._idle)
        wrapped = (
            self._source("kwire-segments")
            .load()
            .groupBy("point", "ends")
            .transformWithState(processor, MADE, "append", "ProcessingTime")
        )
        own = schema if name == "fields" else pa.schema([schema.field(column) for column in names])
        dataframe: DataFrame = wrapped.mapInArrow(unwrapped, from_arrow_schema(own)).select(*names)
        return dataframe

    def _source(self, form: str) -> DataStreamReader:
        reading = b64encode(pickle.dumps(self._reading)).decode()
        return self._spark.readStream.format(form).options(
            paths=json.dumps([*self._paths]), reading=reading, **self._options
        )


def _rows(table: str, names: Sequence[str], lines: Iterator[Line], how: Options) -> Iterator[pa.RecordBatch]:
    return frame_rows(lines, names) if table == "frames" else fields_of(lines, how)
