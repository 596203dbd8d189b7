"""Transactions in logs: the records and markers of partitions, and the records of `__transaction_state`.

`ProducerState` finds the transactions of each partition while its log is read. The part of a transaction in one
partition is a `Piece`. Copies of a log on several brokers contain the same pieces and the same records of the
coordinator, which count once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.coordinators import SETTLED, Passed, decode_coordinator, events, partitions_in
from kwire_cli.analysis.transactions.model import (
    ABORTED,
    COMMITTED,
    MOST_EVENTS,
    NO_PRODUCER,
    Event,
)
from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import ProducerState
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event as LogRecord
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.analysis.transactions.model import What
    from kwire_cli.records.producers import PartitionTransaction

MOST_IDS = 1 << 16
"""Maximum number of transactional ids in memory."""
COORDINATOR_DELAY = 0.05
"""Maximum seconds from the first record of a transaction to the coordinator's record about it."""
REMOVED = "Removed"
"""The state of a transactional id whose last record has no value."""
WITH_PARTITIONS = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which the record of the coordinator contains the partitions of an open transaction."""


@dataclass(slots=True)
class Piece:
    """The part of a transaction in the log of one partition: an event for its records, and one for its marker."""

    partition: str
    records: Event | None
    marker: Event | None

    @property
    def events(self) -> list[Event]:
        """The events, in the order of the log."""
        return [event for event in (self.records, self.marker) if event]

    @property
    def at(self) -> int:
        """The first offset."""
        return _offset(self.events[0])

    @property
    def producer_id(self) -> int:
        """The producer."""
        return self.events[0].producer_id


@dataclass
class PartitionLog:
    """The transactions in one copy of a partition's log.

    `key` is the folder and the partition. `state` contains the open transactions of the last part of the log that was
    read, and `files` the files in which they start. `closed` contains the other transactions. `end` is the offset after
    the last batch.
    """

    key: tuple[str, str]
    state: ProducerState
    files: dict[int, str] = field(default_factory=dict)
    closed: list[Piece] = field(default_factory=list)
    end: int = 0
    until: float | None = None

    def open(self) -> list[Piece]:
        """Return the open transactions."""
        return [_piece(self.key[1], part, self.files[producer]) for producer, part in self.state.open.items()]

    def pieces(self) -> list[Piece]:
        """Return the parts of transactions in the order of the log.

        Parts of one transaction in several files are joined.
        """
        joined: list[Piece] = []
        running: dict[int, Piece] = {}
        for piece in sorted([*self.closed, *self.open()], key=lambda piece: piece.at):
            before = running.get(piece.producer_id)
            if before and before.records and not before.marker:
                if piece.records:
                    before.records.extend(piece.records)
                before.marker = piece.marker
            else:
                running[piece.producer_id] = piece
                joined.append(piece)
        return joined


class LogTransactions:
    """The transactions in logs. `dropped` counts parts and records beyond the limit."""

    def __init__(self) -> None:
        self.dropped = 0
        self._logs: dict[tuple[str, str], PartitionLog] = {}
        """Logs by folder and partition: copies on several brokers are separate logs."""
        self._records: dict[tuple[Any, ...], Event] = {}
        """The records of `__transaction_state`. Copies of a record have the same key."""
        self._latest: dict[str | None, Event] = {}
        """The newest record of each transactional id, by its offset."""
        self._kept = 0

    def add(self, item: LogItem) -> None:
        """Add a batch of a log. Ignore gaps and batches with a wrong checksum."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid:
            return
        if item.topic == TRANSACTION_STATE:
            self._add_state(item, batch)
            return
        head = batch.head
        log = self._logs.get(item.log)
        if log is None:
            log = self._logs[item.log] = PartitionLog(item.log, ProducerState(head.base_offset))
        if head.base_offset < log.state.next_offset:  # an earlier part of the log, or another log
            for piece in log.open():
                self._close(log, piece)
            log.state = ProducerState(head.base_offset)
        _, began, ended = log.state.append(batch)
        log.end = max(log.end, log.state.next_offset)
        time = _seconds(head.max_timestamp)
        log.until = max(log.until or 0.0, time) if time is not None else log.until
        if began:
            log.files[head.producer_id] = item.file
        if ended:
            self._close(log, _piece(item.name, ended, log.files.pop(head.producer_id, item.file)))

    def _close(self, log: PartitionLog, piece: Piece) -> None:
        """Store a piece, or count it as dropped."""
        if self._kept < MOST_EVENTS:
            log.closed.append(piece)
            self._kept += 1
        else:
            self.dropped += 1

    def _add_state(self, item: LogItem, batch: Batch) -> None:
        if batch.head.control:
            return
        for event in events([batch], Passed()):
            decoded = decode_coordinator(catalog(), TRANSACTION_STATE, event.key, event.value)
            if decoded is None:
                continue
            record = _state(item.file, event, decoded)
            if len(self._records) < MOST_EVENTS:
                key = event.offset, record.time, record.name, record.producer_id, record.epoch, record.about
                self._records.setdefault(key, record)
            else:
                self.dropped += 1
            before = self._latest.get(record.transactional_id)
            if (before is None and len(self._latest) < MOST_IDS) or (before and _offset(before) <= event.offset):
                self._latest[record.transactional_id] = record

    def records(self) -> list[Event]:
        """Return the records of `__transaction_state` in the order of their offsets."""
        return sorted(self._records.values(), key=lambda record: (_offset(record), record.place.file or ""))

    @cached_property
    def _pieces(self) -> list[tuple[PartitionLog, Piece]]:
        """The parts of transactions in all logs, with the transactional ids of their producers."""
        names = {own.producer_id: own.transactional_id for own in (*self._records.values(), *self._latest.values())}
        names.pop(NO_PRODUCER, None)
        found: list[tuple[PartitionLog, Piece]] = []
        for log in self._logs.values():
            for piece in log.pieces():
                for event in piece.events:
                    event.transactional_id = names.get(event.producer_id)
                found.append((log, piece))
        return found

    def pieces(self) -> list[Piece]:
        """Return the parts of transactions, each once if there are copies. Nothing can be added afterwards."""
        once: dict[tuple[str, int, int], Piece] = {}
        for _, piece in self._pieces:
            key = piece.partition, piece.producer_id, piece.at
            before = once.get(key)
            if before is None or (piece.marker and not before.marker):
                once[key] = piece
        return [*once.values()]

    def open(self) -> Iterator[Sequence[Any]]:
        """Yield the rows of `open_in_logs`: the open transactions of all partitions, each in the order of its log."""
        latest = {record.producer_id: record for record in self._latest.values()}
        newest = max((record.time for record in latest.values() if record.time is not None), default=None)
        for log, piece in sorted(self._pieces, key=lambda pair: pair[0].key):
            records = piece.records
            if piece.marker or records is None:
                continue
            record = latest.get(records.producer_id)
            yield (
                piece.partition,
                records.producer_id,
                records.epoch,
                records.transactional_id,
                records.place.offset,
                log.end,
                records.time,
                log.until,
                between(records.time, log.until),
                record and record.about,
                _is_hanging(record, log, records, newest),
                records.place,
            )


def _is_hanging(record: Event | None, log: PartitionLog, records: Event, newest: float | None) -> bool | None:
    """Return whether the coordinator lacks an open transaction of a log, or None if the files do not show it.

    `newest` is the time of the newest record of the coordinator. The files of a running broker are copied at different
    times. So the coordinator's log must be newer than the start of the transaction, and the partition's log must be
    newer than the last record about the producer, or end long before that record.
    """
    if record is None:
        return None
    if record.about in WITH_PARTITIONS and log.key[1] in record.partitions:
        return False
    if records.time is not None and (newest is None or newest < records.time + COORDINATOR_DELAY):
        return None
    if record.time is not None and log.until is not None and 0 < record.time - log.until < SETTLED:
        return None
    return True


def _piece(partition: str, part: PartitionTransaction, file: str) -> Piece:
    """Return a part of a transaction that starts in a file."""
    piece = Piece(partition, None, None)
    if part.first_offset >= 0:
        piece.records = _event("records", part, part.epoch, part.since, file, part.first_offset)
        piece.records.partitions = {partition: None}
        piece.records.written.update(batches=part.batches, records=part.records, bytes=part.bytes)
        piece.records.count = part.batches
    if part.marker:
        marker = part.marker
        piece.marker = _event("marker", part, marker.epoch, marker.timestamp, file, marker.offset)
        piece.marker.partitions = {partition: None}
        piece.marker.result = COMMITTED if marker.commit else ABORTED
    return piece


def _event(what: What, part: PartitionTransaction, epoch: int, milliseconds: int, file: str, offset: int) -> Event:
    time = _seconds(milliseconds)
    place = Evidence(what, instant(time), file=file, offset=offset)
    return Event(what, time, None, None, part.producer_id, epoch, place)


def _state(file: str, event: LogRecord, record: CoordinatorRecord) -> Event:
    """Return a record of `__transaction_state` as an event. A tombstone removes the transactional id."""
    value = record.value
    state = record.status if value else REMOVED
    time = _seconds(event.timestamp)
    place = Evidence(f"{state} record", instant(time), file=file, offset=event.offset)
    producer = int(value.get("producerId", NO_PRODUCER))
    found = Event("state", time, None, record.name, producer, int(value.get("producerEpoch", -1)), place, about=state)
    found.partitions = dict.fromkeys(partitions_in(value))
    found.began = _seconds(value.get("transactionStartTimestampMs", -1))
    found.timeout = _seconds(value.get("transactionTimeoutMs", -1))
    if state.endswith("Commit"):
        found.result = COMMITTED
    elif state.endswith("Abort"):
        found.result = ABORTED
    return found


def _seconds(time: int) -> float | None:
    return time / 1000 if time >= 0 else None


def _offset(event: Event) -> int:
    return event.place.offset or 0
