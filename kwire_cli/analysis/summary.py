"""The question what captures and logs hold, and what matters most in them: several folds over the same subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.diagnosis.model import LogItem
from kwire_cli.analysis.stats import Stats
from kwire_cli.analysis.summary_answer import summary_answer
from kwire_cli.analysis.summary_parts import Course, Lacks, Logs
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault
from kwire_cli.spec.kafka import API_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.answer import Answer
    from kwire_cli.source.kafka.captured import Captured

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem

MOST_GROUPS = 10_000
"""Clients, topics and so on that are counted one by one."""


class InputFacts(NamedTuple):
    """An input that was read: its name as it was given, its kind, files and bytes, and why its reading ended early."""

    name: str
    kind: str
    files: int = 1
    size: int | None = None
    notices: tuple[str, ...] = ()


class Summary:
    """What inputs hold, and what matters most in them: a fold.

    The inputs themselves are told by `add_input`. Statistics, clients and diagnosis are folds of their own, which get
    the same subjects.
    """

    def __init__(self) -> None:
        self.inputs: list[InputFacts] = []
        self.stats = Stats(groups={"api": {}, "broker": {}}, most=MOST_GROUPS)
        self.clients, self.diagnosis = Clients(), Diagnosis()
        self.course, self.lacks, self.logs = Course(), Lacks(), Logs()

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
