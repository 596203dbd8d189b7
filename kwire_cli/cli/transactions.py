"""`kwire transactions`: a timeline of each transactional id in traffic or in log directories.

`kwire sequence --transactional-id` draws the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.options import OfTransactions
from kwire_cli.cli.questions import WITH_LAKES, Asking, ask, ask_with_spark, refuse_missing
from kwire_cli.cli.typed_options import Printing, flag, takes
from kwire_cli.message.redaction import Redaction

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

EXAMPLES = (
    ("kwire transactions payments.pcap", "which transactions there were, and how they ended"),
    ("kwire transactions payments-logs --open", "what is open, and what it holds back"),
    ("kwire transactions payments.pcap --transactional-id settlement-7", "one id, event by event"),
)


class Open(Printing):
    """Options for choosing transactions by their state: --open."""

    SECTION: ClassVar[str] = "Choose"

    open: bool = flag("--open", help="Show only transactions that are open at the end.")


class Options(OfTransactions, Open, Asking, OnSpark):
    """Options of `kwire transactions`."""


@click.command(name="transactions", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Show transactions: begin, partitions, offsets, end, errors.

    INPUT is captures, brokers' request logs, log directories or lakes, several of one kind counted together, or - for
    standard input. With --master, tasks of Spark read each input by itself.
    """
    with environment.answering():
        if options.master is not None:
            ids = options.transactional_id
            answer = ask_with_spark(environment, options, Transactions, ids=ids, only_open=options.open)
            return emit(environment, answer, options)
        transactions = Transactions(Redaction(options.catalog))
        ask(environment, options, transactions, takes=WITH_LAKES)
        refuse_missing("--transactional-id", options.transactional_id, "transactional id", transactions.ids())
        return emit(environment, transactions.answer(options.transactional_id, only_open=options.open), options)
