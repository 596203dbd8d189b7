"""Record batch format v2 (magic 2, Kafka 0.11, KIP-98 and KIP-82 as shipped):
org.apache.kafka.common.record.DefaultRecordBatch and DefaultRecord.
"""

from __future__ import annotations

from kwire_cli.structs.composites import Choice, Rest, Series, plain, series, sized
from kwire_cli.structs.lengths import VarintArray, VarintSized
from kwire_cli.structs.numbers import ZIGZAG, ZIGZAG_LONG
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE, flag

_HEADER = {
    "baseOffset": "int64",
    "batchLength": "int32",  # of the bytes after this field
    "partitionLeaderEpoch": "int32",
    "magic": "int8",
    "crc": "uint32",
    "attributes": "int16",
    "lastOffsetDelta": "int32",
    "baseTimestamp": "int64",  # milliseconds; with DELETE_HORIZON the delete horizon itself
    "maxTimestamp": "int64",
    "producerId": "int64",
    "producerEpoch": "int16",
    "baseSequence": "int32",
    "recordsCount": "int32",
}
HEADER = plain(**_HEADER)
"""The header of a batch, 61 bytes. Numbers that are not there are -1."""

NULLABLE_BYTES = VarintSized("bytes", ZIGZAG, nullable=True)
RECORD_HEADER = plain(key=VarintSized("string", ZIGZAG, nullable=False), value=NULLABLE_BYTES)
RECORD = sized(
    "length",
    length=ZIGZAG,
    attributes="int8",
    timestampDelta=ZIGZAG_LONG,
    offsetDelta=ZIGZAG,
    key=NULLABLE_BYTES,
    value=NULLABLE_BYTES,
    headers=VarintArray(RECORD_HEADER, ZIGZAG),
)
RECORDS = series("records", RECORD)
"""The records of a batch, decompressed. How many there should be is in the batch's header; they are read to the end of
the bytes."""

COMPRESSED = Rest("records")
BATCH = sized("batchLength", **_HEADER, records=Choice("attributes", COMPRESSION.mask, {0: Series(RECORD)}, COMPRESSED))
"""A whole batch: its records one by one, or as a single value if they are compressed."""
BATCHES = series("batches", BATCH)

TRANSACTIONAL = flag("isTransactional", 4)
CONTROL = flag("isControl", 5)
DELETE_HORIZON = flag("hasDeleteHorizon", 6)
ATTRIBUTES = (COMPRESSION, TIMESTAMP_TYPE, TRANSACTIONAL, CONTROL, DELETE_HORIZON)
CRC = "crc32c"
CRC_FROM = "attributes"
"""CRC-32C (Castagnoli) over the bytes from this field to the end of the batch, so that brokers can rewrite the fields
before it."""

CONTROL_RECORD_KEY = plain(version="int16", type="int16")
"""The key of a record in a control batch (org.apache.kafka.common.record.ControlRecordType). Unknown versions read as
0; more bytes may follow."""
CONTROL_TYPES = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}
"""Any other is unknown and to be ignored. The values are messages of specs/: EndTxnMarker, LeaderChangeMessage,
SnapshotHeaderRecord, ..."""
