"""The options of `kwire scan` that go with some of its reports: they are those of the commands for one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kwire_cli.cli.advise import TOP
from kwire_cli.cli.clients import complete_release
from kwire_cli.cli.options import complete_api, complete_dimensions, complete_message
from kwire_cli.cli.overhead import MOST_ROWS
from kwire_cli.cli.overhead_counting import tables_of

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS: tuple[tuple[str, tuple[str, ...], Any], ...] = (
    (
        "release",
        ("upgrade",),
        click.option("--to", "release", metavar="RELEASE", shell_complete=complete_release, help="Of upgrade: the release of the brokers to be."),
    ),
    (
        "now",
        ("upgrade",),
        click.option("--from", "now", metavar="RELEASE", shell_complete=complete_release, help="Of upgrade: what the brokers are now."),
    ),
    ("deep", ("verify",), click.option("--deep", is_flag=True, help="Of verify: read the records too.")),
    (
        "by",
        ("overhead",),
        click.option(
            "--by",
            multiple=True,
            metavar="A,B",
            shell_complete=complete_dimensions,
            help="Of overhead: group bytes by these; repeatable, a table each.",
        ),
    ),
    ("records", ("overhead",), click.option("--records/--no-records", default=True, help="Of overhead: what records and batches cost.")),
    ("limits", ("overhead",), click.option("--limits/--no-limits", default=True, help="Of overhead: how far the largest are from limits.")),
    (
        "top",
        ("overhead", "advise"),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Of overhead, advise: rows of each table.  [default: {MOST_ROWS}, {TOP}; in json all]",
        ),
    ),
    (
        "messages",
        ("advise",),
        click.option(
            "--message", "-m", "messages", multiple=True, metavar="NAME", shell_complete=complete_message, help="Of advise: these messages alone."
        ),
    ),
    (
        "apis",
        ("advise",),
        click.option(
            "--api", "apis", multiple=True, metavar="NAME|KEY", shell_complete=complete_api, help="Of advise: messages of these apis alone."
        ),
    ),
    (
        "min_saving",
        ("advise",),
        click.option(
            "--min-saving", type=click.IntRange(min=1), default=1, metavar="BYTES", help="Of advise: leave out of the overlay what saves less."
        ),
    ),
    ("half", ("advise",), click.option("--half", is_flag=True, help="Of advise: draw the overlay from the first half of the messages alone.")),
    (
        "histograms",
        ("advise",),
        click.option(
            "--histograms", type=click.IntRange(min=0), default=3, metavar="N", help="Of advise: draw the values of so many integer fields."
        ),
    ),
    (
        "write_overlay",
        ("advise",),
        click.option("--write-overlay", type=click.Path(dir_okay=False), metavar="FILE", help="Of advise: write what pays as an overlay."),
    ),
)
"""What a command calls an option, the reports that it goes with, and the option."""


def of_reports(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them."""
    for _, _, option in reversed(_OPTIONS):
        command = option(command)
    return command


def check(options: dict[str, Any]) -> None:
    """UsageError for one that was given without a report that it goes with, for tables by what there is not, and for an upgrade to nowhere."""
    context = click.get_current_context()
    flags = {each.name: each.opts[0] for each in context.command.params}
    for name, reports, _ in _OPTIONS:
        if options["report"] not in reports and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{flags[name]} goes with --report {' and '.join(reports)}")
    tables_of(options["by"])
    if options["report"] == "upgrade" and not options["release"]:
        raise click.UsageError("--report upgrade needs --to RELEASE, such as --to 4.4")
