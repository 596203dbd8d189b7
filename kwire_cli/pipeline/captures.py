"""Captures as tables, by connection."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.message.known_layout import layouts
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.capture_faults import CAPTURE_FAULTS, SAME_CONNECTIONS, capture_faults, unreadable_rows
from kwire_cli.pipeline.lake.captures import PointTables
from kwire_cli.pipeline.lake.descriptors import (
    DESCRIBED,
    ORDER,
    OWNED_BYTES,
    FilesOfConnection,
    PlaceOfFile,
    describe_connection,
    descriptor,
    rows_in,
)
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import shaped
from kwire_cli.pipeline.lake.names import Learnt, merge_learnt
from kwire_cli.pipeline.lake.tables import AMOUNTS, with_place
from kwire_cli.pipeline.lake.tasks import FEW_BYTES
from kwire_cli.pipeline.lake.unit_tables import KINDS, collected, no_table, schema_of
from kwire_cli.pipeline.line_walks import FIELDS, fields_of
from kwire_cli.pipeline.model import FileFault, Told
from kwire_cli.pipeline.parts import MADE_SCHEMA, MOST_TASKS, Tally, gathered, made_by, received, sent
from kwire_cli.source.captures import Replay
from kwire_cli.source.files import Naming
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import TcpConnection, traffic
from kwire_cli.source.packets.descriptors import outlined, runs, schedule
from kwire_cli.source.packets.files import captures_of
from kwire_cli.source.packets.parts import PART_SIZE, PartReader
from kwire_cli.source.packets.points import apart_notes, sketch
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.stores import absolute, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.pipeline.lake.captures import Rows
    from kwire_cli.pipeline.parts import Merge
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Schedule, Scheduled
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Sketch
    from kwire_cli.spec.catalog import Catalog

    Batches = Iterable[pa.RecordBatch]


NAMED = frozenset({"topics", "broker"})
"""Columns of frames for which the names of the capture point are needed."""


def owned(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[tuple[int, Replay]]:
    """Yield the connections in sorted descriptors, by capture point and ends, as `Captures.of_connections` tells of
    them: each has to be read to its end before the next.
    """
    descriptors = map(descriptor, rows_in(batches))
    for (point, ends), some in groupby(descriptors, key=lambda each: (each.point, each.ends)):
        files = FilesOfConnection(some)
        own = runs(files.found, files.paths, files.origin)
        yield point, Replay(ends, own, files.last, secrets=secrets, origin=files.origin)


def lines(
    batches: Batches,
    secrets: tuple[Secrets, ...],
    catalog: Catalog,
    names: Mapping[int, Names],
    port: int | None,
    *,
    connections: bool = False,
) -> Iterator[Captured | TcpConnection]:
    """The lines of the connections in sorted descriptors, and with `connections` these themselves behind their lines.
    `stream` of each is the packet that its connection began with.

    `names` are what was learnt of all connections of each capture point beforehand.
    """
    for point, replay in owned(batches, secrets):
        point_names = names.get(point) or Names()
        own = Names({**point_names.topics}, {**point_names.brokers}, {**point_names.sessions})
        ended: list[TcpConnection] = []
        for line in traffic(
            catalog,
            replay,
            port=port,
            waiting_since=replay.waiting_since,
            names=own,
            layouts=layouts(catalog),
            ended=ended.append if connections else None,
        ):
            yield from (each._replace(stream=replay.starts[each.stream]) for each in ended)
            ended.clear()
            line.stream = replay.starts[line.stream]
            yield line
        yield from (each._replace(stream=replay.starts[each.stream]) for each in ended)


def connection_rows(
    connections: Iterable[tuple[int, Replay]],
    tables_of: Callable[[str], PointTables],
    port: int | None,
    learnt: dict[int, Learnt],
) -> Iterator[tuple[int, PointTables, Rows]]:
    """Yield the rows of tables of connections, with the number of their capture point and its tables.

    Connections are as for `Captures.of_connections`; `tables_of` makes the tables of a capture point that is named.
    What the connections tell is added to `learnt`, by the number of the point.
    """
    for number, some in groupby(connections, key=itemgetter(0)):
        tables: PointTables | None = None
        for _, replay in some:
            tables = tables or tables_of(replay.origin.point or "")
            reader = tables.reader(replay.ends, layouts(tables.redaction.catalog), port, replay.origin, replay.tls)
            for item in reader.whole(replay.runs, replay.last):
                for rows in tables.item(item, reader):
                    yield number, tables, rows
            since = min(reader.starts.values(), default=0)
            learnt.setdefault(number, Learnt()).merge(tables.told(since))
        if tables is not None:
            for rows in tables.close():
                yield number, tables, rows


def learn(catalog: Catalog, port: int | None, connections: Iterable[tuple[int, Replay]]) -> dict[int, Learnt]:
    """Return what connections tell, by the numbers of their capture points."""
    redaction, learnt = Redaction(catalog), dict[int, Learnt]()
    for _ in connection_rows(connections, lambda point: PointTables(point, redaction, ()), port, learnt):
        pass
    return learnt


# Captures in Spark: one plan of the files, and the DataFrames made from it.


def _of_files(spark: SparkSession, files: Sequence[str], make: Callable[[str], Any]) -> list[Any]:
    context = spark.sparkContext
    return context.parallelize(files, min(len(files), 4 * context.defaultParallelism)).map(make).collect()


def sketched(spark: SparkSession, files: Sequence[str]) -> Iterator[Sketch]:
    """Yield the sketches of files, some by tasks at a time: the first ones may tell enough."""
    at, most = 0, 2
    while at < len(files):
        yield from _of_files(spark, files[at : at + most], sketch)
        at, most = at + most, 4 * most


class Captures:
    """The captures that paths name, as DataFrames.

    Args:
        spark: A session.
        paths: Files, folders, globs.
        port: The broker's, where it is known.
        show_secrets: Whether secrets are.
        shuffle_payloads: Send payloads through Spark's shuffle, as for packed files: where files cannot be read by
            position cheaply.
        part_size: Bytes of a file for each task that reads packets.
        partitions: Tasks that own connections; by the session's parallelism and the size of the files where it is not
            given.
        catalog: The definitions by which frames are read; the bundled ones by default.
        key_logs: Files with the keys of TLS connections, beside those that are in the captures. They are read here and
            sent to the tasks.
        naming: How files are put together to capture points; by their folders by default.
        note: Is told of files that are capture points of their own, as others of their folder hold the same
            connections.
        fail_fast: Whether a file that cannot be read to its end is an error.
        tally: Is told of the bytes that are read, and of such files.

    Raises:
        InputError: There is nothing of a name, or no capture in a folder; with `fail_fast` at the first file that
            cannot be read.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        port: int | None = None,
        show_secrets: bool = False,
        shuffle_payloads: bool = False,
        part_size: int = PART_SIZE,
        partitions: int | None = None,
        catalog: Catalog | None = None,
        key_logs: Sequence[str] = (),
        naming: Naming | None = None,
        note: Callable[[str], None] = lambda _: None,
        fail_fast: bool = False,
        tally: Tally | None = None,
    ) -> None:
        self.spark, self._files, self._port, self._payloads, self._part_size = (
            spark,
            [*map(absolute, captures_of(paths))],
            port,
            shuffle_payloads,
            part_size,
        )
        self._partitions, self._catalog = partitions, catalog or bundled()
        self._show_secrets = show_secrets
        self._secrets = blocks_of(key_logs)
        self._naming, self._note = naming or Naming(), note
        self._fail_fast, self._tally = fail_fast, tally or Tally(spark)
        self._table = self._tally.table()

    @cached_property
    def plan(self) -> Schedule:
        """The parts of all files, in one order."""
        plan = self._planned()
        told = Told(stop=self._fail_fast)
        for file, reason in plan.faults:
            told.fault(file, reason)
        self._tally.add(self._table, None, told)
        for note in apart_notes(point.name for point in plan.points if point.apart):
            self._note(note)
        return plan

    def _planned(self) -> Schedule:
        size = self._part_size
        if len(self._files) > 1 and self.size > FEW_BYTES:
            return schedule(
                _of_files(self.spark, self._files, lambda path: outlined(path, size)),
                self._secrets,
                self._naming,
                partial(sketched, self.spark),
            )
        return schedule((outlined(path, size) for path in self._files), self._secrets, self._naming)

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(sizes(self._files))

    @cached_property
    def learnt(self) -> dict[int, Learnt]:
        """Return what the connections of each capture point tell. It takes a first pass over them."""
        learnt: dict[int, Learnt] = {}
        for some in self.of_connections(partial(learn, self._catalog, self._port), merge_learnt):
            merge_learnt(learnt, some)
        return learnt

    def of_connections(self, fold: Callable[[Iterator[tuple[int, Replay]]], Any], merge: Merge) -> list[Any]:
        """Return the results of `fold` over the connections of a task, for each task or several tasks.

        A connection is the number of its capture point, and its segments. Each has to be read to its end before the
        next.
        """

        def of(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[pa.RecordBatch]:
            yield made_by(TaskContext.get().partitionId(), fold(owned(batches, secrets)))  # type: ignore[union-attr]

        return gathered(self._owned(MADE_SCHEMA, of), self._tasks, merge)

    def table(self, name: str, columns: Sequence[str] = ()) -> DataFrame:
        """Return a table of captures that a lake has, with these columns; all by default.

        Without `topics` and `broker` of `frames` no first pass is needed.

        Raises:
            InputError: There is no such table, or no such column.

        """
        schema = schema_of(name, self._catalog)
        if schema is None:
            raise no_table(name, [*KINDS], self._catalog)
        names = [*columns] or schema.names
        if unknown := [column for column in names if column not in schema.names]:
            raise InputError(f"the table {name} has no column {unknown[0]}: its columns are {', '.join(schema.names)}")
        if name == "names":
            return self._names(schema).select(*names)
        if name == "costs":
            keys = [each for each in schema.names if each not in AMOUNTS]
            sums = self._rows(name, schema, schema.names).groupBy(*keys)
            return sums.agg(*(functions.sum(amount).alias(amount) for amount in AMOUNTS)).select(*names)
        rows = self._rows(name, schema, names)
        return rows.unionByName(self._faults_of_files(schema).select(*names)) if name == "faults" else rows

    def _rows(self, name: str, schema: pa.Schema, names: Sequence[str]) -> DataFrame:
        """Return the rows of a table that tasks make of connections."""
        catalog, show_secrets, port = self._catalog, self._show_secrets, self._port
        learnt = self.spark.sparkContext.broadcast(self.learnt if name == "frames" and NAMED & {*names} else {})
        nothing = Names()

        def of(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[pa.RecordBatch]:
            redaction = Redaction(catalog, show_secrets=show_secrets)

            def tables_of(point: str) -> PointTables:
                return PointTables(point, redaction, (name,))

            for number, tables, rows in connection_rows(owned(batches, secrets), tables_of, port, {}):
                if rows.table == name:
                    known = learnt.value[number].names if number in learnt.value else nothing
                    own = resolved(rows.rows, known) if name == "frames" else shaped(name, rows.rows)
                    yield with_place(name, schema, own, tables.point, names)

        return self._owned(
            pa.schema([schema.field(column) for column in names]),
            lambda batches, secrets: collected(of(batches, secrets)),
        )

    def _names(self, schema: pa.Schema) -> DataFrame:
        rows = [
            with_place("names", schema, learnt.rows(), self.plan.points[number].name, schema.names)
            for number, learnt in self.learnt.items()
        ]
        return self.spark.createDataFrame(pa.Table.from_batches(rows, schema))

    def _faults_of_files(self, schema: pa.Schema) -> DataFrame:
        """Return the faults of files, as rows of `faults`."""
        faults = self.file_faults()
        types = {field.name: field.dataType for field in from_arrow_schema(schema)}
        return faults.select(
            *(
                faults[name] if name in CAPTURE_FAULTS.names else functions.lit(None).cast(types[name]).alias(name)
                for name in schema.names
            )
        )

    def fields(self) -> DataFrame:
        """A row for each field of each frame."""
        return self._lines(FIELDS, fields_of, learnt=False)

    def file_faults(self) -> DataFrame:
        """Return the rows of `faults` that are about files. No frames are made for these rows."""
        schema = from_arrow_schema(CAPTURE_FAULTS)
        points = [point.name for point in self.plan.points]
        parts = sent(self.spark, ((points[part.point], part.part) for part in self.plan.parts))
        faults = parts.mapInArrow(_faults_of_parts, schema)
        rows = unreadable_rows(self.plan)
        return faults.unionByName(self.spark.createDataFrame(rows, schema)) if rows else faults

    def unread(self) -> list[FileFault]:
        """The files that cannot be read, or not to their end, and why."""
        return [FileFault(row.file, row.detail) for row in self.file_faults().collect() if row.code != SAME_CONNECTIONS]

    def folded(
        self,
        fold: Callable[[Iterator[Captured | TcpConnection]], Any],
        merge: Merge,
        *,
        learnt: bool = True,
        connections: bool = False,
    ) -> list[Any]:
        """Return the results of `fold` over the lines of a task's connections, for each task or several tasks.

        `learnt` says that `fold` needs names, `connections` that it takes TCP connections too.
        """

        def rows(lines: Iterator[Captured | TcpConnection], _: Redaction) -> Iterator[pa.RecordBatch]:
            yield made_by(TaskContext.get().partitionId(), fold(lines))  # type: ignore[union-attr]

        made = self._lines(MADE_SCHEMA, rows, learnt=learnt, connections=connections)
        return gathered(made, self._tasks, merge)

    def _lines(
        self,
        schema: pa.Schema,
        rows: Callable[[Iterator[Any], Redaction], Iterator[pa.RecordBatch]],
        *,
        learnt: bool,
        connections: bool = False,
    ) -> DataFrame:
        """Return the rows that `rows` makes of the lines of all connections."""
        port, catalog, show_secrets = self._port, self._catalog, self._show_secrets
        names = self.spark.sparkContext.broadcast(self.learnt if learnt else {})

        def of(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[pa.RecordBatch]:
            redaction = Redaction(catalog, show_secrets=show_secrets, raw_records=True)
            known = {number: each.names for number, each in names.value.items()}
            return rows(lines(batches, secrets, catalog, known, port, connections=connections), redaction)

        return self._owned(schema, of)

    def _owned(
        self, schema: pa.Schema, of: Callable[[Batches, tuple[Secrets, ...]], Iterator[pa.RecordBatch]]
    ) -> DataFrame:
        """Return the rows that `of` makes of the connections that each task owns, and of what decrypts TLS in them."""
        payloads, secrets = self._payloads, self.plan.secrets
        tally, key, fail_fast = self._tally, self._table, self._fail_fast

        def tell(number: int, reader: PartReader) -> None:
            told = Told(reader.size, stop=fail_fast)
            for notice in reader.notices:
                told.fault(reader.part.file, notice.text)
            tally.add(key, number, told)

        def describe(batches: Batches) -> Iterator[pa.RecordBatch]:
            return describe_connection(received(batches), tell, payloads=payloads)

        descriptors = sent(self.spark, self._placed()).mapInArrow(describe, from_arrow_schema(DESCRIBED))
        sorted_ones = descriptors.repartition(self._tasks, "owner").sortWithinPartitions(*ORDER)
        return sorted_ones.mapInArrow(lambda batches: of(batches, secrets), from_arrow_schema(schema))

    def _placed(self) -> Iterator[Scheduled]:
        """Yield the parts of the plan with all that tasks have to know of it."""
        plan = self.plan
        several = len(plan.points) > 1, len(plan.files) > 1
        packets = [tuple(chain.packets for chain in point.chains) for point in plan.points]
        for part in plan.parts:
            name = plan.points[part.point].name
            place = PlaceOfFile(part.part.file, part.before, name, packets[part.point], *several)
            yield replace(part, place=pickle.dumps(place))

    @property
    def _tasks(self) -> int:
        cores = self.spark.sparkContext.defaultParallelism
        turns = max(2, -(-min(self.size // OWNED_BYTES, MOST_TASKS) // cores))
        return self._partitions or turns * cores


def _faults_of_parts(batches: Batches) -> Iterator[pa.RecordBatch]:
    return capture_faults(part for _, part in received(batches))
