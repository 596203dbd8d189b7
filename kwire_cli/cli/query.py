"""The command `kwire query`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import argument, option, takes
from kwire_cli.pipeline import lake

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ('kwire query lake "select api, count(*) from frames group by api"', "how often each api occurs"),
    ("kwire query lake --report latency", "which apis are slow"),
    ('kwire query lake "select * from faults" --format jsonl', "what could not be read, for programs"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Report):
    """Options of `kwire query`."""

    folder: str = argument(metavar="DIR", shell_complete=complete_file)
    sql: str | None = argument(metavar="[SQL]", required=False)
    report: str | None = option("--report", section="Choose", metavar="NAME", help="Answer a ready question.")

    def __post_init__(self) -> None:
        if (self.sql is None) == (self.report is None):
            raise click.UsageError("give a query in SQL, or a ready question with --report")


@click.command(name="query", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Ask the tables in DIR, which `kwire export` wrote, with SQL.

    DuckDB runs the query in this process. The tables and their columns are in docs/tables.md; a table that has no
    rows in DIR is empty.
    """
    refuse_place(environment, options)
    lake.check()
    from kwire_cli.pipeline.lake.query import Lake

    with Lake(Path(options.folder)) as tables:
        answer = tables.answer(options.sql) if options.sql is not None else tables.report(options.report or "")
        return emit(environment, answer, options)
