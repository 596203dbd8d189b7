"""Tables of a lake written by Spark's tasks: `lake.in_tasks` on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.pipeline.captures import sketched
from kwire_cli.pipeline.lake.descriptors import DESCRIBED, ORDER, rows_in
from kwire_cli.pipeline.lake.export import chosen_columns
from kwire_cli.pipeline.lake.hidden import one_array, put_table, table_of
from kwire_cli.pipeline.lake.in_tasks import Cut, write_in_tasks
from kwire_cli.pipeline.lake.units import inputs_for, named_files
from kwire_cli.pipeline.lake.window_tasks import Done, described, merge, owners_of, read_connections
from kwire_cli.pipeline.lake.windows import pack_size
from kwire_cli.pipeline.parts import MADE_SCHEMA, MOST_TASKS, folded, gathered, made_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt
    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.lake.tasks import Look
    from kwire_cli.pipeline.lake.units import Exported
    from kwire_cli.pipeline.lake.window_tasks import Job
    from kwire_cli.pipeline.model import Wanted
    from kwire_cli.source.packets.points import Sketch
    from kwire_cli.stores import Place

__all__ = ("Cut", "SparkTasks", "scan_into")
PER_CORE = 64
"""Tasks for each core that look at files, at most."""


def scan_into(
    spark: SparkSession,
    paths: Sequence[str],
    into: Place,
    wanted: Wanted,
    *,
    fields: str | None = None,
    form: str = "parquet",
    cut: Cut | None = None,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs to a place that all workers reach, as `lake.in_tasks.write_in_tasks` does.

    `fields` are names of columns of the only table that is wanted.
    """
    if fields is not None:
        wanted = replace(wanted, columns=chosen_columns(wanted.tables, fields))
    files = named_files(inputs_for(paths, wanted))
    return write_in_tasks(SparkTasks(spark), files, into, wanted, form=form, cut=cut, note=note, again=again)


@dataclass(frozen=True)
class SparkTasks:
    """Tasks of a session. They map the lists of what they look at: no process holds an object for each file."""

    spark: SparkSession

    @property
    def cores(self) -> int:
        """Tasks that are done at once."""
        return self.spark.sparkContext.defaultParallelism

    def looked_at(
        self, hidden: Place, name: str, rows: pa.Table, costs: npt.NDArray[np.int64], look: Look, schema: pa.Schema
    ) -> pa.Table:
        """Return what `look` makes of the rows of a table."""
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

    def sketched(self, files: Sequence[str]) -> Iterator[Sketch]:
        """Yield the sketches of files, some by tasks at a time."""
        return sketched(self.spark, files)

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any], merge: Callable[[Any, Any], None]) -> list[Any]:
        """Return the results of `fold` over the numbers of so many works."""
        return folded(self.spark, range(count), fold, merge)

    def read(self, job: Job) -> Done:
        """Have packets described, and connections read by their owners."""
        numbers = self._numbers(job.window.packs + len(job.carried))
        descriptors = numbers.mapInArrow(partial(_describe, job), from_arrow_schema(DESCRIBED))
        owners = owners_of(job.window, self.cores)
        sorted_ones = descriptors.repartition(owners, "owner").sortWithinPartitions(*ORDER)
        made = sorted_ones.mapInArrow(partial(_own, job), from_arrow_schema(MADE_SCHEMA))
        done = Done()
        for each in gathered(made, owners, merge):
            merge(done, each)
        return done

    def _numbers(self, count: int) -> Any:
        return self.spark.range(0, count, 1, count)


def _look(hidden: Place, name: str, look: Look, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    starts = one_array(table_of(hidden, f"{name}-starts.arrow")["start"])
    for batch in batches:
        for number in batch.column(0).to_pylist():
            start, stop = starts[number].as_py(), starts[number + 1].as_py()
            yield from look(table_of(hidden, f"{name}.arrow").slice(start, stop - start))


def _describe(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from described(job, number)


def _own(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield made_by(TaskContext.get().partitionId(), read_connections(job, rows_in(batches)))  # type: ignore[union-attr]
