"""Producers of a partition: their epochs, sequences and transactions, from the batches of its log or from a snapshot.

A broker has the same state for each partition (org.apache.kafka.storage.internals.log.ProducerStateManager,
ProducerStateEntry, ProducerAppendInfo). The broker checks a batch before it appends the batch. Here the batch was
appended, and offsets may be missing: retention removes segments, and compaction removes batches. So a rule holds only
if no offset is missing between two batches of a producer, and what may have ended in missing offsets is not known.

`ProducerState.append` takes one batch after another. It returns the rules that the batch breaks, and the transaction
that the batch begins or ends. `take` replaces the state by a producer snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.records.batch import sequence_after
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.logs import end_transaction_marker
from kwire_cli.structs.records.v2 import CONTROL_RECORD_KEY, CONTROL_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.records.batch import Batch, Head

EXPIRATION = 86_400_000
"""Milliseconds after which a broker may forget a producer without an open transaction (producer.id.expiration.ms); then
any sequence is good."""
MOST_PRODUCERS = 1 << 16
"""Producers of a partition, and open transactions, that are known at a time. The oldest producers are forgotten."""
RESTARTED = "PRODUCER_RESTARTED"
"""The code for a producer without transactions that begins at sequence 0 with a new epoch: no broken rule, but records
in between may be missing."""
_SEQUENCES = 1 << 31
_HALF = 1 << 30
_KEY = fixed(CONTROL_RECORD_KEY)


class SnapshotEntry(NamedTuple):
    """A producer's last batch of data, and its open transaction, if any, in a snapshot; `at` is the entry's position.

    `last_sequence`, `last_offset`: of the last record of that batch, -1 where the producer has written none since its
    epoch changed; `offset_delta`: how much larger that offset is than the first of the batch. `timestamp` in
    milliseconds. `current_txn_first_offset` is -1 without a transaction.
    """

    at: int
    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class Problem(NamedTuple):
    """A rule that a batch breaks. `missing` counts the sequences that a SEQUENCE_GAP leaves out."""

    code: str
    text: str
    missing: int = 0


class Marker(NamedTuple):
    """A transaction marker: the record of a control batch. `epoch` is that of the producer, the time is milliseconds.

    `last_stable_offset` is the first offset of the transactions still open, else the offset after the marker; None if
    unknown.
    """

    commit: bool
    epoch: int
    coordinator_epoch: int
    offset: int
    timestamp: int
    last_stable_offset: int | None = None


@dataclass(slots=True)
class PartitionTransaction:
    """A transaction in one partition. Times are milliseconds, -1 if unknown.

    `first_offset` is -1 if the log has only the marker. `first_known` is false if the transaction may have begun in
    offsets that are missing. `since` is the earliest time of a record. `batches`, `records` and `bytes` count the
    batches that were read. `marker` is None as long as the transaction is open.
    """

    producer_id: int
    epoch: int
    first_offset: int = -1
    since: int = -1
    batches: int = 0
    records: int = 0
    bytes: int = 0
    first_known: bool = True
    marker: Marker | None = None

    def add(self, batch: Batch) -> None:
        """Count a batch of the transaction."""
        head = batch.head
        if head.base_offset == self.first_offset:
            self.since = max(head.first_time, -1)
        elif 0 <= head.first_time < self.since:
            self.since = head.first_time
        self.epoch = head.producer_epoch
        self.batches += 1
        self.records += head.records
        self.bytes += batch.size


class Appended(NamedTuple):
    """The rules that a batch breaks, and the transaction that it begins or ends."""

    problems: Sequence[Problem] = ()
    began: PartitionTransaction | None = None
    ended: PartitionTransaction | None = None


@dataclass(slots=True)
class Producer:
    """A producer's state after `seen`, the last offset that concerns the producer. -1 means absent, None unknown.

    `transaction_known` is false if a transaction may have ended or begun in missing offsets. `timestamp`,
    `leader_epoch` and `is_transactional` describe the last batch.
    """

    epoch: int
    last_sequence: int | None
    last_offset: int | None
    timestamp: int
    coordinator_epoch: int | None
    seen: int
    transaction_known: bool = True
    leader_epoch: int = -1
    is_transactional: bool = False


class ProducerState:
    """The producers of a partition, `by_id`, and its `open` transactions by producer id, while its log is read.

    Args:
        start: The offset at which the log begins. If it is not 0, the batches before are unknown until `take`.
        sequences: Whether sequences are checked. Coordinators write batches without (AppendOrigin.COORDINATOR).

    """

    def __init__(self, start: int = 0, *, sequences: bool = True) -> None:
        self.by_id: dict[int, Producer] = {}
        self.open: dict[int, PartitionTransaction] = {}
        self.sequences = sequences
        self.next_offset = start
        self.missing_before = start or -1
        self.complete = start == 0
        """Whether all batches before are known, by themselves or by a snapshot."""

    def missing(self, offset: int) -> None:
        """Note that batches are missing right before an offset."""
        self.missing_before = offset
        self.complete = False

    def take(self, entries: Iterable[SnapshotEntry], end_offset: int) -> None:
        """Replace the state by a snapshot of all batches before `end_offset`."""
        before = self.open
        self.by_id = {}
        self.open = {}
        for entry in entries:
            self.by_id[entry.producer_id] = Producer(
                entry.epoch,
                entry.last_sequence,
                entry.last_offset,
                entry.timestamp,
                entry.coordinator_epoch,
                end_offset - 1,
            )
            first = entry.current_txn_first_offset
            if first >= 0:
                transaction = before.get(entry.producer_id)
                if transaction is None or transaction.first_offset != first:
                    transaction = PartitionTransaction(entry.producer_id, entry.epoch, first)
                transaction.first_known = True
                self.open[entry.producer_id] = transaction
        self.next_offset = max(self.next_offset, end_offset)
        self.missing_before = -1
        self.complete = True

    def append(self, batch: Batch) -> Appended:
        """Take in a batch whose checksum is right, and return what the batch changed."""
        head = batch.head
        if head.base_offset > self.next_offset:
            self.missing(head.base_offset)
        if head.last_offset >= self.next_offset:
            self.next_offset = head.last_offset + 1
        if head.producer_id < 0:
            return Appended()
        return self._control(batch) if head.control else self._data(batch)

    def _data(self, batch: Batch) -> Appended:
        head = batch.head
        producer, lost = self._producer(head)
        transaction = self.open.get(head.producer_id)
        problems: list[Problem] = []
        if head.producer_epoch < producer.epoch:
            text = f"producer {head.producer_id} writes in epoch {head.producer_epoch} after {producer.epoch}"
            problems.append(Problem("PRODUCER_EPOCH", text))
        else:
            if self.sequences:
                problems += _sequence_problems(head, producer, lost=lost)
            if transaction and transaction.first_known and not head.transactional:
                text = (
                    f"producer {head.producer_id} has a transaction open since offset {transaction.first_offset}, and "
                    f"this batch is not of it"
                )
                problems.append(Problem("TRANSACTION_MIXED", text))
            producer.epoch = head.producer_epoch
            _write(producer, head)
        began = None
        if head.transactional:
            if transaction is None and len(self.open) < MOST_PRODUCERS:
                began = transaction = PartitionTransaction(
                    head.producer_id,
                    head.producer_epoch,
                    head.base_offset,
                    first_known=producer.transaction_known,
                )
                self.open[head.producer_id] = transaction
            if transaction:
                transaction.add(batch)
        return Appended(problems, began)

    def _control(self, batch: Batch) -> Appended:
        head = batch.head
        if head.records_count == 0:
            # Compaction emptied the batch, as all of its transaction is gone. How that ended is not known.
            self.missing(head.last_offset + 1)
            return Appended()
        marker = read_marker(batch)
        if marker is None:
            text = f"a control batch of producer {head.producer_id} without a marker"
            return Appended([Problem("CONTROL_RECORD", text)])
        producer, _ = self._producer(head)
        problems = []
        if head.producer_epoch < producer.epoch:
            text = f"a marker for producer {head.producer_id} in epoch {head.producer_epoch} after {producer.epoch}"
            problems.append(Problem("PRODUCER_EPOCH", text))
        if producer.coordinator_epoch is not None and marker.coordinator_epoch < producer.coordinator_epoch:
            text = (
                f"a marker for producer {head.producer_id} of coordinator epoch {marker.coordinator_epoch} after "
                f"{producer.coordinator_epoch}"
            )
            problems.append(Problem("COORDINATOR_EPOCH", text))
        transaction = self.open.pop(head.producer_id, None) or PartitionTransaction(
            head.producer_id, head.producer_epoch
        )
        if head.producer_epoch > producer.epoch:
            producer.epoch = head.producer_epoch
            producer.last_sequence = producer.last_offset = -1
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.transaction_known = True
        producer.timestamp = head.max_timestamp
        producer.seen = head.last_offset
        if self.complete:
            stable = min((other.first_offset for other in self.open.values()), default=head.last_offset + 1)
            marker = marker._replace(last_stable_offset=stable)
        transaction.marker = marker
        return Appended(problems, None, transaction)

    def _producer(self, head: Head) -> tuple[Producer, bool]:
        """Return the state before a batch, and whether batches of the producer may be missing between."""
        producer = self.by_id.get(head.producer_id)
        if producer is None:
            self._forget_oldest()
            # Kafka takes any first sequence of a producer that it does not know, but not once it has seen a marker for
            # it.
            none = -1 if self.complete else None
            sequence = none if head.control else None
            before = head.base_offset - 1
            producer = Producer(head.producer_epoch, sequence, none, head.max_timestamp, none, before, self.complete)
            self.by_id[head.producer_id] = producer
            return producer, not self.complete
        if head.producer_id not in self.open and head.max_timestamp - producer.timestamp >= EXPIRATION:
            producer.epoch = head.producer_epoch
            producer.last_sequence = producer.last_offset = producer.coordinator_epoch = None
            return producer, True
        lost = self.missing_before > producer.seen
        if lost:  # a transaction may have ended or begun there
            producer.coordinator_epoch = None
            producer.transaction_known = False
            if transaction := self.open.get(head.producer_id):
                transaction.first_known = False
        return producer, lost

    def _forget_oldest(self) -> None:
        if len(self.by_id) >= MOST_PRODUCERS:
            for producer_id in [*self.by_id][: MOST_PRODUCERS // 2]:
                del self.by_id[producer_id]
            self.complete = False


def _write(producer: Producer, head: Head) -> None:
    producer.last_sequence = sequence_after(head.base_sequence, head.last_offset - head.base_offset)
    producer.last_offset = producer.seen = head.last_offset
    producer.timestamp = head.max_timestamp
    producer.leader_epoch = head.leader_epoch
    producer.is_transactional = head.transactional


def _sequence_problems(head: Head, producer: Producer, *, lost: bool) -> Iterator[Problem]:
    who = f"producer {head.producer_id} in epoch {head.producer_epoch}"
    first = head.base_sequence
    last = producer.last_sequence if producer.last_sequence is not None else -1
    offset = producer.last_offset if producer.last_offset is not None else -1
    if first < 0:
        yield Problem("SEQUENCE_MISSING", f"{who} writes without a sequence")
    elif head.producer_epoch != producer.epoch:
        if first and not lost:
            yield Problem("SEQUENCE_GAP", f"{who} begins with sequence {first}, not 0", first)
        elif not first and not lost and offset >= 0 and not head.transactional and not producer.is_transactional:
            text = (
                f"{who} begins anew; its epoch {producer.epoch} ends with sequence {last} at offset {offset}. "
                "A producer does so if a batch is refused or expires: records in between may be missing"
            )
            if head.leader_epoch > producer.leader_epoch:
                text += f"; the leader epoch went from {producer.leader_epoch} to {head.leader_epoch}"
            yield Problem(RESTARTED, text)
    elif producer.last_sequence is not None:
        expected = sequence_after(last, 1) if last >= 0 else 0
        ahead = (first - expected) % _SEQUENCES
        if ahead >= _HALF:
            text = f"{who} writes sequence {first} after {last}, of offset {offset}"
            yield Problem("SEQUENCE_DUPLICATE", text)
        elif ahead and not lost:
            text = f"{who} writes sequence {first}, and {expected} is next after offset {offset}"
            yield Problem("SEQUENCE_GAP", text, ahead)


@cache
def _marker_value() -> Fixed:
    return fixed(end_transaction_marker(catalog().message("EndTxnMarker")))


def read_marker(batch: Batch) -> Marker | None:
    """Return the transaction marker in a control batch, None for another record and for one that cannot be read.

    A log may have a marker for every few batches, so this is faster than `decode_control`.
    """
    record = next(batch.records(), None)
    value = _marker_value()
    if record is None or len(record.key or b"") < _KEY.size or len(record.value or b"") < value.size:
        return None
    kind = CONTROL_TYPES.get(_KEY.unpack(record.key)[1])
    if kind not in {"COMMIT", "ABORT"}:
        return None
    epoch = value.unpack(record.value)[1]
    return Marker(kind == "COMMIT", batch.head.producer_epoch, epoch, record.offset, record.timestamp)
