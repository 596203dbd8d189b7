"""The data of `kwire report`, read in one pass: findings, calls, intervals, groups, transactions, clients.

The fold extends the summary with further queries over the same tables: the queries in `questions/report`, and the
queries of other questions. The functions of these questions convert the rows to answers, so that numbers on the page
equal the numbers of the commands. The tables do not contain details of frames, so `seen` collects them during the pass.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.clients import client_blocks
from kwire_cli.analysis.diagnosis.diagnosis import COLUMNS, row_of
from kwire_cli.analysis.groups.groups import PARAMETERS as OF_GROUPS, group_blocks
from kwire_cli.analysis.summary_parts import Contents
from kwire_cli.analysis.summary_tables import tables_of
from kwire_cli.analysis.transactions.transactions import transaction_blocks
from kwire_cli.answer import Answer, Column, Table
from kwire_cli.engine.values import instant
from kwire_cli.questions.traffic import queries_in
from kwire_cli.records.batch import Batch, head_json
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.answer import Block, Row
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.log_inputs import LogItem
    from kwire_cli.source.reading import Opened

MOST_CALLS = 250_000
"""Maximum number of calls for a page. Their size is only known later, when the page is written."""
MOST_BATCHES = 5_000
"""Maximum number of batches of logs on a page, which draws all of them at once."""
_BATCHES = (
    Column("file"),
    Column("position", "id"),
    Column("size", "bytes"),
    Column("baseOffset", "id"),
    Column("lastOffset", "id"),
    Column("count", "count", "records"),
    Column("compression"),
    Column("maxTimestamp", "instant"),
    Column("producerId", "id"),
    Column("isTransactional", "flag"),
    Column("isControl", "flag"),
    Column("anomalies", "list"),
)
_FOLDERS = ("report", "transactions", "groups", "clients")
_OF_LOGS = frozenset({"partitions"})


class Report(Contents):
    """The contents of a page about its inputs.

    `takes` returns whether a frame of a capture is chosen for the page. Without it, all frames are chosen. Findings and
    intervals are always about all frames. `seen` is called with each chosen frame, and returns whether there is room
    for more.
    """

    def __init__(
        self,
        redaction: Redaction,
        takes: Callable[[Captured], bool] | None = None,
        seen: Callable[[Captured], bool] | None = None,
    ) -> None:
        queries: dict[str, str] = {}
        for folder in _FOLDERS:
            queries |= {f"{folder} {name}": text for name, text in queries_in(folder).items()}
        super().__init__(redaction, also=queries)
        self._takes = takes
        self._seen = seen
        self._chosen: list[int] | None = None if takes is None else []
        self.batches: list[Row] = []
        self.batch_count = 0
        self.parameters = {"most": MOST_CALLS, "chosen": self._chosen, "ids": [], "result": None}
        self.parameters |= {"release": None, "today": None, **OF_GROUPS}

    def begin(self, opened: Opened) -> int:
        """Add all frames of a large capture at once if all are chosen, then read the first frames again for `seen`."""
        if self._takes is not None and opened.kind is Kind.CAPTURE:
            return 0
        if added := super().begin(opened):
            for subject in opened.subjects():
                if isinstance(subject, Captured) and not self._see(subject):
                    break
        return added

    def add(self, subject: Any) -> None:
        """Add a line of a capture, a TCP connection, an exchange of a request log, or a batch of a log."""
        super().add(subject)
        if isinstance(subject, Captured) and (self._takes is None or self._takes(subject)):
            if self._chosen is not None:
                self._chosen.append(self._open_tables().count(0))
            self._see(subject)

    def _see(self, line: Captured) -> bool:
        if self._seen is None or not self._seen(line):
            self._seen = None
        return self._seen is not None

    def log_item(self, item: LogItem) -> None:
        """Process a batch of a log, or a gap. The first ones are rows of the page."""
        super().log_item(item)
        self.batch_count += 1
        if len(self.batches) < MOST_BATCHES:
            self.batches.append(_batch_row(item))

    def asked(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query in `questions/report`. The list is empty if there was no traffic."""
        return self.rows_found(f"report {query}")

    def of_commands(self) -> Iterator[tuple[str, Answer]]:
        """Yield the answers of other commands by name, without empty answers."""
        findings = [row_of(finding) for finding in self.findings()]
        yield "findings", Answer("diagnosis", [Table("findings", COLUMNS, findings)])
        if self.rows_found("groups names"):
            yield "groups", Answer("groups", group_blocks(self._of_groups))
        sources = {row["is_in_logs"] for row in self.rows_found("transactions transactions")}
        if sources:
            blocks = transaction_blocks(partial(self._of_transactions, in_logs=False not in sources))
            yield "transactions", Answer("transactions", blocks)
        if clients := self.rows_found("clients clients"):
            versions = self.rows_found("clients versions")
            yield "clients", Answer("clients", [*client_blocks(clients, versions, None)])
        logs: list[Block] = [table._replace(wide=False) for table in tables_of(self) if table.name in _OF_LOGS]
        if len(sources) > 1:
            logs += transaction_blocks(partial(self._of_transactions, in_logs=True))
        if self.batches:
            logs.append(Table("batches", _BATCHES, self.batches, "Batches"))
        if logs:
            yield "logs", Answer("logs", logs)

    def _of_groups(self, query: str) -> list[dict[str, Any]]:
        return self.rows_found(f"groups {query}")

    def _of_transactions(self, query: str, *, in_logs: bool) -> list[dict[str, Any]]:
        """Return the rows about transactions in logs or in traffic. Both may show the same transactions."""
        return [row for row in self.rows_found(f"transactions {query}") if row["is_in_logs"] is in_logs]


def _batch_row(entry: LogItem) -> Row:
    """Return a batch as a row. A gap has only a position, a size and its code."""
    item = entry.item
    if isinstance(item, Batch):
        values = head_json(item) | {"maxTimestamp": instant(item.head.max_timestamp)}
        anomalies = list(dict.fromkeys(note.code for note in item.notes))
    else:
        values = {"position": item.position, "size": item.size}
        anomalies = [item.code]
    values |= {"file": entry.file, "anomalies": anomalies}
    return tuple(values.get(column.name) for column in _BATCHES)
