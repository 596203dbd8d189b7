"""The command `kwire query`: SQL over the tables of a lake, and upkeep of the lake.

DuckDB or Spark runs the query. The result is a stream of Arrow batches, which are written to Parquet and Arrow files
unchanged. Other formats need an `Answer`: the rows are converted to Python values and, for display, limited to `ROWS`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kwire_cli import lake
from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit, is_for_eyes, note_more_rows, refuse_place
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.options import Tables
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError, counted, few
from kwire_cli.stores.paths import exists, path_of
from kwire_cli.view.arrow import FORMATS as ARROW_FORMATS, write_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from kwire_cli.answer import Kind
    from kwire_cli.cli.environment import Environment

ROWS = 1000
"""Default number of rows in formats for display. They are limited because the layout of a table needs all rows."""
EXAMPLES = (
    ('kwire query lake "select api, count(*) from frames group by api"', "how often each api occurs"),
    ("kwire query lake latency", "which apis are slow"),
    ("kwire query lake --older-than 30d", "remove old days"),
    ('kwire query lake "select * from faults" --format jsonl', "what could not be read, for programs"),
)


def complete_report(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of reports, with their descriptions."""
    return [CompletionItem(name, help=about) for name, about in lake.reports().items() if name.startswith(incomplete)]


class Options(Tables, OnSpark):
    """Options of `kwire query`."""

    folder: str = argument(metavar="DIR", shell_complete=complete_file)
    sql: str | None = argument(metavar="[SQL|REPORT]", required=False, shell_complete=complete_report)
    compact: bool = flag("--compact", section="Upkeep", help="Put the small files of each table and day together.")
    older_than: str | None = option(
        "--older-than", section="Upkeep", metavar="30d", help="Remove the rows of days that are older than this."
    )
    delete: str | None = option(
        "--delete",
        section="Upkeep",
        metavar="CONDITION",
        help="Delete the frames for which this holds, such as \"client_id = 'x'\".",
    )

    top: int | None = option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Show only the first N rows.  [default: all; {ROWS} for people]",
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        super().check()
        upkeep = [self.compact, self.older_than is not None, self.delete is not None]
        if any(upkeep):
            if sum(upkeep) > 1 or self.sql is not None or self.master is not None:
                raise click.UsageError("--compact, --older-than and --delete each stand alone, without a query")
            if self.older_than is not None:
                days_of(self.older_than)
            return
        if self.sql is not None and exists(self.sql):
            raise click.UsageError(f"{self.sql} is a file or folder; the lake comes first: kwire query LAKE SQL")
        if self.sql is None or not self.sql.strip():
            raise click.UsageError(f"give a query in SQL, or the name of a report: {', '.join(lake.report_names())}")

    @property
    def report(self) -> str | None:
        """The name of the report to answer, which is a single word, or None for SQL."""
        words = (self.sql or "").split()
        return words[0] if len(words) == 1 else None


@click.command(name="query", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Query the lake in DIR, which `kwire export` wrote, with SQL or a ready-made question.

    REPORT is a ready-made question: check, clients, errors, latency, overhead, stats, topics, upgrade.

    DuckDB runs the query in this process; with --master, Spark runs it. docs/tables.md lists the tables and their
    columns. A table that has no rows in DIR is empty, which is no error. --compact, --older-than and --delete change
    the lake.
    """
    refuse_place(environment, options)
    lake.check()
    if options.compact or options.older_than is not None or options.delete is not None:
        return _run_upkeep(environment, options)
    query = lake.report_query(options.report) if options.report is not None else options.sql or ""
    _note_missing_bodies(environment, options.folder, query)
    if options.master is not None:
        from kwire_cli.spark import query as spark_lake

        with options.session(environment) as spark:
            return _write(environment, spark_lake.answer(spark, options.folder, query), options)
    from kwire_cli.lake.query import Lake, told

    with Lake(path_of(options.folder), query) as tables, told():
        return _write(environment, tables.arrow(query), options)


def _note_missing_bodies(environment: Environment, folder: str, query: str) -> None:
    """Note the tables of bodies that a query reads and that a lake lacks: without them, nothing is found."""
    from kwire_cli.lake import delta
    from kwire_cli.lake.tables import SHAPES, known_tables, needed_for

    names, _ = needed_for(query)
    bodies = known_tables(names) - SHAPES.keys()
    place = path_of(folder)
    if bodies and delta.exists(place) and (missing := sorted(bodies - {*delta.tables_of(place)})):
        environment.note(f"kwire: this lake has no {few(missing, 3)}: kwire export --tables all writes bodies")


def _run_upkeep(environment: Environment, options: Options) -> int:
    """Compact the lake or delete from it, and note the result."""
    from kwire_cli.lake import delta, upkeep

    folder = path_of(options.folder)
    if not delta.exists(folder):
        raise InputError("this is no lake: kwire export INPUT... -o DIR writes one", file=options.folder)
    if options.delete is not None:
        done = upkeep.delete(folder, options.delete)
        frames = counted(done.frames, "frame")
        points = counted(done.points, "capture point")
        text = f"{frames} deleted; connections of {points} go on anew"
    elif options.older_than is not None:
        text = f"{counted(upkeep.remove_older(folder, days_of(options.older_than)), 'file')} removed"
    else:
        text = f"{counted(upkeep.compact_all(folder), 'file')} fewer"
    environment.note(f"kwire: {text}")
    return Exit.DONE


_DAYS = {"d": 1, "w": 7, "y": 365}


def days_of(text: str) -> int:
    """Return the number of days of a period such as `30d`.

    Raises:
        UsageError: The string is not a number of days, weeks or years.

    """
    number = text[:-1]
    unit = text[-1:]
    if unit not in _DAYS or not number.isascii() or not number.isdigit():
        raise click.UsageError(f"--older-than takes a number of days, weeks or years, such as 30d, not {text!r}")
    return int(number) * _DAYS[unit]


def _write(environment: Environment, reader: pa.RecordBatchReader, options: Options) -> int:
    """Write the rows of a result. Parquet and Arrow receive them unchanged, unless rows are sorted or limited."""
    fmt = options.format_for(environment)
    if fmt in ARROW_FORMATS and options.order is None and options.top is None and options.table is None:
        try:
            write_batches(environment.write_bytes, reader, fmt)
        except NotImplementedError as error:
            raise _unsupported_value(error) from None
        return Exit.DONE
    title = "kwire query" if options.report is None else f"kwire query {options.report}"
    names = reader.schema.names
    room = len(names)
    if options.report is None and fmt == "table" and environment.width and not options.wide:
        room = max(environment.width // _MIN_COLUMN_WIDTH, 1)
    columns = [
        Column(each.name, _column_kind(each.type), each.name, keep=_priority(each.name, at) if options.report else 0)
        for at, each in zip(range(room), reader.schema, strict=False)
    ]
    counts: list[int] = []
    rows = _read_rows(reader, room, counts)
    shown = None
    if is_for_eyes(fmt) and options.order is None:
        rows, shown = _limit_rows(rows, options.top)
    code = emit(environment, Answer(title, [Table("rows", columns, rows)]), options)
    environment.flush()
    if shown is not None:
        note_more_rows(environment, shown)
    if not sum(counts):
        environment.note("kwire: no rows")
    elif left := names[room:]:
        environment.note(
            f"kwire: {counted(len(left), 'more column')}: {few(left, 8)}; name columns in the query, or add -f wide or "
            "--format jsonl"
        )
    return code


def _limit_rows(rows: Iterator[tuple[Any, ...]], top: int | None) -> tuple[Iterator[tuple[Any, ...]], int | None]:
    """Return the rows to display, and their number if there are more rows. The number is None for a complete result."""
    limit = ROWS if top is None else top
    first = list(islice(rows, max(ROWS, limit) + 1))
    if len(first) <= max(ROWS, limit):
        return iter(first), None
    return iter(first[:limit]), limit


_MIN_COLUMN_WIDTH = 12
"""Characters of the terminal for each column of a query. A query with more columns than fit is cut off."""
_LEAST_IMPORTANT = (
    "source",
    "capture",
    "first",
    "min_us",
    "throttle_ms",
    "throttled",
    "total_us",
    "late",
    "timed",
    "broker",
    "address",
    "response_bytes",
    "request_bytes",
)
"""Columns of reports that a narrow terminal omits, the least important first."""


def _priority(name: str, at: int) -> int:
    """Return the priority for omitting a column of a report: the column with the highest number is omitted first."""
    return 100 - _LEAST_IMPORTANT.index(name) if name in _LEAST_IMPORTANT else max(at - 2, 0)


def _read_rows(reader: pa.RecordBatchReader, columns: int, counts: list[int]) -> Iterator[tuple[Any, ...]]:
    """Yield rows with the first `columns` columns, and append the number of rows of each batch to `counts`.

    Raises:
        InputError: A time is beyond the years 1 to 9999, or has nanoseconds.

    """
    for batch in reader:
        counts.append(batch.num_rows)
        try:
            values = [_convert_column(column) for column in batch.columns[:columns]]
        except (OverflowError, ValueError) as error:
            raise _unsupported_value(error) from None
        yield from zip(*values, strict=True)


def _convert_column(column: pa.Array) -> list[Any]:
    return [_convert(value) for value in column.to_pylist()]


def _unsupported_value(error: Exception) -> InputError:
    """Return the error for a value that the format cannot represent."""
    return InputError(f"the format has no form for a value, so have the query cast it to varchar: {error}")


def _convert(value: Any) -> Any:
    """Convert a value of Arrow to a value of an Answer."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [_convert(each) for each in value]
    if isinstance(value, dict):
        return {key: _convert(each) for key, each in value.items()}
    return value


def _column_kind(arrow_type: pa.DataType) -> Kind:
    name = str(arrow_type)
    for prefix, kind in _KINDS:
        if name.startswith(prefix):
            return kind
    return "text"


_KINDS: tuple[tuple[str, Kind], ...] = (
    ("bool", "flag"),
    ("int", "count"),
    ("uint", "count"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("timestamp", "instant"),
    ("list", "list"),
    ("struct", "map"),
    ("map", "map"),
)
"""Kinds of columns by prefixes of the names of Arrow types."""
