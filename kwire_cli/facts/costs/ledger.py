"""The ledger: bytes by owner, field and kind.

Each message is a sequence of spans that cover its bytes. The ledger adds the spans up, without a formula, so its rows
always add up to the bytes that were counted.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from operator import add
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.engine.program import Leaf, Program
    from kwire_cli.engine.python_source import Counter
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.decoded import Decoded


# The kinds of bytes, and the kinds of the spans of a leaf.
#
# Kinds are of three classes. Payload is the data that an application sends: the values of fields, and keys, values and
# headers of records. Overhead is all that is needed to transport it. Unread bytes could not be decoded, are not Kafka,
# or are missing.


class Kind(enum.StrEnum):
    """The purpose of a byte."""

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
    Kind.COMPRESSED: "the records of a compressed batch, as they are on the wire; their contents are shown after "
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
    Kind.RECORD_FRAMING: "the bytes around a record: sizes, attributes, timestamps, offsets, lengths of key, "
    "value and "
    "headers, how many headers",
    Kind.CHECKSUM: "the checksum of a batch or message",
    Kind.TLS: "TLS that was decrypted: handshakes, and the bytes around the data in records (headers, nonces, "
    "authentication tags, padding)",
    Kind.GUESS: "a body of a version that no definition has, and in a capture a response whose request is missing",
    Kind.GAP: "bytes that could not be decoded, or in which nothing was recognised",
    Kind.LOST: "bytes of a connection that the capture does not have",
    Kind.PADDING: "zeros after the last batch of a segment",
    Kind.SASL_TOKEN: "frames that hold only a SASL token",
    Kind.NOT_KAFKA: "bytes of another protocol, such as HTTP, or TLS that was not decrypted",
}
"""docs/costs.md is made from this table."""

PAYLOAD = frozenset(
    {Kind.VALUE, Kind.RECORD_KEY, Kind.RECORD_VALUE, Kind.RECORD_HEADER, Kind.COMPRESSED, Kind.UNKNOWN_TAG}
)
UNREAD = frozenset({Kind.GUESS, Kind.GAP, Kind.LOST, Kind.PADDING, Kind.SASL_TOKEN, Kind.NOT_KAFKA})
OVERHEAD = frozenset(Kind) - PAYLOAD - UNREAD

Kinds = tuple[str, str]
"""The kinds of a span's prefix and of its value: of Kind, or of the caller."""


if TYPE_CHECKING:
    KindsOf = Callable[[Leaf], "Kinds"]
    """One of the functions below, or a function of the caller."""


_OF_LEAF: dict[str, tuple[Kind, Kind]] = {
    "count": (Kind.COUNT, Kind.COUNT),
    "presence": (Kind.PRESENCE, Kind.PRESENCE),
    "tag-count": (Kind.TAG_COUNT, Kind.TAG_COUNT),
    "tag-header": (Kind.TAG_HEADER, Kind.TAG_HEADER),
    "unknown-tag": (Kind.TAG_HEADER, Kind.UNKNOWN_TAG),
    "gap": (Kind.GAP, Kind.GAP),
}


def class_of(kind: str) -> str:
    """Return the class of a kind: payload, overhead or unread."""
    if kind in PAYLOAD:
        return "payload"
    return "unread" if kind in UNREAD else "overhead"


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
    """Return the kinds of a leaf in records without a batch, and in messages of formats that have no batches."""
    return _of_records(leaf, Kind.RECORD_FRAMING)


def in_wrapper(leaf: Leaf) -> Kinds:
    """Return the kinds of a leaf in a compressed wrapper message, whose value is other messages (formats v0 and v1).

    The key of this message, if any, does not count as a record key.
    """
    prefix, value = _of_records(leaf, Kind.BATCH_HEADER)
    prefix = Kind.BATCH_HEADER if prefix is Kind.RECORD_FRAMING else prefix
    return prefix, {Kind.RECORD_VALUE: Kind.COMPRESSED, Kind.RECORD_KEY: Kind.BATCH_HEADER}.get(value, value)


def _of_records(leaf: Leaf, framing: Kind) -> tuple[Kind, Kind]:
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


# The ledger.

GAP_PATH = "gap"
GUESS_PATH = "guess"


@dataclass(frozen=True, slots=True)
class Row:
    """The bytes of one field over all its occurrences.

    `prefix_bytes` are lengths, counts, markers and tag headers; `value_bytes` are the values. `path` has no indexes:
    topics[].partitions[].leaderId. Undecoded bytes are rows named gap; bytes decoded by a guess are rows named
    guess. `kinds` are the kinds of prefix and value, or None if rows of several kinds were merged. `owner` is the
    owner of the bytes, in a ledger of several owners.
    """

    path: str
    prefix_bytes: int
    value_bytes: int
    count: int
    kinds: Kinds | None = field(default=None, repr=False)
    owner: Any = field(default=None, repr=False)


class Ledger:
    """Prefix bytes, value bytes and occurrences by owner, path and kinds.

    Sums of one layout are kept by leaf until `rows` is called. `kinds_of` returns the kinds of a leaf, and `prefix` is
    prepended to its path.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, str, Kinds], list[int]] = {}
        self._spans: dict[tuple[Any, str, KindsOf, int], tuple[Program, dict[int, list[int]]]] = {}
        self._vectors: dict[tuple[Any, str, KindsOf, Counter], list[int]] = {}

    def add(self, owner: Any, path: str, kinds: Kinds, prefix_bytes: int, value_bytes: int, count: int) -> None:
        """Count bytes of a path. Negative numbers subtract bytes that are counted elsewhere."""
        row = self._rows.get((owner, path, kinds))
        if row is None:
            row = self._rows[owner, path, kinds] = [0, 0, 0]
        row[0] += prefix_bytes
        row[1] += value_bytes
        row[2] += count

    def add_spans(
        self,
        owner: Any,
        prefix: str,
        kinds_of: KindsOf,
        spans: Spans,
        times: int = 1,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Count the spans of a message that occurred `times` times, or its spans from `first` up to `last`."""
        key = owner, prefix, kinds_of, id(spans.program)
        pair = self._spans.get(key)
        if pair is None:
            pair = self._spans[key] = spans.program, {}
        sums = pair[1]
        start = spans.end[first - 1] if first else spans.start
        columns = spans.node, spans.value, spans.end
        for node, value, end in zip(
            *(column[first:last] for column in columns) if first or last is not None else columns, strict=True
        ):
            row = sums.get(node)
            if row is None:
                row = sums[node] = [0, 0, 0]
            row[0] += times * (value - start)
            row[1] += times * (end - value)
            row[2] += times
            start = end

    def add_counts(
        self, owner: Any, prefix: str, kinds_of: KindsOf, counts: Iterable[tuple[Leaf, int, int, int]]
    ) -> None:
        """Count leaves that were summed elsewhere: bytes of prefixes, bytes of values, occurrences."""
        for leaf, before, value, count in counts:
            self.add(owner, prefix + (leaf.path or GAP_PATH), kinds_of(leaf), before, value, count)

    def vector(self, owner: Any, prefix: str, kinds_of: KindsOf, counter: Counter) -> list[int]:
        """Return the numbers that a counter adds to for messages of its layout."""
        key = owner, prefix, kinds_of, counter
        numbers = self._vectors.get(key)
        if numbers is None:
            numbers = self._vectors[key] = counter.sums()
        return numbers

    def merge(self, other: Ledger) -> None:
        """Add the counts of another ledger."""
        for (owner, path, kinds), sums in other._settled().items():
            self.add(owner, path, kinds, *sums)

    def rows(self, *, by_kinds: bool = True) -> list[Row]:
        """Return the rows by owner, path and kinds, or by owner and path only, in the order of first occurrence."""
        rows = self._settled()
        if by_kinds:
            return [Row(path, sums[0], sums[1], sums[2], kinds, owner) for (owner, path, kinds), sums in rows.items()]
        by_path: dict[tuple[Any, str, bool], list[int]] = {}
        for (owner, path, kinds), sums in rows.items():
            key = owner, path, kinds[1] == Kind.GAP  # a field may be called gap
            by_path[key] = [*map(add, by_path[key], sums)] if key in by_path else sums
        return [Row(path, sums[0], sums[1], sums[2], None, owner) for (owner, path, _), sums in by_path.items()]

    def _settled(self) -> dict[tuple[Any, str, Kinds], list[int]]:
        """Add the counts by leaf to the rows and return the rows, which the caller must not change.

        Vectors keep their identity, as counters add to them: they are reset in place.
        """
        for (owner, prefix, kinds_of, _), (program, sums) in self._spans.items():
            self.add_counts(
                owner, prefix, kinds_of, ((program.leaves[node], a, b, c) for node, (a, b, c) in sums.items())
            )
        self._spans.clear()
        for (owner, prefix, kinds_of, counter), numbers in self._vectors.items():
            self.add_counts(owner, prefix, kinds_of, counter.totals(numbers))
            numbers[:] = counter.sums()
        return self._rows


def ledger(decoded: Decoded) -> list[Row]:
    """Return the cost of each field as rows with path, prefix_bytes, value_bytes and count, in the order of the fields.

    The bytes of all rows add up to the size of the input.
    """
    total = decoded.stop - decoded.start
    if decoded.guess:
        return [Row(GUESS_PATH, 0, total, 1)]
    return rows_of(decoded.raw)


def rows_of(spans: Spans) -> list[Row]:
    """Return the rows of spans of any declaration, in the order of their fields."""
    rows = Ledger()
    rows.add_spans(None, "", in_body, spans)
    return rows.rows(by_kinds=False)
