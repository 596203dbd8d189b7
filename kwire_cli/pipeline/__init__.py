"""Spark: tables of what captures and logs hold. The only place that imports pyspark."""

from __future__ import annotations

import os
import sys
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.pipeline.named import Tables
    from kwire_cli.pipeline.stream_tables import Streams


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("kwire")` known to a session, and have workers run this Python, unless they were told
    another, and this kwire.

    A session of Spark Connect has no workers to tell: its server needs a Python that has kwire.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as below

    from kwire_cli.pipeline.session import ship  # noqa: PLC0415 - as below
    from kwire_cli.pipeline.source import KwireSource  # noqa: PLC0415 - it imports what a look at this package need not

    if isinstance(spark, SparkSession):
        context = spark.sparkContext
        if "PYSPARK_PYTHON" not in os.environ and not context.getConf().contains("spark.pyspark.python"):
            context.pythonExec = sys.executable
        ship(context)
    spark.dataSource.register(KwireSource)


def tables(
    spark: SparkSession,
    paths: str | PathLike[str] | Sequence[str],
    *,
    reading: Reading | None = None,
    split_size: int | None = None,
    port: int | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Tables:
    """The tables of files, folders and globs by name: none is made before it is asked for. Their `sql` and
    `create_views` are for SQL.

    `split_size` is about how many bytes of a file one task reads; `port` is the broker's in captures, where the bytes
    do not tell it. `note` is told of captures that can't be one with others of their folder.
    """
    from kwire_cli.pipeline.named import Tables  # noqa: PLC0415 - as above

    register(spark)
    return Tables.over(spark, _names(paths), reading, split_size, port, note)


def streams(
    spark: SparkSession,
    paths: str | PathLike[str] | Sequence[str],
    *,
    reading: Reading | None = None,
    port: int | None = None,
    idle: int = 300,
    **options: int | str,
) -> Streams:
    """The tables of files that arrive in folders, and grow there, as streams by name; `port` as for `tables`.

    Connections end when nothing was heard of them for `idle` seconds. `options` are those of the data source:
    `maxBytesPerTrigger`, `patience`.
    """
    from kwire_cli.pipeline.source import MadeSource  # noqa: PLC0415 - as above
    from kwire_cli.pipeline.stream_tables import Streams  # noqa: PLC0415 - as above

    register(spark)
    spark.dataSource.register(MadeSource)
    return Streams(spark, _names(paths), reading=reading, port=port, idle=idle, options=options)


def _names(paths: str | PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | PathLike) else tuple(map(str, paths))
