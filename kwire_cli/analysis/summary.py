"""The question what captures and logs hold, and what matters most in them: several folds over the same subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.diagnosis import FRAMES, Diagnosis
from kwire_cli.analysis.diagnosis.model import LogItem
from kwire_cli.analysis.summary_alike import Alike
from kwire_cli.analysis.summary_answer import summary_answer
from kwire_cli.analysis.summary_parts import Contents, InputFacts, facts_of
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.request_log.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.answer import Answer
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.reading import LineFault

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem


class Summary(Contents):
    """The contents of inputs, and what matters most in them: a fold.

    The inputs themselves are told by `add_input`. Statistics, clients and diagnosis are folds of their own, which get
    the same subjects.
    """

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(Diagnosis(redaction))
        self._alike = Alike(self.stats, self.clients)

    def add_input(self, facts: InputFacts) -> None:
        """Take in what is known of an input as a whole."""
        self.inputs.append(facts)

    def end_input(self, opened: Opened) -> None:
        """Take in what is known of an input as a whole, when it was read."""
        self.add_input(facts_of(opened))

    def add(self, subject: Subject) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        self.diagnosis.add(subject)
        if isinstance(subject, Captured):
            self.course.add_line(subject)
            self._alike.add(subject)
            if subject.seen.plain is None and subject.kind not in FRAMES:
                self.lacks.add_line(subject)
        elif isinstance(subject, TcpConnection):
            self.lacks.add_connection(subject)
        elif isinstance(subject, LogItem):
            self.logs.add(subject)
        elif isinstance(subject, Exchange):
            self.stats.add(subject)
            self.clients.add(subject)
            self.course.add_exchange(subject)
        else:
            self.stats.add(subject)

    def answer(self, arguments: str = "INPUT", commands: Collection[str] | None = None) -> Answer:
        """Return the summary.

        `arguments` are the inputs as they are typed, for the commands that the summary proposes. `commands` are the
        commands that there are; with None all are proposed.
        """
        self._alike.settle()
        return summary_answer(self, arguments, commands)
