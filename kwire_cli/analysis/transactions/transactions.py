"""The question what transactions there were, and how they ended: a fold over traffic and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import Evidence, instant
from kwire_cli.analysis.calls import Replayed
from kwire_cli.analysis.transactions.logs import LogTransactions
from kwire_cli.analysis.transactions.model import (
    ABORTED,
    COMMITTED,
    MOST_EVENTS,
    NO_PRODUCER,
    OPEN,
    UNKNOWN,
    Written,
)
from kwire_cli.analysis.transactions.timeline import transactions_of
from kwire_cli.analysis.transactions.traffic import QUERY, events_of
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import Event, HeldBack, Piece, StateRecord, Transaction
    from kwire_cli.answer import Block, Row
    from kwire_cli.message.redaction import Redaction

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
_NAMES_OF_EVENTS = {"addPartitions", "verifyPartitions", "produce", "writeMarkers"}


class Found(NamedTuple):
    """The events of traffic in the order of their times, and what was put together from them and from logs.

    `names` are transactional ids and `pieces` the parts of transactions in logs, both by producer id. Transactions are
    in the order of their begin; `held_back` are the open ones in logs.
    """

    events: list[Event]
    names: dict[int, str]
    pieces: dict[int, list[tuple[str, Piece]]]
    transactions: list[Transaction]
    held_back: list[HeldBack]


class TransactionState:
    """The events of transactions so far, in bounded memory: `dropped` counts those that were too many to keep."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """The events of traffic in the order of their times, those of a client that repeat each other as one."""
        self._last: dict[tuple[str | int, str], Event] = {}
        """The last event of each producer by client."""
        self.logs = LogTransactions()
        self.names: dict[int, str] = {}
        """Transactional ids by producer id."""
        self.dropped = 0

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a log, or a gap."""
        self.logs.add(item)

    def call(self, call: Call) -> None:
        """Take one of the calls of QUERY, in the order of their requests."""
        for event in events_of(call):
            if event.transactional_id is not None and event.producer_id >= 0 and len(self.names) < MOST_EVENTS:
                self._name(event.producer_id, event.transactional_id)
            self._keep(event)

    def _name(self, producer: int, name: str) -> None:
        self.names[producer] = min(self.names.get(producer, name), name)  # two of them only if clusters are mixed

    def _keep(self, event: Event) -> None:
        key = event.transactional_id or event.producer_id, event.client
        last = self._last.get(key)
        if last is not None and last.repeats(event):
            last.extend(event)
        elif len(self.events) < MOST_EVENTS:
            self.events.append(event)
            self._last[key] = event
        else:
            self.dropped += 1
            self._last.pop(key, None)

    def _producers(self) -> dict[int, str]:
        by_records = {record.producer_id: record.transactional_id for record in self.logs.records}
        latest = {record.producer_id: record.transactional_id for record in self.logs.latest.values()}
        names = by_records | latest | self.names
        names.pop(NO_PRODUCER, None)
        return names

    def ids(self) -> list[str]:
        """Return all transactional ids, in order."""
        told = {event.transactional_id for event in self.events} | {*self._producers().values()}
        told |= {record.transactional_id for record in self.logs.records} | {*self.logs.latest}
        return sorted(name for name in told if name)

    def found(self) -> Found:
        """Return all transactions, and what they were put together from."""
        events, names, pieces = self.events, self._producers(), self.logs.pieces()
        transactions = transactions_of(events, self.logs.records, pieces, names)
        return Found(events, names, pieces, transactions, self.logs.held_back(names))


class Transactions(Replayed[TransactionState]):
    """The transactions in captures, request logs and log directories: a fold."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, QUERY, TransactionState())

    def ids(self) -> list[str]:
        """Return all transactional ids, in order."""
        return self.state.ids()

    def answer(self, ids: Collection[str] = (), *, only_open: bool = False) -> Answer:
        """Return the transactions: those of transactional ids, and those that are open at the end of the input."""
        state = self.state
        found, logs, dropped = state.found(), state.logs, state.dropped
        held = [row for row in found.held_back if not ids or row.transactional_id in ids]
        rows = [
            transaction
            for transaction in found.transactions
            if (not ids or transaction.transactional_id in ids) and (not only_open or transaction.result == OPEN)
        ]
        wanted = {transaction.name for transaction in rows} if only_open else None
        events = [
            row
            for row in _event_rows(found, logs.records)
            if (not ids or row[1] in ids) and (wanted is None or (row[1] or f"producer {row[2]}") in wanted)
        ]
        blocks: list[Block] = [
            Facts(_facts(rows)),
            Table("transactions", TRANSACTIONS, [_row(transaction) for transaction in rows], shown=MOST_ROWS),
        ]
        if held:
            note = "the first open transaction of a partition holds back readers of committed records"
            blocks.append(Table("heldBack", HELD_BACK, [_held_row(row) for row in held], shown=MOST_ROWS, note=note))
        blocks.append(Table("events", EVENTS, events, shown=None if ids else MOST_ROWS))
        if dropped + logs.dropped:
            blocks.append(Note(f"{counted(dropped + logs.dropped, 'event')} more were too many to keep", "warning"))
        if not rows:
            blocks.append(Note("there is no such transaction in this" if ids or only_open else "no transaction"))
        return Answer("transactions", blocks)


def _facts(transactions: list[Transaction]) -> list[Fact]:
    results = {
        result: count
        for result in (COMMITTED, ABORTED, OPEN, UNKNOWN)
        if (count := sum(transaction.result == result for transaction in transactions))
    }
    durations = [transaction.duration for transaction in transactions if transaction.duration is not None]
    facts = [
        Fact("transactionalIds", len({transaction.name for transaction in transactions}), "count"),
        Fact("transactions", results, "map"),
    ]
    if durations:
        facts.append(Fact("longestSeconds", max(durations), "duration", "longest"))
    return facts


def _row(transaction: Transaction) -> Row:
    written = transaction.written
    return (
        transaction.transactional_id,
        _number(transaction.producer_id),
        _number(transaction.epoch),
        instant(transaction.begin),
        instant(transaction.end),
        transaction.duration,
        transaction.result,
        transaction.ended_by or None,
        sorted(transaction.partitions),
        [*transaction.groups],
        written.batches,
        written.records,
        written.bytes,
        dict(sorted(transaction.errors.items())),
        [*transaction.clients],
        transaction.timeout,
    )


def _held_row(row: HeldBack) -> Row:
    return (
        row.partition,
        row.producer_id,
        row.epoch,
        row.transactional_id,
        row.first_offset,
        row.end_offset,
        row.behind,
        instant(row.since),
        row.coordinator,
        row.hanging,
        row.file,
    )


def _number(number: int) -> int | None:
    return None if number == NO_PRODUCER else number


def _event_rows(found: Found, records: Iterable[StateRecord]) -> list[Row]:
    """Return the rows of all events in the order of time, of calls without a time in the order of their places."""
    rows: list[tuple[tuple[float, int], Row]] = []
    names = found.names
    for event in found.events:
        at = event.time if event.time is not None else -1.0
        name = event.transactional_id or names.get(event.producer_id)
        head = name, _number(event.producer_id), _number(event.epoch), event.what, event.count, _detail(event)
        tail = dict(event.errors), event.client, *_place(event.place)
        number = 0 if event.time is not None else event.place.frame or event.place.line or 0
        rows.append(((at, number), (instant(event.time), *head, *tail)))
    for record in set(records):
        detail = record.state + (f": {few(record.partitions)}" if record.partitions else "")
        place = Evidence("", file=record.file, offset=record.offset)
        ids = _number(record.producer_id), _number(record.epoch)
        row = (instant(record.time), record.transactional_id, *ids, "state", 1, detail, {}, None, *_place(place))
        rows.append(((record.time if record.time is not None else -1.0, record.offset), row))
    for producer, pieces in found.pieces.items():
        for partition, piece in pieces:
            rows += _piece_rows(partition, names.get(producer), piece)
    return [row for _, row in sorted(rows, key=lambda pair: (pair[0], str(pair[1])))]


def _piece_rows(partition: str, name: str | None, piece: Any) -> Iterator[tuple[tuple[float, int], Row]]:
    if piece.first >= 0:
        text = f"{partition}: {counted(piece.written.records, 'record')} in {_batches(piece.written.batches)}"
        place = _place(Evidence("", file=piece.file, offset=piece.first))
        row = instant(piece.begin), name, piece.producer_id, piece.epoch, "records", piece.written.batches, text
        yield (piece.begin if piece.begin is not None else -1.0, piece.first), (*row, {}, None, *place)
    if piece.result:
        text = f"{partition}: {'COMMIT' if piece.result == COMMITTED else 'ABORT'}"
        place = _place(Evidence("", file=piece.file, offset=piece.marker))
        row = instant(piece.marked), name, piece.producer_id, piece.marker_epoch, "marker", 1, text
        yield (piece.marked if piece.marked is not None else -1.0, piece.marker), (*row, {}, None, *place)


def _place(place: Evidence) -> Row:
    return place.capture, place.frame, place.stream, place.file, place.line, place.offset


def _detail(event: Event) -> str:
    """Return what an event is about in a few words."""
    if event.what in _NAMES_OF_EVENTS:
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
