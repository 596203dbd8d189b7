"""A stream written to files until somebody says that it is enough.

A batch is written to a hidden folder first, and its files are moved to their places when all of them are whole. Batches
without rows leave no file. The names of files begin with the number of their batch and the id of the stream: a batch
that was cut is done again by the next start, which removes what there is of it before.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from pyspark.sql import Observation, functions as f

from kwire_cli.pipeline.lake.earlier import CHECKPOINT
from kwire_cli.pipeline.output import HIDDEN, HOW, as_files, folder_of_tasks, told, writer_in
from kwire_cli.pipeline.stream_lake import LakeFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.pipeline.stream_tables import Streams
    from kwire_cli.stores import Place

POLL = 0.2
"""Seconds between two looks at how far it is."""
_ID = 8
"""Characters of the id of a stream that are in the names of files."""


def follow(
    frame: DataFrame,
    folder: str,
    fmt: str,
    by: Sequence[str],
    *,
    every: float,
    over: Callable[[], bool],
    raw_csv: bool = False,
) -> int:
    """Write what comes, each `every` seconds, going on where files in the folder end; return how many rows came until
    `over`.

    InputError as `files.as_files`; what ends the stream otherwise is Spark's exception.
    """
    spark, output = frame.sparkSession, as_files(frame, fmt, by, raw_csv=raw_csv)
    there = folder_of_tasks(spark, folder, fmt, by)
    files = _InTasks(there, by) if there else _BySpark(spark, folder, fmt, by)
    return run(output, files, folder, every=every, over=over)


def follow_into(
    streams: Streams, tables: Collection[str], into: Place, form: str, *, every: float, over: Callable[[], bool]
) -> int:
    """Write the tables of what comes to a lake; otherwise as `follow`."""
    rows = streams.rows(tables, replaced=True)
    return run(rows, LakeFiles(into, form), str(into.absolute()), every=every, over=over)


def run(frame: DataFrame, files: _Files, folder: str, *, every: float, over: Callable[[], bool]) -> int:
    """Write what comes, as `follow`."""
    spark, batches = frame.sparkSession, Batches(files)
    writer = frame.writeStream.foreachBatch(batches.write).option("checkpointLocation", f"{folder}/{CHECKPOINT}")
    query = writer.trigger(processingTime=f"{every} seconds").start()
    batches.begin(str(query.id))
    try:
        while not over() and query.isActive:
            time.sleep(POLL)
        if (ended := query.exception()) is not None:
            raise ended
    finally:
        batches.end()
        spark.sparkContext.cancelAllJobs()
        query.stop()
    return batches.rows


class Batches:
    """The receiver of each batch from Spark. `rows` counts the rows of batches that are in their places."""

    def __init__(self, files: _Files) -> None:
        self.rows = 0
        self._files, self._id = files, ""
        self._begun, self._over, self._first = threading.Event(), False, True

    def begin(self, query: str) -> None:
        """Take the id of the query, which is the same after a restart."""
        self._id = query[:_ID]
        self._begun.set()

    def end(self) -> None:
        """Take no more batches."""
        self._over = True
        self._begun.set()

    def write(self, batch: DataFrame, number: int) -> None:
        """Write a batch. InterruptedError after the end: the next start does the batch."""
        self._begun.wait()
        if self._over:
            raise InterruptedError
        front = f"batch-{number:08}-{self._id}-"
        if self._first:
            self._files.clear(front)
            self._first = False
        self.rows += self._files.write(batch, front)


class _Files(Protocol):
    """A folder with the files of a stream."""

    def clear(self, front: str) -> None:
        """Remove what a process left that was killed: hidden folders, and files whose names begin with `front`."""

    def write(self, batch: DataFrame, front: str) -> int:
        """Write the rows of a batch to files whose names begin with `front`; return how many rows these are."""


class _InTasks:
    """Parquet that tasks write, in a folder of this machine or one that all machines share."""

    def __init__(self, folder: Path, by: Sequence[str]) -> None:
        self._folder, self._by = folder, tuple(by)

    def clear(self, front: str) -> None:
        """As `_Files`."""
        for path in self._folder.glob(f"{HIDDEN}*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self._folder.rglob(f"{front}*"):
            path.unlink()

    def write(self, batch: DataFrame, front: str) -> int:
        """As `_Files`."""
        writer = writer_in(batch.sparkSession, self._folder, self._by, batch.schema)
        try:
            files = writer.run(batch.sortWithinPartitions(*self._by) if self._by else batch, iter)
            with told(str(self._folder)):
                writer.put(files, self._folder, front)
        finally:
            shutil.rmtree(writer.folder, ignore_errors=True)
        return sum(rows for _, _, rows in files)


class _BySpark:
    """Files that Spark's writers write, wherever Spark can: Hadoop moves them."""

    def __init__(self, spark: SparkSession, folder: str, fmt: str, by: Sequence[str]) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001 - nothing else reaches files where Spark writes them
        self._path = jvm.org.apache.hadoop.fs.Path
        path = self._path(folder)
        self._files = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        self._folder, self._fmt, self._by = self._files.makeQualified(path), fmt, by

    def clear(self, front: str) -> None:
        """As `_Files`."""
        for file in [*self._below(self._folder)]:
            if file.getName().startswith(front):
                self._files.delete(file, False)  # noqa: FBT003 - Hadoop's method: not what is in it
        for status in self._files.listStatus(self._folder):
            if status.getPath().getName().startswith(HIDDEN):
                self._files.delete(status.getPath(), True)  # noqa: FBT003 - as above

    def write(self, batch: DataFrame, front: str) -> int:
        """As `_Files`."""
        hidden, counted = self._path(self._folder, f"{HIDDEN}{uuid4().hex}"), Observation()
        first = f.count(f.when(f.spark_partition_id() == 0, 1)).alias("first")
        observed = batch.observe(counted, f.count(f.lit(1)).alias("rows"), first)
        try:
            observed.write.format(self._fmt).options(**HOW[self._fmt]).partitionBy(*self._by).save(hidden.toString())
            rows, of_first = counted.get["rows"], counted.get["first"]
            for file in [*self._below(hidden)] if rows else ():
                # Spark writes a file for the first task although there are no rows in it.
                if not file.getName().startswith("_") and (
                    self._by or of_first or not file.getName().startswith("part-00000-")
                ):
                    place = self._path(
                        f"{self._folder.toString()}{file.getParent().toString().removeprefix(hidden.toString())}"
                    )
                    self._files.mkdirs(place)
                    self._files.rename(file, self._path(place, f"{front}{file.getName()}"))
        finally:
            with contextlib.suppress(Exception):  # the next start does it
                self._files.delete(hidden, True)  # noqa: FBT003 - as above
        return int(rows)

    def _below(self, folder: Any) -> Iterator[Any]:
        """The paths of all files in a folder and in those in it."""
        files = self._files.listFiles(folder, True)  # noqa: FBT003 - as above
        while files.hasNext():
            yield files.next().getPath()
