"""What is counted in tasks and put together here: for reports whose result is small, however much they read."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.pipeline.parts import MOST_TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    Merge = Callable[[Any, Any], None]
    """Adds what came later to what a task made."""


class FileFault(NamedTuple):
    """Something that could not be read, and what."""

    file: str
    text: str


MADE_SCHEMA = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""What comes of tasks: a number by which they are in order, and what was made, pickled."""
FEW = 64
"""Tasks whose results come here as they are."""
MOST_FAULTS = 5
"""Faults of which it is kept what they are; the others are counted."""


@dataclass(slots=True)
class Faults:
    """What could not be read: how many things, and the first of them."""

    count: int = 0
    first: list[FileFault] = field(default_factory=list)

    def add(self, *faults: FileFault) -> None:
        """Count some."""
        self.count += len(faults)
        self.first += faults[: MOST_FAULTS - len(self.first)]

    def merge(self, other: Faults) -> None:
        """Count those that come later."""
        self.count += other.count
        self.first += other.first[: MOST_FAULTS - len(self.first)]


def folded(spark: SparkSession, units: Sequence[Any], fold: Callable[[Iterable[Any]], Any], merge: Merge) -> list[Any]:
    """What `fold` makes of units of work, a task for each or for some that follow one another: in the order of the units."""
    if not units:
        return []
    sent = spark.sparkContext.broadcast([pickle.dumps(unit) for unit in units])

    def work(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = [number for some in numbers for number in some.column(0).to_pylist()]
        if own:
            yield made_by(own[0], fold(pickle.loads(sent.value[number]) for number in own))  # noqa: S301 - our own

    found = spark.range(0, len(units), 1, min(len(units), MOST_TASKS)).mapInArrow(work, from_arrow_schema(MADE_SCHEMA))
    return gathered(found, len(units), merge)


def made_by(task: int, made: Any) -> pa.RecordBatch:
    """What a task made, as a row; tasks are in the order of these numbers."""
    return pa.RecordBatch.from_arrays([pa.array([task], pa.int64()), pa.array([pickle.dumps(made)], pa.binary())], schema=MADE_SCHEMA)


def gathered(found: DataFrame, tasks: int, merge: Merge) -> list[Any]:
    """What tasks made, in their order. Of many, some that follow one another are put together by other tasks before they come here."""
    if tasks > FEW:
        each = isqrt(tasks)
        found = found.withColumn("some", functions.floor(found["at"] / each)).repartition(max(tasks // each, 1), "some")
        found = (
            found.sortWithinPartitions("at")
            .select(*MADE_SCHEMA.names, "some")
            .mapInArrow(partial(_put_together, merge), from_arrow_schema(MADE_SCHEMA))
        )
    return [pickle.loads(row.made) for row in sorted(found.collect(), key=lambda row: row.at)]  # noqa: S301 - our own


def _put_together(merge: Merge, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = ((some, at, made) for batch in batches for at, made, some in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for _, those in groupby(rows, key=lambda row: row[0]):
        first: int | None = None
        whole: Any = None
        for _, at, made in those:
            if first is None:
                first, whole = at, pickle.loads(made)  # noqa: S301 - our own
            else:
                merge(whole, pickle.loads(made))  # noqa: S301 - as above
        if first is not None:
            yield made_by(first, whole)
