"""The replay of transactions: events of calls and of logs, and the rows of tables.

The columns in `transactions/tables` have the names of fields and properties of transactions and events. Transactions
are assembled separately from traffic and from logs. A transaction in both has two rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.calls import ReplayedTables, place_row
from kwire_cli.analysis.transactions.logged import transactions_in_logs
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.model import MOST_EVENTS, MOST_PLACES, NO_PRODUCER
from kwire_cli.analysis.transactions.tables import EVENTS, TABLES, TRANSACTIONS
from kwire_cli.analysis.transactions.timeline import transactions_in_traffic
from kwire_cli.analysis.transactions.traffic import EVENTS_OF, QUERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Event, Transaction


class TransactionReplay:
    """The events of transactions in bounded memory. `dropped` counts events beyond the limit."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        """The events of traffic in the order of their times. Repeated events of a client are merged."""
        self._last: dict[tuple[str, str | None], Event] = {}
        """The last event of each producer by client."""
        self._logs = LogTransactions()
        self._names: dict[int, str] = {}
        """Transactional ids in traffic by producer id."""
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """The number of events and records beyond the limit."""
        return self._dropped + self._logs.dropped

    def log_item(self, item: LogItem) -> None:
        """Add a batch of a log, or a gap."""
        self._logs.add(item)

    def call(self, call: Call) -> None:
        """Add one of the calls that QUERY returns. Calls must be added in the order of their requests."""
        for event in EVENTS_OF[call.api](call):
            name = event.transactional_id
            producer = event.producer_id
            if name is not None and producer >= 0 and len(self._names) < MOST_EVENTS:
                # A producer id has two names only if the input mixes clusters.
                self._names[producer] = min(self._names.get(producer, name), name)
            self._keep(event)

    def _keep(self, event: Event) -> None:
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

    def rows(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the rows of the tables, each with the name of its table."""
        for event in self._events:
            event.transactional_id = event.transactional_id or self._names.get(event.producer_id)
        records = self._logs.records()
        pieces = self._logs.pieces()
        events = self._events + records
        for piece in pieces:
            events += piece.events
        events.sort(key=_order)
        transactions = transactions_in_traffic(self._events) + transactions_in_logs(records, pieces)
        yield from _rows("transactions", map(_of_transaction, transactions))
        yield from _rows("transaction_events", map(_of_event, events))
        yield from _rows("open_in_logs", self._logs.open())


REPLAYED = ReplayedTables(TABLES, QUERY, TransactionReplay)


def _rows(table: str, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of a table with their ordinals. `rows` contains the values of the other columns, in order."""
    for ordinal, row in enumerate(rows):
        columns = zip(TABLES[table][1:], row, strict=True)
        yield table, [ordinal, *(_cell(name, kind, value, ordinal) for (name, kind, _), value in columns)]


def _of_event(event: Event) -> list[Any]:
    return [getattr(event, name) for name, *_ in EVENTS[1:]]


def _of_transaction(transaction: Transaction) -> list[Any]:
    return [
        transaction.written[name] if name in {"batches", "records", "bytes"} else getattr(transaction, name)
        for name, *_ in TRANSACTIONS[1:]
    ]


def _cell(name: str, kind: Any, value: Any, ordinal: int) -> Any:
    """Return a value in the type of its column."""
    if isinstance(value, Evidence):
        return place_row(value, ordinal)
    if name == "places":
        return [place_row(place, ordinal * MOST_PLACES + at) for at, place in enumerate(value)]
    if name == "errors":
        return dict(sorted(value.items()))
    if kind == "VARCHAR[]":
        return sorted(value) if isinstance(value, set) else [*value]
    if kind == "TIMESTAMPTZ" and value is not None:
        return round(value * 1e6)
    return None if name in {"producer_id", "epoch"} and value == NO_PRODUCER else value


def _order(event: Event) -> tuple[float, int]:
    """Return the sort key of an event: its time, or its place if it has no time."""
    if event.time is None:
        return -1.0, event.place.frame or event.place.line or event.place.offset or 0
    return event.time, event.place.offset or 0
