"""Faults, and the checks of leader epochs and producer snapshots."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import counted
from kwire_cli.records.reading import items
from kwire_cli.source.reading import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Head, Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.producers import Producer, ProducerState
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


# Producer snapshots against the producers of the log.


def snapshot_differences(
    state: ProducerState, entries: Sequence[ProducerEntry], end_offset: int
) -> Iterator[tuple[ProducerEntry | None, str]]:
    """Yield each entry of a snapshot of `end_offset` that contradicts the log, and how.

    The entry is None if the snapshot lacks one.
    """
    in_snapshot = {entry.producer_id for entry in entries}
    for entry in entries:
        producer = state.by_id.get(entry.producer_id)
        if producer is None:
            if state.complete:
                yield entry, f"the log has no batch of producer {entry.producer_id} before offset {end_offset}"
        elif state.missing_before <= producer.seen and (text := _difference(state, producer, entry)):
            yield entry, f"of producer {entry.producer_id} it says {text}"
    # A broker forgets the producers whose last batch is oldest.
    idle = (entry.timestamp for entry in entries if entry.current_txn_first_offset < 0)
    oldest = min(idle, default=None)
    for producer_id, producer in state.by_id.items():
        if producer_id in in_snapshot or state.missing_before > producer.seen:
            continue
        transaction = state.open.get(producer_id)
        if transaction and transaction.first_known:
            first = transaction.first_offset
            yield None, f"producer {producer_id} is not in it, which has a transaction open since offset {first}"
        elif oldest is not None and producer.timestamp_known and oldest <= producer.timestamp:
            yield None, f"producer {producer_id} is not in it, which wrote offset {producer.seen}"


def _difference(state: ProducerState, producer: Producer, entry: ProducerEntry) -> str:
    transaction = state.open.get(entry.producer_id)
    first = transaction.first_offset if transaction else -1
    first_known = transaction.first_known if transaction else producer.transaction_known
    pairs = [
        ("epoch", entry.epoch, producer.epoch),
        ("lastSequence", entry.last_sequence, producer.last_sequence),
        ("lastOffset", entry.last_offset, producer.last_offset),
        ("offsetDelta", entry.offset_delta, producer.offset_delta if producer.last_offset is not None else None),
        ("timestamp", entry.timestamp, producer.timestamp if producer.timestamp_known else None),
        ("coordinatorEpoch", entry.coordinator_epoch, producer.coordinator_epoch),
        ("currentTxnFirstOffset", entry.current_txn_first_offset, first if first_known else None),
    ]
    return ", ".join(
        f"{name} {given} where the log has {actual}"
        for name, given, actual in pairs
        if actual is not None and given != actual
    )


def is_whole(head: Head) -> bool:
    """Return whether compaction removed no record from a batch of format v2."""
    return head.records_count == head.last_offset - head.base_offset + 1
