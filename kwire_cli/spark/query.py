"""Questions about a lake, in SQL that Spark runs: the same tables as `lake.query` has for DuckDB.

The driver lists the files of one snapshot, so Spark needs no jar for Delta Lake.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.lake.query import as_answer, dataset_of
from kwire_cli.lake.snapshot import LakeTable, snapshot
from kwire_cli.lake.tables import DAY, SHAPES, known_tables, needed_for, views, whole_schema
from kwire_cli.stores.paths import path_of
from kwire_cli.stores.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

TASKS = 200
"""Maximum number of tasks that read a table on a store."""


def answer(spark: SparkSession, folder: str, query: str) -> pa.RecordBatchReader:
    """Return the result of a query over the tables of a lake, which all workers must be able to read.

    Tables are temporary views of the session. Raises InputError if the folder is not a lake, and Spark's errors if the
    query is invalid.
    """
    names, views_used = needed_for(query)
    for name, frame in frames_of(spark, folder, names).items():
        frame.createOrReplaceTempView(name)
    for name in views_used:
        spark.sql(views()[name]).createOrReplaceTempView(name)
    return as_answer(spark.sql(query).toArrow().to_reader())


def frames_of(spark: SparkSession, folder: str, names: Collection[str] | None = None) -> dict[str, DataFrame]:
    """Return the tables of a lake by name, all or the tables in `names`. Tables without rows are empty."""
    state = snapshot(path_of(folder), names)
    runs = spark.createDataFrame(state.runs)
    frames = {"inputs": spark.createDataFrame(state.inputs)}
    for name in {*known_tables(names or ()), *state.tables} - {"inputs"}:
        table = state.tables.get(name)
        if table is None or not table.files:
            frames[name] = spark.createDataFrame(whole_schema(name).empty_table())
        else:
            frames[name] = _frame(spark, name, table).join(runs, ["unit", "run"], "left_semi")
    return frames


def _frame(spark: SparkSession, name: str, table: LakeTable) -> DataFrame:
    fields = {each.name: each for each in table.schema if each.name != DAY}
    if name in SHAPES:  # columns of this version that the lake has no rows of are null
        fields = {**{each.name: each for each in whole_schema(name) if each.name != DAY}, **fields}
    whole = LakeTable(table.folder, table.files, pa.schema([*fields.values()]))
    schema = from_arrow_schema(pa.schema([*whole.schema, pa.field(DAY, pa.date32())]))
    if isinstance(table.folder, Stored):
        return _read_in_tasks(spark, whole, schema)
    paths = [str(table.folder / path) for path in table.files]
    return spark.read.schema(schema).option("basePath", str(table.folder)).parquet(*paths)


def _read_in_tasks(spark: SparkSession, table: LakeTable, schema: StructType) -> DataFrame:
    """Return a table on a store. Tasks read it, as Spark's readers need a jar and settings for each store."""
    paths = spark.createDataFrame([(path,) for path in table.files], "path string")
    paths = paths.repartition(min(len(table.files), TASKS))
    return paths.mapInArrow(partial(_read, table), schema)


def _read(table: LakeTable, paths: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the files of a table in a task."""
    files: list[str] = []
    for rows in paths:
        files += rows.column(0).to_pylist()
    if files:
        yield from dataset_of(table._replace(files=files)).to_batches()
