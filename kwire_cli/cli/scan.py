"""The command `kwire scan`."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_file, complete_table
from kwire_cli.cli.environment import EVERY, Environment, Exit, Progress
from kwire_cli.cli.numbers import size_of
from kwire_cli.cli.old_options import (
    PORT,
    REPORT_FORMATS,
    limits_of,
    naming_of,
    with_capture_points,
    with_csv,
    with_output,
    with_overlaid_catalog,
    with_tls_keylog,
)
from kwire_cli.cli.reports import REPORTS, Asked, Summary, check, of_reports
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.pipeline.named import Tables
    from kwire_cli.pipeline.parts import Rows


# What `kwire scan` says while Spark works, and of Spark's errors.

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


_OWN = re.compile(r"^kwire_cli\.errors\.\w+: (.*)", re.MULTILINE)


@contextlib.contextmanager
def watched(environment: Environment, spark: SparkSession) -> Iterator[None]:
    """Say on standard error how far the stages are that run in the block."""
    progress, over = Progress(environment), threading.Event()
    if not progress.wanted:
        yield
        return

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(EVERY):
            with contextlib.suppress(Exception):  # whatever it is: it is only about progress
                for stage in tracker.getActiveStageIds():
                    if info := tracker.getStageInfo(stage):
                        progress.tell(
                            f"stage {stage}, {info.numCompletedTasks} of {info.numTasks} tasks",
                            info.numCompletedTasks,
                            info.numTasks,
                        )

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        progress.done()


@contextlib.contextmanager
def until_interrupted() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed. Ctrl-C alone ends nothing in the block."""
    over = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: over.set())
    try:
        yield over.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark as our own: what is wrong with a query, a folder, a worker."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    for name in _LOGGERS:  # which print an error and all its traces before anybody can say it
        PySparkLogger.getLogger(name).disabled = True
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(_own(error) or _text(error)) from None
    finally:
        for name in _LOGGERS:
            PySparkLogger.getLogger(name).disabled = False


def _own(error: Exception) -> str | None:
    """Return the text of a kwire error in a task, however deep in Spark's text. None if there is no such error."""
    told, java = [str(error)], getattr(error, "java_exception", None)
    while java is not None:
        told.append(str(java.toString()))
        java = java.getCause()
    match = _OWN.search("\n".join(told))
    return match[1] if match else None


def _text(error: Exception) -> str:
    """Return Spark's text of an error without its plans and traces."""
    from kwire_cli.pipeline.session import text_of

    lines = (
        text_of(error)
        .split(";\n")[0]
        .split("\n\tat ")[0]
        .split("\n\nJVM stacktrace")[0]
        .split("\n\nDriver stacktrace")[0]
        .strip()
        .splitlines()
    )
    told = [line for line in lines if line.strip()]
    if any(line.startswith("Traceback") for line in told):  # of a task: its last line is the error
        told = told[-1:]
    return "Spark: " + "\n".join(told[:8])


# `kwire scan`: tables, queries and reports over folders of captures and logs, on Spark.

FILES = ("parquet", "csv", "json")


SECONDS = 10.0
"""Seconds between two looks of --follow."""
ROWS = 100
"""Rows of a table for eyes, where --limit says nothing."""


@click.command(name="scan")
@click.argument("paths", nargs=-1, metavar="PATH...", shell_complete=complete_file)
@click.option(
    "--table",
    "table",
    metavar="NAME",
    shell_complete=complete_table,
    help="Show this table: batches, records, faults, ….",
)
@click.option("--columns", metavar="A,B", help="Read and show only these columns of the table.")
@click.option("--sql", metavar="QUERY", help="Show the result of a query over all tables.")
@click.option(
    "--report",
    type=click.Choice([*REPORTS]),
    help=f"Show a ready report: {'; '.join(f'{name}: {report.about}' for name, report in REPORTS.items())}.",
)
@click.option(
    "--port", type=PORT, metavar="N", help="Name the broker's port (captures).  [default: recognised from the bytes]"
)
@with_tls_keylog
@with_capture_points
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(REPORT_FORMATS),
    help="Set the output format.  [default: table on a terminal, jsonl elsewhere]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most this many rows.  [default: {ROWS} in a table, else all]",
)
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=complete_file,
    help="Write the rows to files in this folder instead of printing them.",
)
@click.option("--out-format", type=click.Choice(FILES), help="Set the format of the files.  [default: parquet]")
@click.option(
    "--partition-by", metavar="A,B", help="Partition the files by these columns.  [default: topic, with --table]"
)
@click.option("--overwrite", is_flag=True, help="Replace what is in the folder.")
@click.option("--follow", is_flag=True, help="Keep reading files that arrive or grow until Ctrl-C; resumes an --out.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help=f"Look for more this often (--follow).  [default: {SECONDS:g}]",
)
@click.option("--master", metavar="URL", help="Set Spark's master.  [default: local[*], in this process]")
@click.option("--conf", multiple=True, metavar="K=V", help="Set an option of Spark; repeatable.")
@click.option(
    "--worker-python",
    metavar="PATH",
    shell_complete=complete_file,
    help="Set the Python of the workers.  [default: the one that runs kwire]",
)
@click.option("--split-size", metavar="SIZE", help="Read this much of a file in one task, such as 64MiB.")
@click.option("--max-decompressed", metavar="SIZE", help="Decompress at most this much of a batch, such as 512MiB.")
@click.option(
    "--show-secrets", is_flag=True, help="Show tokens, keys, salts and sensitive configs instead of redacting them."
)
@click.option("--fail-fast", is_flag=True, help="Stop with exit code 2 at the first fault of a file.")
@of_reports
@with_overlaid_catalog
@with_output
@with_csv
def command(
    environment: Environment,
    paths: tuple[str, ...],
    fmt: str | None,
    master: str | None,
    conf: tuple[str, ...],
    **options: Any,
) -> int:
    """Query files, folders and globs of any size: log segments, packet captures, brokers' request logs.

    Ask with one of --table, --sql and --report. The query runs on all cores of this machine, or on a cluster
    (--master). What cannot be read becomes a row of the table `faults`, not an error.
    """
    _check(paths, options)
    fmt = fmt or ("table" if environment.to_terminal else "jsonl")
    if fmt != "html" or options["report"] not in {None, "advise"}:
        return _run(environment, paths, fmt, master, conf, options)
    if options["out"]:
        raise click.UsageError("--out writes rows to files of its own, and --format html a page")
    from kwire_cli.cli.pages import page_of

    asked = (
        [f"--report {options['report']}"]
        if options["report"]
        else [f"--table {options['table']}"]
        if options["table"]
        else ["--sql"]
    )
    return page_of(environment, "scan", [*asked, *paths], lambda env: _run(env, paths, "table", master, conf, options))


def _run(
    environment: Environment,
    paths: tuple[str, ...],
    fmt: str,
    master: str | None,
    conf: tuple[str, ...],
    options: dict[str, Any],
) -> int:
    settings = dict(_setting(each) for each in conf)
    from kwire_cli.pipeline.session import LOCAL, session

    summary = Summary()
    with session(master or LOCAL, settings, options["worker_python"]) as spark, explained():
        begun = time.monotonic()
        with watched(environment, spark):
            if options["report"]:
                code = REPORTS[options["report"]].show(
                    Asked(environment, spark, options["report"], paths, fmt, options, summary)
                )
            else:
                code = _rows(environment, spark, paths, fmt, options, summary)
        environment.flush()
        _sum_up(environment, summary, time.monotonic() - begun)
    return code


def _check(paths: tuple[str, ...], options: dict[str, Any]) -> None:
    chosen = [name for name in ("table", "sql", "report") if options[name]]
    if not paths:
        raise click.UsageError("give files, folders or globs")
    if len(chosen) != 1:
        raise click.UsageError("say what to show with --table, --sql or --report")
    check(options)
    if options["columns"] and not options["table"]:
        raise click.UsageError("--columns goes with --table")
    for name in ("out_format", "partition_by", "overwrite"):
        if options[name] and not options["out"]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --out")
    if options["follow"] and not (options["table"] and options["out"]):
        raise click.UsageError("--follow goes with --table and --out")
    if options["follow"] and (options["overwrite"] or options["limit"] is not None):
        raise click.UsageError(f"--follow does not go with --{'overwrite' if options['overwrite'] else 'limit'}")
    if options["follow"] and options["tls_keylog"]:
        raise click.UsageError("--follow does not decrypt TLS: omit --tls-keylog, or scan what is there")
    if options["every"] is not None and not options["follow"]:
        raise click.UsageError("--every goes with --follow")
    if options["report"] and (options["out"] or options["limit"] is not None):
        raise click.UsageError(
            f"a report is printed as a whole; it does not take {'--out' if options['out'] else '--limit'}"
        )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.UsageError(f"--conf takes a setting of Spark, such as spark.driver.memory=4g, not {text!r}")
    return name, value


def _rows(
    environment: Environment,
    spark: SparkSession,
    paths: tuple[str, ...],
    fmt: str,
    options: dict[str, Any],
    summary: Summary,
) -> int:
    """Print rows, or write them to files."""
    columns = [name.strip() for name in options["columns"].split(",")] if options["columns"] else None
    if options["follow"]:
        summary.rows = _follow(spark, paths, columns, options, raw_csv=environment.raw_csv)
        return Exit.DONE
    tables = _tables(environment, spark, paths, options)
    if options["out"]:
        summary.rows = _write(
            tables.sql(options["sql"]) if options["sql"] else tables.rows(options["table"], columns),
            options,
            raw_csv=environment.raw_csv,
        )
    else:
        frame = tables.sql(options["sql"]) if options["sql"] else tables.table(options["table"], columns)
        summary.rows = _print(environment, frame, fmt, options["limit"])
    environment.flush()
    tables.inputs.tally.check()
    summary.size, summary.faults = tables.inputs.tally.size, tables.inputs.tally.faults
    return Exit.DONE


def _tables(environment: Environment, spark: SparkSession, paths: tuple[str, ...], options: dict[str, Any]) -> Tables:
    from kwire_cli.pipeline import tables

    reading = _reading(options)
    size = {} if options["split_size"] is None else {"split_size": size_of(options["split_size"], "--split-size")}
    return tables(
        spark,
        paths,
        reading=reading,
        port=options["port"],
        note=lambda text: environment.note(f"kwire: {text}"),
        **size,
    )


def _reading(options: dict[str, Any]) -> Reading:
    from kwire_cli.pipeline.model import Reading

    return Reading(
        limits_of(options),
        options["show_secrets"],
        options["catalog"],
        options["fail_fast"],
        options["tls_keylog"],
        naming_of(options),
    )


def _write(rows: DataFrame | Rows, options: dict[str, Any], *, raw_csv: bool) -> int:
    """Write files; the number of rows."""
    from kwire_cli.pipeline.output import write

    by = _folders(rows, options)
    return write(
        rows, options["out"], options["out_format"] or "parquet", by, overwrite=options["overwrite"], raw_csv=raw_csv
    )


def _follow(
    spark: SparkSession, paths: tuple[str, ...], columns: list[str] | None, options: dict[str, Any], *, raw_csv: bool
) -> int:
    """Write what comes to files until Ctrl-C; the number of rows."""
    from kwire_cli.pipeline import streams
    from kwire_cli.pipeline.stream_following import follow

    size = {} if options["split_size"] is None else {"splitSize": size_of(options["split_size"], "--split-size")}
    frame = streams(spark, paths, reading=_reading(options), port=options["port"], **size).table(
        options["table"], columns
    )
    every, by = options["every"] or SECONDS, _folders(frame, options)
    with until_interrupted() as over:
        return follow(
            frame, options["out"], options["out_format"] or "parquet", by, every=every, over=over, raw_csv=raw_csv
        )


def _folders(rows: DataFrame | Rows, options: dict[str, Any]) -> list[str]:
    """The columns by which rows are written to folders."""
    from kwire_cli.pipeline.output import BY

    if options["partition_by"] is not None:
        return [name.strip() for name in options["partition_by"].split(",") if name.strip()]
    return [name for name in BY.get(options["table"], ()) if name in rows.columns and len(rows.columns) > 1]


def _print(environment: Environment, frame: DataFrame, fmt: str, limit: int | None) -> int:
    from kwire_cli.pipeline.output import texts

    if fmt == "table":
        return _print_table(environment, frame, limit)
    if fmt == "csv":
        environment.write_csv(frame.columns)
    rows = 0
    for count, text in texts(frame, "raw-csv" if fmt == "csv" and environment.raw_csv else fmt, limit):
        environment.write(text)
        rows += count
    return rows


def _print_table(environment: Environment, frame: DataFrame, limit: int | None) -> int:
    from kwire_cli.pipeline.output import texts
    from kwire_cli.view.tables import cells_of, grid_lines

    most = ROWS if limit is None else limit
    rows = [cells_of(text) for _, text in texts(frame, "table", most + 1)]
    environment.write_lines(grid_lines(frame.columns, rows[:most]))
    if len(rows) > most and limit is None:
        environment.note(
            f"kwire: there are more rows than these {most}: --limit says how many to show, --format jsonl shows all"
        )
    return min(len(rows), most)


def _sum_up(environment: Environment, summary: Summary, seconds: float) -> None:
    from kwire_cli.view.lines import counted

    if summary.rows is None:
        return
    parts = [counted(summary.rows, "row")]
    if summary.files is not None:
        parts.append(counted(summary.files, "file"))
    if summary.size:
        rate = summary.size / max(seconds, 1e-3) / 1e6
        parts.append(f"{summary.size:,} bytes read, {rate:.1f} MB/s")
    if summary.faults:
        parts.append(f"{counted(summary.faults, 'gap or file', 'gaps or files')} that cannot be read (--table faults)")
    environment.note(f"kwire: {', '.join([*parts, f'{seconds:.1f} s'])}")
