"""The replay of transactions: events of calls and records of logs, put together and given as rows of tables.

A row has the values of the columns in `transactions/tables`: fields of a transaction or an event, or values that are
computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.calls import ReplayedTables, place_row
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.model import COMMITTED, MOST_EVENTS, MOST_PLACES, NO_PRODUCER, Event, total
from kwire_cli.analysis.transactions.tables import TABLES
from kwire_cli.analysis.transactions.timeline import transactions_of
from kwire_cli.analysis.transactions.traffic import QUERY, events_of
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Piece, StateRecord, Transaction, Written

    Values = Mapping[str, Any]

_WITH_PARTITIONS = {"addPartitions", "verifyPartitions", "produce", "writeMarkers"}


class TransactionReplay:
    """The events of transactions so far, in bounded memory: `dropped` counts those that were too many to keep."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """The events of traffic in the order of their times. Events of a client that repeat each other are one."""
        self._last: dict[tuple[str | int, str], Event] = {}
        """The last event of each producer by client."""
        self._logs = LogTransactions()
        self._named: dict[int, str] = {}
        """Transactional ids in traffic by producer id."""
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """The events and records that were too many to keep."""
        return self._dropped + self._logs.dropped

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log, or a gap."""
        self._logs.add(item)

    def call(self, call: Call) -> None:
        """Take one of the calls of QUERY, in the order of their requests."""
        for event in events_of(call):
            name = event.transactional_id
            producer = event.producer_id
            if name is not None and producer >= 0 and len(self._named) < MOST_EVENTS:
                # A producer id has two names only if clusters are mixed.
                self._named[producer] = min(self._named.get(producer, name), name)
            self._keep(event)

    def _keep(self, event: Event) -> None:
        key = event.transactional_id or event.producer_id, event.client
        last = self._last.get(key)
        if last is not None and last.repeats(event):
            last.extend(event)
        elif len(self.events) < MOST_EVENTS:
            self.events.append(event)
            self._last[key] = event
        else:
            self._dropped += 1
            self._last.pop(key, None)

    def _names(self) -> dict[int, str]:
        by_records = {record.producer_id: record.transactional_id for record in self._logs.records}
        latest = {record.producer_id: record.transactional_id for record in self._logs.latest.values()}
        names = by_records | latest | self._named
        names.pop(NO_PRODUCER, None)
        return names

    def rows(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the rows of the tables, each with the name of its table."""
        names = self._names()
        pieces = self._logs.pieces()
        records = sorted(self._logs.records.values(), key=lambda record: (record.offset, record.file))
        transactions = transactions_of(self.events, records, pieces, names)
        events = self.events + [_of_record(record) for record in records]
        for own in pieces.values():
            for partition, piece in own:
                events += _of_piece(partition, piece)
        events.sort(key=_order)
        found: dict[str, Iterator[Values]] = {
            "transactions": map(_of_transaction, transactions),
            "transaction_events": (_of_event(event, names) for event in events),
            "open_in_logs": self._logs.open(names),
        }
        for table, rows in found.items():
            for ordinal, values in enumerate(rows):
                yield table, [_cell(name, kind, values.get(name, ordinal), ordinal) for name, kind, _ in TABLES[table]]


REPLAYED = ReplayedTables(TABLES, QUERY, TransactionReplay)


def _cell(name: str, kind: Any, value: Any, ordinal: int) -> Any:
    """Return a value as a column has it."""
    if isinstance(value, Evidence):
        return place_row(value, ordinal)
    if name == "places":
        return [place_row(place, ordinal * MOST_PLACES + at) for at, place in enumerate(value)]
    if kind == "TIMESTAMPTZ" and value is not None:
        return round(value * 1e6)
    return None if name in {"producer_id", "epoch"} and value == NO_PRODUCER else value


def _of_transaction(transaction: Transaction) -> Values:
    names = (name for name, *_ in TABLES["transactions"] if hasattr(transaction, name))
    return {name: getattr(transaction, name) for name in names} | {
        "ended_by": transaction.ended_by or None,
        "added": sorted(transaction.added),
        "marked": sorted(transaction.marked),
        "groups": [*transaction.groups],
        **_amounts(total(transaction.written)),
        "errors": dict(sorted(transaction.errors.items())),
        "clients": [*transaction.clients],
    }


def _amounts(written: Written) -> Values:
    return {name: written[name] for name in ("batches", "records", "bytes")}


def _of_event(event: Event, names: Mapping[int, str]) -> Values:
    name = event.transactional_id or names.get(event.producer_id)
    return {
        "time": event.time,
        "answered": event.answered,
        "name": name or f"producer {event.producer_id}",
        "transactional_id": name,
        "producer_id": event.producer_id,
        "epoch": event.epoch,
        "event": event.what,
        "count": event.count,
        "detail": _detail(event),
        "errors": dict(event.errors),
        "is_ok": event.ok,
        "client": event.client or None,
        "place": event.place,
    }


def _order(event: Event) -> tuple[float, int]:
    """Return the order of an event: by time, and those without a time by their places."""
    if event.time is None:
        return -1.0, event.place.frame or event.place.line or event.place.offset or 0
    return event.time, event.place.offset or 0


def _of_record(record: StateRecord) -> Event:
    detail = record.state + (f": {few(record.partitions)}" if record.partitions else "")
    place = Evidence("", file=record.file, offset=record.offset)
    return Event(
        "state",
        record.time,
        None,
        record.transactional_id,
        record.producer_id,
        record.epoch,
        place,
        detail=detail,
    )


def _of_piece(partition: str, piece: Piece) -> Iterator[Event]:
    producer = piece.producer_id
    if piece.first >= 0:
        text = f"{partition}: {_written(piece.written)}"
        place = Evidence("", file=piece.file, offset=piece.first)
        count = piece.written["batches"]
        yield Event("records", piece.begin, None, None, producer, piece.epoch, place, detail=text, count=count)
    if piece.result:
        text = f"{partition}: {'COMMIT' if piece.result == COMMITTED else 'ABORT'}"
        place = Evidence("", file=piece.file, offset=piece.marker)
        yield Event("marker", piece.marked, None, None, producer, piece.marker_epoch, place, detail=text)


def _detail(event: Event) -> str:
    """Return what an event is about in a few words."""
    if event.what in _WITH_PARTITIONS:
        counts = total(event.partitions)
        text = few(sorted(event.partitions))
        if counts["records"]:
            text += f": {_written(counts)}"
        if event.implicit:
            text += ", added by the broker"
        if event.what == "writeMarkers":
            text = f"{'COMMIT' if event.result == COMMITTED else 'ABORT'} to {text}"
        return text
    if event.what == "endTransaction":
        return "commit" if event.result == COMMITTED else "abort"
    if event.groups:
        return f"group {few(event.groups)}" + (f": {event.detail}" if event.detail else "")
    return event.detail


def _written(counts: Written) -> str:
    return f"{counted(counts['records'], 'record')} in {counted(counts['batches'], 'batch', 'batches')}"
