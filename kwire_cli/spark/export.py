"""The tasks of a Spark session, in which `lake.export.write_tables` writes the tables of a lake.

A DataFrame of numbers starts the tasks, and each task looks its work up by number in a file that all tasks share. The
segments of a connection are shuffled to its owner by Spark. Results are pickled into rows, which the driver merges.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.lake.descriptors import DESCRIBED, ORDER, descriptor, rows_in
from kwire_cli.lake.hidden import one_array, put_table, table_of
from kwire_cli.lake.window_tasks import Done, described, merge, owners_of, read_connections
from kwire_cli.lake.windows import pack_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt
    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.lake.tasks import Look
    from kwire_cli.lake.window_tasks import Job
    from kwire_cli.stores.paths import Place

MOST_TASKS = 20_000
"""Maximum number of tasks of a session. Beyond it, each task does several works in sequence."""
PER_CORE = 64
"""Maximum number of tasks for each core that examine files."""


@dataclass(frozen=True)
class SparkTasks:
    """Tasks of a session. They map the lists of their files into memory: no process creates an object for each file."""

    spark: SparkSession

    @property
    def cores(self) -> int:
        """Return the number of tasks that run in parallel."""
        return self.spark.sparkContext.defaultParallelism

    def looked_at(
        self, hidden: Place, name: str, rows: pa.Table, costs: npt.NDArray[np.int64], look: Look, schema: pa.Schema
    ) -> pa.Table:
        """Return the results of `look` for the rows of a table."""
        if not rows.num_rows:
            return schema.empty_table()
        sums = np.cumsum(costs)
        size = int(sums[-1])
        each = max(pack_size(size, self.cores), -(-size // min(MOST_TASKS, PER_CORE * self.cores)))
        of_tasks = np.unique((sums - 1) // each, return_inverse=True)[1]
        starts = np.flatnonzero(np.diff(of_tasks, prepend=-1))
        put_table(hidden, f"{name}.arrow", rows)
        put_table(hidden, f"{name}-starts.arrow", pa.table({"start": np.append(starts, len(costs))}))
        made = self._numbers(len(starts)).mapInArrow(partial(_look, hidden, name, look), from_arrow_schema(schema))
        return made.toArrow().cast(schema)

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any]) -> list[Any]:
        """Return the results of `fold` over the numbers below `count`, in order."""
        return folded(self.spark, count, fold)

    def read(self, job: Job) -> Done:
        """Have tasks describe packets, and owners read their connections."""
        numbers = self._numbers(job.window.packs + len(job.carried))
        descriptors = numbers.mapInArrow(partial(_describe, job), from_arrow_schema(DESCRIBED))
        owners = owners_of(job.window, self.cores)
        sorted_ones = descriptors.repartition(owners, "owner").sortWithinPartitions(*ORDER)
        made = sorted_ones.mapInArrow(partial(_read_owned, job), from_arrow_schema(MADE_SCHEMA))
        done = Done()
        for each in collected(made):
            merge(done, each)
        return done

    def _numbers(self, count: int) -> Any:
        return self.spark.range(0, count, 1, count)


def numbers_in(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers of a task of a DataFrame of numbers."""
    return chain.from_iterable(batch.column(0).to_pylist() for batch in batches)


def _look(hidden: Place, name: str, look: Look, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    starts = one_array(table_of(hidden, f"{name}-starts.arrow")["start"])
    for number in numbers_in(batches):
        start = starts[number].as_py()
        stop = starts[number + 1].as_py()
        yield from look(table_of(hidden, f"{name}.arrow").slice(start, stop - start))


def _describe(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for number in numbers_in(batches):
        yield from described(job, number)


def _read_owned(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield made_by(TaskContext.get().partitionId(), read_connections(job, map(descriptor, rows_in(batches))))  # type: ignore[union-attr]


# Small results of tasks.

MADE_SCHEMA = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""The columns that tasks return: a number that determines the order, and the pickled result."""


def folded(spark: SparkSession, count: int, fold: Callable[[Iterable[int]], Any]) -> list[Any]:
    """Return the results of `fold` over the numbers below `count`, in order.

    There is a task for each number, or for several consecutive numbers.
    """
    if not count:
        return []

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = numbers_in(batches)
        if (first := next(numbers, None)) is not None:
            yield made_by(first, fold(chain([first], numbers)))

    numbers = spark.range(0, count, 1, min(count, MOST_TASKS))
    return collected(numbers.mapInArrow(work, from_arrow_schema(MADE_SCHEMA)))


def made_by(task: int, made: Any) -> pa.RecordBatch:
    """Return the result of a task as a row. The number of the task determines the order."""
    return pa.RecordBatch.from_arrays(
        [pa.array([task], pa.int64()), pa.array([pickle.dumps(made)], pa.binary())], schema=MADE_SCHEMA
    )


def collected(results: DataFrame) -> list[Any]:
    """Return the results of tasks, in order."""
    return [pickle.loads(row.made) for row in sorted(results.collect(), key=lambda row: row.at)]  # noqa: S301 - our own
