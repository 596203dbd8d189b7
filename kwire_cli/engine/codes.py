"""The codes of anomalies: the kernel's bits for them, and their meanings.

The kernel only handles integers, so it reports a bit per anomaly. docs/model.md is generated from the table of
meanings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bits that the kernel sets on a span, or on the gap where it had to stop.
OVERLONG_VARINT = 1
VARINT_EXCESS_BITS = 2
NEGATIVE_LENGTH = 4
NULL_NOT_ALLOWED = 8
PRESENCE_NOT_0_OR_1 = 16
TAG_ORDER = 32
TAG_DUPLICATE = 64
TAG_SIZE_MISMATCH = 128
TAG_NOT_VALID = 256
STRING_TOO_LONG = 512
COUNT_MISMATCH = 1024
RECORD_SIZE_MISMATCH = 2048
TRUNCATED = 4096
VARINT_TOO_LONG = 8192
TRAILING_BYTES = 16384
INVALID_LENGTH = 32768
FATAL = 4096
"""The first bit of anomalies at which decoding stops: the remaining bytes are a gap."""

KERNEL_BITS = {
    OVERLONG_VARINT: "OVERLONG_VARINT",
    VARINT_EXCESS_BITS: "VARINT_EXCESS_BITS",
    NEGATIVE_LENGTH: "NEGATIVE_LENGTH",
    NULL_NOT_ALLOWED: "NULL_NOT_ALLOWED",
    PRESENCE_NOT_0_OR_1: "PRESENCE_NOT_0_OR_1",
    TAG_ORDER: "TAG_ORDER",
    TAG_DUPLICATE: "TAG_DUPLICATE",
    TAG_SIZE_MISMATCH: "TAG_SIZE_MISMATCH",
    TAG_NOT_VALID: "TAG_NOT_VALID",
    STRING_TOO_LONG: "STRING_TOO_LONG",
    TRUNCATED: "TRUNCATED",
    VARINT_TOO_LONG: "VARINT_TOO_LONG",
    COUNT_MISMATCH: "COUNT_MISMATCH",
    RECORD_SIZE_MISMATCH: "RECORD_SIZE_MISMATCH",
    TRAILING_BYTES: "TRAILING_BYTES",
    INVALID_LENGTH: "INVALID_LENGTH",
}

COMPRESSION = {
    "UNKNOWN_COMPRESSION": "a codec number that Kafka does not have (5 to 7); the records cannot be read",
    "DECOMPRESSION_FAILED": "compressed records that are cut or damaged; the blocks before the fault are kept",
    "DECOMPRESSION_LIMIT": "compressed records that exceed the limit when decompressed; the data up to the limit is "
    "kept",
    "COMPRESSED_TRAILING_BYTES": "bytes after the end of the compressed records; Kafka's readers "
    "ignore them, but for zstd",
    "GZIP_CHECKSUM": "the CRC or the size after gzip data does not match the data; Kafka's reader fails here",
    "SNAPPY_VERSION": "a xerial header with versions other than 1 in either byte order",
    "LZ4_HEADER_CHECKSUM": "the checksum of an LZ4 header is wrong; Kafka's reader fails here, except in magic 0",
    "LZ4_BLOCK_CHECKSUM": "the checksum of an LZ4 block is wrong; Kafka's reader fails here",
    "LZ4_CONTENT_CHECKSUM": "the checksum of an LZ4 frame's content is wrong; Kafka's reader skips it",
    "LZ4_CONTENT_SIZE": "an LZ4 frame does not decompress to its stated size; Kafka's reader ignores the size",
    "LZ4_DEPENDENT_BLOCKS": "an LZ4 frame whose blocks depend on each other; Kafka's reader fails here",
    "ZSTD_CHECKSUM": "the checksum of a zstd frame's content is wrong; Kafka's reader fails here",
}
"""Anomalies of compressed records."""

RECORDS = {
    "CRC_MISMATCH": "the checksum of a batch or message does not match its bytes; Kafka's reader fails here",
    "ATTRIBUTES_UNKNOWN": "bits of the attributes that have no meaning in this format; Kafka's reader ignores them",
    "LAST_OFFSET_MISMATCH": "the last offset of a batch or wrapper message is lower than the offset of a record in it",
    "COMPRESSION_NOT_VALID": "a codec that this format does not have (zstd in v0 and v1); decompressed all the same "
    "(Kafka's reader fails here)",
    "HEADER_ORDER": "header keys of the KIP-82 draft that do not ascend, or a key that occurs twice",
    "NESTED_COMPRESSION": "a compressed message inside a compressed message; it is kept as it "
    "is (Kafka's reader fails here)",
    "EMPTY_WRAPPER": "a compressed message with nothing in it; Kafka's reader fails here",
    "CORRUPT": "bytes that should be a message but cannot be read as one; reading continues at the next valid one",
}
"""Anomalies of batches and messages."""

PAYLOADS = {
    "PAYLOAD_TRUNCATED": "bytes inside a field or a record that end before the message in them does; nothing of the "
    "input is missing",
    "UNKNOWN_TYPE": "a type of record that no definition has; its bytes are kept",
    "VALUE_UNFIT": "a key or value that does not fit its format or schema; its bytes are kept",
    "UNKNOWN_SCHEMA": "a key or value that was not read, as its schema is missing or malformed; its bytes are kept",
    "INVALID_PROTOBUF": "telemetry that is not an OTLP message; its bytes are kept",
}
"""Anomalies of messages inside messages and records."""

LOG_FILES = {
    "ENTRY_ORDER": "an entry of an index or a checkpoint that does not come after the one before it",
    "ENTRY_OUT_OF_RANGE": "an entry whose offset, position or time can't be in this file",
    "ENTRY_DUPLICATE": "an entry that repeats the key of an earlier one in the same file",
    "ROW_COUNT_MISMATCH": "a checkpoint whose stated number of rows is wrong; Kafka's reader fails here",
    "INVALID_TEXT": "text that is invalid in this kind of file; the line is a gap",
}
"""Anomalies of the files of a log directory, in addition to CRC_MISMATCH."""

MEANING = {
    "OVERLONG_VARINT": "a varint written with more bytes than it needs; read as Kafka reads it",
    "VARINT_EXCESS_BITS": "the last byte of a varint has bits above the type's width; they are dropped, as Kafka does",
    "NEGATIVE_LENGTH": "a negative length or count other than the one for null; read as null, as Kafka does",
    "NULL_NOT_ALLOWED": "null in a field that is not nullable in this version; Kafka's reader fails here",
    "PRESENCE_NOT_0_OR_1": "the presence byte of a nullable struct is neither of the two values that Kafka writes",
    "TAG_ORDER": "a tag lower than the one before it, or beyond 2147483647; tags are written in ascending order",
    "TAG_DUPLICATE": "a tag that occurred before in the same section; of a known one the last value counts, as in "
    "Kafka",
    "TAG_SIZE_MISMATCH": "the declared size of a known tagged field is not where its value ends; the value's own end "
    "wins, as in Kafka",
    "TAG_DEFAULT_VALUE": "a tagged field written at its default value, which Kafka leaves out",
    "TAG_NOT_VALID": "a tag that other versions of the structure know, this one does not; kept as unknown (Kafka's "
    "reader fails here)",
    "BOOL_NOT_0_OR_1": "a boolean byte other than 0 and 1; read as true, as Kafka does",
    "STRING_TOO_LONG": "a string of more than 32767 bytes; Kafka's reader fails here",
    "INVALID_UTF8": "bytes of a string that are not valid UTF-8; shown as U+FFFD",
    "VALUE_OUT_OF_RANGE": "a number that was written wider than its field's type and does not fit it",
    "TRUNCATED": "the bytes end before the field does; the remaining bytes are a gap",
    "VARINT_TOO_LONG": "a varint with more bytes than its type allows; Kafka's reader fails here, the rest is a gap",
    "INVALID_LENGTH": "a negative size of an unknown tagged field, or more elements without bytes than the input has "
    "bytes; the rest is a gap",
    "COUNT_MISMATCH": "a count of elements larger than the number of bytes that are left; Kafka's reader fails here",
    "RECORD_SIZE_MISMATCH": "the size of a record, message or batch is not where its fields end; their own end wins "
    "(Kafka's reader fails here)",
    "TRAILING_BYTES": "bytes after the end of the message; Kafka's request parsers ignore them",
    "UNKNOWN_API": "an api key that no definition has; only the header is decoded",
    "UNKNOWN_VERSION": "a version that no definition has; decoded by the nearest known layout, as a guess",
    "EARLY_LAYOUT": "an earlier release of Kafka gave this version another layout, and the bytes fit that layout only",
    "FITS_OTHERWISE": "another version of the message or of its header reads the bytes, which do not fit the version "
    "in their label; they are decoded by their label",
    "FRAME_SIZE_MISMATCH": "the size prefix of a frame is not the number of bytes that follow",
    "EXTRA_HEADER_BYTES": "four zero bytes between header and body, as librdkafka sends with ApiVersions v0",
    "VERSION_FALLBACK": "an ApiVersions response in version 0 form, as brokers answer a version that they do not know",
    **COMPRESSION,
    **RECORDS,
    **PAYLOADS,
    **LOG_FILES,
}

SHIFTS = frozenset(
    {
        "VARINT_EXCESS_BITS",
        "NEGATIVE_LENGTH",
        "NULL_NOT_ALLOWED",
        "PRESENCE_NOT_0_OR_1",
        "TAG_ORDER",
        "TAG_DUPLICATE",
        "TAG_SIZE_MISMATCH",
        "BOOL_NOT_0_OR_1",
        "STRING_TOO_LONG",
        "INVALID_UTF8",
        "TRUNCATED",
        "VARINT_TOO_LONG",
        "INVALID_LENGTH",
        "COUNT_MISMATCH",
        "RECORD_SIZE_MISMATCH",
        "TRAILING_BYTES",
        "UNKNOWN_API",
        "UNKNOWN_VERSION",
        "FRAME_SIZE_MISMATCH",
        "CRC_MISMATCH",
        "LAST_OFFSET_MISMATCH",
        "CORRUPT",
        "PAYLOAD_TRUNCATED",
        "UNKNOWN_TYPE",
        "VALUE_UNFIT",
    }
)
"""The column `shifts` of the table: the codes of anomalies after which bytes may belong to other fields."""

REMARKS = frozenset({"EARLY_LAYOUT", "FITS_OTHERWISE"})
"""The codes of anomalies that are not faults: a correct writer wrote the bytes."""
NOT_KNOWN = frozenset({"UNKNOWN_SCHEMA", "UNKNOWN_TYPE", "UNKNOWN_VERSION", *REMARKS})
"""The codes of anomalies about unknown data. In the payload of a record these are not faults."""


UNREAD = frozenset({
    "UNKNOWN_COMPRESSION", "DECOMPRESSION_FAILED", "DECOMPRESSION_LIMIT", "NESTED_COMPRESSION", "TRUNCATED", "CORRUPT",
    "VARINT_TOO_LONG", "INVALID_LENGTH", "COUNT_MISMATCH",
})  # fmt: skip
"""The codes of anomalies of a batch with which some of its records cannot be read."""


class Anomaly(NamedTuple):
    """Something in the bytes that a correct writer would not have written. `offset` counts from the start of the
    decoded bytes.
    """

    code: str
    path: str
    offset: int
    detail: str


def in_payload(found: Iterable[Anomaly]) -> list[Anomaly]:
    """Return the anomalies of an inner message: if it ends early, the input itself is complete."""
    return [note._replace(code="PAYLOAD_TRUNCATED") if note.code == "TRUNCATED" else note for note in found]


def faults_among(notes: Iterable[Anomaly]) -> list[Anomaly]:
    """Return the anomalies that are faults, without the codes in NOT_KNOWN."""
    return [note for note in notes if note.code not in NOT_KNOWN]


REFUSED = frozenset({"COUNT_MISMATCH", "NULL_NOT_ALLOWED", "STRING_TOO_LONG", "TAG_NOT_VALID", "VARINT_TOO_LONG"})
"""Anomalies of messages at which Kafka's reader fails."""
STILL = sum(bit for bit, code in KERNEL_BITS.items() if code not in SHIFTS)
"""The kernel's bits of anomalies that move no byte."""


def codes(bits: int) -> list[str]:
    """Return the codes of the bits that the kernel set."""
    return [code for bit, code in KERNEL_BITS.items() if bits & bit]
