"""Spark: lakes written by its tasks, and lakes as its tables. The only package that imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def tables(spark: SparkSession, lake: str) -> dict[str, DataFrame]:
    """Return the tables of a lake by name, in their current state. All workers must be able to read the lake.

    Raises:
        InputError: The folder is not a lake.

    """
    from kwire_cli.spark.query import frames_of  # noqa: PLC0415 - importing the package needs no Spark

    return frames_of(spark, lake)
