"""Faults, and the checks of leader epochs and producers."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import counted
from kwire_cli.records.batch import sequence_after
from kwire_cli.records.reading import items
from kwire_cli.source.reading import Caller

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Head, Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.logs.contents import LeaderEpoch
    from kwire_cli.source.logs.indexes import ProducerEntry
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores import Place


# What can be wrong with a log, and where it is.

FAULTS = {
    "CRC_MISMATCH": "the checksum of a batch, a message or a producer snapshot is not that of its bytes",
    "TRUNCATED": "a batch or an entry that is cut by the end of the file",
    "CORRUPT": "bytes of a log that are no batch",
    "PADDING": "zeros at the end of a segment that is not the last one; the last may be allocated in advance",
    "OFFSET_ORDER": "a batch that begins at or before the last offset of the batches before it",
    "OFFSET_OUT_OF_SEGMENT": "a batch whose offsets do not belong in its segment",
    "OFFSET_GAP": "missing offsets where no compaction explains them: in the metadata log, which has none",
    "SEQUENCE_GAP": "a producer's batch that does not follow its last one, though no offset between them is missing",
    "SEQUENCE_DUPLICATE": "a producer's batch with sequences that it wrote before",
    "SEQUENCE_MISSING": "a batch with a producer id and no sequence",
    "PRODUCER_EPOCH": "a batch or a transaction marker of an older epoch than the producer had before",
    "COORDINATOR_EPOCH": "a transaction marker of an older coordinator epoch than the one before",
    "TRANSACTION_MIXED": "a batch outside of transactions by a producer that has one open",
    "CONTROL_RECORD": "a control batch of a producer that holds no transaction marker",
    "ABORTED_NOT_INDEXED": "an aborted transaction that its segment's .txnindex does not have",
    "ABORTED_NOT_IN_LOG": "an entry of a .txnindex at whose last offset the log has no abort marker of that producer",
    "ABORTED_DIFFERS": "an entry of a .txnindex whose first offset or last stable offset is not that of the log",
    "INDEX_POSITION": "an entry of an .index at whose position no batch begins",
    "INDEX_OFFSET": "an entry of an .index whose offset is not the last one of a batch from its position on",
    "TIME_INDEX_OFFSET": "an entry of a .timeindex whose offset no batch holds",
    "TIME_INDEX_TIMESTAMP": "an entry of a .timeindex whose time is not the largest up to its batch",
    "LEADER_EPOCH_ORDER": "a batch of an older leader epoch than the one before it",
    "LEADER_EPOCH_CHECKPOINT": "leader epochs of batches that are not those of the leader-epoch-checkpoint",
    "SNAPSHOT_PRODUCER": "a producer snapshot that contradicts the log about a producer",
    "SNAPSHOT_BEYOND_LOG": "a producer snapshot of an offset that the log does not reach",
    "ORPHANED_FILE": "an index of a segment that is not there",
}
"""The codes of faults; beside them those of what is odd in a file by itself (docs/model.md)."""


class Fault(NamedTuple):
    """Something that no broker would have written.

    `position` counts bytes from the begin of `file`, `offset` is that of the log; each is None where it has no meaning.
    """

    code: str
    file: str
    position: int | None
    offset: int | None
    text: str

    def to_json(self) -> dict[str, Any]:
        """`{"fault","file","position","offset","text"}`."""
        return {
            "fault": self.code,
            "file": self.file,
            "position": self.position,
            "offset": self.offset,
            "text": self.text,
        }


STEP = 1 << 18
"""Bytes of a segment between two calls of the caller."""


class StoppedError(Exception):
    """The caller stopped the verification."""


@dataclass
class Checked:
    """Counts of files read, of the segments and snapshots among them, and of their batches and faults.

    `unused` counts segments and snapshots that are not in use, such as those that end in `.deleted`. `zeros` are
    remarks on indexes without an entry. `caller` learns how far the reading is, and may stop it.
    """

    files: int = 0
    logs: int = 0
    batches: int = 0
    faults: int = 0
    unused: int = 0
    zeros: list[str] = field(default_factory=list)
    caller: Caller = field(default_factory=Caller)

    def items(self, log: Place, source: Source) -> Iterator[Batch | Gap]:
        """Yield the batches and gaps of a segment. Raise StoppedError if the caller stops the reading."""
        size = source.size
        due = 0
        for item in items(source):
            if item.position >= due:
                due = item.position + STEP
                self.caller.progress(str(log), item.position, size)
                if self.caller.stopped:
                    raise StoppedError
            yield item
        self.caller.progress(str(log), size, size)

    def add(self, other: Checked) -> None:
        """Count what another counted."""
        self.files += other.files
        self.logs += other.logs
        self.batches += other.batches
        self.unused += other.unused
        self.zeros += other.zeros

    def add_index(self, path: Place, contents: Contents[Any]) -> None:
        """Note an index that has no entries: brokers that did not stop cleanly leave zeros."""
        if contents.is_zeros:
            place = f"{path.parent.name}/{path.name}"
            self.zeros.append(f"{place}: no entries: {counted(contents.size, 'byte')} of zeros")


def from_anomalies(
    file: Place, anomalies: tuple[Anomaly, ...] | list[Anomaly], offset: int | None = None
) -> Iterator[Fault]:
    """Yield the anomalies of a file by itself as faults."""
    for anomaly in anomalies:
        yield Fault(
            anomaly.code,
            str(file),
            anomaly.offset,
            offset,
            f"{anomaly.path}: {anomaly.detail}" if anomaly.path else anomaly.detail,
        )


# Leader epochs of batches: never falling, and those of the leader-epoch-checkpoint.

_NEVER = 1 << 63


class LeaderEpochCheck:
    """The epochs of a partition's batches. `entries` are those of the checkpoint, ascending; none where it has none or
    can't be relied on.

    Batches of the epoch `current` before the offset `until` are right and need not be shown.
    """

    def __init__(self, file: Place, entries: Sequence[LeaderEpoch]) -> None:
        self.file, self._entries = str(file), entries
        self._starts = [entry.start_offset for entry in entries]
        self._highest = -1
        self._told: set[tuple[int, int]] = set()
        self.current, self.until = -1, _NEVER

    def batch(self, log: Place, batch: Batch) -> Iterator[Fault]:
        """A good batch; formats v0 and v1 have no epochs."""
        head = batch.head
        epoch = head.leader_epoch
        if epoch < 0:
            return
        if epoch < self._highest:
            text = f"leader epoch {epoch} after {self._highest}"
            yield Fault("LEADER_EPOCH_ORDER", str(log), batch.position, head.base_offset, text)
        self._highest = max(self._highest, epoch)
        self.current = -1
        if not self._entries:
            self.current = self._highest
            return
        at = bisect_right(self._starts, head.base_offset) - 1
        # The first entry moves to the log start offset; a segment may begin before that, with this epoch or older ones.
        entry = self._entries[max(at, 0)]
        right = epoch == entry.epoch if at >= 0 else epoch <= entry.epoch
        if right and epoch == self._highest:
            self.current, self.until = epoch, self._starts[at + 1] if at + 1 < len(self._starts) else _NEVER
        if not right and (entry.epoch, epoch) not in self._told:
            self._told.add((entry.epoch, epoch))
            text = (
                f"the batch at offset {head.base_offset} is of leader epoch {epoch}, and by the checkpoint of "
                f"{entry.epoch}"
            )
            yield Fault("LEADER_EPOCH_CHECKPOINT", self.file, entry.at, head.base_offset, text)

    def end(self, end_offset: int) -> Iterator[Fault]:
        """The log ends before this offset."""
        for entry in self._entries:
            if entry.start_offset > end_offset:
                text = (
                    f"epoch {entry.epoch} begins at offset {entry.start_offset}, and the log ends before {end_offset}"
                )
                yield Fault("LEADER_EPOCH_CHECKPOINT", self.file, entry.at, entry.start_offset, text)


# What each producer with an id did last, folded from the batches of a log: sequences, epochs, open
# transactions.
#
# The rules are those of org.apache.kafka.storage.internals.log.ProducerAppendInfo and ProducerStateManager.
# Kafka checks a batch before it is appended; here it was, so a rule holds only where nothing between two
# batches is missing: compaction removes batches, and with each of them an offset.

EXPIRATION = 86_400_000
"""Milliseconds after which a broker may forget a producer without an open transaction (producer.id.expiration.ms); then
any sequence is good."""


_SEQUENCES, _HALF = 1 << 31, 1 << 30


class Problem(NamedTuple):
    """A fault without its place."""

    code: str
    text: str


class Marker(NamedTuple):
    """A transaction marker."""

    commit: bool
    coordinator_epoch: int


class Aborted(NamedTuple):
    """A transaction that an abort marker ended. What is None could not be known from the log."""

    producer_id: int
    first_offset: int | None
    last_offset: int
    last_stable_offset: int | None


@dataclass(slots=True)
class Producer:
    """A producer's state after `seen`, the last offset that told of it. -1 and None are what it has not and what is not
    known.

    `first_offset` is that of its open transaction, and right if `first_known`; without one `first_known` says that it
    is known to have none. `timestamp_known` is false where compaction may have changed the time of its last batch.
    """

    epoch: int
    last_sequence: int | None
    last_offset: int | None
    offset_delta: int
    timestamp: int
    coordinator_epoch: int | None
    first_offset: int
    first_known: bool
    seen: int
    timestamp_known: bool = True

    def forget(self) -> None:
        """Something is missing from the log in which it may have ended or begun a transaction."""
        self.coordinator_epoch, self.first_known = None, False


class Producers:
    """The producers of a partition while its log is read from the begin. `begun` is where the last transaction began.

    Args:
        complete: Whether nothing came before: the log begins at offset 0, or `take` was given a snapshot of where it
            begins.
        sequences: Whether sequences are checked, which those of a coordinator's own batches are not
            (AppendOrigin.COORDINATOR).

    """

    def __init__(self, *, complete: bool, sequences: bool = True) -> None:
        self.by_id: dict[int, Producer] = {}
        self.complete, self.sequences = complete, sequences
        self.missing_before = -1
        self.begun = -1
        self._open: dict[int, int] = {}

    def missing(self, offset: int) -> None:
        """Batches are missing right before this offset."""
        self.missing_before, self.complete = offset, False

    def take(self, entries: Iterable[ProducerEntry], end_offset: int) -> None:
        """From `end_offset` on the state is that of a snapshot."""
        self.by_id = {
            entry.producer_id: Producer(
                entry.epoch,
                entry.last_sequence,
                entry.last_offset,
                entry.offset_delta,
                entry.timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
                first_known=True,
                seen=end_offset - 1,
            )
            for entry in entries
        }
        self._open = {
            producer_id: producer.first_offset
            for producer_id, producer in self.by_id.items()
            if producer.first_offset >= 0
        }
        self.complete = True

    def data(self, head: Head) -> Iterable[Problem]:
        """A batch of data by a producer with an id."""
        producer = self.by_id.get(head.producer_id)
        if (
            producer is None
            or producer.epoch != head.producer_epoch
            or producer.last_sequence is None
            or head.base_sequence != (producer.last_sequence + 1) & (_SEQUENCES - 1)
            or self.missing_before > producer.seen
            or (head.transactional or producer.first_offset >= 0)
        ):
            return list(self._checked(head))
        # What nearly all batches are: the next one of an idempotent producer.
        self._write(producer, head)
        return ()

    def _checked(self, head: Head) -> Iterator[Problem]:
        producer, lost = self._producer(head)
        if head.producer_epoch < producer.epoch:
            yield Problem(
                "PRODUCER_EPOCH",
                f"producer {head.producer_id} writes in epoch {head.producer_epoch} after {producer.epoch}",
            )
            return
        if self.sequences:
            yield from _sequence_problems(head, producer, lost=lost)
        if producer.first_offset >= 0 and producer.first_known and not head.transactional:
            text = (
                f"producer {head.producer_id} has a transaction open since offset {producer.first_offset}, and "
                f"this batch is not of it"
            )
            yield Problem("TRANSACTION_MIXED", text)
        producer.epoch = head.producer_epoch
        self._write(producer, head)
        if head.transactional and producer.first_offset < 0:
            producer.first_offset = self.begun = self._open[head.producer_id] = head.base_offset

    def _write(self, producer: Producer, head: Head) -> None:
        last, delta = head.last_offset, head.last_offset - head.base_offset
        producer.last_sequence = sequence_after(head.base_sequence, delta)
        producer.last_offset, producer.offset_delta, producer.seen = last, delta, last
        producer.timestamp, producer.timestamp_known = head.max_timestamp, head.records_count == delta + 1

    def marker(self, head: Head, marker: Marker) -> tuple[list[Problem], Aborted | None]:
        """A transaction marker; what it aborts, if the log has data of that.

        A marker without data is good: not each partition of a transaction gets some.
        """
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
        aborted = None
        if producer.first_offset >= 0 and not marker.commit:
            first = producer.first_offset if producer.first_known else None
            aborted = Aborted(head.producer_id, first, head.last_offset, self._last_stable_offset(head))
        self._open.pop(head.producer_id, None)
        if head.producer_epoch > producer.epoch:
            producer.epoch, producer.last_sequence, producer.last_offset, producer.offset_delta = (
                head.producer_epoch,
                -1,
                -1,
                0,
            )
        producer.coordinator_epoch, producer.first_offset, producer.first_known = marker.coordinator_epoch, -1, True
        producer.timestamp, producer.timestamp_known, producer.seen = head.max_timestamp, True, head.last_offset
        return problems, aborted

    def compare(self, entries: Iterable[ProducerEntry], end_offset: int) -> Iterator[tuple[ProducerEntry | None, str]]:
        """Yield each entry of a snapshot of this offset that differs from the log, and what is wrong.

        The entry is None if the snapshot lacks one.
        """
        said = {entry.producer_id: entry for entry in entries}
        for producer_id, entry in said.items():
            producer = self.by_id.get(producer_id)
            if producer is None:
                if self.complete:
                    yield entry, f"the log has no batch of producer {producer_id} before offset {end_offset}"
            elif self.missing_before <= producer.seen and (text := _differences(producer, entry)):
                yield entry, f"of producer {producer_id} it says {text}"
        # A broker forgets producers by the time of what they wrote last: none of those that it still has is older than
        # one that it has not.
        oldest = min((entry.timestamp for entry in said.values() if entry.current_txn_first_offset < 0), default=None)
        for producer_id, producer in self.by_id.items():
            if producer_id in said or self.missing_before > producer.seen:
                continue
            if producer.first_known and producer.first_offset >= 0:
                yield (
                    None,
                    (
                        f"producer {producer_id} is not in it, which has a transaction open since offset "
                        f"{producer.first_offset}"
                    ),
                )
            elif oldest is not None and producer.timestamp_known and oldest <= producer.timestamp:
                yield None, f"producer {producer_id} is not in it, which wrote offset {producer.seen}"

    def _producer(self, head: Head) -> tuple[Producer, bool]:
        """The state before this batch, and whether something is missing between."""
        producer = self.by_id.get(head.producer_id)
        if producer is None:
            whole_log, epoch, previous_offset = self.complete, head.producer_epoch, head.base_offset - 1
            none = -1 if whole_log else None
            # Kafka takes any first sequence of a producer that it does not know, but not once it has seen a marker for
            # it.
            sequence = none if head.control else None
            producer = Producer(epoch, sequence, none, 0, head.max_timestamp, none, -1, whole_log, previous_offset)
            self.by_id[head.producer_id] = producer
            return producer, not whole_log
        if producer.first_offset < 0 and head.max_timestamp - producer.timestamp >= EXPIRATION:
            producer.epoch = head.producer_epoch
            producer.last_sequence = producer.last_offset = producer.coordinator_epoch = None
            return producer, True
        lost = self.missing_before > producer.seen
        if lost:
            producer.forget()
        return producer, lost

    def _last_stable_offset(self, head: Head) -> int | None:
        """The first offset of what is still open beside this producer's transaction, else the one after its marker;
        None where not all is known.
        """
        if not self.complete:
            return None
        return min(
            (first for producer_id, first in self._open.items() if producer_id != head.producer_id),
            default=head.last_offset + 1,
        )


def is_whole(head: Head) -> bool:
    """Return whether compaction removed no record from a batch of format v2."""
    return head.records_count == head.last_offset - head.base_offset + 1


def _sequence_problems(head: Head, producer: Producer, *, lost: bool) -> Iterator[Problem]:
    who, first = f"producer {head.producer_id} in epoch {head.producer_epoch}", head.base_sequence
    if first < 0:
        yield Problem("SEQUENCE_MISSING", f"{who} writes without a sequence")
    elif head.producer_epoch != producer.epoch:
        if first and not lost:
            yield Problem("SEQUENCE_GAP", f"{who} begins with sequence {first}, not 0")
    elif producer.last_sequence is not None:
        expected = sequence_after(producer.last_sequence, 1) if producer.last_sequence >= 0 else 0
        ahead = (first - expected) % _SEQUENCES
        if ahead >= _HALF:
            yield Problem(
                "SEQUENCE_DUPLICATE",
                f"{who} writes sequence {first} after {producer.last_sequence}, of offset {producer.last_offset}",
            )
        elif ahead and not lost:
            yield Problem(
                "SEQUENCE_GAP",
                f"{who} writes sequence {first}, and {expected} is next after offset {producer.last_offset}",
            )


def _differences(producer: Producer, entry: ProducerEntry) -> str:
    pairs = [
        ("epoch", entry.epoch, producer.epoch),
        ("lastSequence", entry.last_sequence, producer.last_sequence),
        ("lastOffset", entry.last_offset, producer.last_offset),
        ("offsetDelta", entry.offset_delta, producer.offset_delta if producer.last_offset is not None else None),
        ("timestamp", entry.timestamp, producer.timestamp if producer.timestamp_known else None),
        ("coordinatorEpoch", entry.coordinator_epoch, producer.coordinator_epoch),
        (
            "currentTxnFirstOffset",
            entry.current_txn_first_offset,
            producer.first_offset if producer.first_known else None,
        ),
    ]
    return ", ".join(
        f"{name} {said} where the log has {actual}"
        for name, said, actual in pairs
        if actual is not None and said != actual
    )
