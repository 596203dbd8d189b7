"""Message sets of the KIP-98 draft from JSON."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import base64_text, int64
from kwire_cli.records.building import (
    attributes_of,
    built,
    codec_of,
    offsets_of,
    packed,
    said_crc,
    sealed,
    timestamp_type_of,
)
from kwire_cli.records.codecs import crc32
from kwire_cli.structs.numbers import INTS, RANGES
from kwire_cli.structs.records import kip98
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from kwire_cli.records.building import Given
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.writing import Payloads

NOT_THERE = {"partitionLeaderEpoch": -1, "isControl": False, "deleteHorizonMs": None}


def write(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """A message set and its last offset; `first` is its offset where it does not say one."""
    item.absent(NOT_THERE, layout.name)
    records = item.list("records")
    base = item.number("baseOffset", "int64", records[0].number("offset", "int64", first) if records else first)
    offsets = offsets_of(records, base)
    codec, appended, latest = codec_of(item), timestamp_type_of(item), item.integer("maxTimestamp", "int64")
    times = [
        record.number("timestamp", "int64", latest if appended and latest is not None else -1) for record in records
    ]
    last = item.number("lastOffset", "int64", max(offsets, default=base))
    rows = [
        _message(record, payloads, _delta(record, "offset", offset, base, 0), time)
        for record, offset, time in zip(records, offsets, times, strict=True)
    ]
    value: dict[str, Any] = {
        "offset": base,
        "crc": 0,
        "magic": layout.magic,
        "attributes": attributes_of(
            (COMPRESSION, codec), (TIMESTAMP_TYPE, appended), (kip98.TRANSACTIONAL, item.flag("isTransactional"))
        ),
        "offsetDelta": _delta(item, "lastOffset", last, base, RANGES["int32"][0]),
        "maxTimestamp": max(times, default=-1) if latest is None else latest,
        "pid": item.number("producerId", "int64"),
        "epoch": item.number("producerEpoch", "int16"),
        "sequence": item.number("baseSequence", "int32"),
        "messages": rows,
    }
    if codec:
        value["messages"] = base64_text(
            packed(item, codec, built(kip98.MESSAGES, {"messages": rows}, item.path), layout.magic)
        )
    fields = item.fields()
    return sealed(built(layout.decl, value | fields, item.path), layout, said_crc(item, fields)), last


def _delta(where: Given, key: str, offset: int, base: int, low: int) -> int:
    delta = int64(offset - base)
    if not low <= delta <= RANGES["int32"][1]:
        raise where.refuse(
            key, f"offset {offset} is {delta} after the set's offset {base}, which does not fit its delta"
        )
    return delta


def _message(record: Given, payloads: Payloads, delta: int, time: int) -> dict[str, Any]:
    """A message with its checksum."""
    if record.list("headers"):
        raise record.refuse("headers", "format kip98-draft has no headers")
    control = record.has("control")
    key, data = payloads.of_draft(record) if control else payloads.of(record, control=None)
    fields = record.fields()
    value: dict[str, Any] = {
        "attributes": attributes_of(
            (kip98.NULL_KEY, key is None), (kip98.NULL_VALUE, data is None), (kip98.CONTROL, control)
        ),
        "timestamp": time,
        "offsetDelta": delta,
        "key": base64_text(key),
        "value": base64_text(data),
        "crc": 0,
    }
    value |= fields
    if "crc" not in fields:
        whole = built(kip98.MESSAGE, value, record.path)
        stream = io.BytesIO(whole)
        kip98.MESSAGE.size.subcon.parse_stream(stream)  # it covers what follows its own size
        value["crc"] = crc32(whole[stream.tell() : -INTS["uint32"].length])
    return value
