"""`kwire FILE`, also `kwire summary FILE`: an overview of captures and logs, with the most important findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.summary import Summary
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.inputs import reading_of
from kwire_cli.cli.options import REPORT_FORMATS
from kwire_cli.cli.questions import WITH_LAKES, Asking, ask, typed_inputs
from kwire_cli.cli.typed_options import option, takes
from kwire_cli.message.redaction import Redaction

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

EXAMPLES = (
    ("kwire incident.pcap", "what a capture holds, and what is wrong in it"),
    ("kwire kafka-logs", "a log directory: topics, records, bytes, codecs"),
    ("kwire summary incident.pcap -o summary.html", "the same as a page for a ticket"),
)


class Options(Asking):
    """Options of `kwire summary`."""

    PIPED: ClassVar[str] = "table"

    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(REPORT_FORMATS),
        help="Set the output format.  [default: table; by the suffix of -o]",
    )


@click.command(name="summary", cls=Command, examples=EXAMPLES, hidden=True)
@takes(Options)
def overview(environment: Environment, options: Options) -> Exit:
    """Show what captures, request logs and log directories hold, on one screen.

    INPUT is files and folders, counted together, or - for standard input. The summary has brokers and clients,
    traffic, latencies and errors, what the capture lacks, the most important findings, and commands to type
    next. `kwire INPUT` without a command does the same for captures, request logs, folders and lakes.
    """
    summary = Summary(Redaction(reading_of(options).catalog))
    with environment.answering():
        ask(environment, options, summary, takes=WITH_LAKES, connections=True)
        answer = summary.answer(typed_inputs(options))
        return emit(environment, answer, options)
