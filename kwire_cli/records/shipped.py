"""Record batches of format v2 (org.apache.kafka.common.record.DefaultRecordBatch): their header's numbers, and their records."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.records.area import area_of
from kwire_cli.records.batch import Head, int64, sequence_after
from kwire_cli.records.chunks import chunks
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.model import Record
from kwire_cli.records.odd import add_note, add_odd, bytes_of, has_enough
from kwire_cli.records.quick import AS_VALUES, Forms, reader_of
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence

    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Area

_HEAD = LAYOUTS["v2"].head
_CODEC, _TIME, _TRANSACTIONAL = COMPRESSION.mask, TIMESTAMP_TYPE.mask, v2.TRANSACTIONAL.mask
_CONTROL, _HORIZON = v2.CONTROL.mask, v2.DELETE_HORIZON.mask
_PIECE = 512
"""Records that are read at once."""


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


def pieces_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
    """The records, as they are read; whether there are as many as the header says, and none beyond its last offset, is noted at the end."""
    return made_of(batch, notes, _reader(), lambda record: (record,))


def made_of(batch: Batch, notes: MutableSequence[Anomaly], read: Callable[..., Any], make: Callable[[Record], Iterable[Any]]) -> Iterator[list[Any]]:
    """As `pieces_of`, with what a reader (`reader`) makes of records in which nothing is odd, and `make` of the others."""
    head = batch.head
    known = len(notes)
    area = area_of(batch, notes)
    partial = len(notes) > known
    count, highest, base = 0, -1, head.base_offset
    for made, taken, last in _pieces(batch, area, notes, read, make):
        count += taken
        highest = max(highest, last - base)
        yield made
    partial = partial or any(note.code == "DECOMPRESSION_LIMIT" for note in notes[-1:])
    if count != head.records_count and not partial and not batch.is_cut:
        detail = f"the batch says that it has {head.records_count} records and holds {count}; Kafka's reader fails here"
        add_note(notes, Anomaly("COUNT_MISMATCH", "recordsCount", batch.position, detail))
    if highest > head.last_offset - head.base_offset >= 0:
        detail = f"a record is {highest} after the base offset, and the last one should be {head.last_offset - head.base_offset} after it"
        add_note(notes, Anomaly("LAST_OFFSET_MISMATCH", "lastOffsetDelta", batch.position, detail))


def _pieces(
    batch: Batch, area: Area, notes: MutableSequence[Anomaly], read: Callable[..., Any], make: Callable[[Record], Iterable[Any]]
) -> Iterator[tuple[list[Any], int, int]]:
    """The records by the quick reader as far as it goes, then by spans and trees; with how many they are, and the last one's offset."""
    head = batch.head
    at, stop, quick = 0, len(area.data), True
    appended = head.max_timestamp if head.timestamp_type else None
    count = 0
    while at < stop and quick:
        made, at, quick, taken, last = read(area.data, at, stop, _PIECE, head.base_offset, head.base_timestamp, head.base_sequence, appended)
        count += taken
        if taken:
            yield made, taken, last
    if at < stop:
        before = count
        for spans in chunks(records_entry(v2.RECORDS), area.data, at):
            if has_enough(batch, area, count - before, spans.start, notes):
                return
            records = _odd(spans, head, area, count, notes)
            count += len(records)
            if records:
                yield [part for record in records for part in make(record)], len(records), records[-1].offset


def reader(then: Sequence[str], names: dict[str, Any], forms: Forms = AS_VALUES) -> Callable[..., Any]:
    """A reader of records in which nothing is odd (`records.quick`); `then` may use the numbers and fields of `Record` by their names."""
    return reader_of(
        v2.RECORD,
        ("base_offset", "base_timestamp", "base_sequence", "appended"),
        (
            "timestamp = base_timestamp + timestampDelta if appended is None else appended",
            "offset = base_offset + offsetDelta",
            "if not (LOWEST <= timestamp <= HIGHEST and LOWEST <= offset <= HIGHEST):",
            "    timestamp, offset = int64(timestamp), int64(offset)",
            "sequence = (base_sequence + offsetDelta) & 0x7FFFFFFF if base_sequence >= 0 else -1",
            *then,
        ),
        "offset",
        {"LOWEST": -(1 << 63), "HIGHEST": (1 << 63) - 1, "int64": int64, **names},
        forms,
    )


@cache
def _reader() -> Callable[..., Any]:
    then = "add(make(Record, (offset, timestamp, sequence, key, value, headers, key_at, value_at, None)))"
    return reader((then,), {"make": tuple.__new__, "Record": Record})


def _odd(spans: Spans, head: Head, area: Area, before: int, notes: MutableSequence[Anomaly]) -> list[Record]:
    """The records of spans by way of a tree, with what is odd; a record that is cut is none."""
    out = []
    for found, places in add_odd(records_entry(v2.RECORDS), spans, area, before, notes):
        delta = found["offsetDelta"]
        timestamp = head.max_timestamp if head.timestamp_type else int64(head.base_timestamp + found["timestampDelta"])
        headers = tuple((header["key"] or "", bytes_of(header["value"])) for header in found["headers"] or ())
        offset, sequence = int64(head.base_offset + delta), sequence_after(head.base_sequence, delta)
        key, value = bytes_of(found["key"]), bytes_of(found["value"])
        out.append(Record(offset, timestamp, sequence, key, value, headers, places["key"], places["value"]))
    return out
