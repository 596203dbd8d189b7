"""The command `kwire export`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from kwire_cli import lake
from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.on_spark import explained, watched
from kwire_cli.cli.options import Captures, Decompression, OverlaidDefinitions, Report, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, option, refuse, size_of, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.filter.rows import filter_of
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.spark.session import session
from kwire_cli.stores import location, path_of

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit
    from kwire_cli.lake.units import Exported

EXAMPLES = (
    ("kwire export incident.pcap -o lake", "tables of a capture as Parquet"),
    ("kwire export kafka-logs -o lake --tables batches,index", "headers of batches, without records"),
    ("kwire export orders-0 -o csv --out-format csv", "records as CSV"),
    ("kwire export incident.pcap -o errors --filter error", "only frames with an error"),
    ("kwire export s3://captures -o s3://lake --master spark://host:7077", "with the cores of a cluster"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Report, Captures, Decompression, Secrets, Payloads, OverlaidDefinitions):
    """Options of `kwire export`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="INPUT...", shell_complete=complete_file)
    output: str | None = option(
        "--output",
        "-o",
        section="Output",
        metavar="DIR",
        shell_complete=complete_file,
        help="Write the tables into this folder, or to this store.",
    )
    tables: str | None = option(
        "--tables",
        section="Choose",
        metavar="A,B",
        help=f"Write only these tables: {', '.join(lake.CHOICES)}.  [default: all but {lake.BODIES}]",
    )
    filter: str | None = option(
        "--filter",
        section="Choose",
        metavar="TEXT",
        shell_complete=complete_filter,
        help="Write only frames that match, such as 'api == Fetch' (captures).",
    )
    fields: str | None = option(
        "--fields", section="Choose", metavar="A,B", help="Write only these columns; --tables names one table."
    )
    out_format: str | None = option(
        "--out-format",
        section="Output",
        type=click.Choice(lake.FORMATS),
        help=f"Set the format of the files.  [default: {lake.FORMATS[0]}]",
    )
    force: bool = flag("--force", section="Output", help="Read inputs again that are in the folder already.")
    master: str | None = option(
        "--master", section="Advanced", metavar="URL", help="Use Spark with this master.  [default: no Spark]"
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
        help="Set the Python of Spark's workers.  [default: the one that runs kwire]",
    )
    split_size: str | None = option(
        "--split-size",
        section="Advanced",
        rare=True,
        metavar="SIZE",
        help="Read this much of a capture in one task, such as 64MiB.",
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

    def __post_init__(self) -> None:
        if not self.paths:
            raise click.UsageError("give files, folders or globs")
        if not self.output:
            raise click.UsageError("say where the tables go: -o DIR")
        if self.master is None:
            refuse(self, ("conf", "worker_python", "split_size"), "is for Spark: add --master URL")
        else:
            refuse(self, ("filter",), "reads frames in one process: leave out --master")
            refuse(self, ("jobs",), "is for processes of this machine: leave out --master")

    @property
    def file(self) -> None:
        """No file: -o is the folder of the lake, and what was written is printed."""
        return


@click.command(name="export", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Write captures, logs and request logs as tables for SQL: Parquet, Arrow, CSV or JSON lines.

    Each table is a folder below DIR, with subfolders for capture points and days. Run the command again to add
    new inputs: unchanged inputs are not read again. With --master, tasks of Spark read the inputs. docs/tables.md
    lists all tables and columns.
    """
    refuse_place(environment, options)
    lake.check()
    from kwire_cli.lake.export import chosen_columns

    reading = Reading(
        options.limits, options.show_secrets, options.catalog, key_logs=options.tls_keylog, naming=options.naming
    )
    if options.filter:
        filter_of(options.catalog, options.filter)
    wanted = lake.chosen(options.tables)
    columns = () if options.fields is None else chosen_columns(wanted, options.fields)
    chosen = Wanted(wanted, reading, options.port, options.filter or None, columns)
    done = (
        _exported(environment, options, chosen) if options.master is None else _by_spark(environment, options, chosen)
    )
    return _emit_done(environment, options, done)


def _exported(environment: Environment, options: Options, wanted: Wanted) -> Exported:
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
    )
    environment.progress.done()
    return done


def _by_spark(environment: Environment, options: Options, wanted: Wanted) -> Exported:
    settings = dict(map(_setting, options.conf))
    with session(options.master or "", settings, options.worker_python) as spark, explained():
        from kwire_cli.spark.export import Cut, export

        with watched(environment, spark):
            return export(
                spark,
                options.paths,
                path_of(options.output or ""),
                wanted,
                form=options.out_format or lake.FORMATS[0],
                cut=Cut() if options.split_size is None else Cut(size_of(options.split_size, "--split-size")),
                note=partial(_note, environment),
                again=options.force,
            )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise click.UsageError(f"--conf takes a setting of Spark, such as spark.driver.memory=4g, not {text!r}")
    return name, value


COLUMNS = (Column("table", "text"), Column("rows", "count"))


def _emit_done(environment: Environment, options: Options, done: Exported) -> Exit:
    """Write how many rows each table got, and say what was read.

    Raises:
        InputError: There was something to read, and nothing of it could be read.

    """
    may_be_empty = bool(options.filter)
    if done.read and not done.rows and not may_be_empty:
        raise InputError("nothing could be read of the inputs", file=", ".join(options.paths))
    answer = Answer(
        f"the tables in {location(options.output or '')}", [Table("tables", COLUMNS, sorted(done.rows.items()))]
    )
    code = emit(environment, answer, options)
    environment.flush()
    parts = [counted(done.read, "input file"), f"{done.size:,} bytes read"]
    if done.known:
        parts.append(f"{counted(done.known, 'input file')} unchanged")
    if done.faults:
        parts.append(f"{counted(done.faults, 'gap or file', 'gaps or files')} that cannot be read (table faults)")
    if may_be_empty and done.read and not done.rows.get("frames"):
        parts.append("no frame matches --filter")
    _note(environment, ", ".join(parts))
    return code


def _note(environment: Environment, text: str) -> None:
    environment.note(f"kwire: {text}")
