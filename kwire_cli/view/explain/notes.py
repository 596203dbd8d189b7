"""Notes on the fields of frames, headers and record formats.

Kafka's message definitions describe the fields of messages, but not the bytes around them, so this module does. Some
fields of record formats are more than numbers: `BITS`, `CHECKSUMS` and `SUMS` list them by format and path without
indexes. The bits, and the fields that a checksum covers, are taken from the declarations of the formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.records.layouts import DECLARED
from kwire_cli.structs.records import kip98

if TYPE_CHECKING:
    from kwire_cli.structs.records.parts import Bits
    from kwire_cli.view.rows import Part

BITS: dict[tuple[str, str], tuple[Bits, ...]] = {
    **{(name, "attributes"): form.ATTRIBUTES for name, form in DECLARED.items()},
    ("v2", "records[].attributes"): (),
    ("kip98-draft", "messages[].attributes"): kip98.MESSAGE_ATTRIBUTES,
}
CHECKSUMS: dict[tuple[str, str], tuple[str, str]] = {
    **{(name, "crc"): (form.CRC, form.CRC_FROM) for name, form in DECLARED.items()},
    ("kip98-draft", "messages[].crc"): (kip98.CRC, kip98.MESSAGE_CRC_FROM),
}
"""The rule of each checksum, and the first field that it covers."""
SUMS = {
    ("v2", "lastOffsetDelta"): ("baseOffset", "the last offset"),
    ("v2", "records[].offsetDelta"): ("baseOffset", "its offset"),
    ("v2", "records[].timestampDelta"): ("baseTimestamp", "its timestamp"),
}
"""Fields that are a difference to a base field: the base field, and the name of the sum."""

_LOG = {
    "crc": "Tells a damaged or cut one from a good one.",
    "magic": "Which record format this is. It stands at the same place in all of them, byte 16.",
    "key": "Decides the partition in most producers, and in compacted topics what replaces what.",
    "value": "What the producer wanted to say. In a compacted topic null is a tombstone: the key is to be deleted.",
}
_V0 = {
    **_LOG,
    "offset": "The message's place in its partition. A producer does not know it and sends what it likes; the "
    "broker sets it.",
    "messageSize": "The bytes after this field.",
}
_LEGACY = {**_V0, "timestamp": "Milliseconds since 1970, -1 for none (KIP-32)."}
_PRODUCER = "with the idempotent or transactional producer, else -1 (KIP-98)"
_V2 = {
    **_LOG,
    "baseOffset": "The offset of the first record. A producer sends 0; the broker sets it, which is why no checksum "
    "covers it.",
    "batchLength": "The bytes after this field.",
    "partitionLeaderEpoch": "In which term of a leader the batch was appended (KIP-101). The broker sets it, which is "
    "why no checksum covers it.",
    "lastOffsetDelta": "The offset of the last record, less baseOffset. It stays as it is when compaction takes "
    "records away.",
    "baseTimestamp": "What the records' timestampDelta counts from, in milliseconds since 1970; with a delete horizon "
    "it is that (KIP-534).",
    "maxTimestamp": "The largest timestamp of the records; with LogAppendTime that of all of them.",
    "producerId": f"Which producer wrote it, {_PRODUCER}.",
    "producerEpoch": f"Which life of that producer: a later one fences those before it, {_PRODUCER}.",
    "baseSequence": f"The number of the first record in the producer's own count, by which duplicates are seen, "
    f"{_PRODUCER}.",
    "recordsCount": "How many records follow.",
    "records[].length": "The bytes of the record after this field.",
    "records[].timestampDelta": "The record's timestamp, less baseTimestamp: small numbers take few bytes.",
    "records[].offsetDelta": "The record's offset, less baseOffset.",
    "records[].key": _LOG["key"],
    "records[].value": _LOG["value"],
    "records[].headers": "Pairs of a name and a value that applications and tools put beside the record (KIP-82).",
}
NOTES: dict[str, dict[str, str]] = {
    "FrameSize": {"size": "How many bytes the reader has to wait for before it can decode anything."},
    "RequestHeader": {
        "requestApiKey": "Which request this is; each kind has a number.",
        "requestApiVersion": "By which version of that request the body and the response are laid out. ApiVersions "
        "tells which ones a broker knows.",
        "correlationId": "A number of the client's choice that the response repeats, so that the two can be matched.",
        "clientId": "What the client calls itself; it shows in quotas, metrics and logs.",
    },
    "ResponseHeader": {
        "correlationId": "That of the request that this answers. It is all that a response says of itself: what it "
        "is, only its request tells."
    },
    "v0": _V0,
    "v1": {
        **_LEGACY,
        "offset": "The message's place in its partition; inside a compressed message it may count from 0 (KIP-31).",
    },
    "v2": _V2,
    "kip82-draft": _LEGACY,
    "kip98-draft": {"magic": _LOG["magic"], "crc": _LOG["crc"]},
}
"""Notes by layout and path without indexes."""


def layout_of(part: Part) -> str:
    """Return the key of a part in `NOTES`: the message of a header, or a record format."""
    if part.name == "size":
        return "FrameSize"
    return part.batch.layout.name if part.batch else part.message
