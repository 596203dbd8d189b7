"""Rows written to files: Parquet, csv or JSON lines, in folders by the values of columns as Hive has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions as f, types as t

from kwire_cli.errors import InputError
from kwire_cli.pipeline.parquet_files import folder_for_tasks, write_in_tasks
from kwire_cli.pipeline.parts import Rows
from kwire_cli.view.csv import HARMLESS, RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = ("parquet", "csv", "json")
BY = {"batches": ("topic",), "records": ("topic",)}
"""The folders of a table where nothing else is asked for; what a task reads is of one of them, so that files stay few."""
KEPT_TOGETHER = frozenset({"file", "topic", "partition"})
"""Columns whose values are those of a file: rows that tasks make come by them."""
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
HOW: dict[str, dict[str, str]] = {
    "parquet": {"timeZone": "UTC"},
    "csv": {
        "header": "true",
        "timestampFormat": _TIME,
        "timeZone": "UTC",
        "escape": '"',
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    },
    "json": {"ignoreNullFields": "false", "timestampFormat": _TIME, "timeZone": "UTC"},
}
"""Options of Spark's writers. The time zone is that of times in text, and in the names of folders."""
_PARQUET_TIMES = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""Microseconds in UTC. Spark's default, INT96, has no zone, and other readers take these times for local ones."""


def write(rows: DataFrame | Rows, folder: str, fmt: str, by: Sequence[str], *, overwrite: bool, raw_csv: bool = False) -> int:
    """Write all rows to files in a folder; how many these are. With `raw_csv` cells that spreadsheets run stay as they are.

    Raises:
        InputError: As `as_files`; as `write_in_tasks`, where tasks write what they make.

    """
    if isinstance(rows, Rows):
        _check(rows.columns, by)
        if there := folder_of_tasks(rows.numbers.sparkSession, folder, fmt, by):
            return write_in_tasks(rows, there, by, overwrite=overwrite)
        rows = rows.frame()
    counted = Observation()
    writer = (
        as_files(rows, fmt, by, raw_csv=raw_csv)
        .observe(counted, f.count(f.lit(1)).alias("rows"))
        .write.mode("overwrite" if overwrite else "errorifexists")
        .partitionBy(*by)
    )
    writer.format(fmt).options(**HOW[fmt]).save(folder)
    return int(counted.get["rows"])


def folder_of_tasks(spark: SparkSession, folder: str, fmt: str, by: Sequence[str]) -> Path | None:
    """Return the folder if tasks can write files of this format and in such folders to it by themselves."""
    return folder_for_tasks(spark, folder) if fmt == "parquet" and KEPT_TOGETHER.issuperset(by) else None


def as_files(frame: DataFrame, fmt: str, by: Sequence[str], *, raw_csv: bool = False) -> DataFrame:
    """Return the rows as files of a format hold them, and have Spark write their times in microseconds and UTC.

    Raises:
        InputError: There is no such column to make folders of, or none would be left.

    """
    _check(frame.columns, by)
    frame.sparkSession.conf.set(*_PARQUET_TIMES)
    if fmt == "parquet":
        return frame
    return frame.select([_plain(field, fmt, raw=raw_csv or field.name in by) for field in frame.schema])


def _check(columns: Sequence[str], by: Sequence[str]) -> None:
    if unknown := [name for name in by if name not in columns]:
        raise InputError(f"--partition-by {unknown[0]}: there is no such column, only {', '.join(columns)}")
    if by and len(set(by)) == len(columns):
        raise InputError(f"--partition-by {','.join(by)}: no column would be left in the files")


def _plain(field: t.StructField, fmt: str, *, raw: bool) -> Column:
    """Return a column as text formats can hold it: bytes as base64, in csv also nested values as JSON, and unless `raw` nothing that runs."""
    column = f.col(f"`{field.name}`")
    if fmt == "csv" and isinstance(field.dataType, t.BinaryType):
        column = f.base64(column)
    elif fmt == "csv" and isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType):
        column = f.to_json(column, {"ignoreNullFields": "false"})
    if fmt == "csv" and not raw and isinstance(field.dataType, t.StringType | t.BinaryType):
        column = f.regexp_replace(column, RUNS, HARMLESS)
    return column.alias(field.name)
