"""The files of a log directory besides the segments: indexes, producer snapshots, and the rows of text checkpoints.

The messages after a version are defined in specs/ (AbortedTxn, ProducerSnapshot), and declared from there.
Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex, ProducerStateManager,
org.apache.kafka.storage.internals.checkpoint.*, org.apache.kafka.server.common.CheckpointFile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.structs.composites import MessageStruct, plain
from kwire_cli.structs.messages import VERSION, declare

if TYPE_CHECKING:
    from kwire_cli.spec.model import MessageSpec

OFFSET_INDEX_ENTRY = plain(relativeOffset="int32", position="int32")
"""`.index`: an offset, less the one in the file's name, and the position in the log of the batch that ends with it or
holds it."""

TIME_INDEX_ENTRY = plain(timestamp="int64", relativeOffset="int32")
"""`.timeindex`: the largest timestamp so far, in milliseconds, and the offset of its batch, less the one in the file's
name."""

TRANSACTION_INDEX_VERSION = 0
PRODUCER_SNAPSHOT_VERSION = 1
"""The only versions that Kafka ever wrote."""

CHECKPOINT_VERSION = 0
"""The first line of every text checkpoint; the second is the number of rows."""

LEADER_EPOCH_ROW = {"epoch": "int32", "startOffset": "int64"}
OFFSET_ROW = {"topic": "string", "partition": "int32", "offset": "int64"}
"""The words of a row, separated by white space, and their types."""


@dataclass(frozen=True, slots=True)
class ProducerSnapshotLayout:
    """A producer snapshot: `head`, `count`, and that number of `entry`. The CRC-32C in the head covers all bytes after
    it.
    """

    head: MessageStruct
    count: MessageStruct
    entry: Any


def transaction_index_entry(aborted: MessageSpec) -> MessageStruct:
    """Return an entry of `.txnindex`: a version and an aborted transaction by the definition AbortedTxn; 34 bytes."""
    return MessageStruct([*VERSION.subcons, *declare(aborted, TRANSACTION_INDEX_VERSION).subcons], None, {})


def end_transaction_marker(marker: MessageSpec) -> MessageStruct:
    """Return the value of an ABORT or COMMIT control record: a version and, by the definition EndTxnMarker, the source
    of the marker.

    Versions that are not known are read by the layout of 0, and more bytes may follow
    (org.apache.kafka.common.record.EndTransactionMarker).
    """
    return MessageStruct([*VERSION.subcons, *declare(marker, 0).subcons], None, {})


def producer_snapshot(snapshot: MessageSpec) -> ProducerSnapshotLayout:
    """Return the layout of `.snapshot`: a version, a CRC, and the latest state of each producer by the definition
    ProducerSnapshot.
    """
    crc, entries = declare(snapshot, PRODUCER_SNAPSHOT_VERSION).subcons
    array = entries.subcon
    return ProducerSnapshotLayout(
        head=MessageStruct([*VERSION.subcons, crc], None, {}),
        count=MessageStruct([entries.name / array.plain_prefix()], None, {}),
        entry=array.element,
    )
