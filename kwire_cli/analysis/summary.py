"""The question what captures and logs hold, and what matters most in them.

Traffic is counted by the queries in `questions/summary`, over the tables that the diagnosis fills. Batches of logs are
counted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.subjects import LogItem
from kwire_cli.analysis.summary_answer import summary_answer
from kwire_cli.analysis.summary_parts import Contents, facts_of
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.answer import Answer
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.exchange import Exchange

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem


class Summary(Contents):
    """The contents of inputs, and what matters most in them: a fold.

    The inputs themselves are told by `end_input`.
    """

    def end_input(self, opened: Opened) -> None:
        """Take in what is known of an input as a whole, when it was read."""
        self.inputs.append(facts_of(opened))

    def begin(self, opened: Opened) -> int:
        """Take in all of a large capture at once, and return how many subjects it has; 0 if `add` has to take them."""
        return self.diagnosis.begin(opened)

    def add(self, subject: Subject) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        self.diagnosis.add(subject)
        if isinstance(subject, LogItem):
            self.logs.add(subject)
        elif isinstance(subject, LineFault):
            self.line_faults[subject.code] += 1

    def answer(self, arguments: str = "INPUT", commands: Collection[str] | None = None) -> Answer:
        """Return the summary.

        `arguments` are the inputs as they are typed, for the commands that the summary proposes. `commands` are the
        commands that there are; with None all are proposed.
        """
        return summary_answer(self, arguments, commands)
