"""Works that go to tasks as rows, and their results, which are put together here."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import chain, groupby, pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    Merge = Callable[[Any, Any], None]
    """Adds what came later to what a task made."""


MOST_TASKS = 20_000
"""Tasks of a session: beyond this each does several works, one behind the other."""


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


# Results that are small, however much tasks read for them.

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
