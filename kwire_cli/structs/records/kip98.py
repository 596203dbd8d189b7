"""The message set of the KIP-98 draft of late 2016, with a header of its own. It was never shipped: its magic 2 is not
that of `v2`.

What the text leaves open, and what kwire reads into it: Length counts the bytes after itself; both CRCs are CRC-32
(IEEE), that of a message over its Attributes to the end of its Value, that of the set over what follows the CRC
(brokers rewrite the offset before it); Messages is what is compressed; OffsetDelta is that of the last message, as in
the shipped format, and not of the next set, as the text has it in the same sentence.
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

NULL_KEY, NULL_VALUE, CONTROL = flag("isNullKey", 0), flag("isNullValue", 1), flag("isControl", 2)
MESSAGE_ATTRIBUTES = (NULL_KEY, NULL_VALUE, CONTROL)

_REST = Rest(keep=INTS["uint32"].length)
MESSAGE = sized(
    "length",
    length=UVARINT,
    attributes="int8",
    timestamp="int64",
    offsetDelta=UVARINT,
    # With a value the key has its length; without one it takes what is left. A value never has a length.
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
"""A whole set: its messages one by one, or as one piece of bytes where they are compressed."""
MESSAGE_SETS = series("messageSets", MESSAGE_SET)

CRC, CRC_FROM, MESSAGE_CRC_FROM = "crc32", "magic", "attributes"
"""Of a set from `magic` to its end, of a message from `attributes` to the end of its value."""

CONTROL_MESSAGE_KEY = plain(version="int16", controlMessageType="int16")
CONTROL_TYPES = {0: "COMMIT", 1: "ABORT"}
"""The other way round than in the shipped format."""
