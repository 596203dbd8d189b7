"""The message set of the KIP-98 draft of late 2016, with a separate header. It was never shipped: it has the same magic
2 as `v2`, but another format.

The text is incomplete, and kwire interprets it as follows. Length counts the bytes after itself. Both CRCs are CRC-32
(IEEE): a message's covers its Attributes to the end of its Value, the set's covers the bytes after the CRC (brokers
rewrite the offset before it). Messages is compressed. OffsetDelta belongs to the last message, as in the shipped
format, and not to the next set, as the same sentence of the text also claims.
"""

from __future__ import annotations

from kwire_cli.structs.composites import Choice, Rest, Series, plain, series, sized
from kwire_cli.structs.lengths import VarintSized
from kwire_cli.structs.numbers import INTS, UVARINT
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE, flag
from kwire_cli.structs.records.v2 import COMPRESSED

_HEADER = {
    "offset": "int64",  # of the first message
    "length": "int32",
    "crc": "uint32",
    "magic": "int8",
    "attributes": "int16",
    "offsetDelta": "int32",
    "maxTimestamp": "int64",
    "pid": "int64",
    "epoch": "int16",
    "sequence": "int32",  # of the first message
}
HEADER = plain(**_HEADER)
"""The header of a set, 45 bytes."""

NULL_KEY = flag("isNullKey", 0)
NULL_VALUE = flag("isNullValue", 1)
CONTROL = flag("isControl", 2)
MESSAGE_ATTRIBUTES = (NULL_KEY, NULL_VALUE, CONTROL)

_REST = Rest(keep=INTS["uint32"].length)
MESSAGE = sized(
    "length",
    length=UVARINT,
    attributes="int8",
    timestamp="int64",
    offsetDelta=UVARINT,
    # With a value the key has its length; without a value it takes the remaining bytes. A value never has a length.
    key=Choice(
        "attributes",
        NULL_KEY.mask | NULL_VALUE.mask,
        {0: VarintSized("bytes", UVARINT, nullable=False), NULL_VALUE.mask: _REST},
    ),
    value=Choice("attributes", NULL_VALUE.mask, {0: _REST}),
    crc="uint32",
)
"""A null key or value is not in the value of the struct at all."""
MESSAGES = series("messages", MESSAGE)

TRANSACTIONAL = flag("isTransactional", 4)
ATTRIBUTES = (COMPRESSION, TIMESTAMP_TYPE, TRANSACTIONAL)
MESSAGE_SET = sized(
    "length", **_HEADER, messages=Choice("attributes", COMPRESSION.mask, {0: Series(MESSAGE)}, COMPRESSED)
)
"""A whole set: its messages one by one, or as a single value if they are compressed."""
MESSAGE_SETS = series("messageSets", MESSAGE_SET)

CRC = "crc32"
CRC_FROM = "magic"
"""The CRC of a set covers `magic` and all fields after it."""
MESSAGE_CRC_FROM = "attributes"
"""The CRC of a message covers `attributes` and all fields after it, up to its value."""

CONTROL_MESSAGE_KEY = plain(version="int16", controlMessageType="int16")
CONTROL_TYPES = {0: "COMMIT", 1: "ABORT"}
"""The other way round than in the shipped format."""
