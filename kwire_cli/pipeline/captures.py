"""Captures read connection by connection in tasks, for reports.

Tasks that read files send descriptors of segments to the tasks that own connections. A first pass over all connections
learns the names that each capture point tells.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.names import Learnt, merge_learnt
from kwire_cli.message.known_layout import layouts
from kwire_cli.message.redaction import Redaction
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
from kwire_cli.pipeline.lake.tasks import FEW_BYTES
from kwire_cli.pipeline.model import FileFault
from kwire_cli.pipeline.parts import MADE_SCHEMA, MOST_TASKS, folded, gathered, made_by, received, sent
from kwire_cli.source.captures import Replay
from kwire_cli.source.files import Naming
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.descriptors import outlined, runs, schedule
from kwire_cli.source.packets.files import captures_of
from kwire_cli.source.packets.parts import PART_SIZE, PartReader
from kwire_cli.source.packets.points import apart_notes, sketch
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.stores import absolute, location, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.pipeline.parts import Merge
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Schedule, Scheduled
    from kwire_cli.source.packets.parts import Part
    from kwire_cli.source.packets.pcap import Secrets
    from kwire_cli.source.packets.points import Sketch
    from kwire_cli.spec.catalog import Catalog

    Batches = Iterable[pa.RecordBatch]


def owned(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[tuple[int, Replay]]:
    """Yield the connections in sorted descriptors, by capture point and ends, as the number of its point and its
    segments. Each has to be read to its end before the next.
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
) -> Iterator[Captured]:
    """The lines of the connections in sorted descriptors. `stream` of a line is the first packet of its connection.

    `names` are what was learnt of all connections of each capture point beforehand.
    """
    for point, replay in owned(batches, secrets):
        point_names = names.get(point) or Names()
        own = Names({**point_names.topics}, {**point_names.brokers}, {**point_names.sessions})
        for line in traffic(
            catalog,
            replay,
            port=port,
            waiting_since=replay.waiting_since,
            names=own,
            layouts=layouts(catalog),
        ):
            line.stream = replay.starts[line.stream]
            yield line


def learn(catalog: Catalog, port: int | None, connections: Iterable[tuple[int, Replay]]) -> dict[int, Learnt]:
    """Return what connections tell, by the numbers of their capture points."""
    redaction, learnt = Redaction(catalog), dict[int, Learnt]()
    for number, some in groupby(connections, key=itemgetter(0)):
        tables: PointTables | None = None
        for _, replay in some:
            tables = tables or PointTables(replay.origin.point or "", redaction, ())
            reader = tables.reader(replay.ends, layouts(catalog), port, replay.origin, replay.tls)
            for item in reader.whole(replay.runs, replay.last):
                for _ in tables.item(item, reader):  # no table is wanted, so no rows come
                    pass
            since = min(reader.starts.values(), default=0)
            learnt.setdefault(number, Learnt()).merge(tables.told(since))
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
    """The captures that paths name, read connection by connection in tasks.

    Args:
        spark: A session.
        paths: Files, folders, globs.
        port: The broker's, where it is known.
        part_size: Bytes of a file for each task that reads packets.
        partitions: Tasks that own connections; by the session's parallelism and the size of the files where it is not
            given.
        catalog: The definitions by which frames are read; the bundled ones by default.
        key_logs: Files with the keys of TLS connections, beside those that are in the captures. They are read here and
            sent to the tasks.
        naming: How files are put together to capture points; by their folders by default.
        note: Is told of files that are capture points of their own, as others of their folder hold the same
            connections.

    Raises:
        InputError: There is nothing of a name, or no capture in a folder.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        port: int | None = None,
        part_size: int = PART_SIZE,
        partitions: int | None = None,
        catalog: Catalog | None = None,
        key_logs: Sequence[str] = (),
        naming: Naming | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.spark = spark
        self._files = [*map(absolute, captures_of(paths))]
        self._port = port
        self._part_size = part_size
        self._partitions = partitions
        self._catalog = catalog or bundled()
        self._secrets = blocks_of(key_logs)
        self._naming = naming or Naming()
        self._note = note

    @cached_property
    def plan(self) -> Schedule:
        """The parts of all files, in one order."""
        plan = self._planned()
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
        catalog, port = self._catalog, self._port

        def learning(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[pa.RecordBatch]:
            yield made_by(_task(), learn(catalog, port, owned(batches, secrets)))

        learnt: dict[int, Learnt] = {}
        for some in gathered(self._owned(learning), self._tasks, merge_learnt):
            merge_learnt(learnt, some)
        return learnt

    def folded(
        self,
        fold: Callable[[Iterator[Captured]], Any],
        merge: Merge,
        *,
        learnt: bool = True,
    ) -> list[Any]:
        """Return the results of `fold` over the lines of a task's connections, for each task or several tasks.

        `learnt` says that `fold` needs names.
        """
        port, catalog = self._port, self._catalog
        names = self.spark.sparkContext.broadcast(self.learnt if learnt else {})

        def folding(batches: Batches, secrets: tuple[Secrets, ...]) -> Iterator[pa.RecordBatch]:
            known = {number: each.names for number, each in names.value.items()}
            yield made_by(_task(), fold(lines(batches, secrets, catalog, known, port)))

        return gathered(self._owned(folding), self._tasks, merge)

    def unread(self) -> list[FileFault]:
        """The files that cannot be read, or not to their end, and why."""
        parts = [part.part for part in self.plan.parts]
        faults = [*chain.from_iterable(folded(self.spark, parts, _faults_of_parts, list.extend))]
        return faults + [FileFault(location(file), reason) for file, reason in self.plan.faults]

    def _owned(self, of: Callable[[Batches, tuple[Secrets, ...]], Iterator[pa.RecordBatch]]) -> DataFrame:
        """Return what `of` makes of the connections that each task owns, and of what decrypts TLS in them."""
        secrets = self.plan.secrets
        descriptors = sent(self.spark, self._placed()).mapInArrow(_describe, from_arrow_schema(DESCRIBED))
        sorted_ones = descriptors.repartition(self._tasks, "owner").sortWithinPartitions(*ORDER)
        return sorted_ones.mapInArrow(lambda batches: of(batches, secrets), from_arrow_schema(MADE_SCHEMA))

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


def _task() -> int:
    return TaskContext.get().partitionId()  # type: ignore[union-attr]


def _faults_of_parts(parts: Iterable[Part]) -> list[FileFault]:
    """Return what ends the reading of parts early. Only headers are read for this."""
    faults = []
    for part in parts:
        reader = PartReader(part)
        try:
            for _ in reader.chunks():
                pass
        except InputError as error:
            faults.append(FileFault(location(part.file), error.reason))
        else:
            faults += [FileFault(location(part.file), notice.text) for notice in reader.notices]
    return faults


def _describe(batches: Batches) -> Iterator[pa.RecordBatch]:
    return describe_connection(received(batches), lambda *_: None)
