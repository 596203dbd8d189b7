"""Spark: lakes written by its tasks, lakes and inputs as its tables. The only package that imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.spec.catalog import Paths


def tables(spark: SparkSession, lake: str) -> dict[str, DataFrame]:
    """Return the tables of a lake by name, in their current state. All workers must be able to read the lake.

    Raises:
        InputError: The folder is not a lake.

    """
    from kwire_cli.spark.query import frames_of  # noqa: PLC0415 - importing the package needs no Spark

    return frames_of(spark, lake)


def read(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    table: str,
    *,
    columns: Sequence[str] = (),
    port: int | None = None,
    tls_keylog: Sequence[str] = (),
    specs: Paths = (),
    show_secrets: bool = False,
) -> DataFrame:
    """Return a table of captures, request logs and log directories. The column `input` names the input of a row.

    Frames, connections and ordinals are numbered within each input. All workers must be able to read the paths.

    Args:
        spark: The session.
        paths: Paths or URLs of files and folders.
        table: A table or a view that `kwire_cli.tables` has, such as `calls`.
        columns: The columns that are read; all of them by default.
        port: The broker's port in captures; None if the bytes are to show it.
        tls_keylog: Paths of key logs, for TLS in captures.
        specs: Definitions as for --specs: files, folders, jars, overlays and a release such as "3.9".
        show_secrets: Whether columns of bodies contain secrets.

    Raises:
        InputError: There is no such table or column, or a path is no input. A task raises it if it cannot read an
            input.

    """
    from kwire_cli.spark.inputs import input_table  # noqa: PLC0415 - as above

    how = Reading(catalog=catalog(specs), port=port, key_logs=tuple(tls_keylog), connections=True)
    return input_table(spark, [str(path) for path in paths], table, columns, how, show_secrets=show_secrets)
