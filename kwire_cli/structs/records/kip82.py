"""Messages of the KIP-82 draft, with record headers, and its alternatives.

The format was never shipped, but its cost can be compared with the shipped headers. So the alternatives that the
document mentions are declared too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.structs.composites import Choice, Series, plain, series, sized
from kwire_cli.structs.lengths import ArrayOf, Sized, VarintArray, VarintSized
from kwire_cli.structs.numbers import INTS, ZIGZAG, ZIGZAG_LONG
from kwire_cli.structs.records import v0, v2
from kwire_cli.structs.records.parts import LEGACY_COMPRESSION, TIMESTAMP_TYPE, flag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# The message of the KIP-82 draft: format v1 with headers that have integer keys. It was never shipped: it has the same
# magic 2 as `v2`, but another format.
#
# Attribute bit 4, counted from 0 (value 0x10), is set if the message has headers; without it they cost nothing. Keys
# are Java ints whose ranges run to 0xFFFFFFFF, so they are unsigned here; headers are in ascending order of their keys.
# The text does not mention headers of a compressed wrapper; kwire reads headers of wrappers and of the messages inside
# alike.

HAS_HEADERS = flag("hasHeaders", 4)


ATTRIBUTES = (LEGACY_COMPRESSION, TIMESTAMP_TYPE, HAS_HEADERS)

HEADER = plain(key="uint32", value=Sized("bytes", compact=False, nullable=False))
MESSAGE = sized(
    "messageSize",
    offset="int64",
    messageSize="int32",
    crc="uint32",
    magic="int8",
    attributes="int8",
    timestamp="int64",
    key=v0.NULLABLE_BYTES,
    headers=Choice("attributes", HAS_HEADERS.mask, {HAS_HEADERS.mask: Series(HEADER, size=INTS["int32"])}),
    value=v0.NULLABLE_BYTES,
)
"""MessageAndOffset. `headers` is not in the value of a message without the bit."""
MESSAGE_SET = series("messages", MESSAGE)

CRC = v0.CRC
CRC_FROM = v0.CRC_FROM


class KeyRange(NamedTuple):
    """The keys from `first` to `last`; `use` is empty where the document names none."""

    first: int
    last: int
    space: str
    use: str

    @property
    def label(self) -> str:
        """`Local, Client`."""
        return f"{self.space}, {self.use}" if self.use else self.space


USES = ("Infrastructure", "Client", "Stack/Middleware", "Application", "User")
RESERVED = "RESERVED"


def _space(number: int, name: str) -> tuple[KeyRange, ...]:
    """Return a space of 0x100000 keys: 0x10000 for each use, the rest reserved."""
    start = number << 20
    used = tuple(KeyRange(start + (i << 16), start + (i << 16) + 0xFFFF, name, use) for i, use in enumerate(USES))
    return *used, KeyRange(used[-1].last + 1, start + 0xFFFFF, name, RESERVED)


KEY_RANGES = (
    KeyRange(0, 0xFFFF, "Kafka open source", ""),
    KeyRange(0x10000, 0xFFFFF, "Kafka open source", RESERVED),
    *_space(1, "Local"),
    *_space(2, "Open"),
    *_space(3, "Testing"),
    KeyRange(0x400000, 0xFFFFFFFF, "Reserved", RESERVED),
)
"""Ascending and without gaps. The document's own examples are off twice: "0x0034010 (3407888)" is 0x00340010, and
"0x00000010 (10)" is 16."""


def key_range(key: int) -> KeyRange:
    """Return the range of a key; a negative one is converted to the unsigned number of the same bits."""
    key &= 0xFFFFFFFF
    return next(candidate for candidate in KEY_RANGES if key <= candidate.last)


def ascending(keys: Sequence[int]) -> bool:
    """Return whether keys are as the draft wants them: each greater than the one before it."""
    return all(a < b for a, b in pairwise(keys))


REGISTERED: Mapping[int, str] = {
    1: "client.id",
    2: "cluster.id",
    3: "correlation.id",
    2100001: "new.relic",
    2100002: "appdynamics",
    1114000: "app.name",
    1050000: "charge.tag",
}
"""Names of keys in the document's two sample registers. The last two belong to an organisation. As numbers their keys
are in Infrastructure: app.name is 112 short of Local Client."""


# What the KIP-82 draft weighs its message against, so that it can be priced: other ways to carry headers, and
# size reductions that it leaves out.
#
# None of these was ever shipped, and the text lays out none of them to the byte. kwire's readings: lengths
# that become varints are zig-zag, -1 for null, as in the shipped format; the bit that takes KeyLength away is
# the next free one, 5; a map of strings is the bytes of the draft's `Headers`; a wrapper holds the headers
# and then the payload, with lengths as Kafka's requests had them, and is the value of a message of format v1.

NULL_KEY = flag("isNullKey", 5)


_MESSAGE = {field.name: field.subcon for field in MESSAGE.subcons}
_NO_KEY_LENGTH = Choice("attributes", NULL_KEY.mask, {0: v0.NULLABLE_BYTES})
_NO_KEY_LENGTH_OR_VARINT = Choice("attributes", NULL_KEY.mask, {0: v2.NULLABLE_BYTES})


def _message(**changed: Any) -> Any:
    """Return the draft's message with other forms of these fields."""
    return sized("messageSize", **(_MESSAGE | changed))


REDUCED: Mapping[str, Any] = {
    "no-key-length": _message(key=_NO_KEY_LENGTH),
    "varint-key-length": _message(key=v2.NULLABLE_BYTES),
    "varint-value-length": _message(value=v2.NULLABLE_BYTES),
    "all-three": _message(key=_NO_KEY_LENGTH_OR_VARINT, value=v2.NULLABLE_BYTES),
}
"""The draft's message with each of the "core message size reductions" that it puts out of scope, and with all of
them."""
WITHOUT_KEY = frozenset({"no-key-length", "all-three"})
"""Formats in which a null key is a bit and no bytes."""

MAP_MESSAGE = _message(
    headers=Choice("attributes", HAS_HEADERS.mask, {HAS_HEADERS.mask: Sized("bytes", compact=False, nullable=False)})
)
"""The draft's message with the bytes of a map in place of its `Headers`."""

_AVRO_STRING = VarintSized("string", ZIGZAG_LONG, nullable=False)


AVRO_MAP = plain(pairs=VarintArray(plain(key=_AVRO_STRING, value=_AVRO_STRING), ZIGZAG_LONG), end=ZIGZAG)
"""A map of strings as Avro writes it: one block of pairs, and 0 for the end."""

WRAPPER = plain(
    headers=ArrayOf(
        plain(key=Sized("string", compact=False, nullable=False), value=Sized("bytes", compact=False, nullable=True)),
        compact=False,
        nullable=False,
    ),
    payload=v0.NULLABLE_BYTES,
)
"""Message<H, P>: what a producer writes as the value of a message."""
