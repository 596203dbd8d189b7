"""Message format v1 (magic 1, Kafka 0.10, KIP-32): org.apache.kafka.common.record.LegacyRecord.

As v0, with a timestamp in milliseconds (-1 if unknown). Offsets inside a compressed wrapper are relative (KIP-31).
"""

from __future__ import annotations

from kwire_cli.structs.composites import series, sized
from kwire_cli.structs.records import v0
from kwire_cli.structs.records.parts import LEGACY_COMPRESSION, TIMESTAMP_TYPE

MESSAGE = sized(
    "messageSize",
    offset="int64",
    messageSize="int32",
    crc="uint32",
    magic="int8",
    attributes="int8",
    timestamp="int64",
    key=v0.NULLABLE_BYTES,
    value=v0.NULLABLE_BYTES,
)
MESSAGE_SET = series("messages", MESSAGE)

ATTRIBUTES = (LEGACY_COMPRESSION, TIMESTAMP_TYPE)
CRC = v0.CRC
CRC_FROM = v0.CRC_FROM
