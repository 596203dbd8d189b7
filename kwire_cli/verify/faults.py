"""What can be wrong with a log, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.stores import Place

FAULTS = {
    "CRC_MISMATCH": "the checksum of a batch, a message or a producer snapshot is not that of its bytes",
    "TRUNCATED": "a batch or an entry that is cut by the end of the file",
    "CORRUPT": "bytes of a log that are no batch",
    "PADDING": "zeros at the end of a segment that is not the last one; the last may be allocated in advance",
    "OFFSET_ORDER": "a batch that begins at or before the last offset of the batches before it",
    "OFFSET_OUT_OF_SEGMENT": "a batch whose offsets do not belong into its segment",
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
    "SNAPSHOT_PRODUCER": "a producer snapshot that does not say of a producer what the log says",
    "SNAPSHOT_BEYOND_LOG": "a producer snapshot of an offset that the log does not reach",
    "ORPHANED_FILE": "an index of a segment that is not there",
}
"""The codes of faults; beside them those of what is odd in a file by itself (docs/anomalies.md)."""


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
        return {"fault": self.code, "file": self.file, "position": self.position, "offset": self.offset, "text": self.text}


@dataclass
class Checked:
    """How much was looked at: files that were read, segments and snapshots among them, and their batches."""

    files: int = 0
    logs: int = 0
    batches: int = 0

    def add(self, other: Checked) -> None:
        """Count what another counted."""
        self.files += other.files
        self.logs += other.logs
        self.batches += other.batches


def from_anomalies(file: Place, anomalies: tuple[Anomaly, ...] | list[Anomaly], offset: int | None = None) -> Iterator[Fault]:
    """What is odd in a file by itself."""
    for anomaly in anomalies:
        yield Fault(anomaly.code, str(file), anomaly.offset, offset, f"{anomaly.path}: {anomaly.detail}" if anomaly.path else anomaly.detail)
