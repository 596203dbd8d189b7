"""The question what captures and logs hold, and what matters most in them: several folds over the same subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import LogItem
from kwire_cli.analysis.summary_answer import summary_answer
from kwire_cli.analysis.summary_parts import Contents, InputFacts
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.answer import Answer
    from kwire_cli.source.kafka.captured import Captured

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem


class Summary(Contents):
    """The contents of inputs, and what matters most in them: a fold.

    The inputs themselves are told by `add_input`. Statistics, clients and diagnosis are folds of their own, which get
    the same subjects.
    """

    def add_input(self, facts: InputFacts) -> None:
        """Take in what is known of an input as a whole."""
        self.inputs.append(facts)

    def add(self, subject: Subject) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        self.diagnosis.add(subject)
        if isinstance(subject, TcpConnection):
            self.lacks.add_connection(subject)
        elif isinstance(subject, LogItem):
            self.logs.add(subject)
        elif isinstance(subject, Exchange):
            self.stats.add(subject)
            self.clients.add(subject)
            self.course.add_exchange(subject)
        else:
            self.stats.add(subject)
            if not isinstance(subject, LineFault):
                self._line(subject)

    def _line(self, line: Captured) -> None:
        kind = line.kind
        self.course.add_line(line)
        if kind not in {"request", "response"}:
            self.lacks.add_line(line)
        elif kind == "request" or line.errors or line.api_key == API_VERSIONS:
            self.clients.add(line)  # other responses tell nothing of a client that its request did not

    def merge(self, other: Summary) -> None:
        """Take in what another one was given."""
        self.inputs += other.inputs
        self.stats.merge(other.stats)
        self.clients.merge(other.clients)
        self.diagnosis.merge(other.diagnosis)
        self.course.merge(other.course)
        self.lacks.merge(other.lacks)
        self.logs.merge(other.logs)

    def answer(self, arguments: str = "INPUT", commands: Collection[str] | None = None) -> Answer:
        """Return the summary.

        `arguments` are the inputs as they are typed, for the commands that the summary proposes. `commands` are the
        commands that there are; with None all are proposed.
        """
        return summary_answer(self, arguments, commands)
