"""`kwire groups`: joins and leaves of group members with their causes, rebalances and assignments.

They come from the calls of traffic, or from the logs of coordinators. `kwire sequence --group` draws the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.analysis.groups.groups import Groups
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.options import OfGroups
from kwire_cli.cli.questions import WITH_LAKES, Asking, ask, ask_with_spark, refuse_missing
from kwire_cli.cli.typed_options import takes
from kwire_cli.message.redaction import Redaction

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

EXAMPLES = (
    ("kwire groups incident.pcap", "who joins and leaves, and why; what each rebalance moved"),
    ("kwire groups incident.pcap --group payment-workers", "all events of one group"),
    ("kwire groups __consumer_offsets-0", "the groups that a coordinator kept in its log"),
)


class Options(OfGroups, Asking, OnSpark):
    """Options of `kwire groups`."""


@click.command(name="groups", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Show who joins and leaves groups, why they rebalance, and who gets which partitions.

    INPUT is packet captures, brokers' request logs or lakes, and logs of __consumer_offsets, or - for standard input.
    It may have classic, consumer (KIP-848), share and streams groups. With --master, tasks of Spark read each input
    by itself.
    """
    with environment.answering():
        if options.master is not None:
            answer = ask_with_spark(environment, options, Groups, names=options.group)
            return emit(environment, answer, options)
        groups = Groups(Redaction(options.catalog))
        ask(environment, options, groups, takes=WITH_LAKES)
        refuse_missing("--group", options.group, "group", groups.names())
        return emit(environment, groups.answer(options.group), options)
