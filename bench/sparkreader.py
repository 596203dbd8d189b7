"""kwire's tables, and Spark's own reading of Parquet, in a process that measures when it is told to:
`sparkreader.py CORES`.

A line on standard input is a JSON list: a name of WORKS and what it takes. The answer is seconds, rows or frames, and
the most memory that a Python worker of Spark had meanwhile, in bytes; 0 where the system does not tell.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from javareader import NotHereError, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

AGGREGATE, TO_PARQUET, FROM_PARQUET, COSTS, FRAMES = "aggregate", "to-parquet", "from-parquet", "costs", "frames"
QUERY = (
    "select topic, count(*) as records, sum(key_size + value_size) as bytes, max(time) as newest from "
    "records group by topic"
)
COLUMNS = ["time", "api", "api_version", "client_id", "size", "latency_us"]


class Measured(NamedTuple):
    seconds: float
    amount: int
    peak: int


class SparkReader(Told):
    """The process: Spark with so many cores, on as many processors."""

    def __init__(self, cores: int) -> None:
        super().__init__([sys.executable, __file__, str(cores)])
        if not self.version.startswith("spark"):
            raise NotHereError("no pyspark, or no Java")

    def measure(self, work: str, *words: object) -> Measured:
        seconds, amount, peak = self.ask(json.dumps([work, *map(str, words)]))
        return Measured(float(seconds), int(amount), int(peak))


def main(cores: int) -> None:
    from kwire_cli.pipeline.session import session

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with session(f"local[{cores}]", {"spark.driver.memory": "2g"}) as spark:
        print(f"spark {spark.version}", flush=True)
        for line in sys.stdin:
            name, *words = json.loads(line)
            _forget_peaks()
            start = time.perf_counter()
            amount = WORKS[name](spark, words)
            print(time.perf_counter() - start, amount, max(_peaks(), default=0), flush=True)


def _aggregate(spark: SparkSession, paths: list[str]) -> int:
    from kwire_cli.pipeline import tables

    return sum(row.records for row in tables(spark, paths).sql(QUERY).collect())


def _to_parquet(spark: SparkSession, words: list[str]) -> int:
    from kwire_cli.pipeline import tables
    from kwire_cli.pipeline.output import BY, write

    out, *paths = words
    return write(tables(spark, paths).rows("records"), out, "parquet", BY["records"], overwrite=True)


def _from_parquet(spark: SparkSession, words: list[str]) -> int:
    """All columns of all rows, which go nowhere."""
    frame = spark.read.parquet(*words)
    frame.write.format("noop").mode("overwrite").save()
    return frame.count()  # of the files' footers


def _costs(spark: SparkSession, paths: list[str]) -> int:
    from kwire_cli.pipeline import tables

    return sum(row["count"] for row in tables(spark, paths).table("costs").collect() if row.path == "size")


def _frames(spark: SparkSession, paths: list[str]) -> int:
    from pyspark.sql import Observation, functions

    from kwire_cli.pipeline import tables

    counted = Observation()
    frame = (
        tables(spark, paths).table("frames", COLUMNS).observe(counted, functions.count(functions.lit(1)).alias("rows"))
    )
    frame.write.format("noop").mode("overwrite").save()
    return int(counted.get["rows"])


WORKS: dict[str, Callable[[SparkSession, list[str]], int]] = {
    AGGREGATE: _aggregate,
    TO_PARQUET: _to_parquet,
    FROM_PARQUET: _from_parquet,
    COSTS: _costs,
    FRAMES: _frames,
}


def _workers() -> Iterator[Path]:
    """The processes (/proc/…) that were forked by the one which forks workers for Spark: the great-grandchildren, by
    way of Java.
    """
    parents = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it is gone
            parents[int(each.parent.name)] = int(each.read_text().rsplit(")", 1)[1].split()[1])
    found = {os.getpid()}
    for _ in ("java", "its daemon", "workers"):
        found = {process for process, parent in parents.items() if parent in found}
    return (Path("/proc", str(process)) for process in found)


def _forget_peaks() -> None:
    for worker in _workers():
        with suppress(OSError):
            (worker / "clear_refs").write_text("5")


def _peaks() -> Iterator[int]:
    for worker in _workers():
        with suppress(OSError):
            for line in (worker / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    yield int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(int(sys.argv[1]))
