"""Transactions in logs: the records and markers of partitions, and the records of `__transaction_state`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import between
from kwire_cli.analysis.coordinators import SETTLED, Passed, decode_coordinator, events, partitions_in
from kwire_cli.analysis.transactions.model import (
    ABORTED,
    COMMITTED,
    MOST_EVENTS,
    Piece,
    StateRecord,
    Written,
)
from kwire_cli.records.batch import Batch
from kwire_cli.records.producers import ProducerState, Transaction
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.records.producers import Ended

MOST_IDS = 1 << 16
"""Transactional ids that are known at a time."""
COORDINATOR_DELAY = 0.05
"""Seconds that may pass from the time of a record to the record of the coordinator about its transaction."""
REMOVED = "Removed"
"""The state of a transactional id whose last record has no value."""
WITH_PARTITIONS = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which the coordinator knows the partitions of a transaction that has not ended."""


@dataclass
class PartitionLog:
    """The transactions in one copy of a partition's log.

    `state` has the open transactions of the part of the log that was read last, and `files` where they begin. `closed`
    are the others. `end` is the offset after the last batch.
    """

    name: str
    state: ProducerState = field(default_factory=ProducerState)
    files: dict[int, str] = field(default_factory=dict)
    closed: list[Piece] = field(default_factory=list)
    end: int = 0
    until: float | None = None

    def open(self) -> list[Piece]:
        """Return the open transactions."""
        return [_piece(transaction, self.files[producer]) for producer, transaction in self.state.open.items()]

    def pieces(self) -> list[Piece]:
        """Return the parts of transactions in the order of the log, joined where a log came in several parts."""
        joined: list[Piece] = []
        running: dict[int, Piece] = {}
        for piece in sorted([*self.closed, *self.open()], key=lambda piece: piece.at):
            before = running.get(piece.producer_id)
            if before is None or before.result:
                running[piece.producer_id] = replace(piece, written=Written(piece.written))
                joined.append(running[piece.producer_id])
            else:
                before.extend(piece)
        return joined


class LogTransactions:
    """The transactions in logs. `dropped` counts what was too much to keep."""

    def __init__(self) -> None:
        self.partitions: dict[tuple[str, str], PartitionLog] = {}
        """Logs by folder and partition: copies on several brokers are logs of their own."""
        self.records: dict[StateRecord, StateRecord] = {}
        """The records of `__transaction_state`, by the record without its file: copies on several brokers are one."""
        self.latest: dict[str, StateRecord] = {}
        """The newest record of each transactional id, by its offset."""
        self.dropped = 0
        self._kept = 0

    def add(self, item: LogItem) -> None:
        """Take a batch of a log; gaps and batches with a wrong checksum say nothing."""
        batch = item.item
        if not isinstance(batch, Batch) or not batch.crc_valid:
            return
        if item.topic == TRANSACTION_STATE:
            self._add_state(item, batch)
            return
        head = batch.head
        log = self.partitions.get(item.log)
        if log is None:
            log = self.partitions[item.log] = PartitionLog(item.name, ProducerState(head.base_offset))
        if head.base_offset < log.state.next_offset:  # an earlier part of the log, or another one
            for piece in log.open():
                self._close(log, piece)
            log.state = ProducerState(head.base_offset)
        _, began, ended, _ = log.state.append(batch)
        log.end = max(log.end, log.state.next_offset)
        time = _seconds(head.max_timestamp)
        log.until = max(log.until or 0.0, time) if time is not None else log.until
        if began:
            log.files[head.producer_id] = item.file
        if ended:
            transaction = ended.transaction or Transaction(head.producer_id, head.producer_epoch, -1)
            self._close(log, _piece(transaction, log.files.pop(head.producer_id, item.file), ended))

    def _close(self, log: PartitionLog, piece: Piece) -> None:
        """Keep a piece, unless there are too many."""
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
            record = _state_record(item.file, event, decoded)
            if len(self.records) < MOST_EVENTS:
                self.records.setdefault(record._replace(file=""), record)
            else:
                self.dropped += 1
            before = self.latest.get(record.transactional_id)
            if (before is None and len(self.latest) < MOST_IDS) or (before and before.offset <= record.offset):
                self.latest[record.transactional_id] = record

    def pieces(self) -> dict[int, list[tuple[str, Piece]]]:
        """Return the parts of transactions by producer id, with their partition; those of copies once."""
        whole: dict[tuple[str, int, int], Piece] = {}
        for log in self.partitions.values():
            for piece in log.pieces():
                key = log.name, piece.producer_id, piece.at
                before = whole.get(key)
                if before is None or (piece.result and not before.result):
                    whole[key] = piece
        by_producer: dict[int, list[tuple[str, Piece]]] = {}
        for (name, producer, _), piece in whole.items():
            by_producer.setdefault(producer, []).append((name, piece))
        return by_producer

    def open(self, names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of `open_in_logs`: the open transactions of all partitions, the first of each one first.

        `names` are transactional ids by producer id.
        """
        latest = {record.producer_id: record for record in self.latest.values()}
        newest = max((record.time for record in latest.values() if record.time is not None), default=None)
        for _, log in sorted(self.partitions.items()):
            for piece in log.pieces():
                if piece.result or piece.first < 0:
                    continue
                record = latest.get(piece.producer_id)
                yield {
                    "topic_partition": log.name,
                    "producer_id": piece.producer_id,
                    "epoch": piece.epoch,
                    "transactional_id": names.get(piece.producer_id) or (record and record.transactional_id),
                    "first_offset": piece.first,
                    "end_offset": log.end,
                    "since": piece.begin,
                    "until": log.until,
                    "open_s": between(piece.begin, log.until),
                    "coordinator": record and record.state,
                    "is_hanging": _is_hanging(record, log, piece, newest),
                    "place": piece.place,
                }


def _is_hanging(record: StateRecord | None, log: PartitionLog, piece: Piece, newest: float | None) -> bool | None:
    """Return whether the coordinator does not know of an open transaction in a log; None if that is not clear.

    `newest` is the time of the newest record of the coordinator. Files of a running broker are copied one after the
    other: the coordinator's log has to reach beyond the begin of the transaction, and the partition's log beyond the
    last record about the producer, or to end long before that record.
    """
    if record is None:
        return None
    if record.state in WITH_PARTITIONS and log.name in record.partitions:
        return False
    if piece.begin is not None and (newest is None or newest < piece.begin + COORDINATOR_DELAY):
        return None
    if record.time is not None and log.until is not None and 0 < record.time - log.until < SETTLED:
        return None
    return True


def _piece(transaction: Transaction, file: str, ended: Ended | None = None) -> Piece:
    written = Written(batches=transaction.batches, records=transaction.records, bytes=transaction.bytes)
    began = _seconds(transaction.since)
    piece = Piece(transaction.producer_id, transaction.epoch, file, transaction.first_offset, began, written)
    if ended:
        piece.result = COMMITTED if ended.marker.commit else ABORTED
        piece.marker = ended.marker.offset
        piece.marker_epoch = ended.epoch
        piece.marked = _seconds(ended.marker.timestamp)
    return piece


def _seconds(time: int) -> float | None:
    return time / 1000 if time >= 0 else None


def _state_record(file: str, event: Event, record: CoordinatorRecord) -> StateRecord:
    time = _seconds(event.timestamp)
    value = record.value
    if not value:
        return StateRecord(event.offset, time, record.name, -1, -1, REMOVED, (), None, None, file)
    start = value.get("transactionStartTimestampMs")
    timeout = value.get("transactionTimeoutMs")
    return StateRecord(
        event.offset,
        time,
        record.name,
        int(value["producerId"]),
        int(value["producerEpoch"]),
        record.status,
        tuple(partitions_in(value)),
        _seconds(start) if isinstance(start, int) else None,
        _seconds(timeout) if isinstance(timeout, int) else None,
        file,
    )
