"""The ledger: bytes by field and by kind, and their sums."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.engine.program import GAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.engine.program import Leaf, Program
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.decoded import Decoded


# What bytes are there for: the closed list of kinds, and which of them the spans of a leaf belong to.
#
# Kinds are of three classes. Payload is what somebody wanted to say: the values of fields, and keys, values
# and headers of records. Overhead is all that was needed to say it. Unread is what nobody can tell, since it
# could not be decoded, is no Kafka, or is missing.


class Kind(enum.StrEnum):
    """Purpose of a byte."""

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
    Kind.COMPRESSED: "the records of a compressed batch, as they are on the wire; what they consist of is shown beside "
    "the total",
    Kind.FRAME_SIZE: "the size before each request and response",
    Kind.MESSAGE_HEADER: "the header of a request or response: api, version, correlation id, client id, tags",
    Kind.LENGTH: "the length before a string, bytes or records",
    Kind.COUNT: "the number of elements before an array",
    Kind.PRESENCE: "the marker before a nullable structure",
    Kind.TAG_COUNT: "the number of tagged fields at the end of a structure of a flexible version (KIP-482)",
    Kind.TAG_HEADER: "tag and size before a tagged field",
    Kind.UNKNOWN_TAG: "the bytes of a tagged field that the layout does not know",
    Kind.BATCH_HEADER: "the header of a record batch without its checksum; of formats v0 and v1, the message around "
    "compressed messages",
    Kind.RECORD_FRAMING: "what stands around a record: sizes, attributes, timestamps, offsets, lengths of key, "
    "value and "
    "headers, how many headers",
    Kind.CHECKSUM: "the checksum of a batch or message",
    Kind.TLS: "TLS that was decrypted: handshakes, and what stands around the data in records (headers, nonces, "
    "authentication tags, padding)",
    Kind.GUESS: "a body of a version that no definition has, and in a capture a response whose request is missing",
    Kind.GAP: "bytes that could not be decoded, or in which nothing was recognised",
    Kind.LOST: "bytes of a connection that the capture does not have",
    Kind.PADDING: "zeros behind the last batch of a segment",
    Kind.SASL_TOKEN: "frames that hold nothing but a SASL token",
    Kind.NOT_KAFKA: "bytes of another protocol, such as HTTP, or TLS that was not decrypted",
}
"""docs/overhead.md is made from this table."""

PAYLOAD = frozenset(
    {Kind.VALUE, Kind.RECORD_KEY, Kind.RECORD_VALUE, Kind.RECORD_HEADER, Kind.COMPRESSED, Kind.UNKNOWN_TAG}
)
UNREAD = frozenset({Kind.GUESS, Kind.GAP, Kind.LOST, Kind.PADDING, Kind.SASL_TOKEN, Kind.NOT_KAFKA})
OVERHEAD = frozenset(Kind) - PAYLOAD - UNREAD

Kinds = tuple[Kind, Kind]
"""The kind of a span's prefix, and of its value."""


if TYPE_CHECKING:
    KindsOf = Callable[[Leaf], "Kinds"]
    """One of the functions below."""


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
    """Return the kinds of a leaf in the body of a message."""
    return _OF_LEAF.get(leaf.kind, (Kind.LENGTH, Kind.VALUE))


def in_header(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in the header of a request or response. All bytes count as header."""
    return (Kind.GAP, Kind.GAP) if leaf.kind == "gap" else (Kind.MESSAGE_HEADER, Kind.MESSAGE_HEADER)


def in_size(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in the size prefix of a frame."""
    return (Kind.GAP, Kind.GAP) if leaf.kind == "gap" else (Kind.FRAME_SIZE, Kind.FRAME_SIZE)


def in_batch(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in a batch: in its header, or in its records, which are in an array."""
    return _of_records(leaf, Kind.RECORD_FRAMING if "[]" in leaf.path else Kind.BATCH_HEADER)


def in_records(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in records alone, and in messages of formats that have no batches."""
    return _of_records(leaf, Kind.RECORD_FRAMING)


def in_wrapper(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in a message whose value is other messages, compressed (formats v0 and v1).

    The key of this message, if it has one, does not count as a record key.
    """
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


# Bytes by leaf: what the spans of many messages of one layout add up to, and what these sums are as parts of
# the whole.


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of one field over all of its occurrences, as in `cost.ledger.Row`, with the kinds of both."""

    path: str
    prefix_kind: Kind
    value_kind: Kind
    prefix_bytes: int
    value_bytes: int
    count: int


class Sums:
    """Prefix bytes, value bytes and spans by leaf of a program."""

    __slots__ = ("count", "prefix", "program", "value")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.prefix: list[int] = []
        self.value: list[int] = []
        self.count: list[int] = []
        self._grow()

    def _grow(self) -> None:
        """Room for the leaves that there are: those of record formats are lowered as they are met."""
        for column in (self.prefix, self.value, self.count):
            column.extend([0] * (len(self.program.leaves) - len(column)))

    def add(self, spans: Spans, times: int = 1, first: int = 0, last: int | None = None) -> None:
        """Count the spans of a message that came so many times, or of these its spans from `first` up to `last`."""
        if len(self.count) < len(self.program.leaves):
            self._grow()
        prefix, value, count = self.prefix, self.value, self.count
        start = spans.end[first - 1] if first else spans.start
        rows = (
            (spans.node, spans.value, spans.end)
            if last is None
            else (column[first:last] for column in (spans.node, spans.value, spans.end))
        )
        for node, middle, end in zip(*rows, strict=True):
            prefix[node] += times * (middle - start)
            value[node] += times * (end - middle)
            count[node] += times
            start = end

    def put(self, node: int, prefix: int, value: int, count: int) -> None:
        """Count bytes of a leaf that were added up elsewhere."""
        if len(self.count) < len(self.program.leaves):
            self._grow()
        self.prefix[node] += prefix
        self.value[node] += value
        self.count[node] += count

    def move(self, node: int, size: int) -> None:
        """Take bytes away from the values of a leaf: they are accounted for elsewhere."""
        self.value[node] -= size

    def parts(self, prefix: str, kinds: KindsOf) -> Iterable[Part]:
        """Yield the counted bytes of each leaf that occurs, with `prefix` before the paths."""
        for leaf, before, value, count in zip(self.program.leaves, self.prefix, self.value, self.count, strict=False):
            if count:
                yield Part(prefix + (leaf.path or "gap"), *kinds(leaf), before, value, count)


# The ledger: where the bytes of a message go. A fold over spans by node; no formula, so that the rows always
# add up to the size.

GAP_PATH, GUESS_PATH = "gap", "guess"


@dataclass(frozen=True, slots=True)
class Row:
    """The bytes of one field over all its occurrences: `prefix_bytes` are lengths, counts, markers and tag headers,
    `value_bytes` the values.

    `path` has no indexes: topics[].partitions[].leaderId. Bytes that could not be decoded, or only by a guess, are rows
    named gap and guess.
    """

    path: str
    prefix_bytes: int
    value_bytes: int
    count: int


def ledger(decoded: Decoded) -> list[Row]:
    """The rows of a message in the order of its fields; they add up to the bytes that were given."""
    total = decoded.stop - decoded.start
    if decoded.guess:
        return [Row(GUESS_PATH, 0, total, 1)]
    return rows_of(decoded.raw)


def rows_of(spans: Spans) -> list[Row]:
    """The rows of spans in the order of their fields, whatever declaration these are of."""
    sums: dict[tuple[bool, str], list[int]] = {}
    leaves = spans.program.leaves
    start = spans.start
    for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
        row = sums.setdefault((node == GAP, leaves[node].path), [0, 0, 0])
        row[0] += value - start
        row[1] += end - value
        row[2] += 1
        start = end
    return [Row(GAP_PATH if lost else path, *row) for (lost, path), row in sums.items()]
