"""The replay of transactions: events of calls and records of logs, put together and given as rows of tables."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.calls import place_row
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.model import COMMITTED, MOST_EVENTS, NO_PRODUCER, Written
from kwire_cli.analysis.transactions.timeline import MOST_PLACES, transactions_of
from kwire_cli.analysis.transactions.traffic import events_of
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Event, Piece, StateRecord, Transaction

    Row = Sequence[Any]

_WITH_PARTITIONS = {"addPartitions", "verifyPartitions", "produce", "writeMarkers"}


class TransactionReplay:
    """The events of transactions so far, in bounded memory: `dropped` counts those that were too many to keep."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """The events of traffic in the order of their times, those of a client that repeat each other as one."""
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
            if event.transactional_id is not None and event.producer_id >= 0 and len(self._named) < MOST_EVENTS:
                self._name(event.producer_id, event.transactional_id)
            self._keep(event)

    def _name(self, producer: int, name: str) -> None:
        self._named[producer] = min(self._named.get(producer, name), name)  # two of them only if clusters are mixed

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

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the rows of the tables, each with the name of its table."""
        names = self._names()
        pieces = self._logs.pieces()
        records = sorted(self._logs.records.values(), key=lambda record: (record.offset, record.file))
        transactions = transactions_of(self.events, records, pieces, names)
        for ordinal, transaction in enumerate(transactions):
            yield "transactions", (ordinal, *_transaction_row(transaction, ordinal))
        events = [_of_event(event, names) for event in self.events]
        events += [_of_record(record) for record in records]
        for producer, own in pieces.items():
            for partition, piece in own:
                events += _of_piece(partition, names.get(producer), piece)
        events.sort(key=lambda event: event.order)
        for ordinal, event in enumerate(events):
            yield "transaction_events", (ordinal, *_event_row(event, ordinal))
        for ordinal, (log, piece, name, state, is_hanging) in enumerate(self._logs.open(names)):
            place = Evidence("records", instant(piece.begin), file=piece.file, offset=piece.first)
            yield (
                "open_in_logs",
                (
                    ordinal,
                    log.name,
                    piece.producer_id,
                    piece.epoch,
                    name,
                    piece.first,
                    log.end,
                    _microseconds(piece.begin),
                    _microseconds(log.until),
                    between(piece.begin, log.until),
                    state,
                    is_hanging,
                    place_row(place, ordinal),
                ),
            )


class _Event(NamedTuple):
    """An event of traffic or of logs, as a row has it."""

    time: float | None
    name: str | None
    producer_id: int
    epoch: int
    what: str
    detail: str
    place: Evidence
    answered: float | None = None
    requests: int = 1
    errors: Mapping[str, int] = MappingProxyType({})
    is_ok: bool = True
    client: str | None = None

    @property
    def order(self) -> tuple[float, int]:
        """The order of events: by time, and those without a time by their places."""
        if self.time is None:
            return -1.0, self.place.frame or self.place.line or self.place.offset or 0
        return self.time, self.place.offset or 0


def _event_row(event: _Event, ordinal: int) -> Row:
    return (
        _microseconds(event.time),
        _microseconds(event.answered),
        event.name or f"producer {event.producer_id}",
        event.name,
        _known(event.producer_id),
        _known(event.epoch),
        event.what,
        event.requests,
        event.detail,
        dict(event.errors),
        event.is_ok,
        event.client,
        place_row(event.place, ordinal),
    )


def _of_event(event: Event, names: Mapping[int, str]) -> _Event:
    return _Event(
        event.time,
        event.transactional_id or names.get(event.producer_id),
        event.producer_id,
        event.epoch,
        event.what,
        _detail(event),
        event.place,
        event.answered,
        event.count,
        event.errors,
        event.ok,
        event.client,
    )


def _of_record(record: StateRecord) -> _Event:
    detail = record.state + (f": {few(record.partitions)}" if record.partitions else "")
    place = Evidence("", file=record.file, offset=record.offset)
    return _Event(record.time, record.transactional_id, record.producer_id, record.epoch, "state", detail, place)


def _of_piece(partition: str, name: str | None, piece: Piece) -> Iterator[_Event]:
    if piece.first >= 0:
        text = f"{partition}: {counted(piece.written.records, 'record')} in {_batches(piece.written.batches)}"
        place = Evidence("", file=piece.file, offset=piece.first)
        batches = piece.written.batches
        yield _Event(piece.begin, name, piece.producer_id, piece.epoch, "records", text, place, requests=batches)
    if piece.result:
        text = f"{partition}: {'COMMIT' if piece.result == COMMITTED else 'ABORT'}"
        place = Evidence("", file=piece.file, offset=piece.marker)
        yield _Event(piece.marked, name, piece.producer_id, piece.marker_epoch, "marker", text, place)


def _transaction_row(transaction: Transaction, ordinal: int) -> Row:
    written = transaction.written
    return (
        transaction.name,
        transaction.transactional_id,
        _known(transaction.producer_id),
        _known(transaction.epoch),
        _microseconds(transaction.begin),
        _microseconds(transaction.end),
        _microseconds(transaction.decided),
        transaction.duration,
        transaction.timeout,
        transaction.result,
        transaction.ended_by or None,
        sorted(transaction.partitions),
        sorted(transaction.added),
        sorted(transaction.marked),
        transaction.from_beginning,
        [*transaction.groups],
        written.batches,
        written.records,
        written.bytes,
        dict(sorted(transaction.errors.items())),
        [*transaction.clients],
        [place_row(place, ordinal * MOST_PLACES + at) for at, place in enumerate(transaction.places)],
    )


def _known(number: int) -> int | None:
    return None if number == NO_PRODUCER else number


def _microseconds(time: float | None) -> int | None:
    return None if time is None else round(time * 1e6)


def _detail(event: Event) -> str:
    """Return what an event is about in a few words."""
    if event.what in _WITH_PARTITIONS:
        counts = Written()
        for written in event.partitions.values():
            counts.add(written)
        text = few(sorted(event.partitions))
        if counts.records:
            text += f": {counted(counts.records, 'record')} in {_batches(counts.batches)}"
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


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"
