"""Spark: tables of what captures and logs hold. The only place that imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("kwire")` known to a session, and have workers run this Python unless they were told another."""
    import os  # noqa: PLC0415 - as below
    import sys  # noqa: PLC0415

    from kwire_cli.pipeline.source import KwireSource  # noqa: PLC0415 - it imports what a look at this package need not

    context = spark.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and not context.getConf().contains("spark.pyspark.python"):
        context.pythonExec = sys.executable
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(KwireSource)
