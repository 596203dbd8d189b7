"""Looks into many files by tasks, which map the list of the files: no process holds an object for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.pipeline.lake.hidden import one_array, put_table, table_of
from kwire_cli.pipeline.lake.windows import pack_size
from kwire_cli.pipeline.parts import MOST_TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt
    from pyspark.sql import SparkSession

    from kwire_cli.stores import Place

    Look = Callable[[pa.Table], Iterable[pa.RecordBatch]]

PER_CORE = 64
"""Tasks for each core, at most."""


def looked_at(
    spark: SparkSession,
    hidden: Place,
    name: str,
    rows: pa.Table,
    costs: npt.NDArray[np.int64],
    look: Look,
    schema: pa.Schema,
) -> pa.Table:
    """Return what tasks make of the rows of a table, in their order.

    `costs` are bytes that each row takes to look at. The table is put into the hidden folder under a name.
    """
    if not rows.num_rows:
        return schema.empty_table()
    sums = np.cumsum(costs)
    size, cores = int(sums[-1]), spark.sparkContext.defaultParallelism
    each = max(pack_size(size, cores), -(-size // min(MOST_TASKS, PER_CORE * cores)))
    of_tasks = np.unique((sums - 1) // each, return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(of_tasks, prepend=-1))
    put_table(hidden, f"{name}.arrow", rows)
    put_table(hidden, f"{name}-starts.arrow", pa.table({"start": np.append(starts, len(costs))}))
    numbers = spark.range(0, len(starts), 1, len(starts))
    return numbers.mapInArrow(partial(_look, hidden, name, look), from_arrow_schema(schema)).toArrow().cast(schema)


def _look(hidden: Place, name: str, look: Look, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    starts = one_array(table_of(hidden, f"{name}-starts.arrow")["start"])
    for batch in batches:
        for number in batch.column(0).to_pylist():
            start, stop = starts[number].as_py(), starts[number + 1].as_py()
            yield from look(table_of(hidden, f"{name}.arrow").slice(start, stop - start))
