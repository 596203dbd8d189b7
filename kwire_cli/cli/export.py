"""The command `kwire export`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_filter
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.options import Captures, Decompression, OverlaidDefinitions, Report, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.filter.rows import filter_of
from kwire_cli.pipeline import lake
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.stores import location, path_of

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit
    from kwire_cli.pipeline.lake.units import Exported

EXAMPLES = (
    ("kwire export incident.pcap -o lake", "tables of a capture as Parquet"),
    ("kwire export kafka-logs -o lake --tables batches,index", "headers of batches, without records"),
    ("kwire export orders-0 -o csv --out-format csv", "records as CSV"),
    ("kwire export incident.pcap -o errors --filter error", "only frames with an error"),
)


def lake_option(text: str) -> Any:
    """Declare -o as the folder of a lake; `text` is its help."""
    return option("--output", "-o", section="Output", metavar="DIR", shell_complete=complete_file, help=text)


def tables_option(**settings: Any) -> Any:
    """Declare --tables, the tables of a lake."""
    return option(
        "--tables",
        section="Choose",
        metavar="A,B",
        help=f"Write only these tables: {', '.join(lake.CHOICES)}.  [default: all but {lake.BODIES}]",
        **settings,
    )


def format_option(**settings: Any) -> Any:
    """Declare --out-format, the format of the files of a lake."""
    return option(
        "--out-format",
        section="Output",
        type=click.Choice(lake.FORMATS),
        help=f"Set the format of the files.  [default: {lake.FORMATS[0]}]",
        **settings,
    )


@dataclass(frozen=True, kw_only=True)
class Options(Report, Captures, Decompression, Secrets, Payloads, OverlaidDefinitions):
    """Options of `kwire export`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="INPUT...", shell_complete=complete_file)
    output: str | None = lake_option("Write the tables into this folder, or to this store.")
    tables: str | None = tables_option()
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
    out_format: str | None = format_option()
    force: bool = flag("--force", section="Output", help="Read inputs again that are in the folder already.")
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

    @property
    def file(self) -> None:
        """No file: -o is the folder of the lake, and what was written is printed."""
        return


@click.command(name="export", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Write captures, logs and request logs as tables for SQL: Parquet, Arrow, CSV or JSON lines.

    Each table is a folder below DIR, with subfolders for capture points and days. Run the command again to add
    new inputs: unchanged inputs are not read again. docs/tables.md lists all tables and columns.
    """
    refuse_place(environment, options)
    lake.check()
    from kwire_cli.pipeline.lake.export import chosen_columns, export

    reading = Reading(
        options.limits, options.show_secrets, options.catalog, key_logs=options.tls_keylog, naming=options.naming
    )
    if options.filter:
        filter_of(options.catalog, options.filter)
    wanted = lake.chosen(options.tables)
    columns = () if options.fields is None else chosen_columns(wanted, options.fields)
    done = export(
        options.paths,
        path_of(options.output or ""),
        Wanted(wanted, reading, options.port, options.filter or None, columns),
        form=options.out_format or lake.FORMATS[0],
        processes=options.jobs,
        note=partial(_note, environment),
        tell=environment.progress.tell,
        again=options.force,
    )
    environment.progress.done()
    return emit_done(environment, done, options, options.paths, options.output or "", may_be_empty=bool(options.filter))


COLUMNS = (Column("table", "text"), Column("rows", "count"))


def emit_done(
    environment: Environment,
    done: Exported,
    options: Report,
    paths: tuple[str, ...],
    folder: str,
    *,
    may_be_empty: bool = False,
) -> Exit:
    """Write how many rows each table got, and say what was read. `may_be_empty` says that a filter may leave no rows.

    Raises:
        InputError: There was something to read, and nothing of it could be read.

    """
    if done.read and not done.rows and not may_be_empty:
        raise InputError("nothing could be read of the inputs", file=", ".join(paths))
    answer = Answer(f"the tables in {location(folder)}", [Table("tables", COLUMNS, sorted(done.rows.items()))])
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
