"""The command `kwire scan`: reports and lakes from folders of captures and logs, on Spark."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.export import emit_done, format_option, lake_option, tables_option
from kwire_cli.cli.on_spark import explained, watched
from kwire_cli.cli.options import Captures, Decompression, OverlaidDefinitions, Report, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.reports import REPORTS, ReportOptions, Run, Summary, check
from kwire_cli.cli.typed_options import argument, flag, option, refuse, size_of, takes
from kwire_cli.errors import counted
from kwire_cli.pipeline import lake
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.session import LOCAL, session
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire_cli.cli.environment import Environment


def complete_report(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of reports, each with its description."""
    return [CompletionItem(name, help=report.about) for name, report in REPORTS.items() if name.startswith(incomplete)]


EXAMPLES = (
    ("kwire scan kafka-logs --report verify", "what is wrong, at any size"),
    ("kwire scan payments-logs --report state", "what Kafka's own topics say"),
    ("kwire scan incident.pcap -o lake --tables frames,names", "tables as Parquet, for kwire query"),
)
_OF_LAKES = ("tables", "fields", "out_format", "force", "split_size", "value", "key", "schemas", "serdes", "redact")


@dataclass(frozen=True, kw_only=True)
class Options(Report, ReportOptions, Captures, Decompression, Secrets, Payloads, OverlaidDefinitions):
    """Options of `kwire scan`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="PATH...", shell_complete=complete_file)
    report: str | None = option(
        "--report",
        section="Choose",
        type=click.Choice([*REPORTS]),
        shell_complete=complete_report,
        help="Show a ready-made report, such as overhead, advise or verify.",
    )
    output: str | None = lake_option("Write tables into this folder or store; with --report, this file.")
    tables: str | None = tables_option(rare=True)
    fields: str | None = option(
        "--fields",
        section="Choose",
        rare=True,
        metavar="A,B",
        help="Write only these columns; --tables names one table.",
    )
    out_format: str | None = format_option(rare=True)
    force: bool = flag("--force", section="Output", help="Read inputs again that are in the folder already.")
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
        help="Read this much of a capture in one task, such as 64MiB.",
    )
    fail_fast: bool = flag(
        "--fail-fast", section="Advanced", rare=True, help="Stop with exit code 2 at the first fault of a file."
    )

    def __post_init__(self) -> None:
        if not self.paths:
            raise click.UsageError("give files, folders or globs")
        check(self)
        if self.report:
            refuse(self, _OF_LAKES, "is for tables, and a report writes none")
        elif self.output is None:
            raise click.UsageError("give a report with --report, or a folder for tables with -o DIR")
        else:
            refuse(self, ("fail_fast",), "goes with --report")

    @property
    def file(self) -> str | None:
        """The file of the report; None if -o names the folder of a lake."""
        return self.output if self.report else None

    @property
    def cuts_tables(self) -> bool:
        """Return whether the tables of the answer have no more than --top rows."""
        return self.report in {"advise", "overhead"}


@click.command(name="scan", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Report on log segments, packet captures and brokers' request logs of any size, or write their tables.

    Show a report with --report, or write tables with -o DIR, for `kwire query`. It runs on all cores, or on a
    cluster (--master). What cannot be read is a row of the table `faults`, not an error.
    """
    refuse_place(environment, options)
    settings = dict(_setting(text) for text in options.conf)
    summary = Summary()
    with session(options.master or LOCAL, settings, options.worker_python) as spark, explained():
        begun = time.monotonic()
        with watched(environment, spark):
            if options.report:
                code = _report(environment, spark, options, summary)
            else:
                code = _write(environment, spark, options)
        environment.flush()
        _sum_up(environment, summary, time.monotonic() - begun)
    return code


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.UsageError(f"--conf takes a setting of Spark, such as spark.driver.memory=4g, not {text!r}")
    return name, value


def _report(environment: Environment, spark: SparkSession, options: Options, summary: Summary) -> int:
    """Write the answer of a report."""
    from kwire_cli.pipeline.reports import Inputs

    inputs = Inputs(spark, options.paths, _reading(options), options.port, partial(_note, environment))
    run = Run(environment, inputs, options.limits, options, fail_fast=options.fail_fast, summary=summary)
    answer = REPORTS[options.report or ""].answer(run)
    return emit(environment, answer, options)


def _write(environment: Environment, spark: SparkSession, options: Options) -> int:
    """Write the tables of a lake."""
    from kwire_cli.pipeline.into import Cut, scan_into

    folder = options.output or ""
    done = scan_into(
        spark,
        options.paths,
        path_of(folder),
        Wanted(lake.chosen(options.tables), _reading(options), options.port),
        fields=options.fields,
        form=options.out_format or lake.FORMATS[0],
        cut=Cut() if options.split_size is None else Cut(size_of(options.split_size, "--split-size")),
        note=partial(_note, environment),
        again=options.force,
    )
    return emit_done(environment, done, options, options.paths, folder)


def _note(environment: Environment, text: str) -> None:
    environment.note(f"kwire: {text}")


def _reading(options: Options) -> Reading:
    return Reading(
        options.limits, options.show_secrets, options.catalog, key_logs=options.tls_keylog, naming=options.naming
    )


LEAST_RATE = 1.0
"""MB/s. A lower rate measures the start of a session, not the reading."""


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
        parts.append(f"{counted(summary.faults, 'gap or file', 'gaps or files')} that cannot be read")
    environment.note(f"kwire: {', '.join([*parts, f'{seconds:.1f} s'])}")
