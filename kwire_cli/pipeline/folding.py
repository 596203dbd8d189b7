"""What is counted in tasks and put together here: for reports whose result is small, however much they read."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kwire_cli.pipeline.parts import MOST_TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession


class FileFault(NamedTuple):
    """Something that could not be read, and what."""

    file: str
    text: str


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


def folded(spark: SparkSession, units: Sequence[Any], fold: Callable[[Iterable[Any]], Any]) -> list[Any]:
    """What `fold` makes of units of work, a task for each or for some that follow one another: in the order of the units."""
    if not units:
        return []
    sent = spark.sparkContext.broadcast([pickle.dumps(unit) for unit in units])

    def work(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = [number for some in numbers for number in some.column(0).to_pylist()]
        if own:
            made = fold(pickle.loads(sent.value[number]) for number in own)  # noqa: S301 - our own
            yield pa.RecordBatch.from_arrays([pa.array([own[0]], pa.int64()), pa.array([pickle.dumps(made)], pa.binary())], ["at", "made"])

    found = spark.range(0, len(units), 1, min(len(units), MOST_TASKS)).mapInArrow(work, "at bigint, made binary").collect()
    return [pickle.loads(row.made) for row in sorted(found, key=lambda row: row.at)]  # noqa: S301 - as above
