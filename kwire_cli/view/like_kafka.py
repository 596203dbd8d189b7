"""Logs and KRaft's snapshots in the lines of Kafka's own DumpLogSegments, for scripts that read those.

Source: org.apache.kafka.tools.DumpLogSegments of Kafka 4.4. `deep` stands for its --print-data-log with the decoder that the topic asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.payload.control import MARKERS
from kwire_cli.payload.records import COORDINATORS, FRAMED, RETIRED
from kwire_cli.records.batch import Batch
from kwire_cli.records.jsonform import headers_of
from kwire_cli.records.legacy import inner_messages
from kwire_cli.records.payloads import has_payloads, payload_of
from kwire_cli.source.logs.names import Kind
from kwire_cli.view.java_text import jackson, java_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.payload.control import Control
    from kwire_cli.payload.model import Payload
    from kwire_cli.payload.records import RecordPayload
    from kwire_cli.records.model import Hide, Record
    from kwire_cli.source.logs.names import FileName
    from kwire_cli.spec.model import FieldSpec, MessageSpec

INDENT = "|"
_BEFORE_JSON = {"LeaderChange": "LeaderChange:"}


@dataclass
class Trouble:
    """What is wrong by DumpLogSegments' own checks, by absolute path; it says so on standard error, behind the last file.

    Pairs are of what the index says and what the log has, or of offsets that follow each other.
    """

    mismatches: dict[str, dict[int, int]] = field(default_factory=dict)
    timestamps: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    out_of_order: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    not_found: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    not_consecutive: dict[str, dict[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any((self.mismatches, self.timestamps, self.out_of_order, self.not_found, self.not_consecutive))

    def lines(self) -> Iterator[str]:
        """All of it; file by file in the order in which they were read, which in Kafka is any."""
        for path, pairs in self.mismatches.items():
            yield f"Mismatches in :{path}"
            yield from (f"  Index offset: {at}, log offset: {found}" for at, found in sorted(pairs.items(), reverse=True))
        for path, times in self.timestamps.items():
            yield f"Found timestamp mismatch in :{path}"
            yield from (f"  Index timestamp: {at}, log timestamp: {found}" for at, found in times)
        for path, times in self.out_of_order.items():
            yield f"Found out of order timestamp in :{path}"
            yield from (f"  Index timestamp: {at}, Previously indexed timestamp: {before}" for at, before in times)
        for offsets in self.not_found.values():
            yield "The following indexed offsets are not found in the log."
            yield from (f"Indexed offset: {at}, found log offset: {found}" for at, found in offsets)
        for path, pairs in self.not_consecutive.items():
            yield f"Non-consecutive offsets in {path}"
            yield from (f"  {before} is followed by {after}" for before, after in sorted(pairs.items()))


class Consecutive:
    """Notes offsets of a file's records that do not follow each other."""

    def __init__(self, path: str, trouble: Trouble) -> None:
        self._path, self._trouble, self._last = path, trouble, -1

    def records(self, piece: list[tuple[int, Record]]) -> None:
        """The next records, with their numbers."""
        last = self._last
        for _, record in piece:
            offset = record.offset
            if offset != last + 1:
                self._trouble.not_consecutive.setdefault(self._path, {})[last] = offset
            last = offset
        self._last = last


def log_heading(name: FileName, file: str) -> Iterator[str]:
    """What stands before the batches of a log or snapshot; nothing where its name says no offset. `file` is the name without its folder."""
    if name.kind is Kind.LOG and name.base_offset is not None:
        yield f"Log starting offset: {name.base_offset}"
    elif name.kind is Kind.CHECKPOINT and file.startswith("bootstrap."):
        yield "KRaft bootstrap snapshot"
    elif name.kind is Kind.CHECKPOINT and name.base_offset is not None:
        yield f"Snapshot end offset: {name.base_offset}, epoch: {name.epoch or 0}"


def invalid_bytes(size: int, file: str) -> str:
    """The line for bytes behind the last batch."""
    return f"Found {size} invalid bytes at the end of {file}"


def batch_line(batch: Batch) -> str:
    """A batch."""
    head = batch.head
    if not batch.layout.is_message:
        horizon = "OptionalLong.empty" if head.delete_horizon is None else f"OptionalLong[{head.delete_horizon}]"
        what = (
            f"baseOffset: {head.base_offset} lastOffset: {head.last_offset} count: {head.records_count} baseSequence: {head.base_sequence}"
            f" lastSequence: {batch.last_sequence} producerId: {head.producer_id} producerEpoch: {head.producer_epoch}"
            f" partitionLeaderEpoch: {head.leader_epoch} isTransactional: {_bool(head.transactional)} isControl: {_bool(head.control)}"
            f" deleteHorizonMs: {horizon}"
        )
    else:
        what = f"offset: {head.last_offset}"
    return (
        f"{what} position: {batch.position} {batch.timestamp_type}: {head.max_timestamp} size: {batch.size} magic: {batch.magic}"
        f" compresscodec: {batch.compression} crc: {head.crc} isvalid: {_bool(batch.crc_valid)}"
    )


def record_lines(batch: Batch, records: Iterable[tuple[int, Record]], hide: Hide | None) -> Iterator[str]:
    """The records of a batch, with their numbers in it. Keys and values that are nobody's message are text, as they are."""
    kind = batch.timestamp_type
    if not batch.layout.is_message and not batch.head.control and not has_payloads(batch):
        for _, (offset, timestamp, sequence, key, value, headers, *_) in records:
            yield (
                f"{INDENT} offset: {offset} {kind}: {timestamp} keySize: {-1 if key is None else len(key)}"
                f" valueSize: {-1 if value is None else len(value)} sequence: {sequence}"
                f" headerKeys: [{','.join([str(name) for name, _ in headers]) if headers else ''}]"
                f"{'' if key is None else f' key: {java_string(key)}'}{'' if value is None else f' payload: {java_string(value)}'}"
            )
        return
    yield from _other_lines(batch, records, hide)


def _other_lines(batch: Batch, records: Iterable[tuple[int, Record]], hide: Hide | None) -> Iterator[str]:
    """The records of which more has to be said: of old formats, control records, those of Kafka's own topics."""
    control, payloads, kind = batch.head.control, has_payloads(batch), batch.timestamp_type
    checksums = _checksums(batch) if batch.layout.is_message else iter(())
    for number, record in records:
        key, value = record.key, record.value
        sizes = f"keySize: {-1 if key is None else len(key)} valueSize: {-1 if value is None else len(value)}"
        names = f" headerKeys: [{','.join([str(name) for name, _ in headers_of(batch, record, hide)])}]"
        if batch.layout.is_message:
            crc, right = next((crc, right) for at, crc, right in checksums if at == number)
            more = f" isValid: {_bool(right)} crc: {crc}{names if record.headers else ''}"
        else:
            more = f" sequence: {record.sequence}{names}"
        if control:
            more += _control(batch, record)
        elif payloads:
            more += _decoded(batch, record, hide)
        else:
            more += f"{'' if key is None else f' key: {java_string(key)}'}{'' if value is None else f' payload: {java_string(value)}'}"
        yield f"{INDENT} offset: {record.offset} {kind}: {record.timestamp} {sizes}{more}"


def _bool(value: bool) -> str:  # noqa: FBT001 - what it is about
    return "true" if value else "false"


def _checksums(batch: Batch) -> Iterator[tuple[int, int, bool]]:
    """The number of each message, its CRC, and whether that is right."""
    if not batch.head.codec:
        yield 0, batch.head.crc, batch.crc_valid
        return
    for number, item in enumerate(item for item in inner_messages(batch) if isinstance(item, Batch)):
        yield number, item.layout.crc.unpack(item.source.data, item.position)[0], item.crc_valid


def _control(batch: Batch, record: Record) -> str:
    payload = payload_of(batch, record)
    control: Control | None = payload.control if payload else None
    if control is None:  # a control message of the KIP-98 draft
        return f" controlType: {payload.draft if payload else 'UNKNOWN'}({record.control})"
    value = control.value
    if value and value.body and value.body.complete:
        if control.number in MARKERS:
            return f" endTxnMarker: {control.type} coordinatorEpoch: {value.json_data()['coordinatorEpoch']}"
        return f" {_BEFORE_JSON.get(control.type, control.type)} {jackson(_as_declared(value.json_data(), value.body.spec))}"
    return f" controlType: {control.type}({control.number})"


def _decoded(batch: Batch, record: Record, hide: Hide | None) -> str:
    """Key and value of a record in one of Kafka's own topics, as the decoder for this topic has them."""
    found = payload_of(batch, record)
    if not found or not found.record:
        return ""
    payload, topic = found.record, batch.source.topic or ""
    shown = payload.to_json(hidden=hide.record(batch, payload) if hide else {})
    for name, part in (("key", payload.key), ("value", payload.value)):
        if part and part.body:
            shown[name]["data"] = _as_declared(shown[name]["data"], part.body.spec)
    if topic in FRAMED:
        if payload.value and payload.value.exact:
            return f" payload: {jackson(shown['value'])}"
        return f" payload: Error at {record.offset}, skipping. {_reason(payload)}"
    key = payload.key
    if key and key.type and (key.body is None or (COORDINATORS[topic], int(key.type)) in RETIRED):
        return f" key: Unknown record type {key.type} at offset {record.offset}, skipping."
    if not _whole(key) or (payload.value and not _whole(payload.value)):
        return f" key: Error at offset {record.offset}, skipping. {_reason(payload)}"
    return f" key: {jackson(shown['key'])} payload: {jackson(shown['value']) if payload.value else '<DELETE>'}"


def _as_declared(data: dict[str, Any], spec: MessageSpec, fields: tuple[FieldSpec, ...] | None = None) -> dict[str, Any]:
    """The same with tagged fields where they are declared, and without unknown ones, as Kafka's JsonConverter classes write it."""
    out = {}
    for each in spec.fields if fields is None else fields:
        name = each.json_name
        if name not in data:
            continue
        value = data[name]
        if inner := spec.struct_fields(each):
            if isinstance(value, dict):
                value = _as_declared(value, spec, inner)
            elif isinstance(value, list):
                value = [_as_declared(item, spec, inner) for item in value]
        out[name] = value
    return out


def _whole(part: Payload | None) -> bool:
    """Whether Kafka's generated classes would read it; bytes behind it are nothing to them."""
    return bool(part and part.body and part.body.complete and not part.body.guess)


def _reason(payload: RecordPayload) -> str:
    return next((f"{note.path}: {note.detail}" for note in payload.anomalies), "it holds no value")
