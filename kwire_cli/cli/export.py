"""The command `kwire export`: write the tables of captures and logs into a lake or plain files.

Processes of this machine or tasks of Spark read the inputs, and both return an `Exported` summary. With --every, the
export is repeated until Ctrl-C. Each run reads only new data, because the lake records the inputs that it has.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from kwire_cli import lake
from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.options import Captures, Decompression, Report, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, milliseconds_of, option, refuse, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.stores.paths import location, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment, Exit
    from kwire_cli.lake.inputs import Exported

EXAMPLES = (
    ("kwire export incident.pcap -o lake", "tables of a capture as Parquet"),
    ("kwire export kafka-logs -o lake --tables batches,index", "headers of batches, without records"),
    ("kwire export orders-0 -o csv --out-format csv", "records as CSV"),
    ("kwire export s3://captures -o s3://lake --master spark://host:7077", "with the cores of a cluster"),
)


class Options(Report, OnSpark, Captures, Decompression, Secrets, Payloads):
    """Options of `kwire export`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="INPUT...", shell_complete=complete_file)
    output: str | None = option(
        "--output",
        "-o",
        section="Output",
        metavar="DIR",
        shell_complete=complete_file,
        help="Write the lake into this folder, or to this store.",
    )
    tables: str | None = option(
        "--tables",
        section="Choose",
        metavar="A,B",
        help=f"Write only these tables, such as frames,errors, or all.  [default: all but {', '.join(lake.RARE)}]",
    )
    out_format: str | None = option(
        "--out-format",
        section="Output",
        type=click.Choice(lake.FORMATS),
        help=f"Write plain files into a new folder, or a lake ({lake.DELTA}).  [default: {lake.DELTA}]",
    )
    force: bool = flag("--force", section="Output", help="Read inputs again that are in the lake already.")
    every: str | None = option(
        "--every",
        section="Output",
        metavar="TIME",
        help="Follow the inputs: read what is new every 30s, until Ctrl-C.",
    )
    jobs: int | None = option(
        "--jobs",
        "-j",
        section="Advanced",
        rare=True,
        type=click.IntRange(min=1),
        metavar="N",
        help="Read large inputs with N processes.  [default: one for each core]",
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if not self.paths:
            raise click.UsageError("give files, folders or globs")
        if not self.output:
            raise click.UsageError("say where the tables go: -o DIR")
        if self.every is not None:
            refuse(self, ("force", "out_format"), "does not go with --every")
            milliseconds_of(self.every)
        super().check()
        if self.master is not None:
            refuse(self, ("jobs",), "is for processes of this machine: leave out --master")

    @property
    def pause(self) -> float:
        """The seconds between two runs, or 0 for a single run."""
        return 0 if self.every is None else milliseconds_of(self.every) / 1000

    @property
    def file(self) -> None:
        """None: -o is the folder of the lake, and the summary is printed."""
        return


@click.command(name="export", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Write captures, logs and request logs as tables for SQL: a lake, or plain files.

    A lake is a folder of Delta tables. Run the command again to add new inputs: inputs that the lake has are not read
    again, and connections go on in new captures of their capture point. With --master, tasks of Spark read the inputs.
    docs/lake.md says how to run a lake, and docs/tables.md lists all tables and columns.
    """
    refuse_place(environment, options)
    lake.check()
    reading = Reading(
        options.limits, options.show_secrets, options.catalog, key_logs=options.tls_keylog, naming=options.naming
    )
    chosen = Wanted(lake.chosen(options.tables), reading, options.port)
    write = _export_with_spark if options.master is not None else _export
    if options.every is None:
        return _emit_summary(environment, options, write(environment, options, chosen))
    return _follow(environment, options, partial(write, environment, options, chosen))


def _follow(environment: Environment, options: Options, write: Callable[[], Exported]) -> int:
    """Export repeatedly until Ctrl-C. Note a summary of each run that read data."""
    while True:
        try:
            done = write()
        except InputError as error:
            environment.note(f"kwire: {error}")
        else:
            if done.read:
                _note_summary(environment, done)
        time.sleep(options.pause)


def _export(environment: Environment, options: Options, wanted: Wanted) -> Exported:
    from kwire_cli.lake.export import export

    done = export(
        options.paths,
        path_of(options.output or ""),
        wanted,
        form=options.out_format or lake.FORMATS[0],
        processes=options.jobs,
        note=partial(_note, environment),
        tell=environment.progress.tell,
        again=options.force,
        at_rest=options.pause,
    )
    environment.progress.done()
    return done


def _export_with_spark(environment: Environment, options: Options, wanted: Wanted) -> Exported:
    with options.session(environment) as spark:
        from kwire_cli.lake.export import write_tables
        from kwire_cli.lake.inputs import named_files
        from kwire_cli.spark.export import SparkTasks

        return write_tables(
            SparkTasks(spark),
            named_files(options.paths),
            path_of(options.output or ""),
            wanted,
            form=options.out_format or lake.FORMATS[0],
            note=partial(_note, environment),
            again=options.force,
            at_rest=options.pause,
        )


COLUMNS = (Column("table", "text"), Column("rows", "count"))


def _emit_summary(environment: Environment, options: Options, done: Exported) -> Exit:
    """Write the number of rows of each table, and note a summary of the inputs.

    Raises:
        InputError: There were inputs, and no part of them could be read.

    """
    if done.read and not done.rows:
        raise InputError("nothing could be read of the inputs", file=", ".join(options.paths))
    answer = Answer(
        f"the tables in {location(options.output or '')}", [Table("tables", COLUMNS, sorted(done.rows.items()))]
    )
    code = emit(environment, answer, options)
    environment.flush()
    _note_summary(environment, done)
    return code


def _note_summary(environment: Environment, done: Exported) -> None:
    parts = [counted(done.read, "input file"), f"{done.size:,} bytes read"]
    if done.known:
        parts.append(f"{counted(done.known, 'input file')} unchanged")
    if done.faults:
        parts.append(f"{counted(done.faults, 'gap or file', 'gaps or files')} that cannot be read (table faults)")
    _note(environment, ", ".join(parts))


def _note(environment: Environment, text: str) -> None:
    environment.note(f"kwire: {text}")
