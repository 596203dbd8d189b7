"""Record batches of format v2 (org.apache.kafka.common.record.DefaultRecordBatch): their header's numbers, and a fold of spans into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.codec.compression import decompress
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.records.batch import Head, int64, sequence_after
from kwire_cli.records.chunks import chunks
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.model import Area, Record
from kwire_cli.records.odd import add_note, add_odd, bytes_of
from kwire_cli.structs.numbers import ZIGZAG_LONG
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from kwire_cli.engine.program import Series
    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch

_HEAD = LAYOUTS["v2"].head
_CODEC, _TIME, _TRANSACTIONAL = COMPRESSION.mask, TIMESTAMP_TYPE.mask, v2.TRANSACTIONAL.mask
_CONTROL, _HORIZON = v2.CONTROL.mask, v2.DELETE_HORIZON.mask
_FIELDS = ("length", "attributes", "timestampDelta", "offsetDelta", "key", "value", "headers")
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_NULL = 1
"""The byte of a zig-zag length of -1, as it is written where nothing is odd."""


def head_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Head:
    """The numbers of its header."""
    (
        base_offset,
        _length,
        leader_epoch,
        _magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _HEAD.unpack(batch.source.data, batch.position)
    if last_offset_delta < 0:
        notes.append(Anomaly("LAST_OFFSET_MISMATCH", "lastOffsetDelta", batch.position, f"it is {last_offset_delta}"))
    return Head(
        base_offset,
        int64(base_offset + last_offset_delta),
        crc,
        attributes,
        attributes & _CODEC,
        1 if attributes & _TIME else 0,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        leader_epoch,
        bool(attributes & _TRANSACTIONAL),
        bool(attributes & _CONTROL),
        base_timestamp if attributes & _HORIZON else None,
        count,
    )


def area_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Area:
    """The bytes of its records, decompressed within the source's limits."""
    start = batch.position + _HEAD.size
    packed = batch.source.data[start : batch.end]
    codec = batch.head.codec
    if not codec:
        return Area(bytes(packed), start, compressed=False)
    data, code, detail, _ = decompress(codec, packed, batch.source.limits)
    if code:
        add_note(notes, Anomaly(code, "records", start, detail))
    return Area(data, start, compressed=True)


def pieces_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
    """The records, as they are read; whether there are as many as the header says, and none beyond its last offset, is noted at the end."""
    head = batch.head
    known = len(notes)
    area = area_of(batch, notes)
    partial = len(notes) > known
    count, highest = 0, -1
    for spans in chunks(records_entry(v2.RECORDS), area.data, _first()):
        calm = not spans.flags and spans.lost < 0
        records = _calm(spans, head) if calm else None
        if records is None:
            records = _odd(spans, head, area, count, notes)
        count += len(records)
        if records:
            highest = max(highest, records[-1].offset - head.base_offset)
            yield records
    if count != head.records_count and not partial:
        detail = f"the batch says that it has {head.records_count} records and holds {count}; Kafka's reader fails here"
        add_note(notes, Anomaly("COUNT_MISMATCH", "recordsCount", batch.position, detail))
    if highest > head.last_offset - head.base_offset >= 0:
        detail = f"a record is {highest} after the base offset, and the last one should be {head.last_offset - head.base_offset} after it"
        add_note(notes, Anomaly("LAST_OFFSET_MISMATCH", "lastOffsetDelta", batch.position, detail))


def _first() -> int:
    series: Series = records_entry(v2.RECORDS).root.fields[0]  # type: ignore[assignment]
    return series.first


def _calm(spans: Spans, head: Head) -> list[Record] | None:
    """The fold of spans in which nothing is odd into records; None where something is, in the text of a header's key.

    The spans of a record stand in the order of the fields of the declaration: _FIELDS, then key and value of each header.
    """
    data, value, end = spans.data, spans.value, spans.end
    base_offset, base_timestamp, sequence = head.base_offset, head.base_timestamp, head.base_sequence
    log_append = head.max_timestamp if head.timestamp_type else None
    out: list[Record] = []
    add = out.append
    make: Any = tuple.__new__
    i, count = 0, len(value)
    while i < count:
        at, stop = value[i + 2], end[i + 2]
        byte = data[at]
        timestamp = base_timestamp + (byte >> 1 ^ -(byte & 1) if stop == at + 1 else _number(data, at, stop))
        at, stop = value[i + 3], end[i + 3]
        byte = data[at]
        delta = byte >> 1 ^ -(byte & 1) if stop == at + 1 else _number(data, at, stop)
        offset = base_offset + delta
        if log_append is not None:
            timestamp = log_append
        if not (_LOWEST <= timestamp <= _HIGHEST and offset <= _HIGHEST):
            timestamp, offset = int64(timestamp), int64(offset)
        key_at, stop = value[i + 4], end[i + 4]
        key = data[key_at:stop]
        if key_at == stop and data[key_at - 1] == _NULL:
            key = None
        value_at, stop = value[i + 5], end[i + 5]
        payload = data[value_at:stop]
        if value_at == stop and data[value_at - 1] == _NULL:
            payload = None
        at, stop = end[i + 5], end[i + 6]  # a count is all prefix
        i += 7
        headers: tuple[Any, ...] = ()
        if stop > at + 1 or data[at]:
            number = _number(data, at, stop) if stop > at + 1 else data[at] >> 1
            try:
                headers = tuple([_header(data, value, end, j) for j in range(i, i + 2 * number, 2)])
            except UnicodeDecodeError:
                return None
            i += 2 * number
        number = (sequence + delta) & 0x7FFFFFFF if sequence >= 0 else -1
        add(make(Record, (offset, timestamp, number, key, payload, headers, key_at, value_at, None)))
    return out


def _number(data: bytes, at: int, stop: int) -> int:
    """A zig-zag number of more than one byte."""
    if stop == at + 2:
        number = data[at] & 127 | data[at + 1] << 7
        return number >> 1 ^ -(number & 1)
    return ZIGZAG_LONG.read(data[at:stop])


def _header(data: bytes, value: Any, end: Any, at: int) -> tuple[str, bytes | None]:
    start, stop = value[at + 1], end[at + 1]
    name = str(data[value[at] : end[at]], "utf-8")
    return name, None if start == stop and data[start - 1] == _NULL else data[start:stop]


def _odd(spans: Spans, head: Head, area: Area, before: int, notes: MutableSequence[Anomaly]) -> list[Record]:
    """The same by way of a tree, with what is odd; a record that is cut is none."""
    out = []
    for found, places in add_odd(records_entry(v2.RECORDS), spans, area, before, notes):
        delta = found["offsetDelta"]
        timestamp = head.max_timestamp if head.timestamp_type else int64(head.base_timestamp + found["timestampDelta"])
        headers = tuple((header["key"], bytes_of(header["value"])) for header in found["headers"] or ())
        offset, sequence = int64(head.base_offset + delta), sequence_after(head.base_sequence, delta)
        key, value = bytes_of(found["key"]), bytes_of(found["value"])
        out.append(Record(offset, timestamp, sequence, key, value, headers, places["key"], places["value"]))
    return out
