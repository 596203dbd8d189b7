"""The question about transactions, their events and their results.

The replay fills tables, and the queries in `questions/transactions` select rows of them. This module defines the
columns of the answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.subjects import LOGS
from kwire_cli.analysis.transactions.model import OPEN
from kwire_cli.analysis.transactions.replay import REPLAYED
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import InputError
from kwire_cli.questions.traffic import queries_in, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kwire_cli.answer import Block
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.reading import Opened

TRANSACTIONS = (
    Column("transactionalId", title="transactional id", absent="(not known)"),
    Column("producerId", "id", "producer", keep=3),
    Column("epoch", "id", keep=4),
    Column("begin", "instant", absent="before the input"),
    Column("end", "instant", keep=6),
    Column("durationSeconds", "duration", "duration", keep=1),
    Column("result", level="info"),
    Column("endedBy", title="ended by", keep=7),
    Column("partitions", "list", keep=2),
    Column("offsetsGroups", "list", "offsets of", keep=2),
    Column("batches", "count", keep=5, sparse=True),
    Column("records", "count", keep=5, sparse=True),
    Column("bytes", "bytes", keep=8, sparse=True),
    Column("errors", "map", level="error"),
    Column("clients", "list", keep=5),
    Column("timeoutSeconds", "duration", wide=True),
)
EVENTS = (
    Column("time", "instant", digits=3),
    Column("transactionalId", title="transactional id", absent="(not known)"),
    Column("producerId", "id", "producer", keep=4),
    Column("epoch", "id", keep=4),
    Column("event"),
    Column("count", "count", keep=4, wide=True),
    Column("detail"),
    Column("errors", "map", level="error"),
    Column("client", keep=3),
    Column("capture", wide=True),
    Column("frame", "id", keep=5),
    Column("stream", "id", wide=True),
    Column("file", keep=7, wide=True),
    Column("line", "id", keep=6),
    Column("offset", "id", keep=5),
)
HELD_BACK = (
    Column("partition"),
    Column("producerId", "id", "producer"),
    Column("epoch", "id", keep=2),
    Column("transactionalId", title="transactional id", keep=1, absent="(not known)"),
    Column("firstOffset", "id", "first offset"),
    Column("endOffset", "id", "end offset", keep=3),
    Column("behind", "count"),
    Column("since", "instant", keep=1),
    Column("coordinator", title="coordinator says", absent="-"),
    Column("hanging", "flag", level="error"),
    Column("file", wide=True),
)


APART = "traffic and logs may show the same transactions: ask about each in a run of its own"
"""The error for inputs of both kinds."""


class Transactions(TableFold):
    """The transactions in captures and request logs, or in log directories."""

    needs_batches = True

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, queries_in("transactions"), (REPLAYED,))
        self._are_logs: set[bool] = set()

    def begin(self, opened: Opened) -> int:
        """Add all of a large capture at once. Raise InputError if the inputs combine traffic and logs."""
        self._are_logs.add(opened.kind in LOGS)
        if len(self._are_logs) > 1:
            raise InputError(APART)
        return super().begin(opened)

    def ids(self) -> list[str]:
        """Return all transactional ids, in order. Nothing can be added afterwards."""
        self.finish()
        return [row["transactional_id"] for row in self.rows("ids")]

    def answer(self, ids: Collection[str] = (), *, only_open: bool = False) -> Answer:
        """Return the transactions of some transactional ids, or only open transactions at the end of the input.

        Nothing can be added afterwards.
        """
        self.finish()
        rows = partial(self.rows, ids=[*ids], result=OPEN if only_open else None)
        blocks = transaction_blocks(rows, is_chosen=bool(ids) or only_open, cuts=not ids)
        return Answer("transactions", [*blocks, *self.dropped_notes()])


def transaction_blocks(
    rows: Callable[[str], Sequence[Mapping[str, Any]]], *, is_chosen: bool = False, cuts: bool = True
) -> list[Block]:
    """Return the facts and tables of transactions in traffic or in logs.

    `rows` returns the rows of a query in `questions/transactions`, of one of the two sources.
    `is_chosen` is true if only some transactions were requested. `cuts` limits the displayed events.
    """
    transactions, held = rows("transactions"), rows("held_back")
    facts: Mapping[str, Any] = next(iter(rows("facts")), {"names": 0, "results": {}, "longest_s": None})
    about = [Fact("transactionalIds", facts["names"], "count"), Fact("transactions", facts["results"], "map")]
    if facts["longest_s"] is not None:
        about.append(Fact("longestSeconds", facts["longest_s"], "duration", "longest"))

    def table(name: str, columns: tuple[Column, ...], of: Sequence[Mapping[str, Any]]) -> Table:
        return Table(name, columns, rows_of(columns, of), shown=MOST_ROWS)

    blocks: list[Block] = [Facts(about), table("transactions", TRANSACTIONS, transactions)]
    if held:
        note = "the first open transaction of a partition holds back readers of committed records"
        blocks.append(table("heldBack", HELD_BACK, held)._replace(note=note))
    blocks.append(table("events", EVENTS, rows("events"))._replace(shown=MOST_ROWS if cuts else None))
    if not transactions:
        blocks.append(Note("there is no such transaction in this" if is_chosen else "no transaction"))
    return blocks
