"""Questions about a lake, in SQL that Spark runs: the same tables as `lake.query` has for DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.query import empty_table, tables_in
from kwire_cli.pipeline.lake.tables import DAY, POINT, SHAPES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def answer(spark: SparkSession, folder: str, query: str) -> pa.RecordBatchReader:
    """Return the result of a query over the tables in a folder, which all workers have to reach.

    Tables are temporary views of the session. Raises InputError if the folder is no lake, and Spark's errors if it is
    no query over these tables.
    """
    create_views(spark, folder)
    reader: pa.RecordBatchReader = spark.sql(query).toArrow().to_reader()
    return reader


def create_views(spark: SparkSession, folder: str) -> None:
    """Make temporary views of the tables in a folder; those that it has no rows of are empty."""
    there = tables_in(Path(folder))
    for name in {**SHAPES, **there}:
        path = there.get(name)
        if path is None:
            frame = spark.createDataFrame(empty_table(name))
        elif next(path.rglob("*.parquet"), None) is None:
            raise InputError(f"the table {name} is not in Parquet, which query reads", file=folder)
        else:
            frame = _typed(spark.read.parquet(str(path)))
        frame.createOrReplaceTempView(name)


def _typed(frame: DataFrame) -> DataFrame:
    """Return a table whose columns by the names of folders are text and dates, whatever these look like."""
    for name, kind in ((POINT, "string"), (DAY, "date")):
        if name in frame.columns:
            frame = frame.withColumn(name, functions.col(name).cast(kind))
    return frame
