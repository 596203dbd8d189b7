"""The question what captures and logs hold, and what matters most in them.

Traffic is counted by the queries in `questions/summary`, over the tables that the diagnosis fills. Batches of logs are
counted here.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.subjects import LogItem
from kwire_cli.analysis.summary_answer import summary_answer
from kwire_cli.analysis.summary_parts import InputFacts, Logs, facts_of
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kwire_cli.answer import Answer
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.reading import Opened
    from kwire_cli.source.request_log.exchange import Exchange

    Subject = Captured | TcpConnection | Exchange | LineFault | LogItem


def queries() -> Mapping[str, str]:
    """Return the queries of the summary by name."""
    folder = files("kwire_cli.questions") / "summary"
    return {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in folder.iterdir()}


class Summary:
    """The contents of inputs, and what matters most in them: a fold.

    The inputs themselves are told by `end_input`.
    """

    def __init__(self, redaction: Redaction) -> None:
        self.inputs: list[InputFacts] = []
        self.logs = Logs()
        self.line_faults: Counter[str] = Counter()
        self.diagnosis = Diagnosis(redaction, also=queries())

    def end_input(self, opened: Opened) -> None:
        """Take in what is known of an input as a whole, when it was read."""
        self.inputs.append(facts_of(opened))

    def add(self, subject: Subject) -> None:
        """Take in a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        self.diagnosis.add(subject)
        if isinstance(subject, LogItem):
            self.logs.add(subject)
        elif isinstance(subject, LineFault):
            self.line_faults[subject.code] += 1

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query; none if there was no traffic."""
        self.diagnosis.findings()
        return self.diagnosis.answers.get(query, [])

    def answer(self, arguments: str = "INPUT", commands: Collection[str] | None = None) -> Answer:
        """Return the summary.

        `arguments` are the inputs as they are typed, for the commands that the summary proposes. `commands` are the
        commands that there are; with None all are proposed.
        """
        return summary_answer(self, arguments, commands)
