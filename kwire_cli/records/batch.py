"""Batches and records of every format, and their JSON form.

A `Batch` is a view of its bytes. Its header is read at its first use and cached; its records are decoded in lists of
limited size by the module of its format. So the memory does not depend on the size of a file.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kwire_cli.engine.codes import MEANING, Anomaly, faults_among
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.notebook import InNotebook
from kwire_cli.engine.spans import walk
from kwire_cli.records.codecs import Limits
from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.records.kafka_topics import OWN_TOPICS, Control, RecordPayload, decode_control, decode_record
from kwire_cli.records.schemas.redact import FieldRedaction
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import is_connect_configs
from kwire_cli.stores.opening import Window
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.records import kip98
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence

    from kwire_cli.engine.spans import Spans
    from kwire_cli.engine.tree import Tree
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.stores.opening import FileBytes


# The parts of a record set: records, and the bytes outside any batch; the context that reading needs.

TRUNCATED, CORRUPT, PADDING = "TRUNCATED", "CORRUPT", "PADDING"


class Hide(Protocol):
    """The secrets in records (`message.redaction.RecordRedaction`)."""

    def __call__(self, payload: RecordPayload) -> Mapping[str, frozenset[int]]:
        """Return the numbers of the spans to redact in the "key" and the "value" of a payload."""

    def record(self, batch: Batch, payload: Payloads | None) -> tuple[Payloads | None, Mapping[str, frozenset[int]]]:
        """Return the payload of a record that may be shown, and the spans to redact in it; "headers" is among the names
        if the headers are secret too.
        """

    def gap(self, topic: str | None) -> bool:
        """Return whether bytes of a topic that cannot be read may be a secret."""

    def batch(self, batch: Batch) -> bool:
        """Return whether a record of a batch holds a secret."""

    def spans(self, tree: Tree) -> frozenset[int]:
        """Return the spans of a batch with secrets that are hidden."""


class Record(NamedTuple):
    """One record. Absent numbers are -1; `headers` are pairs of a name (a number in the KIP-82 draft) and bytes or
    None.

    `key_at` and `value_at` are where these bytes begin in the area that the record was read from (`Area`), -1 where
    that is not known.
    """

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str | int, bytes | None], ...]
    key_at: int = -1
    value_at: int = -1
    control: int | None = None
    """The number of a control message in a KIP-98 draft, where the batch does not mark control records."""


class Area(NamedTuple):
    """The bytes that contain records: a copy from a batch, or its decompressed records.

    `origin` is their offset in the input. For decompressed bytes it is the offset of the compressed bytes, and
    positions count from the start of the decompressed bytes.
    """

    data: bytes
    origin: int
    compressed: bool

    def place(self, at: int) -> tuple[int, str]:
        """Return the offset of an anomaly at `at` in these bytes, and an addition to its detail."""
        return (self.origin, f" (byte {at} of the decompressed records)") if self.compressed else (self.origin + at, "")


@dataclass(frozen=True, slots=True)
class Source:
    """A record set and how it is read: the bytes, the layouts by magic byte, what payloads are decoded with and how
    much may be decompressed.
    """

    content: memoryview | FileBytes
    layouts: Mapping[int, Layout]
    catalog: Catalog | None = None
    topic: str | None = None
    limits: Limits = field(default_factory=Limits)
    hide: Hide | None = None
    """The secrets in records that `to_json` of batches leaves out by default."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.content)

    def window(self, start: int, stop: int) -> Window:
        """Return a window with the bytes [start, stop)."""
        if isinstance(self.content, memoryview):
            return Window(self.content, 0, len(self.content))
        return self.content.window(start, stop)

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:
        """Return a view by the positions of the source, in which the bytes [start, stop) are valid."""
        if isinstance(self.content, memoryview):
            return self.content
        return self.content.view(start, stop)

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes in [start, stop)."""
        if isinstance(self.content, memoryview):
            return self.content[start:stop]
        return self.content.read(start, stop)


# A batch of records of any format. Its header is read at once, its records lazily.

NO_TIMESTAMP_TYPE = "NoTimestampType"


MOST_NOTES = 1000
"""Anomalies of one batch that are kept: damaged records could have as many as bytes."""


class Head(NamedTuple):
    """The numbers of a batch. A number that its format lacks is -1, False or None; times are milliseconds.

    `timestamp_type` is 0 for CreateTime, 1 for LogAppendTime, None in v0. `base_offset` of a wrapper message is the
    offset of its first inner message.
    """

    base_offset: int
    last_offset: int
    crc: int
    attributes: int
    codec: int
    timestamp_type: int | None
    base_timestamp: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    transactional: bool = False
    control: bool = False
    delete_horizon: int | None = None
    records_count: int | None = None

    @property
    def records(self) -> int:
        """The number of records in the header, or the number of offsets it spans if its format has no such number."""
        count = self.last_offset - self.base_offset + 1 if self.records_count is None else self.records_count
        return max(count, 0)

    @property
    def first_time(self) -> int:
        """The time of its first record from the header, in milliseconds since 1970; negative if unknown.

        With LogAppendTime all records have the latest time. Compaction replaces the base timestamp by the delete
        horizon (KIP-534), so the base timestamp does not belong to a record then.
        """
        is_theirs = not self.timestamp_type and self.delete_horizon is None and self.base_timestamp >= 0
        return self.base_timestamp if is_theirs else self.max_timestamp


class Format(Protocol):
    """The interface of a module that reads one record format."""

    def head_of(self, batch: Batch, notes: MutableSequence[Anomaly]) -> Head:
        """Return the numbers of the batch's header, and add its anomalies to `notes`."""

    def pieces_of(self, batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
        """Yield the records in lists, and add their anomalies to `notes` during iteration."""


class Batch(InNotebook):
    """The bytes [position, position + size) of a record set: a batch, or in formats v0 and v1 one shallow message with
    its inner messages.

    `crc_valid` is set if its checksum is correct. Only the header is cached, after its first use.
    """

    __slots__ = ("_head", "_notes", "crc_valid", "layout", "position", "size", "source")
    NOTEBOOK_VIEW = "batch_html"
    is_cut = False
    """True if its end is missing (`records.gaps`)."""

    def __init__(self, source: Source, position: int, size: int, layout: Layout, crc_valid: bool) -> None:  # noqa: FBT001 - made in one place
        self.source = source
        self.position = position
        self.size = size
        self.layout = layout
        self.crc_valid = crc_valid
        self._head: Head | None = None
        self._notes: list[Anomaly] = []

    def __repr__(self) -> str:
        head = self.head
        offsets = f"offsets {head.base_offset} to {head.last_offset}"
        return f"<batch at {self.position}: {offsets}, {self.size} bytes, magic {self.magic}, {self.compression}>"

    @property
    def end(self) -> int:
        """The position just after the last byte."""
        return self.position + self.size

    @property
    def data(self) -> memoryview:
        """A view by the positions of the source, in which the bytes of the batch are valid."""
        return self.source.view(self.position, self.end)

    @property
    def magic(self) -> int:
        """Its format's magic byte."""
        return self.layout.magic

    @property
    def head(self) -> Head:
        """The numbers of its header."""
        if self._head is None:
            notes = self._notes
            self._head = head = _format(self.layout.name).head_of(self, notes)
            if self.crc_valid is False:
                computed = self.layout.checksum(self.data[self.position + self.layout.crc_from : self.end])
                detail = f"the batch says {head.crc:#010x}, its bytes have {computed:#010x}; Kafka's reader fails here"
                notes.insert(0, Anomaly("CRC_MISMATCH", "crc", self.position + self.layout.crc_at, detail))
            if strange := head.attributes & ~self.layout.known_bits:
                detail = f"{strange & 0xFFFF:#x}: {MEANING['ATTRIBUTES_UNKNOWN']}"
                notes.append(Anomaly("ATTRIBUTES_UNKNOWN", "attributes", self.position, detail))
        return self._head

    @property
    def notes(self) -> list[Anomaly]:
        """The batch's anomalies, found without reading its records. Offsets count from the start of the input."""
        _ = self.head
        return self._notes

    @property
    def compression(self) -> str:
        """The name of its codec; `unknown-5` for a number that there is not."""
        codec = self.head.codec
        return COMPRESSION.names.get(codec) or f"unknown-{codec}"

    @property
    def timestamp_type(self) -> str:
        """CreateTime, LogAppendTime or NoTimestampType."""
        kind = self.head.timestamp_type
        return NO_TIMESTAMP_TYPE if kind is None else TIMESTAMP_TYPE.names[kind]

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, which wraps after 2147483647; -1 without one."""
        head = self.head
        return sequence_after(head.base_sequence, head.last_offset - head.base_offset)

    def pieces(self, notes: MutableSequence[Anomaly] | None = None) -> Iterator[list[Record]]:
        """Return its records in lists of a bounded size, read as they are taken; `notes` gets their anomalies."""
        return _format(self.layout.name).pieces_of(self, [] if notes is None else notes)

    def records(self, notes: MutableSequence[Anomaly] | None = None) -> Iterator[Record]:
        """Yield its records one by one; `notes` as in `pieces`."""
        for piece in self.pieces(notes):
            yield from piece

    @property
    def anomalies(self) -> list[Anomaly]:
        """Its anomalies and those in its records, which are read for it. Offsets count from the start of the input."""
        notes: list[Anomaly] = []
        for _ in self.pieces(notes):
            pass
        return [*self.notes, *notes]

    def spans(self) -> Spans:
        """Return the spans of all its bytes: a span per field of a record, or one span if they are compressed."""
        return walk(records_entry(self.layout.decl), self.data, self.position, self.end)

    def to_json(self, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
        """Return the batch in the form of `kwire dump --format jsonl`; with `records` unless `deep` is false.

        `hide` selects the secrets to redact in payloads; the default is the argument of `read_records`.
        """
        return batch_json(self, deep=deep, hide=hide or self.source.hide)


@cache
def _format(name: str) -> Format:
    reader: Format = RECORD_FORMATS[name].reader  # each format's module is loaded when there is a batch of it
    return reader


def int64(number: int) -> int:
    """Return a sum as Java's long: it wraps."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def sequence_after(base: int, delta: int) -> int:
    """Return the sequence `delta` after `base`, 0 after 2147483647 as Kafka's incrementSequence; -1 without one."""
    return (base + delta) & 0x7FFFFFFF if base >= 0 else -1


# What the key and value of a record mean: control records, and the records of Kafka's own topics.


@dataclass(frozen=True, slots=True)
class Payloads:
    """The contents of a record: a control record, or the decoded key and value.

    `draft` is the name of a control message of the KIP-98 draft.
    """

    control: Control | None = None
    record: RecordPayload | None = None
    draft: str | None = None

    @property
    def known(self) -> bool:
        """Return whether all parts of the payload were decoded, so that the bytes add no information."""
        if self.record:
            return self.record.known
        return bool(self.control and self.control.type != "UNKNOWN")

    @property
    def unknown_control(self) -> bool:
        """Return whether the record is a control record of an unknown type."""
        return "UNKNOWN" in (self.control and self.control.type, self.draft)

    @property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the payload. Offsets count from the start of the key or value."""
        payload = self.control or self.record
        return payload.anomalies if payload else []

    @property
    def messages(self) -> list[Payload]:
        """The messages in the record: its key and value, and those in their fields."""
        whole = self.control or self.record
        parts = (whole.key, whole.value, *(self.record.inside if self.record else ())) if whole else ()
        return [payload for payload in parts if payload and payload.is_known]

    def to_json(self, hidden: Mapping[str, frozenset[int]]) -> dict[str, Any]:
        """Return the payload as `{"control": …}` or `{"decoded": …}`."""
        if self.control:
            return {"control": self.control.to_json()}
        return {"decoded": self.record.to_json(hidden=hidden)} if self.record else {"control": {"type": self.draft}}


def means_something(source: Source) -> bool:
    """Return whether the records of a source may contain payloads that kwire decodes, independent of its batches."""
    serdes = source.catalog.serdes if source.catalog else None
    if source.topic in OWN_TOPICS or is_connect_configs(source.topic):
        return True
    return serdes is not None and serdes.reads()


def has_payloads(batch: Batch) -> bool:
    """Return whether the records of a batch may hold payloads that kwire decodes."""
    return batch.head.control or batch.layout.name == "kip98-draft" or means_something(batch.source)


def payload_of(batch: Batch, record: Record) -> Payloads | None:
    """Return the decoded contents of a record, or None if its bytes belong to an application."""
    if record.control is not None:
        return Payloads(draft=kip98.CONTROL_TYPES.get(record.control, "UNKNOWN"))
    source = batch.source
    if batch.head.control:
        return Payloads(control=decode_control(source.catalog or catalog(), record.key, record.value))
    if source.topic in OWN_TOPICS:
        payload = decode_record(source.catalog or catalog(), source.topic, record.key, record.value)
        return Payloads(record=payload) if payload else None
    serdes = source.catalog.serdes if source.catalog else None
    if is_connect_configs(source.topic):
        from kwire_cli.records.connect import read_connect_record  # noqa: PLC0415 - few topics hold configs

        redaction = serdes.redaction if serdes else FieldRedaction()
        return Payloads(record=read_connect_record(record.key, record.value, redaction))
    if serdes:
        read = serdes.record(source.topic, record.key, record.value, record.headers)
        return Payloads(record=read) if read else None
    return None


def visible_payload(
    batch: Batch, record: Record, hide: Hide | None
) -> tuple[Payloads | None, Mapping[str, frozenset[int]]]:
    """Return the decoded contents of a record that may be shown, and the spans to redact in its "key" and "value".

    "headers" is among the names if the headers are secret too.
    """
    return noted_payload(batch, record, 0, None, hide)


def _payload_notes(batch: Batch, record: Record, number: int, payload: Payloads, *, visible: bool) -> Iterator[Anomaly]:
    """Yield the anomalies of a record's payload with their place in the input; of compressed records that is where
    their batch begins.

    If the payload is not `visible`, the place is the key or value, since paths and details may have bytes of a secret.
    """
    for note in payload.anomalies:
        name = "key" if note.path.startswith("key") else "value"
        note = note if visible else Anomaly(note.code, name, 0, MEANING[note.code])  # noqa: PLW2901 - the same, as told
        at = record.key_at if name == "key" else record.value_at
        plain = not batch.head.codec and at >= 0
        offset = batch.position + batch.layout.head.size + at + note.offset if plain else batch.position
        yield note._replace(path=f"records[{number}].{note.path}".rstrip("."), offset=offset)


def noted_payload(
    batch: Batch, record: Record, number: int, notes: list[Anomaly] | None, hide: Hide | None
) -> tuple[Payloads | None, Mapping[str, frozenset[int]]]:
    """Return what `visible_payload` does, and add the anomalies of the payload to `notes` if these are not too many."""
    payload = payload_of(batch, record)
    visible, hidden = hide.record(batch, payload) if hide else (payload, {})
    if payload and notes is not None and len(notes) < MOST_NOTES:
        notes += _payload_notes(batch, record, number, payload, visible=visible is not None)
    return visible, hidden


def note_payloads(batch: Batch, records: Iterable[tuple[int, Record]], notes: list[Anomaly], hide: Hide | None) -> None:
    """Add the anomalies of the payloads of numbered records to `notes`, if kwire knows what the records mean."""
    for number, record in records if has_payloads(batch) else ():
        noted_payload(batch, record, number, notes, hide)


def deep_anomalies(batch: Batch, hide: Hide | None) -> list[Anomaly]:
    """Return the anomalies of a batch, its records, and their payloads, as in `batch_json`."""
    if not has_payloads(batch):
        return batch.anomalies
    notes: list[Anomaly] = []
    note_payloads(batch, enumerate(batch.records(notes)), notes, hide)
    return [*batch.notes, *notes]


def deep_faults(batch: Batch, hide: Hide | None) -> list[Anomaly]:
    """Return the faults of a batch, its records and their payloads. A payload that only a newer Kafka decodes is not a
    fault.
    """
    return faults_among(deep_anomalies(batch, hide))


# Batches and records in the JSON form of `kwire dump`: all keys are always present, and payloads of Kafka's own topics
# are added to the bytes.


def batch_json(batch: Batch, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
    """Return a batch in JSON form, with its records if `deep` is set."""
    out = head_json(batch)
    notes: list[Anomaly] = []
    if deep:
        out["records"] = [
            record_json(batch, record, number, notes, hide) for number, record in enumerate(batch.records(notes))
        ]
    out["anomalies"] = [note._asdict() for note in (*batch.notes, *notes)]
    return out


def head_json(batch: Batch) -> dict[str, Any]:
    """Return the keys of a batch that precede its records."""
    head = batch.head
    return {
        "position": batch.position,
        "size": batch.size,
        "baseOffset": head.base_offset,
        "lastOffset": head.last_offset,
        "magic": batch.layout.magic,
        "crc": head.crc,
        "crcValid": batch.crc_valid,
        "compression": batch.compression,
        "timestampType": batch.timestamp_type,
        "maxTimestamp": head.max_timestamp,
        "producerId": head.producer_id,
        "producerEpoch": head.producer_epoch,
        "baseSequence": head.base_sequence,
        "partitionLeaderEpoch": head.leader_epoch,
        "isTransactional": head.transactional,
        "isControl": head.control,
        "deleteHorizonMs": head.delete_horizon,
        "count": head.records_count,
    }


def record_json(batch: Batch, record: Record, number: int, notes: list[Anomaly], hide: Hide | None) -> dict[str, Any]:
    """Return the record with this number in its batch; `notes` gets the anomalies of its payload."""
    payload, hidden = noted_payload(batch, record, number, notes, hide)
    key = record.key
    value = record.value
    out: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": record.sequence,
        "keySize": -1 if key is None else len(key),
        "valueSize": -1 if value is None else len(value),
        "key": _shown(key, bool(hidden.get("key"))),
        "value": _shown(value, bool(hidden.get("value"))),
        "headers": headers_json(record, hidden="headers" in hidden),
    }
    if payload:
        out |= payload.to_json(hidden)
    return out


def headers_json(record: Record, *, hidden: bool = False) -> list[dict[str, Any]]:
    """Return the headers of a record, a name and a value each; where a length is wrong a name may be secret too."""
    if hidden:
        return [{"key": name, "value": data and data.decode("ascii")} for name, data in _redacted(record)]
    return [{"key": name, "value": base64_text(data)} for name, data in record.headers]


def headers_of(batch: Batch, record: Record, hide: Hide | None) -> Sequence[tuple[str | int, bytes | None]]:
    """Return the headers of a record for views, redacted where they may be secret."""
    return _redacted(record) if hide and "headers" in hide.record(batch, None)[1] else record.headers


def _redacted(record: Record) -> list[tuple[str, bytes | None]]:
    pairs = ((len(str(name).encode()), data) for name, data in record.headers)
    return [(redacted(size), None if data is None else redacted(len(data)).encode()) for size, data in pairs]


def base64_text(data: bytes | None) -> str | None:
    """Return bytes as base64 text, the form that declarations expect too."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def _shown(data: bytes | None, hidden: bool) -> str | None:  # noqa: FBT001 - a part of the above
    return redacted(len(data)) if hidden and data is not None else base64_text(data)
