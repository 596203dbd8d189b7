"""Rows written to files: Parquet, csv or JSON lines, in folders by the values of columns as Hive has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions as f, types as t

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

FORMATS = ("parquet", "csv", "json")
BY = {"batches": ("topic",), "records": ("topic",)}
"""The folders of a table where nothing else is asked for; what a task reads is of one of them, so that files stay few."""
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


def write(frame: DataFrame, folder: str, fmt: str, by: Sequence[str], *, overwrite: bool) -> int:
    """Write all rows to files in a folder; how many these are.

    Raises:
        InputError: There is no such column to make folders of, or none would be left.

    """
    if unknown := [name for name in by if name not in frame.columns]:
        raise InputError(f"--partition-by {unknown[0]}: there is no such column, only {', '.join(frame.columns)}")
    if by and len(set(by)) == len(frame.columns):
        raise InputError(f"--partition-by {','.join(by)}: no column would be left in the files")
    shown = frame if fmt == "parquet" else frame.select([_plain(field, fmt) for field in frame.schema])
    counted = Observation()
    writer = shown.observe(counted, f.count(f.lit(1)).alias("rows")).write.mode("overwrite" if overwrite else "errorifexists").partitionBy(*by)
    if fmt == "parquet":
        writer.parquet(folder)
    elif fmt == "csv":
        writer.csv(folder, header=True, timestampFormat=_TIME, escape='"')
    else:
        writer.json(folder, ignoreNullFields=False, timestampFormat=_TIME)
    return int(counted.get["rows"])


def _plain(field: t.StructField, fmt: str) -> Column:
    """A column as text formats can hold it: bytes as base64, in csv also what is nested as JSON."""
    column = f.col(f"`{field.name}`")
    if fmt == "csv" and isinstance(field.dataType, t.BinaryType):
        column = f.base64(column)
    elif fmt == "csv" and isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType):
        column = f.to_json(column, {"ignoreNullFields": "false"})
    return column.alias(field.name)
