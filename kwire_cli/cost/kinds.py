"""What bytes are there for: the closed list of kinds, and which of them the spans of a leaf belong to.

Kinds are of three classes. Payload is what somebody wanted to say: the values of fields, and keys, values and headers of records. Overhead is all
that was needed to say it. Unread is what nobody can tell, since it could not be decoded, is no Kafka, or is missing.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.engine.program import Leaf

    KindsOf = Callable[[Leaf], "Kinds"]
    """One of the functions below."""


class Kind(enum.StrEnum):
    """What a byte is there for."""

    VALUE = "value"
    RECORD_KEY = "record key"
    RECORD_VALUE = "record value"
    RECORD_HEADER = "record header"
    COMPRESSED = "compressed records"
    FRAME_SIZE = "frame size"
    MESSAGE_HEADER = "message header"
    LENGTH = "length prefix"
    COUNT = "count"
    PRESENCE = "presence byte"
    TAG_COUNT = "tag count"
    TAG_HEADER = "tag header"
    UNKNOWN_TAG = "unknown tag"
    BATCH_HEADER = "batch header"
    RECORD_FRAMING = "record framing"
    CHECKSUM = "checksum"
    TLS = "tls"
    GUESS = "guess"
    GAP = "gap"
    LOST = "lost"
    PADDING = "padding"
    SASL_TOKEN = "sasl token"  # noqa: S105 - the name of a kind
    NOT_KAFKA = "not kafka"


MEANING = {
    Kind.VALUE: "the value of a field in the body of a request, a response or another message",
    Kind.RECORD_KEY: "the key of a record",
    Kind.RECORD_VALUE: "the value of a record",
    Kind.RECORD_HEADER: "the keys and values of a record's headers",
    Kind.COMPRESSED: "the records of a compressed batch, as they are on the wire; what they consist of is shown beside the total",
    Kind.FRAME_SIZE: "the size before each request and response",
    Kind.MESSAGE_HEADER: "the header of a request or response: api, version, correlation id, client id, tags",
    Kind.LENGTH: "the length before a string, bytes or records",
    Kind.COUNT: "the number of elements before an array",
    Kind.PRESENCE: "the marker before a nullable structure",
    Kind.TAG_COUNT: "the number of tagged fields at the end of a structure of a flexible version (KIP-482)",
    Kind.TAG_HEADER: "tag and size before a tagged field",
    Kind.UNKNOWN_TAG: "the bytes of a tagged field that the layout does not know",
    Kind.BATCH_HEADER: "the header of a record batch without its checksum; of formats v0 and v1, the message around compressed messages",
    Kind.RECORD_FRAMING: "what stands around a record: sizes, attributes, timestamps, offsets, lengths of key, value and headers, how many headers",
    Kind.CHECKSUM: "the checksum of a batch or message",
    Kind.TLS: "TLS that was decrypted: handshakes, and what stands around the data in records (headers, nonces, authentication tags, padding)",
    Kind.GUESS: "a body of a version that no definition has, and in a capture a response whose request is missing",
    Kind.GAP: "bytes that could not be decoded, or in which nothing was recognised",
    Kind.LOST: "bytes of a connection that the capture does not have",
    Kind.PADDING: "zeros behind the last batch of a segment",
    Kind.SASL_TOKEN: "frames that hold nothing but a SASL token",
    Kind.NOT_KAFKA: "bytes of another protocol, such as HTTP, or TLS that was not decrypted",
}
"""docs/overhead.md is made from this table."""

PAYLOAD = frozenset({Kind.VALUE, Kind.RECORD_KEY, Kind.RECORD_VALUE, Kind.RECORD_HEADER, Kind.COMPRESSED, Kind.UNKNOWN_TAG})
UNREAD = frozenset({Kind.GUESS, Kind.GAP, Kind.LOST, Kind.PADDING, Kind.SASL_TOKEN, Kind.NOT_KAFKA})
OVERHEAD = frozenset(Kind) - PAYLOAD - UNREAD

Kinds = tuple[Kind, Kind]
"""The kind of a span's prefix, and of its value."""

_OF_LEAF: dict[str, Kinds] = {
    "count": (Kind.COUNT, Kind.COUNT),
    "presence": (Kind.PRESENCE, Kind.PRESENCE),
    "tag-count": (Kind.TAG_COUNT, Kind.TAG_COUNT),
    "tag-header": (Kind.TAG_HEADER, Kind.TAG_HEADER),
    "unknown-tag": (Kind.TAG_HEADER, Kind.UNKNOWN_TAG),
    "gap": (Kind.GAP, Kind.GAP),
}


def class_of(kind: Kind) -> str:
    """payload, overhead or unread."""
    return "payload" if kind in PAYLOAD else "unread" if kind in UNREAD else "overhead"


def in_body(leaf: Leaf) -> Kinds:
    """Of the body of a message."""
    return _OF_LEAF.get(leaf.kind, (Kind.LENGTH, Kind.VALUE))


def in_header(leaf: Leaf) -> Kinds:
    """Of the header of a request or response, all of whose bytes are that."""
    return (Kind.GAP, Kind.GAP) if leaf.kind == "gap" else (Kind.MESSAGE_HEADER, Kind.MESSAGE_HEADER)


def in_size(leaf: Leaf) -> Kinds:
    """Of the size prefix of a frame."""
    return (Kind.GAP, Kind.GAP) if leaf.kind == "gap" else (Kind.FRAME_SIZE, Kind.FRAME_SIZE)


def in_batch(leaf: Leaf) -> Kinds:
    """Of a batch: its header, and the records in it, which stand in an array."""
    return _of_records(leaf, Kind.RECORD_FRAMING if "[]" in leaf.path else Kind.BATCH_HEADER)


def in_records(leaf: Leaf) -> Kinds:
    """Of records alone, and of messages of formats that have no batches."""
    return _of_records(leaf, Kind.RECORD_FRAMING)


def in_wrapper(leaf: Leaf) -> Kinds:
    """Of a message whose value is other messages, compressed (formats v0 and v1); its own key, if it has one, is none of theirs."""
    prefix, value = _of_records(leaf, Kind.BATCH_HEADER)
    prefix = Kind.BATCH_HEADER if prefix is Kind.RECORD_FRAMING else prefix
    return prefix, {Kind.RECORD_VALUE: Kind.COMPRESSED, Kind.RECORD_KEY: Kind.BATCH_HEADER}.get(value, value)


def _of_records(leaf: Leaf, framing: Kind) -> Kinds:
    if leaf.kind == "gap":
        return Kind.GAP, Kind.GAP
    if leaf.kind == "records":
        return framing, Kind.COMPRESSED
    if leaf.name == "crc":
        return Kind.CHECKSUM, Kind.CHECKSUM
    if "headers[]" in leaf.path:
        return Kind.RECORD_FRAMING, Kind.RECORD_HEADER
    if leaf.name in {"key", "value"}:
        return Kind.RECORD_FRAMING, Kind.RECORD_KEY if leaf.name == "key" else Kind.RECORD_VALUE
    return framing, framing
