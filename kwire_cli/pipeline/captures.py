"""Captures in Spark: one plan of the files, and the DataFrames made from it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline import connections
from kwire_cli.pipeline.capture_faults import CAPTURE_FAULTS, SAME_CONNECTIONS, capture_faults, line_faults, unreadable_rows
from kwire_cli.pipeline.folding import MADE_SCHEMA, FileFault, gathered, made_by
from kwire_cli.pipeline.line_columns import FRAMES, NAMED, Line, Options, frame_rows
from kwire_cli.pipeline.line_filters import wanted_lines
from kwire_cli.pipeline.line_walks import FIELDS, LEDGER, fields_of, ledger_of_frames
from kwire_cli.pipeline.model import Told
from kwire_cli.pipeline.parts import MOST_TASKS, Tally
from kwire_cli.source.capture.named import captures_of
from kwire_cli.source.capture.parts import PART_SIZE
from kwire_cli.source.capture.points import Naming, apart_notes
from kwire_cli.source.capture.schedule import outlined, schedule
from kwire_cli.source.capture.sketches import sketch
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.stores import absolute, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.folding import Merge
    from kwire_cli.source.capture.parts import PartReader
    from kwire_cli.source.capture.schedule import Schedule
    from kwire_cli.source.capture.sketches import Sketch
    from kwire_cli.source.kafka.names import Names
    from kwire_cli.spec.catalog import Catalog

    Batches = Iterable[pa.RecordBatch]

FEW_BYTES = 256 << 20
"""Bytes of files that are cut into parts without a Spark job."""
OWNED_BYTES = 32 << 20
"""Bytes of captures for each task that owns connections, about: connections differ in size, small shares leave no core idle at the end."""


class Captures:
    """The captures that paths name, as DataFrames.

    Args:
        spark: A session.
        paths: Files, folders, globs.
        port: The broker's, where it is known.
        records: How records are shown in bodies: decoded, size or base64.
        show_secrets: Whether secrets are.
        shuffle_payloads: Send payloads through Spark's shuffle, as for packed files: where files cannot be read by position cheaply.
        part_size: Bytes of a file for each task that reads packets.
        partitions: Tasks that own connections; by the session's parallelism and the size of the files where it is not given.
        catalog: The definitions by which frames are read; the bundled ones by default.
        key_logs: Files with the keys of TLS connections, beside those that are in the captures. They are read here and sent to the tasks.
        naming: How files are put together to capture points; by their folders by default.
        note: Is told of files that are capture points of their own, as others of their folder hold the same connections.
        fail_fast: Whether a file that cannot be read to its end is an error.
        tally: Is told of the bytes that are read, and of such files.

    Raises:
        InputError: There is nothing of a name, or no capture in a folder; with `fail_fast` at the first file that cannot be read.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        port: int | None = None,
        records: str = "decoded",
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
        self._spark, self._files, self._port, self._payloads, self._part_size = (
            spark,
            [*map(absolute, captures_of(paths))],
            port,
            shuffle_payloads,
            part_size,
        )
        self._records, self._show_secrets = records, show_secrets
        self._partitions, self._catalog = partitions, catalog or bundled()
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
            return schedule(self._of_files(self._files, lambda path: outlined(path, size)), self._secrets, self._naming, self._sketched)
        return schedule((outlined(path, size) for path in self._files), self._secrets, self._naming)

    def _sketched(self, files: Sequence[str]) -> Iterator[Sketch]:
        """The sketches of files, some by tasks at a time: the first ones may tell enough."""
        at, most = 0, 2
        while at < len(files):
            yield from self._of_files(files[at : at + most], sketch)
            at, most = at + most, 4 * most

    def _of_files(self, files: Sequence[str], make: Callable[[str], Any]) -> list[Any]:
        context = self._spark.sparkContext
        return context.parallelize(files, min(len(files), 4 * context.defaultParallelism)).map(make).collect()

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(sizes(self._files))

    @cached_property
    def names(self) -> dict[int, Names]:
        """The topics, brokers and fetch sessions that the captures of each point name: a first pass over them."""
        port, catalog = self._port, self._catalog
        rows = self._owned(connections.NAMES, lambda batches, plan: connections.names_learnt(batches, plan, catalog, port)).collect()
        return connections.names_of(tuple(row) for row in rows)

    def frames(self, columns: Sequence[str] = (), filters: Sequence[Filter] = ()) -> DataFrame:
        """A row for each frame and each gap, with these columns; all by default. Without `topics`, `broker` and `body` no first pass is needed.

        Rows that `filters` exclude may be left out.
        """
        names = [*columns] or FRAMES.names
        if unknown := [name for name in names if name not in FRAMES.names]:
            raise InputError(f"the table frames has no column {unknown[0]}: its columns are {', '.join(FRAMES.names)}")
        schema = pa.schema([FRAMES.field(name) for name in names])
        return self._lines(schema, lambda lines, _: frame_rows(lines, names), filters, learnt=bool(NAMED.intersection(names)))

    def fields(self, filters: Sequence[Filter] = ()) -> DataFrame:
        """A row for each field of each frame. Rows that `filters` exclude may be left out."""
        return self._lines(FIELDS, fields_of, filters, learnt=False)

    def ledger(self) -> DataFrame:
        """The bytes of all frames by api, kind, version and field."""
        port, options, catalog = self._port, self._options, self._catalog

        def of(batches: Batches, plan: Schedule) -> Iterator[pa.RecordBatch]:
            return ledger_of_frames(connections.frames(batches, plan, catalog, port), Options(catalog, **options))

        sums = self._owned(LEDGER, of)
        keys, amounts = LEDGER.names[:-3], LEDGER.names[-3:]
        return sums.groupBy(*keys).agg(*(functions.sum(name).alias(name) for name in amounts))

    def faults(self) -> DataFrame:
        """A row for each anomaly, each gap, and each file that cannot be read, or not to its end."""
        of_lines = self._lines(CAPTURE_FAULTS, lambda lines, _: line_faults(lines), learnt=False)
        return of_lines.unionByName(self.file_faults())

    def file_faults(self) -> DataFrame:
        """Those of `faults` that are about files: no frames are made for them."""
        schema = from_arrow_schema(CAPTURE_FAULTS)
        plan = self._spark.sparkContext.broadcast(self.plan)

        def of_files(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from capture_faults(plan.value, batch.column(0).to_pylist())

        found = self._parts().mapInArrow(of_files, schema)
        rows = unreadable_rows(self.plan)
        return found.unionByName(self._spark.createDataFrame(rows, schema)) if rows else found

    def unread(self) -> list[FileFault]:
        """The files that cannot be read, or not to their end, and why."""
        return [FileFault(row.file, row.detail) for row in self.file_faults().collect() if row.code != SAME_CONNECTIONS]

    def folded(self, fold: Callable[[Iterator[Line]], Any], merge: Merge, *, learnt: bool = True) -> list[Any]:
        """What `fold` makes of the lines of the connections that a task owns, for each task or some; `learnt` says that it needs names."""

        def rows(lines: Iterator[Line], _: Options) -> Iterator[pa.RecordBatch]:
            yield made_by(TaskContext.get().partitionId(), fold(lines))  # type: ignore[union-attr]

        return gathered(self._lines(MADE_SCHEMA, rows, learnt=learnt), self._tasks, merge)

    @property
    def _options(self) -> dict[str, Any]:
        return {"records": self._records, "show_secrets": self._show_secrets}

    def _lines(
        self,
        schema: pa.Schema,
        rows: Callable[[Iterator[Line], Options], Iterator[pa.RecordBatch]],
        filters: Sequence[Filter] = (),
        *,
        learnt: bool,
    ) -> DataFrame:
        """What `rows` makes of the lines of all connections that may be behind all filters."""
        port, options, catalog = self._port, self._options, self._catalog
        names = self._spark.sparkContext.broadcast(self.names if learnt else {})

        def of(batches: Batches, plan: Schedule) -> Iterator[pa.RecordBatch]:
            how = Options(catalog, **options)
            found = (Line(*line, how) for line in connections.lines(batches, plan, catalog, names.value, port))
            return rows(wanted_lines(found, filters), how)

        return self._owned(schema, of)

    def _owned(self, schema: pa.Schema, of: Callable[[Batches, Schedule], Iterator[pa.RecordBatch]]) -> DataFrame:
        """What `of` makes of the connections that a task owns."""
        payloads, plan = self._payloads, self._spark.sparkContext.broadcast(self.plan)
        tally, key, fail_fast = self._tally, self._table, self._fail_fast

        def tell(number: int, reader: PartReader) -> None:
            told = Told(reader.size, stop=fail_fast)
            for notice in reader.notices:
                told.fault(reader.part.file, notice.text)
            tally.add(key, number, told)

        def describe(batches: Batches) -> Iterator[pa.RecordBatch]:
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            return connections.describe(numbers, plan.value, tell, payloads=payloads)

        def own(batches: Batches) -> Iterator[pa.RecordBatch]:
            return of(batches, plan.value)

        found = self._parts().mapInArrow(describe, from_arrow_schema(connections.DESCRIBED))
        sorted_ones = found.repartition(self._tasks, *connections.KEY).sortWithinPartitions(*connections.ORDER)
        return sorted_ones.mapInArrow(own, from_arrow_schema(schema))

    @property
    def _tasks(self) -> int:
        cores = self._spark.sparkContext.defaultParallelism
        turns = max(2, -(-min(self.size // OWNED_BYTES, MOST_TASKS) // cores))
        return self._partitions or turns * cores

    def _parts(self) -> DataFrame:
        """The numbers of the parts, one a task."""
        count = len(self.plan.parts)
        return self._spark.range(0, count, 1, max(count, 1))
