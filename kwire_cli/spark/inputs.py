"""Tables of captures, request logs and logs as DataFrames, without a lake.

A table of docs/tables.md is filled in DuckDB, as a question in one process fills it. A task does so for one input: a
capture point, a request log or a log directory. The rows of all inputs are one DataFrame.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.one_by_one import INPUT, works_of
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.analysis.subjects import LOGS, TRAFFIC
from kwire_cli.analysis.tables import InputTables
from kwire_cli.lake.sql_text import quote_name
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.reading import Caller
from kwire_cli.spark.export import MOST_TASKS, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.analysis.one_by_one import Work
    from kwire_cli.source.reading import Reading

ROWS = 1 << 14
"""Rows that a task gives to Spark at a time."""


def input_table(
    spark: SparkSession, paths: Sequence[str], table: str, columns: Sequence[str], how: Reading, *, show_secrets: bool
) -> DataFrame:
    """Return a table of inputs with some of its columns, or all without `columns`. `kwire_cli.spark.read` documents it.

    Raises:
        InputError: There is no such table or column, or a path is no input.

    """
    redaction = Redaction(how.catalog, show_secrets=show_secrets)
    names = ", ".join(map(quote_name, columns)) or "*"
    query = f"select {names} from {quote_name(table)}"  # noqa: S608 - quoted
    works = works_of(paths, how, Caller(), TRAFFIC | LOGS)
    empty = TableFold(redaction, {"": query}, REPLAYED)
    try:
        fields = empty.finished().relation(query).to_arrow_reader(1).schema
    finally:
        empty.close()
    schema = pa.schema([pa.field(INPUT.name, pa.string()), *fields])
    numbers = spark.range(0, len(works), 1, max(min(len(works), MOST_TASKS), 1))
    return numbers.mapInArrow(partial(_rows, works, how, redaction, query, schema), from_arrow_schema(schema))


def _rows(
    works: Sequence[Work],
    how: Reading,
    redaction: Redaction,
    query: str,
    schema: pa.Schema,
    numbers: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for number in numbers_in(numbers):
        work = works[number]
        with InputTables(work.paths, how, redaction) as tables:
            for rows in tables.sql(query).to_arrow_reader(ROWS):
                names = pa.array([work.name] * rows.num_rows, pa.string())
                yield pa.RecordBatch.from_arrays([names, *rows.columns], schema=schema)
