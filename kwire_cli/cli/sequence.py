"""`kwire sequence`: clients and brokers as a ladder (sequence diagram).

A `Ladder` collects the calls that the options select. If no call matches, the answer suggests commands that list the
values of the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.ladder import MOST_ARROWS, Ladder
from kwire_cli.analysis.subjects import TRAFFIC
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.options import REPORT_FORMATS, Choosing, OfGroups, OfTransactions
from kwire_cli.cli.questions import Asking, ask, without_calls
from kwire_cli.cli.typed_options import option, takes
from kwire_cli.message.redaction import Redaction

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

EXAMPLES = (
    ("kwire sequence incident.pcap --group payment-workers --top 12", "how a group came to its generations"),
    ("kwire sequence incident.pcap --filter 'frame >= 30 and frame <= 70' -o ladder.svg", "a picture for a ticket"),
    ("kwire sequence incident.pcap --filter error", "failures"),
)


class Options(Choosing, OfGroups, OfTransactions, Asking):
    """Options of `kwire sequence`."""

    PIPED: ClassVar[str] = "table"

    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(REPORT_FORMATS),
        help="Set the output format; table and svg draw.  [default: by the suffix of -o, and the place]",
    )
    top: int | None = option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Show only the first N requests and responses.  [default: {MOST_ARROWS}]",
    )


@click.command(name="sequence", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Draw who sends what to whom: clients and brokers, with an arrow for each request and response.

    INPUT is packet captures or brokers' request logs, or - for standard input. Arrows are in the order of
    time, with the important parts of each call: groups, generations, producers, offsets, errors.
    """
    refuse_place(environment, options)
    most = MOST_ARROWS if options.top is None else options.top
    choice = Choice(options, options.catalog)
    takes = choice.takes if choice.chooses else None
    ladder = Ladder(Redaction(options.catalog), options.group, options.transactional_id, most=most, takes=takes)
    with environment.answering():
        ask(environment, options, ladder, takes=TRAFFIC, connections=True, checked=True)
        chosen = {
            "--filter": [options.filter] if options.filter else [],
            "--group": options.group,
            "--transactional-id": options.transactional_id,
        }
        return emit(environment, ladder.answer(without_calls(options.source, chosen)), options)
