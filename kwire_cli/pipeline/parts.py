"""Parts of files that tasks read, and folds over partitions."""

from __future__ import annotations

import pickle
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from itertools import chain, groupby, pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.model import MOST_NAMED, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.model import Reading, Table

    Merge = Callable[[Any, Any], None]
    """Adds what came later to what a task made."""


# Tables whose rows files hold, as DataFrames: the parts of files are planned here and read in tasks, by
# Arrow.
#
# The data source does the same for users of Spark. It takes seconds more for its first query, as Spark starts
# Pythons of their own to ask it.

MOST_TASKS = 20_000
"""Tasks of a scan: beyond this each reads several parts, one behind the other."""


class _ByPart(AccumulatorParam[dict[Any, Told]]):
    """The accumulator of what was read, by table and part. A part that is read again is counted once."""

    def zero(self, value: dict[Any, Told]) -> dict[Any, Told]:  # noqa: ARG002 - PySpark's method
        return {}

    def addInPlace(self, value1: dict[Any, Told], value2: dict[Any, Told]) -> dict[Any, Told]:  # noqa: N802 - as above
        value1.update(value2)
        return value1


@dataclass
class Tally:
    """The tally of how much tasks have read. It goes to the tasks."""

    spark: InitVar[SparkSession]
    counted: Accumulator[dict[Any, Told]] = field(init=False)
    tables: int = field(default=0, init=False)
    local: bool = field(init=False)

    def __post_init__(self, spark: SparkSession) -> None:
        self.local = str(spark.sparkContext.master).startswith("local")
        self.counted = spark.sparkContext.accumulator({}, _ByPart())

    def table(self) -> int:
        """The number of one more table."""
        self.tables += 1
        return self.tables

    def add(self, table: int, part: int | None, told: Told) -> None:
        """Count what was read of a part, once."""
        self.counted.add({(table, part): told})

    @property
    def size(self) -> int:
        """Bytes of the parts."""
        return sum(told.size for told in self.counted.value.values())

    def check(self) -> None:
        """Raise InputError, with the names of files, if there was something to read and nothing of it could be read."""
        if self.size or not self.faults:
            return
        first = sorted({fault for told in self.counted.value.values() for fault in told.first})
        named = "; ".join(f"{file}: {text}" for file, text in first[:MOST_NAMED])
        left = self.faults - min(len(first), MOST_NAMED)
        more = f"; and {left} more" if left else ""
        hint = "" if self.local else "; all machines of a cluster need the files under these paths"
        raise InputError(f"nothing could be read of the inputs: {named}{more}{hint}")

    @property
    def faults(self) -> int:
        """Gaps between batches, and files that cannot be read, or not to their end."""
        return sum(told.faults for told in self.counted.value.values())


SENT = pa.schema([("number", pa.int64()), ("work", pa.binary())])
"""The columns of works: numbers from 0, and what tasks need to know of each, pickled."""
_LOCAL = "spark.sql.execution.arrow.localRelationThreshold"
"""Spark makes as many tasks as there are cores of what has fewer bytes, and one of each record batch of the rest."""


def sent(spark: SparkSession, works: Iterable[Any]) -> DataFrame:
    """Return works as rows, each of which goes to the task that does it and to no other.

    There is a task for each work, or for some works that follow one another.
    """
    pickled = [*map(pickle.dumps, works)]
    tasks = min(len(pickled), MOST_TASKS)
    bounds = [len(pickled) * task // tasks for task in range(tasks + 1)] if tasks else []
    of_tasks = [
        pa.RecordBatch.from_arrays([pa.array(range(start, stop)), pa.array(pickled[start:stop])], schema=SENT)
        for start, stop in pairwise(bounds)
    ]
    before = spark.conf.get(_LOCAL) or ""
    try:
        spark.conf.set(_LOCAL, 0)
        return spark.createDataFrame(pa.Table.from_batches(of_tasks, SENT))
    finally:
        spark.conf.set(_LOCAL, before)


def received(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the works of a task with their numbers."""
    for batch in batches:
        for number, work in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield number, pickle.loads(work)  # noqa: S301 - our own


@dataclass(frozen=True)
class Rows:
    """Rows that tasks make by Arrow, of the `works` that each does."""

    works: DataFrame
    make: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: StructType

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.schema.names

    def frame(self) -> DataFrame:
        """The rows as Spark takes them."""
        return self.works.mapInArrow(self.make, self.schema)


def rows_of_parts(
    spark: SparkSession, table: Table, parts: Iterable[Any], names: Sequence[str], reading: Reading, tally: Tally
) -> Rows:
    """The rows of parts with these columns, a task for each part."""
    row_type = from_arrow_schema(pa.schema([table.schema.field(name) for name in names]))
    schema = to_arrow_schema(row_type, timezone="UTC")
    key = tally.table()

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, part in received(batches):
            told = Told(stop=reading.fail_fast)
            for batch in table.read(part, names, replace(reading, told=told)):
                yield batch.cast(schema)
            tally.add(key, number, told)

    return Rows(sent(spark, parts), read, row_type)


# What is counted in tasks and put together here: for reports whose result is small, however much they read.


MADE_SCHEMA = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""The columns that tasks return: a number by which rows are in order, and the result, pickled."""
FEW = 64
"""Tasks whose results come here as they are."""


def folded(spark: SparkSession, units: Sequence[Any], fold: Callable[[Iterable[Any]], Any], merge: Merge) -> list[Any]:
    """Return the results of `fold` over units of work, in the order of the units.

    There is a task for each unit, or for some units that follow one another.
    """
    if not units:
        return []

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = received(batches)
        if (first := next(own, None)) is not None:
            yield made_by(first[0], fold(unit for _, unit in chain([first], own)))

    return gathered(sent(spark, units).mapInArrow(work, from_arrow_schema(MADE_SCHEMA)), len(units), merge)


def made_by(task: int, made: Any) -> pa.RecordBatch:
    """Return the result of a task as a row. Tasks are in the order of their numbers."""
    return pa.RecordBatch.from_arrays(
        [pa.array([task], pa.int64()), pa.array([pickle.dumps(made)], pa.binary())], schema=MADE_SCHEMA
    )


def gathered(results: DataFrame, tasks: int, merge: Merge) -> list[Any]:
    """Return the results of tasks, in their order.

    If there are many tasks, other tasks put some consecutive results together before these come here.
    """
    if tasks > FEW:
        group_size = isqrt(tasks)
        results = results.withColumn("some", functions.floor(results["at"] / group_size)).repartition(
            max(tasks // group_size, 1), "some"
        )
        results = (
            results.sortWithinPartitions("at")
            .select(*MADE_SCHEMA.names, "some")
            .mapInArrow(partial(_put_together, merge), from_arrow_schema(MADE_SCHEMA))
        )
    return [pickle.loads(row.made) for row in sorted(results.collect(), key=lambda row: row.at)]  # noqa: S301 - our own


def _put_together(merge: Merge, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (
        (some, at, pickled)
        for batch in batches
        for at, pickled, some in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    for _, those in groupby(rows, key=lambda row: row[0]):
        first: int | None = None
        whole: Any = None
        for _, at, pickled in those:
            if first is None:
                first, whole = at, pickle.loads(pickled)  # noqa: S301 - our own
            else:
                merge(whole, pickle.loads(pickled))  # noqa: S301 - as above
        if first is not None:
            yield made_by(first, whole)
