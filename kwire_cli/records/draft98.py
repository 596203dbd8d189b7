"""Message sets of the KIP-98 draft, read lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.fixed import fixed
from kwire_cli.engine.lower import records_entry
from kwire_cli.records.batch import Head, Record, int64, sequence_after
from kwire_cli.records.codecs import crc32
from kwire_cli.records.v2 import add_note, add_odd, area_of, bytes_of, chunks, has_enough
from kwire_cli.structs.records import kip98
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from kwire_cli.records.batch import Batch

_KEY = fixed(kip98.CONTROL_MESSAGE_KEY)
_UNKNOWN = -1


def head_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Head:  # noqa: ARG001 - as for all formats
    """Return the numbers of its header. It has no base timestamp, no leader epoch and no count."""
    layout = batch.layout
    said = layout.numbers(batch.data, batch.position)
    attributes = said["attributes"]
    return Head(
        said["offset"],
        int64(said["offset"] + said["offsetDelta"]),
        said["crc"],
        attributes,
        COMPRESSION.read(attributes),
        TIMESTAMP_TYPE.read(attributes),
        -1,
        said["maxTimestamp"],
        said["pid"],
        said["epoch"],
        said["sequence"],
        transactional=bool(kip98.TRANSACTIONAL.read(attributes)),
    )


def pieces_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
    """Yield the messages of a set, each with a separate timestamp and checksum."""
    head = batch.head
    area = area_of(batch, notes)
    entry = records_entry(kip98.MESSAGES)
    count = 0
    for spans in chunks(entry, area.data):
        if has_enough(batch, area, count, spans.start, notes):
            return
        piece = []
        for fields, places in add_odd(entry, spans, area, count, notes):
            computed = crc32(area.data[places[kip98.MESSAGE_CRC_FROM] : places["crc"]])
            if computed != fields["crc"]:
                offset, where = area.place(places["crc"])
                detail = f"the message says {fields['crc']:#010x}, its bytes have {computed:#010x}{where}"
                add_note(notes, Anomaly("CRC_MISMATCH", f"messages[{count}].crc", offset, detail))
            delta, key = fields["offsetDelta"], bytes_of(fields.get("key"))
            timestamp = head.max_timestamp if head.timestamp_type else fields["timestamp"]
            number = None
            if kip98.CONTROL.read(fields["attributes"]):
                number = _KEY.unpack(key)[1] if key is not None and len(key) >= _KEY.size else _UNKNOWN
            record = Record(
                int64(head.base_offset + delta),
                timestamp,
                sequence_after(head.base_sequence, delta),
                key,
                bytes_of(fields.get("value")),
                (),
            )
            piece.append(
                record._replace(key_at=places.get("key", -1), value_at=places.get("value", -1), control=number)
            )
            count += 1
        if piece:
            yield piece
