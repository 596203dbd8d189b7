"""Questions about a lake, in SQL that Spark runs: the same tables as `lake.query` has for DuckDB."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.lake.query import as_answer, dataset_of, empty_table, tables_in
from kwire_cli.lake.tables import SHAPES
from kwire_cli.stores import Stored, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire_cli.stores import Place

TASKS = 200
"""Tasks that read a table on a store, at most."""


def answer(spark: SparkSession, folder: str, query: str) -> pa.RecordBatchReader:
    """Return the result of a query over the tables in a folder, which all workers have to reach.

    Tables are temporary views of the session. Raises InputError if the folder is no lake, and Spark's errors if it is
    no query over these tables.
    """
    create_views(spark, folder)
    return as_answer(spark.sql(query).toArrow().to_reader())


def create_views(spark: SparkSession, folder: str) -> None:
    """Make temporary views of the tables in a folder; those that it has no rows of are empty."""
    there = tables_in(path_of(folder))
    for name in {**SHAPES, **there}:
        if name not in there:
            frame = spark.createDataFrame(empty_table(name))
        else:
            path, files, is_whole = there[name]
            schema = from_arrow_schema(dataset_of(name, path, files[:1]).schema)
            if isinstance(path, Stored) or not is_whole:
                frame = _read_in_tasks(spark, name, path, files, schema)
            else:  # Spark would take the capture point 007 for a number
                frame = spark.read.schema(schema).parquet(str(path))
        frame.createOrReplaceTempView(name)


def _read_in_tasks(spark: SparkSession, name: str, folder: Place, files: list[str], schema: StructType) -> DataFrame:
    """Return a table of some files that tasks read: Spark's own readers need a jar and settings for each store."""
    paths = spark.createDataFrame([(path,) for path in files], "path string").repartition(min(len(files), TASKS))
    return paths.mapInArrow(partial(_read, name, folder), schema)


def _read(name: str, folder: Place, paths: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the files of a table that a task has."""
    if some := [path for rows in paths for path in rows.column(0).to_pylist()]:
        yield from dataset_of(name, folder, some).to_batches()
