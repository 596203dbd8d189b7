"""Steps, parts and remarks of an explanation, with their layouts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.structs.composites import Choice, MessageStruct, Series, SizedStruct
from kwire_cli.structs.lengths import ArrayOf
from kwire_cli.structs.records import kip82, kip98, v0, v1, v2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item
    from kwire_cli.records.registers import Register
    from kwire_cli.structs.records.parts import Bits
    from kwire_cli.view.rows import Field, Part


# What is special about fields of record formats: sizes, attribute bits, checksums. All of it is read from
# their declarations.


class Special(NamedTuple):
    """A field that is more than a number: made of `bits`, a checksum (`crc` is its rule) of what begins with the field
    `covers_from`, or a size.
    """

    bits: tuple[Bits, ...] | None = None
    crc: str | None = None
    covers_from: str = ""
    size: bool = False


_BITS: dict[Any, tuple[Bits, ...]] = {
    v0.MESSAGE: v0.ATTRIBUTES,
    v1.MESSAGE: v1.ATTRIBUTES,
    v2.BATCH: v2.ATTRIBUTES,
    v2.RECORD: (),
    kip82.MESSAGE: kip82.ATTRIBUTES,
    kip98.MESSAGE_SET: kip98.ATTRIBUTES,
    kip98.MESSAGE: kip98.MESSAGE_ATTRIBUTES,
}
_CRCS: dict[Any, tuple[str, str]] = {
    v0.MESSAGE: (v0.CRC, v0.CRC_FROM),
    v1.MESSAGE: (v1.CRC, v1.CRC_FROM),
    v2.BATCH: (v2.CRC, v2.CRC_FROM),
    kip82.MESSAGE: (kip82.CRC, kip82.CRC_FROM),
    kip98.MESSAGE_SET: (kip98.CRC, kip98.CRC_FROM),
    kip98.MESSAGE: (kip98.CRC, kip98.MESSAGE_CRC_FROM),
}


@cache
def specials(decl: Any) -> dict[str, Special]:
    """The special fields of a declaration of a record format, by path without indexes."""
    by_path: dict[str, Special] = {}
    _gather(decl, "", by_path)
    return by_path


def _gather(decl: Any, path: str, found: dict[str, Special]) -> None:
    if isinstance(decl, Choice):
        for form in (*decl.forms.values(), decl.otherwise):
            _gather(form, path, found)
    elif isinstance(decl, Series):
        if decl.size is not None:
            found[path] = Special(size=True)
        _gather(decl.element, f"{path}[]", found)
    elif isinstance(decl, ArrayOf):
        _gather(decl.element, f"{path}[]", found)
    elif isinstance(decl, MessageStruct):
        dot = f"{path}." if path else ""
        if isinstance(decl, SizedStruct):
            found[dot + decl.size.name] = Special(size=True)
        if decl in _BITS:
            found[f"{dot}attributes"] = Special(bits=_BITS[decl])
        if decl in _CRCS:
            crc, covers_from = _CRCS[decl]
            found[f"{dot}crc"] = Special(crc=crc, covers_from=covers_from)
        for sc in decl.subcons:
            _gather(sc.subcon, dot + sc.name, found)


FORMATS = {name: record_format.about for name, record_format in RECORD_FORMATS.items()}
"""Names of a batch, by format."""


# What the fields around messages are for: those of frames, headers and record formats. Messages' own fields
# have names alone.

_LOG = {
    "crc": "Tells a damaged or cut one from a good one.",
    "magic": "Which record format this is. It stands at the same place in all of them, byte 16.",
    "key": "Decides the partition in most producers, and in compacted topics what replaces what.",
    "value": "What the producer wanted to say. In a compacted topic null is a tombstone: the key is to be deleted.",
}


_LEGACY = {
    **_LOG,
    "offset": "The message's place in its partition. A producer does not know it and sends what it likes; the "
    "broker sets it.",
    "messageSize": "The bytes after this field.",
    "timestamp": "Milliseconds since 1970, -1 for none (KIP-32).",
}
_PRODUCER = "with the idempotent or transactional producer, else -1 (KIP-98)"
_V2 = {
    **_LOG,
    "baseOffset": "The offset of the first record. A producer sends 0; the broker sets it, which is why no checksum "
    "covers it.",
    "batchLength": "The bytes after this field.",
    "partitionLeaderEpoch": "In which term of a leader the batch was appended (KIP-101). The broker sets it, which is "
    "why no "
    "checksum covers it.",
    "lastOffsetDelta": "The offset of the last record, less baseOffset. It stays as it is when compaction takes "
    "records "
    "away.",
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
DIFFERENCES = {
    "v2": {
        "lastOffsetDelta": ("baseOffset", "the last offset"),
        "records[].offsetDelta": ("baseOffset", "its offset"),
        "records[].timestampDelta": ("baseTimestamp", "its timestamp"),
    }
}
"""Fields that count from another one: by layout and path, that field and what the two make together."""

NOTES: dict[str, dict[str, str]] = {
    "FrameSize": {"size": "How many bytes the reader has to wait for before it can decode anything."},
    "RequestHeader": {
        "requestApiKey": "Which request this is; each kind has a number.",
        "requestApiVersion": "By which version of that request the body and the response are laid out. ApiVersions "
        "tells which "
        "ones a broker knows.",
        "correlationId": "A number of the client's choice that the response repeats, so that the two can be matched.",
        "clientId": "What the client calls itself; it shows in quotas, metrics and logs.",
    },
    "ResponseHeader": {
        "correlationId": "That of the request that this answers. It is all that a response says of itself: what it "
        "is, only "
        "its request tells."
    },
    "v0": {name: text for name, text in _LEGACY.items() if name != "timestamp"},
    "v1": {
        **_LEGACY,
        "offset": "The message's place in its partition; inside a compressed message it may count from 0 (KIP-31).",
    },
    "v2": _V2,
    "kip82-draft": _LEGACY,
    "kip98-draft": {"magic": _LOG["magic"], "crc": _LOG["crc"]},
}
"""By layout (a header's message, a record format) and path without indexes."""


# What an explanation consists of: headings of parts, and below each the steps that cover its bytes once and in order.


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of a part of an outline: what it is by itself (`RequestHeader version 2`), and how deep it lies in
    other parts.
    """

    part: Part
    title: str
    level: int = 0

    @property
    def layout(self) -> str:
        """The name under which the fields of the part have notes."""
        return layout_of(self.part)


def layout_of(part: Part) -> str:
    """Return the name under which the fields of a part have notes: a header's message, or a record format."""
    return "FrameSize" if part.name == "size" else part.batch.layout.name if part.batch else part.message


class Facts(NamedTuple):
    """Facts of a part besides its fields.

    `odd` is what is odd about it, each with the offset of the byte at which to say so. `specials` are the special
    fields of a record format. `bases` are what differences in records count from, by the name of the field that says
    it. `register` has the names of header keys, which are numbers in the KIP-82 draft.
    """

    odd: tuple[tuple[int, Anomaly], ...] = ()
    specials: Mapping[str, Special] = MappingProxyType({})
    bases: Mapping[str, int] = MappingProxyType({})
    register: Register | None = None

    @staticmethod
    def where_they_are(anomalies: Iterable[Anomaly]) -> tuple[tuple[int, Anomaly], ...]:
        """Anomalies to be said at their own offsets."""
        return tuple((anomaly.offset, anomaly) for anomaly in anomalies)


class Piece(NamedTuple):
    """The bytes [start, end) of a field: what they are in it, the key of the rule that reads them, and how it does, in
    lines.

    Of a secret nothing is said but that it is there.
    """

    start: int
    end: int
    what: str
    rule: str
    working: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The bytes [start, end), which are one span: a field, a count, a tag, a gap.

    `part` and `row` are None where bytes are no part of a layout; offsets count in `data`. `type` is in the words of
    the protocol guide, `note` what the field is for. `then` is what follows because of these bytes, `next` the path of
    the step after this one, empty at the end of the part.
    """

    part: Part | None
    data: Any
    level: int
    path: str
    start: int
    end: int
    type: str
    pieces: tuple[Piece, ...]
    row: Field | None = None
    anomalies: tuple[Anomaly, ...] = ()
    then: str = ""
    note: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Elements that are read by nothing but rules that were shown, or batches; [start, end) are their bytes.

    `items` are the first of them where they are leaves, so that their values can be shown.
    """

    part: Part | None
    first: str
    last: str
    count: int
    start: int
    end: int
    items: tuple[Item, ...] = ()
    level: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark between parts: what comes next, an anomaly of the whole, or with `plain` a paragraph."""

    text: str
    level: int = 0
    anomaly: Anomaly | None = None
    plain: bool = False


Event = Heading | Step | Skipped | Remark
