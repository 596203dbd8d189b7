"""The command `kwire paper`: a document's own figures, and those that kwire measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.papers.claims import PAPERS, paper
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Definitions, Report
from kwire_cli.cli.typed_options import argument, option, takes

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ("kwire paper kip482 --format csv", "how many of its figures hold"),
    ("kwire paper kip98 --format csv --table measured1", "a table that kwire measures"),
    ("kwire paper kafka9927 --no-times -o kafka9927.html", "all figures, as a page"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Report, Definitions):
    """Options of `kwire paper`."""

    PIPED: ClassVar[str] = "table"

    name: str = argument(type=click.Choice([*PAPERS]))
    times: bool | None = option("--times/--no-times", help="Measure times for longer, or not at all (kafka9927).")


@click.command(name="paper", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Compare a document's figures with those that kwire measures.

    NAME is kip482 (tagged fields), kafka9927 (varints), kip82 (record headers) or kip98 (record sets, a draft).
    """
    return emit(environment, paper(options.name, options.catalog, times=options.times).answer(), options)
