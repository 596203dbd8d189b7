"""The options of `kwire scan` that go with some of its reports: they are those of the commands for one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kwire_cli.cli.advise import TOP
from kwire_cli.cli.clients import complete_release
from kwire_cli.cli.options import MOST_ROWS, complete_api, complete_dimensions, complete_message
from kwire_cli.cli.overhead_report import tables_of
from kwire_cli.spec.kafka import RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS: tuple[tuple[str, tuple[str, ...], Any], ...] = (
    (
        "release",
        ("upgrade",),
        click.option(
            "--to",
            "release",
            metavar="RELEASE",
            shell_complete=complete_release,
            help="Name the brokers' new release (upgrade).",
        ),
    ),
    (
        "now",
        ("upgrade",),
        click.option(
            "--from",
            "now",
            metavar="RELEASE",
            shell_complete=complete_release,
            help="Name the brokers' release today (upgrade).",
        ),
    ),
    ("deep", ("verify",), click.option("--deep", is_flag=True, help="Read the records too (verify).")),
    (
        "by",
        ("overhead",),
        click.option(
            "--by",
            multiple=True,
            metavar="A,B",
            shell_complete=complete_dimensions,
            help="Group bytes by these; repeatable, a table each (overhead).",
        ),
    ),
    (
        "records",
        ("overhead",),
        click.option("--records/--no-records", default=True, help="Show what records and batches cost (overhead)."),
    ),
    (
        "limits",
        ("overhead",),
        click.option(
            "--limits/--no-limits",
            default=True,
            help="Show how far the largest items are from their limits (overhead).",
        ),
    ),
    (
        "top",
        ("overhead", "advise"),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Show at most this many rows of each table (overhead, advise).  [default: {MOST_ROWS}, {TOP}; in "
            f"json all]",
        ),
    ),
    (
        "messages",
        ("advise",),
        click.option(
            "--message",
            "-m",
            "messages",
            multiple=True,
            metavar="NAME",
            shell_complete=complete_message,
            help="Count only these messages (advise).",
        ),
    ),
    (
        "apis",
        ("advise",),
        click.option(
            "--api",
            "apis",
            multiple=True,
            metavar="NAME|KEY",
            shell_complete=complete_api,
            help="Count only messages of these apis (advise).",
        ),
    ),
    (
        "min_saving",
        ("advise",),
        click.option(
            "--min-saving",
            type=click.IntRange(min=1),
            default=1,
            metavar="BYTES",
            help="Put only changes that save at least this share into the overlay (advise).",
        ),
    ),
    (
        "half",
        ("advise",),
        click.option("--half", is_flag=True, help="Derive the overlay from the first half of the messages (advise)."),
    ),
    (
        "histograms",
        ("advise",),
        click.option(
            "--histograms",
            type=click.IntRange(min=0),
            default=3,
            metavar="N",
            help="Draw histograms of this many integer fields (advise).",
        ),
    ),
    (
        "write_overlay",
        ("advise",),
        click.option(
            "--write-overlay",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Write the changes that pay as an overlay (advise).",
        ),
    ),
)
"""What a command calls an option, the reports that it goes with, and the option."""


def of_reports(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them."""
    for _, _, option in reversed(_OPTIONS):
        command = option(command)
    return command


def check(options: dict[str, Any]) -> None:
    """UsageError for one that was given without a report that it goes with, for tables by what there is not, and for an
    upgrade to nowhere.
    """
    context = click.get_current_context()
    flags = {each.name: each.opts[0] for each in context.command.params}
    for name, reports, _ in _OPTIONS:
        if options["report"] not in reports and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{flags[name]} goes with --report {' and '.join(reports)}")
    tables_of(options["by"])
    if options["report"] == "upgrade" and not options["release"]:
        raise click.UsageError(f"--report upgrade needs --to RELEASE, such as --to {RELEASE}")
