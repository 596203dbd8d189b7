"""All that `kwire report` asks of its inputs, in one pass: findings, calls, intervals, groups, transactions, clients.

The fold is that of the summary with more queries over the same tables: those in `questions/report`, and those of other
questions, whose own functions make answers of the rows. So a number on the page is the number of the command.
Details of frames are taken by `seen` as the frames come, since they are in no table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.clients import client_blocks
from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS, row_of
from kwire_cli.analysis.groups.groups import PARAMETERS as OF_GROUPS, group_blocks
from kwire_cli.analysis.summary_parts import Contents
from kwire_cli.analysis.summary_tables import tables_of
from kwire_cli.analysis.transactions.transactions import transaction_blocks
from kwire_cli.answer import Answer, Table
from kwire_cli.questions.traffic import queries_in
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened

MOST_CALLS = 250_000
"""Calls that are kept for a page, before it is known how many bytes they take."""
_FOLDERS = ("report", "transactions", "groups", "clients")
_OF_LOGS = frozenset({"partitions"})


class Report(Contents):
    """What a page shows of its inputs.

    `takes` chooses frames of captures for the page, None chooses all; findings and intervals are about all frames.
    `seen` takes the chosen frames, and returns whether there is room for more.
    """

    def __init__(
        self,
        redaction: Redaction,
        takes: Callable[[Captured], bool] | None = None,
        seen: Callable[[Captured], bool] | None = None,
    ) -> None:
        queries = {f"{folder} {name}": text for folder in _FOLDERS for name, text in queries_in(folder).items()}
        super().__init__(redaction, also=queries)
        self._takes = takes
        self._seen = seen
        self._chosen: list[int] | None = None if takes is None else []
        self.parameters = {"most": MOST_CALLS, "chosen": self._chosen, "ids": [], "result": None}
        self.parameters |= {"release": None, "today": None, **OF_GROUPS}

    def begin(self, opened: Opened) -> int:
        """Take all of a large capture at once if all frames are wanted, then the first frames again for `seen`."""
        if self._takes is not None and opened.kind is Kind.CAPTURE:
            return 0
        if added := super().begin(opened):
            for subject in opened.subjects():
                if isinstance(subject, Captured) and not self._see(subject):
                    break
        return added

    def add(self, subject: Any) -> None:
        """Take a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        super().add(subject)
        if isinstance(subject, Captured) and (self._takes is None or self._takes(subject)):
            if self._chosen is not None:
                self._chosen.append(self._made().count(0))
            self._see(subject)

    def _see(self, line: Captured) -> bool:
        if self._seen is None or not self._seen(line):
            self._seen = None
        return self._seen is not None

    def asked(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query in `questions/report`; an empty list if there was no traffic."""
        return self.rows_found(f"report {query}")

    def of_commands(self) -> Iterator[tuple[str, Answer]]:
        """Yield the answers of other commands by name, as far as there is anything in them."""
        findings = [row_of(finding) for finding in self.findings()]
        yield "findings", Answer("diagnosis", [Table("findings", COLUMNS, findings)])
        if self.rows_found("groups names"):
            yield "groups", Answer("groups", group_blocks(self._of_groups))
        if self.rows_found("transactions transactions"):
            blocks = transaction_blocks(self._of_transactions)
            yield "transactions", Answer("transactions", blocks)
        if clients := self.rows_found("clients clients"):
            versions = self.rows_found("clients versions")
            yield "clients", Answer("clients", [*client_blocks(clients, versions, None)])
        if logs := [table._replace(wide=False) for table in tables_of(self) if table.name in _OF_LOGS]:
            yield "logs", Answer("logs", logs)

    def _of_groups(self, query: str) -> list[dict[str, Any]]:
        return self.rows_found(f"groups {query}")

    def _of_transactions(self, query: str) -> list[dict[str, Any]]:
        return self.rows_found(f"transactions {query}")
