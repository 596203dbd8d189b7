"""The replay of transactions: events of calls and of logs, and the rows of tables.

Transactions are assembled separately from traffic and from logs. A transaction in both has two rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import ReplayedTables, calls_in
from kwire_cli.analysis.transactions.logged import transactions_in_logs
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.model import MOST_EVENTS, Event, LogProblem, OpenInLog, Transaction
from kwire_cli.analysis.transactions.timeline import transactions_in_traffic
from kwire_cli.analysis.transactions.traffic import EVENTS_OF, QUERY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.rows import Row
    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.log_inputs import LogItem


class TransactionReplay:
    """The events of transactions in bounded memory. `dropped` counts events beyond the limit."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        """The events of traffic in the order of their times. Repeated events of a client are merged."""
        self._last: dict[tuple[str, str | None], Event] = {}
        """The last event of each producer by client."""
        self._logs = LogTransactions()
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """The number of events and records beyond the limit."""
        return self._dropped + self._logs.dropped

    def log_item(self, item: LogItem) -> None:
        """Add a batch of a log, or a gap."""
        self._logs.add(item)

    def read(self, tables: Tables) -> None:
        """Add the calls in tables."""
        for call in calls_in(tables, QUERY):
            self._call(call)

    def _call(self, call: Call) -> None:
        for event in EVENTS_OF[call.api](call):
            key = event.name, event.client
            last = self._last.get(key)
            if last is not None and last.repeats(event):
                last.extend(event)
            elif len(self._events) < MOST_EVENTS:
                self._events.append(event)
                self._last[key] = event
            else:
                self._dropped += 1
                self._last.pop(key, None)

    def rows(self) -> Iterator[Row]:
        """Yield the transactions, the events, and the open transactions and problems of logs, each in their order."""
        names: dict[int, str] = {}
        for event in self._events:
            if (name := event.transactional_id) and event.producer_id >= 0:
                # A producer id has two names only if the input mixes clusters.
                names[event.producer_id] = min(names.get(event.producer_id, name), name)
        for event in self._events:
            event.transactional_id = event.transactional_id or names.get(event.producer_id)
        records = self._logs.records()
        pieces = self._logs.pieces()
        events = self._events + records
        for piece in pieces:
            events += piece.events
        transactions = transactions_in_traffic(self._events) + transactions_in_logs(records, pieces)
        for rows in (transactions, sorted(events, key=_order), self._logs.open(), self._logs.problems):
            for ordinal, row in enumerate(rows):
                row.ordinal = ordinal
                yield row


ROWS = {
    "transactions": Transaction,
    "transaction_events": Event,
    "open_in_logs": OpenInLog,
    "log_problems": LogProblem,
}
"""The rows of each table."""
REPLAYED = ReplayedTables(ROWS, QUERY, TransactionReplay)


def _order(event: Event) -> tuple[float, int]:
    """Return the sort key of an event: its time, or its place if it has no time."""
    if event.time is None:
        return -1.0, event.place.frame or event.place.line or event.place.offset or 0
    return event.time, event.place.offset or 0
