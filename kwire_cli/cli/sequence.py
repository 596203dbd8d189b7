"""`kwire sequence`: clients and brokers as a ladder (sequence diagram)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.call_labels import groups_of, transactions_of
from kwire_cli.analysis.calls import Calls, LoggedCall
from kwire_cli.analysis.ladder import MOST_ARROWS, Ladder
from kwire_cli.analysis.subjects import TRAFFIC
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit, refuse_place
from kwire_cli.cli.inputs import FITS
from kwire_cli.cli.options import Choosing, LadderReport, OfGroups, OfTransactions
from kwire_cli.cli.questions import Asking, ask
from kwire_cli.cli.typed_options import option, takes
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from kwire_cli.analysis.calls import Call, CapturedCall
    from kwire_cli.analysis.fold import Traffic
    from kwire_cli.cli.environment import Environment, Exit
    from kwire_cli.source.kafka.captured import Captured

EXAMPLES = (
    ("kwire sequence incident.pcap --group payment-workers", "how a group came to its generations"),
    ("kwire sequence incident.pcap --frames 30-70 -o ladder.svg", "a picture for a ticket"),
    ("kwire sequence incident.pcap --filter error --format mermaid", "failures, as text that GitHub draws"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Choosing, OfGroups, OfTransactions, LadderReport, Asking):
    """Options of `kwire sequence`."""

    PIPED: ClassVar[str] = "text"

    limit: int = option(
        "--limit",
        "-n",
        section="Choose",
        type=click.IntRange(min=0),
        default=MOST_ARROWS,
        show_default=True,
        metavar="N",
        help="Show at most this many requests and responses.",
    )


@click.command(name="sequence", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Draw who sends what to whom: clients and brokers, with an arrow for each request and response.

    INPUT is packet captures or brokers' request logs, or - for standard input. Arrows come in the order of
    time, with what matters of each call: groups, generations, producers, offsets, errors.
    """
    refuse_place(environment, options)
    chosen = _Chosen(options)
    with environment.answering():
        ask(environment, options, chosen, takes=TRAFFIC, connections=True, fits=FITS)
        chosen.end()
        return emit(environment, chosen.ladder.answer(), options)


class _Chosen:
    """The calls that the options choose, put into a ladder: a counter of subjects."""

    def __init__(self, options: Options) -> None:
        self.ladder = Ladder(options.limit if options.top is None else min(options.limit, options.top))
        self._choice = Choice(options, options.catalog)
        self._groups, self._transactions = frozenset(options.group), frozenset(options.transactional_id)
        self._calls = Calls()
        self._taken: set[tuple[str | None, int]] = set()

    def add(self, subject: Traffic | TcpConnection) -> None:
        """Take in a line of a capture, a TCP connection, or an exchange of a request log."""
        if isinstance(subject, TcpConnection):
            for call in self._calls.end((subject.capture, subject.stream)):
                self._add(call, unanswered=subject.closed_by is not None)
        elif isinstance(subject, Exchange):
            logged = LoggedCall(subject)
            if self._is_about(logged):
                self.ladder.add(logged)
        elif not isinstance(subject, LineFault) and subject.is_frame:
            self._line(subject)

    def _line(self, line: Captured) -> None:
        """Put a line to its call. A chosen request is remembered until its call is complete."""
        takes_line = self._choice.takes(line)
        if takes_line and line.kind == "request":
            self._taken.add(_key(line))
        for call in self._calls.add(line):
            self._add(call, response=takes_line and call.answer is line)

    def _add(self, call: CapturedCall, *, response: bool = False, unanswered: bool = False) -> None:
        key = _key(call.line)
        request = key in self._taken
        self._taken.discard(key)
        if (request or response) and self._is_about(call):
            self.ladder.add(call, request=request, response=response, unanswered=unanswered)

    def end(self) -> None:
        """Take in the requests that nothing came for."""
        for call in self._calls.end():
            self._add(call)

    def merge(self, other: _Chosen) -> None:
        """Take in the calls that another one was given."""
        self.end()
        other.end()
        self.ladder.merge(other.ladder)

    def _is_about(self, call: Call) -> bool:
        if not self._groups and not self._transactions:
            return True
        return not self._groups.isdisjoint(groups_of(call)) or not self._transactions.isdisjoint(transactions_of(call))


def _key(line: Captured) -> tuple[str | None, int]:
    return line.origin.capture, line.number
