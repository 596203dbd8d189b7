"""The command `kwire scan`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import WRITERS, emit, note_more_rows, refuse_place
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.export import emit_done, into_option, tables_option
from kwire_cli.cli.on_spark import explained, until_interrupted, watched
from kwire_cli.cli.options import Captures, Decompression, OverlaidDefinitions, Report, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.reports import REPORTS, ReportOptions, Run, Summary, check
from kwire_cli.cli.typed_options import argument, flag, option, refuse, size_of, takes
from kwire_cli.errors import counted
from kwire_cli.pipeline import lake, streams, tables
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.session import LOCAL, session
from kwire_cli.stores import path_of
from kwire_cli.view.arrow import FORMATS as ARROW_FORMATS, write_batches
from kwire_cli.view.tables import cells_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.answer import Kind
    from kwire_cli.pipeline.parts import Rows


# `kwire scan`: tables, queries and reports over folders of captures and logs, on Spark.

FILES = ("parquet", "csv", "json")
_FOLDERS = {"batches": ("topic",), "records": ("topic",)}
"""The folders of a table where nothing else is asked for; what a task reads is of one of them, so that files stay
few."""


SECONDS = 10.0
"""Seconds between two looks of --follow."""
_SHUFFLES = "spark.sql.shuffle.partitions"
"""The number of tasks that keep the connections of a stream: one a core if nothing is set. The checkpoint keeps it."""
ROWS = 100
"""Rows of a table for eyes, where --limit says nothing."""


def complete_report(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Reports that go on from what was typed, and what they are about."""
    return [CompletionItem(name, help=report.about) for name, report in REPORTS.items() if name.startswith(incomplete)]


EXAMPLES = (
    ("kwire scan kafka-logs --report verify", "what is wrong, at any size"),
    ("kwire scan *.pcap --sql 'select distinct api from frames order by api'", "the answer to a query"),
    ("kwire scan incident.pcap --into lake --tables frames,names", "tables as Parquet, for kwire query"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Report, ReportOptions, Captures, Decompression, Secrets, Payloads, OverlaidDefinitions):
    """Options of `kwire scan`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="PATH...", shell_complete=complete_file)
    table: str | None = option(
        "--table",
        section="Choose",
        metavar="NAME",
        help="Show this table: batches, records, frames, faults, ...",
    )
    fields: str | None = option(
        "--fields",
        metavar="A,B",
        help="Read and show only these columns of the table.",
    )
    sql: str | None = option("--sql", metavar="QUERY", help="Show the result of a query over all tables.")
    report: str | None = option(
        "--report",
        type=click.Choice([*REPORTS]),
        shell_complete=complete_report,
        help="Show a ready-made report, such as stats, overhead or verify.",
    )
    into: str | None = into_option()
    tables: str | None = tables_option(rare=True)
    limit: int | None = option(
        "--limit",
        "-n",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Show at most this many rows.  [default: {ROWS} in a table]",
    )
    follow: bool = flag("--follow", section="Input", help="Keep reading what arrives; goes with --into or --out.")
    every: float | None = option(
        "--every",
        section="Input",
        rare=True,
        type=click.FloatRange(min=0.1),
        metavar="SECONDS",
        help=f"Look for more this often (--follow).  [default: {SECONDS:g}]",
    )
    out: str | None = option(
        "--out",
        section="Output",
        metavar="DIR",
        shell_complete=complete_file,
        help="Write the rows to files in this folder.",
    )
    out_format: str | None = option(
        "--out-format",
        rare=True,
        section="Output",
        type=click.Choice(dict.fromkeys((*FILES, *lake.FORMATS, *lake.TABLES))),
        help="Set the format of the files.  [default: parquet]",
    )
    partition_by: str | None = option(
        "--partition-by",
        rare=True,
        section="Output",
        metavar="A,B",
        help="Write folders by these columns.  [default: topic, with --table]",
    )
    force: bool = flag("--force", section="Output", help="Replace what is in the folder.")
    master: str | None = option(
        "--master", section="Advanced", metavar="URL", help="Set Spark's master.  [default: local[*], in this process]"
    )
    conf: tuple[str, ...] = option(
        "--conf",
        section="Advanced",
        rare=True,
        multiple=True,
        metavar="K=V",
        help="Set an option of Spark; repeatable.",
    )
    worker_python: str | None = option(
        "--worker-python",
        section="Advanced",
        rare=True,
        metavar="PATH",
        shell_complete=complete_file,
        help="Set the Python of the workers.  [default: the one that runs kwire]",
    )
    split_size: str | None = option(
        "--split-size",
        section="Advanced",
        rare=True,
        metavar="SIZE",
        help="Read this much of a file in one task, such as 64MiB.",
    )
    fail_fast: bool = flag(
        "--fail-fast", section="Advanced", rare=True, help="Stop with exit code 2 at the first fault of a file."
    )

    def __post_init__(self) -> None:
        if not self.paths:
            raise click.UsageError("give files, folders or globs")
        asked = [self.table is not None and not self.report, bool(self.sql), bool(self.report), bool(self.into)]
        if asked.count(True) != 1:
            raise click.UsageError("say what to show with --table, --sql or --report, or write tables with --into")
        check(self)
        if self.into:
            refuse(self, ("out", "limit", "partition_by", "fail_fast"), "does not go with --into")
        else:
            refuse(self, ("tables",), "goes with --into")
        if self.fields and (self.report or not (self.table or self.into)):
            raise click.UsageError("--fields goes with --table, or with --into")
        if not (self.out or self.into):
            refuse(self, ("out_format", "force"), "goes with --out or --into")
        if not self.out:
            refuse(self, ("partition_by",), "goes with --out")
        if self.out_format and self.out_format not in ((*lake.FORMATS, *lake.TABLES) if self.into else FILES):
            raise click.UsageError(f"--out-format of --{'into' if self.into else 'out'} is not {self.out_format}")
        if not self.follow:
            refuse(self, ("every",), "goes with --follow")
        elif not (self.into or (self.table and self.out and not self.report)):
            raise click.UsageError("--follow goes with --table and --out, or with --into")
        else:
            refuse(self, ("force", "limit", *(("fields",) if self.into else ())), "does not go with --follow")
            if self.tls_keylog:
                raise click.UsageError("--follow does not decrypt TLS: omit --tls-keylog, or scan what is there")
        if self.report:
            refuse(self, ("out", "limit"), "is for rows, and a report is printed as a whole")
            refuse(self, ("value", "key", "schemas", "serdes", "redact"), "is for records, and a report shows none")
        if self.out and self.fmt:
            refuse(self, ("fmt",), "is for what is printed, and --out writes rows to files: --out-format")

    @property
    def every_seconds(self) -> float:
        """Seconds between two looks."""
        return self.every or SECONDS

    @property
    def part_size(self) -> int | None:
        """Bytes that a task reads of a file."""
        return None if self.split_size is None else size_of(self.split_size, "--split-size")

    @property
    def chosen_columns(self) -> list[str] | None:
        """The columns of --fields."""
        return [name.strip() for name in self.fields.split(",")] if self.fields else None

    @property
    def cuts_tables(self) -> bool:
        """Return whether the tables of the answer have no more than --top rows."""
        return self.report in {"advise", "overhead"}


@click.command(name="scan", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Query log segments, packet captures and brokers' request logs of any size.

    Ask with one of --table, --sql and --report, or write tables with --into. It runs on all cores, or on a cluster
    (--master). What cannot be read is a row of the table `faults`, not an error.
    """
    refuse_place(environment, options)
    settings = {**lake.TABLES.get(options.out_format or "", {}), **dict(_setting(text) for text in options.conf)}
    with session(options.master or LOCAL, settings, options.worker_python) as spark, explained():
        begun = time.monotonic()
        answer = _report if options.report else _into if options.into else _rows
        with watched(environment, spark):
            code, summary = answer(environment, spark, options)
        environment.flush()
        _sum_up(environment, summary, time.monotonic() - begun)
    return code


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.UsageError(f"--conf takes a setting of Spark, such as spark.driver.memory=4g, not {text!r}")
    return name, value


def _report(environment: Environment, spark: SparkSession, options: Options) -> tuple[int, Summary]:
    """Write the answer of a report."""
    from kwire_cli.pipeline.reports import Inputs

    inputs = Inputs(spark, options.paths, _reading(options), options.port, partial(_note, environment))
    run = Run(environment, inputs, options.limits, options)
    answer = REPORTS[options.report or ""].answer(run)
    return emit(environment, answer, options), run.summary


def _into(environment: Environment, spark: SparkSession, options: Options) -> tuple[int, Summary]:
    """Write the tables of a lake."""
    if options.follow:
        return Exit.DONE, Summary(rows=_follow(environment, spark, options))
    from kwire_cli.pipeline.into import Cut, scan_into

    done = scan_into(
        spark,
        options.paths,
        path_of(options.into or ""),
        Wanted(lake.chosen(options.tables), _reading(options), options.port),
        fields=options.fields,
        form=options.out_format or "parquet",
        cut=Cut() if options.part_size is None else Cut(options.part_size),
        note=partial(_note, environment),
        again=options.force,
    )
    return emit_done(environment, done, options, options.paths, options.into or ""), Summary()


def _note(environment: Environment, text: str) -> None:
    environment.note(f"kwire: {text}")


def _rows(environment: Environment, spark: SparkSession, options: Options) -> tuple[int, Summary]:
    """Print rows, or write them to files."""
    if options.follow:
        return Exit.DONE, Summary(rows=_follow(environment, spark, options))
    size = {} if options.part_size is None else {"split_size": options.part_size}
    note = partial(_note, environment)
    found = tables(spark, options.paths, reading=_reading(options), port=options.port, note=note, **size)
    table, columns = options.table or "", options.chosen_columns
    if options.out:
        rows = found.sql(options.sql) if options.sql else found.rows(table, columns)
        count = _write(environment, rows, options)
    else:
        frame = found.sql(options.sql) if options.sql else found.table(table, columns)
        chosen = options.format_for(environment)
        count = ROW_WRITERS[chosen](environment, frame, options)
    environment.flush()
    tally = found.inputs.tally
    tally.check()
    return Exit.DONE, Summary(rows=count, size=tally.size, faults=tally.faults)


def _reading(options: Options) -> Reading:
    return Reading(
        options.limits,
        options.show_secrets,
        options.catalog,
        options.fail_fast,
        options.tls_keylog,
        options.naming,
    )


def _write(environment: Environment, rows: DataFrame | Rows, options: Options) -> int:
    """Write files; return the number of rows."""
    written: int = _output().write(
        rows,
        options.out or "",
        options.out_format or "parquet",
        _folders(rows, options),
        overwrite=options.force,
        raw_csv=environment.raw_csv,
    )
    return written


def _output() -> ModuleType:
    """Return the writing of rows, which needs Spark."""
    from kwire_cli.pipeline import output

    return output


def _follow(environment: Environment, spark: SparkSession, options: Options) -> int:
    """Write what comes to files until Ctrl-C; return the number of rows."""
    from kwire_cli.pipeline.stream_following import follow, follow_into

    if not any(text.startswith(f"{_SHUFFLES}=") for text in options.conf):
        spark.conf.set(_SHUFFLES, str(spark.sparkContext.defaultParallelism))
    size = {} if options.part_size is None else {"splitSize": options.part_size}
    stream = streams(spark, options.paths, reading=_reading(options), port=options.port, **size)
    if options.into:
        wanted, form, every = lake.chosen(options.tables), options.out_format or "parquet", options.every_seconds
        with until_interrupted() as over:
            return follow_into(stream, wanted, path_of(options.into), form, every=every, over=over)
    frame = stream.table(options.table or "", options.chosen_columns)
    with until_interrupted() as over:
        return follow(
            frame,
            options.out or "",
            options.out_format or "parquet",
            _folders(frame, options),
            every=options.every_seconds,
            over=over,
            raw_csv=environment.raw_csv,
        )


def _folders(rows: DataFrame | Rows, options: Options) -> list[str]:
    """Return the columns by which rows are written to folders."""
    if options.partition_by is not None:
        return [name.strip() for name in options.partition_by.split(",") if name.strip()]
    return [name for name in _FOLDERS.get(options.table or "", ()) if name in rows.columns and len(rows.columns) > 1]


# Rows as they are printed: texts are made in tasks; tables for eyes and pages, and Parquet, are Answers.


def _texts(frame: DataFrame, form: str, most: int | None) -> Iterator[tuple[int, str]]:
    yield from _output().texts(frame, form, most)


def _print_texts(environment: Environment, frame: DataFrame, options: Options, *, form: str) -> int:
    rows = 0
    for count, text in _texts(frame, form, options.limit):
        environment.write(text)
        rows += count
    return rows


def _print_csv(environment: Environment, frame: DataFrame, options: Options) -> int:
    environment.write_csv(frame.columns)
    return _print_texts(environment, frame, options, form="raw-csv" if options.raw_csv else "csv")


def _print_table(environment: Environment, frame: DataFrame, options: Options, *, form: str) -> int:
    most = ROWS if options.limit is None else options.limit
    rows = [(*cells_of(text),) for _, text in _texts(frame, "table", most + 1)]
    columns = [Column(name, _kind(name, rows, at), name, keep=_keep(name, at)) for at, name in enumerate(frame.columns)]
    answer = Answer(f"kwire scan {options.table or ''}".rstrip(), [Table("rows", columns, rows[:most])])
    WRITERS[form](environment, answer, options)
    if len(rows) > most and options.limit is None:
        note_more_rows(environment, most, "--limit")
    return min(len(rows), most)


_FIRST = (
    *("time", "api", "api_version", "kind", "latency", "errors", "client_id", "size", "topics", "src", "dst"),
    *("position", "base_offset", "last_offset", "count", "codec", "offset", "key", "value", "timestamp", "path"),
)
"""Columns of rows that stay on a narrow terminal before the others, the first of them longest."""


def _keep(name: str, at: int) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST) + at


def _kind(name: str, rows: list[tuple[Any, ...]], at: int) -> Kind:
    if not any(isinstance(row[at], int | float) for row in rows):
        return "text"
    return "duration" if name == "latency" else "number"


def _print_typed(environment: Environment, frame: DataFrame, options: Options) -> int:
    table = (frame if options.limit is None else frame.limit(options.limit)).toArrow()
    return write_batches(environment.take_table(), table.to_reader(), options.format_for(environment))


ROW_WRITERS: dict[str, Callable[[Environment, DataFrame, Options], int]] = {
    "table": partial(_print_table, form="table"),
    "html": partial(_print_table, form="html"),
    "markdown": partial(_print_table, form="markdown"),
    "json": partial(_print_texts, form="json"),
    "jsonl": partial(_print_texts, form="jsonl"),
    "csv": _print_csv,
    **dict.fromkeys(ARROW_FORMATS, _print_typed),
}


LEAST_RATE = 1.0
"""MB/s: a lower rate is that of starting a session, and says nothing of reading."""


def _sum_up(environment: Environment, summary: Summary, seconds: float) -> None:
    if summary.rows is None:
        return
    parts = [counted(summary.rows, "row")]
    if summary.files is not None:
        parts.append(counted(summary.files, "file"))
    if summary.size:
        parts.append(f"{summary.size:,} bytes read")
        if (rate := summary.size / max(seconds, 1e-3) / 1e6) >= LEAST_RATE:
            parts.append(f"{rate:.1f} MB/s")
    if summary.faults:
        parts.append(f"{counted(summary.faults, 'gap or file', 'gaps or files')} that cannot be read (--table faults)")
    environment.note(f"kwire: {', '.join([*parts, f'{seconds:.1f} s'])}")
