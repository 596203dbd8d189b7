"""Message format v0 (magic 0, Kafka 0.8): org.apache.kafka.common.record.LegacyRecord.

A message set is consecutive messages, without a count. A compressed set is the value of a wrapper message, whose
attributes name the codec; offsets inside are absolute.
"""

from __future__ import annotations

from kwire_cli.structs.composites import series, sized
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.records.parts import LEGACY_COMPRESSION

NULLABLE_BYTES = Sized("bytes", compact=False, nullable=True)
"""An int32 length, -1 for null, and bytes."""

MESSAGE = sized(
    "messageSize",
    offset="int64",
    messageSize="int32",
    crc="uint32",
    magic="int8",
    attributes="int8",
    key=NULLABLE_BYTES,
    value=NULLABLE_BYTES,
)
MESSAGE_SET = series("messages", MESSAGE)

ATTRIBUTES = (LEGACY_COMPRESSION,)
CRC = "crc32"
CRC_FROM = "magic"
"""CRC-32 (IEEE) over the bytes from this field to the end of the message."""
