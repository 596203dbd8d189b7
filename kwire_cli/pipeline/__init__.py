"""Spark: tables of what captures and logs hold. The only place that imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


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


def tables(spark: SparkSession, paths: str | Sequence[str], **options: Any) -> dict[str, DataFrame]:
    """The tables of captures by name, each also a view for SQL: `frames`, `fields`, `ledger`, `faults` and `packets`.

    `options` are those of `captures.Captures`, and `columns`, those of `frames`: nothing is done for others.
    """
    from kwire_cli.pipeline.captures import Captures  # noqa: PLC0415 - as above

    register(spark)
    columns = options.pop("columns", ())
    captures = Captures(spark, [paths] if isinstance(paths, str) else [*paths], **options)
    made = {"frames": captures.frames(columns), "fields": captures.fields(), "ledger": captures.ledger(), "faults": captures.faults()}
    made["packets"] = spark.read.format("kwire").option("table", "packets").load([paths] if isinstance(paths, str) else [*paths])
    for name, table in made.items():
        table.createOrReplaceTempView(name)
    return made
