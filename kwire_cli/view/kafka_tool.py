"""Batches, records and indexes as Kafka's DumpLogSegments prints them."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.batch import Batch, has_payloads, headers_of, int64, visible_payload
from kwire_cli.records.kafka_topics import COORDINATORS, FRAMED, MARKERS, RETIRED
from kwire_cli.records.layouts import FRAME, OVERHEAD
from kwire_cli.records.legacy import inner_messages
from kwire_cli.records.reading import source_of
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.indexes import OffsetEntry, TimeEntry
from kwire_cli.source.logs.model import Kind
from kwire_cli.structs.lengths import redacted
from kwire_cli.view.java_text import jackson, java_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.records.batch import Hide, Record, Source
    from kwire_cli.records.kafka_topics import Control, RecordPayload
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.source.logs.files import File
    from kwire_cli.source.logs.indexes import ProducerEntry
    from kwire_cli.source.logs.model import Contents, FileName
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# Logs and KRaft's snapshots in the lines of Kafka's own DumpLogSegments, for scripts that read those.
#
# Source: org.apache.kafka.tools.DumpLogSegments of Kafka 4.4. `deep` stands for its --print-data-log with the
# decoder that the topic asks for.

INDENT = "|"


_BEFORE_JSON = {"LeaderChange": "LeaderChange:"}


@dataclass
class Trouble:
    """The faults found by DumpLogSegments' own checks, by absolute path.

    DumpLogSegments prints them on standard error, behind the last file. Pairs are of what the index says and what the
    log has, or of offsets that follow each other.
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
            yield from (
                f"  Index offset: {at}, log offset: {logged}" for at, logged in sorted(pairs.items(), reverse=True)
            )
        for path, times in self.timestamps.items():
            yield f"Found timestamp mismatch in :{path}"
            yield from (f"  Index timestamp: {at}, log timestamp: {logged}" for at, logged in times)
        for path, times in self.out_of_order.items():
            yield f"Found out of order timestamp in :{path}"
            yield from (f"  Index timestamp: {at}, Previously indexed timestamp: {before}" for at, before in times)
        for offsets in self.not_found.values():
            yield "The following indexed offsets are not found in the log."
            yield from (f"Indexed offset: {at}, found log offset: {logged}" for at, logged in offsets)
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
    """Yield the line before the batches of a log or snapshot. `file` is the name without its folder.

    Yield nothing if the name says no offset, unless it is that of a bootstrap snapshot.
    """
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
            f"baseOffset: {head.base_offset} lastOffset: {head.last_offset} count: {head.records_count} "
            f"baseSequence: {head.base_sequence}"
            f" lastSequence: {batch.last_sequence} producerId: {head.producer_id} producerEpoch: {head.producer_epoch}"
            f" partitionLeaderEpoch: {head.leader_epoch} isTransactional: {_bool(head.transactional)} "
            f"isControl: {_bool(head.control)}"
            f" deleteHorizonMs: {horizon}"
        )
    else:
        what = f"offset: {head.last_offset}"
    return (
        f"{what} position: {batch.position} {batch.timestamp_type}: {head.max_timestamp} size: {batch.size}"
        f" magic: {batch.magic}"
        f" compresscodec: {batch.compression} crc: {head.crc} isvalid: {_bool(batch.crc_valid)}"
    )


def record_lines(batch: Batch, records: Iterable[tuple[int, Record]], hide: Hide | None) -> Iterator[str]:
    """The records of a batch, with their numbers in it. Keys and values that are nobody's message are text, as they
    are.
    """
    kind = batch.timestamp_type
    if not batch.layout.is_message and not batch.head.control and not has_payloads(batch):
        for _, (offset, timestamp, sequence, key, value, headers, *_) in records:
            yield (
                f"{INDENT} offset: {offset} {kind}: {timestamp} keySize: {-1 if key is None else len(key)}"
                f" valueSize: {-1 if value is None else len(value)} sequence: {sequence}"
                f" headerKeys: [{','.join([str(name) for name, _ in headers]) if headers else ''}]"
                f"{'' if key is None else f' key: {java_string(key)}'}"
                f"{'' if value is None else f' payload: {java_string(value)}'}"
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
            more += _control(batch, record, hide)
        elif payloads:
            more += _decoded(batch, record, hide)
        else:
            more += (
                f"{'' if key is None else f' key: {java_string(key)}'}"
                f"{'' if value is None else f' payload: {java_string(value)}'}"
            )
        yield f"{INDENT} offset: {record.offset} {kind}: {record.timestamp} {sizes}{more}"


def _bool(value: bool) -> str:  # noqa: FBT001 - what it is about
    return "true" if value else "false"


def _checksums(batch: Batch) -> Iterator[tuple[int, int, bool]]:
    """The number of each message, its CRC, and whether that is right."""
    if not batch.head.codec:
        yield 0, batch.head.crc, batch.crc_valid
        return
    for number, item in enumerate(item for item in inner_messages(batch) if isinstance(item, Batch)):
        yield number, item.layout.crc.unpack(item.data, item.position)[0], item.crc_valid


def _control(batch: Batch, record: Record, hide: Hide | None) -> str:
    payload, hidden = visible_payload(batch, record, hide)
    if hidden:
        return _redacted(record)
    control: Control | None = payload.control if payload else None
    if control is None:  # a control message of the KIP-98 draft
        return f" controlType: {payload.draft if payload else 'UNKNOWN'}({record.control})"
    value = control.value
    if value and value.body and value.body.complete:
        if control.number in MARKERS:
            return f" endTxnMarker: {control.type} coordinatorEpoch: {value.json_data()['coordinatorEpoch']}"
        return (
            f" {_BEFORE_JSON.get(control.type, control.type)} "
            f"{jackson(_as_declared(value.json_data(), value.body.spec))}"
        )
    return f" controlType: {control.type}({control.number})"


def _redacted(record: Record) -> str:
    """Return the key and value of a record of which nothing may be shown."""
    parts = ("key", record.key), ("payload", record.value)
    return "".join(f" {name}: {redacted(len(data))}" for name, data in parts if data is not None)


def _decoded(batch: Batch, record: Record, hide: Hide | None) -> str:
    """Key and value of a record in one of Kafka's own topics, as the decoder for this topic has them."""
    payloads, hidden = visible_payload(batch, record, hide)
    if not payloads or not payloads.record:
        return _redacted(record)
    payload, topic = payloads.record, batch.source.topic or ""
    if payload.secret is not None:  # an application's: the tool has no decoder for it
        parts = (("key", "key", record.key), ("payload", "value", record.value))
        shown = (
            (name, redacted(len(data)) if hidden.get(part) else java_string(data))
            for name, part, data in parts
            if data is not None
        )
        return "".join(f" {name}: {text}" for name, text in shown)
    document = payload.to_json(hidden=hidden)
    for name, part in (("key", payload.key), ("value", payload.value)):
        if part and part.body:
            document[name]["data"] = _as_declared(document[name]["data"], part.body.spec)
    if topic in FRAMED:
        if payload.value and payload.value.exact:
            return f" payload: {jackson(document['value'])}"
        return f" payload: Error at {record.offset}, skipping. {_reason(payload)}"
    key = payload.key
    if key and key.type and (key.body is None or (COORDINATORS[topic], int(key.type)) in RETIRED):
        return f" key: Unknown record type {key.type} at offset {record.offset}, skipping."
    if not _whole(key) or (payload.value and not _whole(payload.value)):
        return f" key: Error at offset {record.offset}, skipping. {_reason(payload)}"
    return f" key: {jackson(document['key'])} payload: {jackson(document['value']) if payload.value else '<DELETE>'}"


def _as_declared(
    data: dict[str, Any], spec: MessageSpec, fields: tuple[FieldSpec, ...] | None = None
) -> dict[str, Any]:
    """The same with tagged fields where they are declared, and without unknown ones, as Kafka's JsonConverter classes
    write it.
    """
    out = {}
    for field_spec in spec.fields if fields is None else fields:
        name = field_spec.json_name
        if name not in data:
            continue
        value = data[name]
        if inner := spec.struct_fields(field_spec):
            if isinstance(value, dict):
                value = _as_declared(value, spec, inner)
            elif isinstance(value, list):
                value = [_as_declared(item, spec, inner) for item in value]
        out[name] = value
    return out


_REFUSED = frozenset({"EARLY_LAYOUT", "NULL_NOT_ALLOWED"})
"""Anomalies with which Kafka's generated classes do not read a payload."""


def _whole(part: Payload | None) -> bool:
    """Return whether Kafka's generated classes would read a payload. They ignore bytes behind it."""
    if part is None or part.body is None or not part.body.complete or part.body.guess:
        return False
    return _REFUSED.isdisjoint(note.code for note in part.anomalies)


def _reason(payload: RecordPayload) -> str:
    return next((f"{note.path}: {note.detail}" for note in payload.anomalies), "it holds no value")


# Indexes and producer snapshots in the lines of Kafka's own DumpLogSegments, which holds indexes against the
# log beside them.
#
# Source: org.apache.kafka.tools.DumpLogSegments of Kafka 4.4; where that ends with an exception, because the
# log is not there or has no batch at the position that an index says, the entry is shown all the same.

_NO_OFFSET = -1


_LAST_SEQUENCE = (1 << 31) - 1


def file_lines(file: File, label: str, trouble: Trouble, note: Callable[[str], None]) -> Iterator[str]:
    """An index or producer snapshot; `label` is its path as it was asked for, `note` takes what belongs on standard
    error at once.

    Raises:
        InputError: It cannot be read.

    """
    contents = read_log_file(file.path)
    if file.kind is Kind.INDEX:
        yield from _offset_index(file, label, contents, trouble)
    elif file.kind is Kind.TIME_INDEX:
        yield from _time_index(file, contents, trouble)
    elif file.kind is Kind.TRANSACTION_INDEX:
        for entry in contents.entries:
            yield (
                f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
                f"lastOffset: {entry.last_offset}"
                f" lastStableOffset: {entry.last_stable_offset}"
            )
    else:
        yield from _snapshot(contents, note)


def _offset_index(file: File, label: str, contents: Contents[OffsetEntry], trouble: Trouble) -> Iterator[str]:
    base = contents.head["baseOffset"] or 0
    entries = _entries(contents.entries, contents.size, OffsetEntry(0, base, 0))
    if not entries:
        yield f"{label} is empty."
        return
    source = _log_of(file)
    for number, entry in enumerate(entries):
        if number and entry.offset == base:
            return
        if source:
            last = next((batch.last_offset for batch in _shallow(source, entry.position)), _NO_OFFSET)
            if last != entry.offset:
                trouble.mismatches.setdefault(str(file.path.absolute()), {})[entry.offset] = last
        yield f"offset: {entry.offset} position: {entry.position}"


def _time_index(file: File, contents: Contents[TimeEntry], trouble: Trouble) -> Iterator[str]:
    base = contents.head["baseOffset"] or 0
    source = _log_of(file)
    log = _Log(source, _index_of(file)) if source else None
    place, before = str(file.path.absolute()), -1
    for number, entry in enumerate(_entries(contents.entries, contents.size, TimeEntry(0, 0, base))):
        if number and entry.offset == base:
            return
        if log:
            batch = log.first_from(entry.offset)
            if batch is None or batch.last_offset != entry.offset:
                trouble.not_found.setdefault(place, []).append(
                    (entry.offset, batch.last_offset if batch else _NO_OFFSET)
                )
            else:
                largest = log.largest_time(batch)
                if largest != entry.timestamp:
                    trouble.timestamps.setdefault(place, []).append((entry.timestamp, largest))
                if before >= entry.timestamp:
                    trouble.out_of_order.setdefault(place, []).append((entry.timestamp, before))
        yield f"timestamp: {entry.timestamp} offset: {entry.offset}"
        before = entry.timestamp


class _Shallow(NamedTuple):
    """A batch by its header alone, whatever its checksum."""

    position: int
    size: int
    layout: Layout
    last_offset: int


class _Log:
    """The batches of a log, found by offset in the same time wherever they are."""

    def __init__(self, source: Source, index: Sequence[OffsetEntry]) -> None:
        self._source, self._index = source, index
        self._positions, self._offsets = array("q"), array("q")
        self._times: dict[int, int] = {}
        highest = -(1 << 63)
        for batch in _shallow(source, 0):
            highest = max(highest, batch.last_offset)
            self._positions.append(batch.position)
            self._offsets.append(highest)

    def first_from(self, offset: int) -> _Shallow | None:
        """The first batch with this offset or a later one, from where the index sends those who look for it."""
        at = bisect_right(self._index, offset, key=lambda each: each.offset) - 1
        start = bisect_left(self._positions, self._index[at].position) if at >= 0 else 0
        number = max(start, bisect_left(self._offsets, offset))
        return next(_shallow(self._source, self._positions[number])) if number < len(self._positions) else None

    def largest_time(self, batch: _Shallow) -> int:
        """The largest timestamp of its records; -1 without any."""
        if batch.position not in self._times:
            records = Batch(self._source, batch.position, batch.size, batch.layout, crc_valid=True).records()
            self._times[batch.position] = max((record.timestamp for record in records), default=-1)
        return self._times[batch.position]


def _shallow(source: Source, start: int) -> Iterator[_Shallow]:
    """The batches from a position on, as far as their sizes lead."""
    at = start
    while 0 <= at <= source.size - FRAME.size:
        _, size, magic = FRAME.unpack(source.view(at, at + FRAME.size), at)
        layout = source.layouts.get(magic)
        end = at + OVERHEAD + size
        if layout is None or size < layout.least or end > source.size:
            return
        said = layout.numbers(source.view(at, end), at)
        last = said["offset"] if "offset" in said else int64(said["baseOffset"] + said["lastOffsetDelta"])
        yield _Shallow(at, end - at, layout, last)
        at = end


def _entries(entries: Sequence[Any], size: int, first: Any) -> Sequence[Any]:
    """The entries; Kafka takes the first one for meant even where all are zeros, as they are in an index that was made
    and not yet written to.
    """
    return entries if entries or not size else (first,)


def _log_of(file: File) -> Source | None:
    log = file.beside(Kind.LOG)
    return source_of(log.path) if log else None


def _index_of(file: File) -> Sequence[OffsetEntry]:
    index = file.beside(Kind.INDEX)
    entries: Sequence[OffsetEntry] = read_log_file(index.path).entries if index else ()
    return entries


def _snapshot(contents: Contents[ProducerEntry], note: Callable[[str], None]) -> Iterator[str]:
    """The producers of a snapshot; of one that is damaged only what is wrong, as Kafka reads none of it."""
    if contents.anomalies and not all(anomaly.code.startswith("ENTRY") for anomaly in contents.anomalies):
        note(f"Snapshot is corrupt: {contents.anomalies[0].detail}")
        return
    for entry in contents.entries:
        first = (
            "OptionalLong.empty"
            if entry.current_txn_first_offset < 0
            else f"OptionalLong[{entry.current_txn_first_offset}]"
        )
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch}"
            f" currentTxnFirstOffset: {first} lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset >= 0:
            line += (
                f" firstSequence: {_sequence_before(entry.last_sequence, entry.offset_delta)} lastSequence: "
                f"{entry.last_sequence}"
                f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
            )
        yield line


def _sequence_before(sequence: int, delta: int) -> int:
    """The sequence `delta` before one (DefaultRecordBatch.decrementSequence); before 0 stands 2147483647."""
    return (sequence - delta) & _LAST_SEQUENCE
