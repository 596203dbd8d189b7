"""Transactions in logs: the records and markers of partitions, and the records of `__transaction_state`.

`ProducerState` finds the transactions of each partition while its log is read. The part of a transaction in one
partition is a `Piece`. Copies of a log on several brokers contain the same pieces and the same records of the
coordinator, which count once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import Evidence, between, instant
from kwire_cli.analysis.coordinators import SETTLED, decode_coordinator, events, partitions_in
from kwire_cli.analysis.transactions.model import (
    ABORTED,
    COMMITTED,
    MOST_EVENTS,
    NO_PRODUCER,
    Event,
    LogProblem,
    OpenInLog,
)
from kwire_cli.message.roles import is_internal
from kwire_cli.questions.sentence import size_text
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.producers import ProducerState
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event as LogRecord
    from kwire_cli.analysis.transactions.model import What
    from kwire_cli.records.batch import Head
    from kwire_cli.records.producers import PartitionTransaction, Problem
    from kwire_cli.source.log_inputs import LogItem

MOST_IDS = 1 << 16
"""Maximum number of transactional ids in memory."""
COORDINATOR_DELAY = 0.05
"""Maximum seconds from the first record of a transaction to the coordinator's record about it."""
REMOVED = "Removed"
"""The state of a transactional id whose last record has no value."""
WITH_PARTITIONS = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which the record of the coordinator contains the partitions of an open transaction."""


@dataclass(slots=True)
class PartitionLog:
    """A copy of a partition's log: its folder and the partition, the offset after it, and its newest time."""

    key: tuple[str, str]
    state: ProducerState | None = None
    end: int = 0
    until: float | None = None


class Piece(NamedTuple):
    """The part of a transaction in the log of one partition: an event for its records, and one for its marker."""

    log: PartitionLog
    records: Event | None
    marker: Event | None

    @property
    def partition(self) -> str:
        """The partition."""
        return self.log.key[1]

    @property
    def events(self) -> list[Event]:
        """The events, in the order of the log."""
        return [event for event in (self.records, self.marker) if event]

    @property
    def key(self) -> tuple[str, int, int]:
        """The partition, the producer and the first offset, which are equal in all copies of a log."""
        first = self.events[0]
        return self.partition, first.producer_id, _offset(first)


class LogTransactions:
    """The transactions in logs, and the problems of logs. `dropped` counts those that are beyond the limit."""

    def __init__(self) -> None:
        self.dropped = 0
        self.problems: list[LogProblem] = []
        self._logs: dict[tuple[str, str], PartitionLog] = {}
        """Logs by folder and partition: copies on several brokers are separate logs."""
        self._parts: list[tuple[PartitionLog, PartitionTransaction, str]] = []
        """The parts of transactions, each with the file in which it begins."""
        self._records: dict[tuple[Any, ...], Event] = {}
        """The records of `__transaction_state`. Copies of a record have the same key."""
        self._latest: dict[str | None, Event] = {}
        """The newest record of each transactional id, by its offset."""

    def add(self, item: LogItem) -> None:
        """Add a batch of a log, or a gap. A batch with a wrong checksum is only a problem."""
        batch = item.item
        if not isinstance(batch, Batch):
            if batch.code != PADDING:
                place = Evidence(f"{size_text(batch.size)} at byte", file=item.file, offset=batch.position)
                self._add_problem(LogProblem(topic_partition=item.name, code=batch.code, size=batch.size, place=place))
            return
        if not batch.crc_valid:
            place = Evidence("batch at offset", file=item.file, offset=batch.head.base_offset)
            self._add_problem(LogProblem(topic_partition=item.name, code="CRC_MISMATCH", place=place))
            return
        if item.topic == TRANSACTION_STATE:
            self._add_state(item, batch)
            return
        head = batch.head
        log = self._logs.setdefault(item.log, PartitionLog(item.log))
        if log.state is None or head.base_offset < log.state.next_offset:  # the log begins, or an earlier part of it
            # The sequences of brokers in their own topics have no meaning.
            log.state = ProducerState(head.base_offset, sequences=not is_internal(item.topic or ""))
        problems, began, ended = log.state.append(batch)
        for problem in problems:
            self._add_problem(_problem(item, head, problem))
        log.end = max(log.end, log.state.next_offset)
        if head.max_timestamp >= 0:
            log.until = max(log.until or 0.0, head.max_timestamp / 1000)
        part = ended if ended and ended.first_offset < 0 else began
        if part and len(self._parts) < MOST_EVENTS:
            self._parts.append((log, part, item.file))
        elif part:
            self.dropped += 1

    def _add_problem(self, problem: LogProblem) -> None:
        if len(self.problems) < MOST_EVENTS:
            self.problems.append(problem)
        else:
            self.dropped += 1

    def _add_state(self, item: LogItem, batch: Batch) -> None:
        for event in events([batch]):
            decoded = decode_coordinator(catalog(), TRANSACTION_STATE, event.key, event.value)
            if event.control or decoded is None:
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
    def _pieces(self) -> list[Piece]:
        """The parts of transactions in all logs, with the transactional ids of their producers."""
        names = {own.producer_id: own.transactional_id for own in (*self._records.values(), *self._latest.values())}
        names.pop(NO_PRODUCER, None)
        pieces = [_piece(*part) for part in self._parts]
        for piece in pieces:
            for event in piece.events:
                event.transactional_id = names.get(event.producer_id)
        return pieces

    def pieces(self) -> list[Piece]:
        """Return the parts of transactions, each once if there are copies. Nothing can be added afterwards."""
        once: dict[tuple[str, int, int], Piece] = {}
        for piece in self._pieces:
            before = once.setdefault(piece.key, piece)
            if piece.marker and not before.marker:
                once[piece.key] = piece
        return [*once.values()]

    def open(self) -> Iterator[OpenInLog]:
        """Yield the open transactions of all partitions, each in the order of its log."""
        latest = {record.producer_id: record for record in self._latest.values()}
        newest = max((record.time for record in latest.values() if record.time is not None), default=None)
        for log, records, marker in sorted(self._pieces, key=lambda piece: piece.log.key):
            if marker or records is None:
                continue
            record = latest.get(records.producer_id)
            yield OpenInLog(
                transactional_id=records.transactional_id,
                producer_id=records.producer_id,
                epoch=records.epoch,
                topic_partition=log.key[1],
                first_offset=_offset(records),
                end_offset=log.end,
                since=records.time,
                open_s=between(records.time, log.until),
                coordinator=record.about if record else None,
                is_hanging=_is_hanging(record, log, records, newest),
                place=records.place,
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


def _problem(item: LogItem, head: Head, problem: Problem) -> LogProblem:
    return LogProblem(
        producer_id=head.producer_id,
        epoch=head.producer_epoch,
        topic_partition=item.name,
        code=problem.code,
        text=problem.text,
        missing=problem.missing,
        place=Evidence("batch", file=item.file, offset=head.base_offset),
    )


def _piece(log: PartitionLog, part: PartitionTransaction, file: str) -> Piece:
    """Return a part of a transaction that starts in a file."""
    records = None
    marker = None
    if part.first_offset >= 0:
        records = _event("records", log, part, part.epoch, part.since, file, part.first_offset)
        records.written.update(batches=part.batches, records=part.records, bytes=part.bytes)
        records.count = part.batches
    if end := part.marker:
        marker = _event("marker", log, part, end.epoch, end.timestamp, file, end.offset)
        marker.result = COMMITTED if end.commit else ABORTED
    return Piece(log, records, marker)


def _event(
    what: What, log: PartitionLog, part: PartitionTransaction, epoch: int, milliseconds: int, file: str, offset: int
) -> Event:
    time = _seconds(milliseconds)
    place = Evidence(what, instant(time), file=file, offset=offset)
    partitions = {log.key[1]: None}
    return Event(event=what, time=time, producer_id=part.producer_id, epoch=epoch, place=place, partitions=partitions)


def _state(file: str, event: LogRecord, record: CoordinatorRecord) -> Event:
    """Return a record of `__transaction_state` as an event. A tombstone removes the transactional id."""
    value = record.value
    state = record.status if value else REMOVED
    time = _seconds(event.timestamp)
    place = Evidence(f"{state} record", instant(time), file=file, offset=event.offset)
    found = Event(
        event="state",
        time=time,
        transactional_id=record.name,
        producer_id=int(value.get("producerId", NO_PRODUCER)),
        epoch=int(value.get("producerEpoch", -1)),
        place=place,
        about=state,
        partitions=dict.fromkeys(partitions_in(value)),
        began=_seconds(value.get("transactionStartTimestampMs", -1)),
        timeout=_seconds(value.get("transactionTimeoutMs", -1)),
    )
    if state.endswith("Commit"):
        found.result = COMMITTED
    elif state.endswith("Abort"):
        found.result = ABORTED
    return found


def _seconds(time: int) -> float | None:
    return time / 1000 if time >= 0 else None


def _offset(event: Event) -> int:
    return event.place.offset or 0
