"""Batches of each format from JSON.

Format v2 is org.apache.kafka.common.record.DefaultRecordBatch. Messages of formats v0 and v1 and of the KIP-82 draft
are separate or inside a compressed wrapper message (MemoryRecordsBuilder). The KIP-98 draft has message sets.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import NO_TIMESTAMP_TYPE, base64_text, int64
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
from kwire_cli.structs.records import kip82, kip98, v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from kwire_cli.records.building import Given
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.payload_writing import Payloads

HEADER_KEYS = ("key", "value")
INNER_OFFSETS = {0: "absolute", 1: "relative"}
"""The ways to write offsets in a wrapper: Kafka writes absolute ones in v0, relative ones from v1 on (KIP-31)."""

NOT_IN_MESSAGES = {
    "producerId": -1,
    "producerEpoch": -1,
    "baseSequence": -1,
    "partitionLeaderEpoch": -1,
    "isTransactional": False,
    "isControl": False,
    "deleteHorizonMs": None,
}
NOT_IN_DRAFT = {"partitionLeaderEpoch": -1, "isControl": False, "deleteHorizonMs": None}


def write_v2(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """Return a batch and its last offset; `first` is the default of its base offset."""
    records = item.list("records")
    base = item.number("baseOffset", "int64", records[0].number("offset", "int64", first) if records else first)
    offsets = offsets_of(records, base)
    control = item.flag("isControl", default=any(record.has("control") for record in records))
    codec = codec_of(item)
    appended = timestamp_type_of(item)
    horizon = item.integer("deleteHorizonMs", "int64")
    latest = item.integer("maxTimestamp", "int64")
    times = [
        record.number("timestamp", "int64", latest if appended and latest is not None else -1) for record in records
    ]
    base_time = (times[0] if times else -1) if horizon is None else horizon
    last = item.number("lastOffset", "int64", max(offsets, default=base))
    rows = [
        _record_v2(record, payloads, control, _delta(record, "offset", offset, base), int64(time - base_time))
        for record, offset, time in zip(records, offsets, times, strict=True)
    ]
    value: dict[str, Any] = {
        "baseOffset": base,
        "partitionLeaderEpoch": item.number("partitionLeaderEpoch", "int32"),
        "magic": layout.magic,
        "crc": 0,
        "attributes": attributes_of(
            (COMPRESSION, codec),
            (TIMESTAMP_TYPE, appended),
            (v2.TRANSACTIONAL, item.flag("isTransactional")),
            (v2.CONTROL, control),
            (v2.DELETE_HORIZON, horizon is not None),
        ),
        "lastOffsetDelta": _delta(item, "lastOffset", last, base),
        "baseTimestamp": base_time,
        "maxTimestamp": max(times, default=-1) if latest is None else latest,
        "producerId": item.number("producerId", "int64"),
        "producerEpoch": item.number("producerEpoch", "int16"),
        "baseSequence": item.number("baseSequence", "int32"),
        "recordsCount": len(rows),
        "records": rows,
    }
    fields = item.fields()
    if codec:
        value["records"] = base64_text(
            packed(item, codec, built(v2.RECORDS, {"records": rows}, item.path), layout.magic)
        )
    data = built(layout.decl, value | fields, item.path)
    return sealed(data, layout, said_crc(item, fields)), last


def _delta(where: Given, key: str, offset: int, base: int) -> int:
    delta = int64(offset - base)
    low, high = RANGES["int32"]
    if not low <= delta <= high:
        raise where.refuse(key, f"offset {offset} is {delta} after the base offset {base}, which does not fit int32")
    return delta


def _record_v2(
    record: Given,
    payloads: Payloads,
    control: bool,  # noqa: FBT001
    offset_delta: int,
    timestamp_delta: int,
) -> dict[str, Any]:
    key, value = payloads.of(record, control=control)
    row = {
        "attributes": 0,
        "timestampDelta": timestamp_delta,
        "offsetDelta": offset_delta,
        "key": base64_text(key),
        "value": base64_text(value),
        "headers": [_header_v2(header) for header in record.list("headers")],
    }
    return row | record.fields()


def _header_v2(header: Given) -> dict[str, Any]:
    header.only(HEADER_KEYS)
    name = header.text("key")
    if name is None:
        raise header.refuse("key", "a header has a name")
    return {"key": name, "value": base64_text(header.bytes("value"))}


# Messages of old formats.


def write_legacy(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """Return a message for each record, or a wrapper with all records, and the last offset.

    `first` is the default of the first offset.
    """
    item.absent(NOT_IN_MESSAGES, layout.name)
    records = item.list("records")
    offsets = offsets_of(records, item.number("baseOffset", "int64", first))
    appended = _legacy_timestamp_type(item, layout)
    latest = item.integer("maxTimestamp", "int64")
    times = [record.number("timestamp", "int64", -1 if latest is None else latest) for record in records]
    if layout.magic == 0:
        for where, key in ((item, "maxTimestamp"), *((record, "timestamp") for record in records)):
            where.absent({key: -1}, layout.name)
    codec = codec_of(item)
    if codec:
        return _wrapper(item, layout, payloads, codec, offsets, times, first)
    _check_alone(item, records, offsets)
    attributes = attributes_of((TIMESTAMP_TYPE, appended))
    crc = said_crc(item, item.fields())
    messages = [
        _message(record, layout, payloads, offset, time, attributes, record.fields() | item.fields(), crc)
        for record, offset, time in zip(records, offsets, times, strict=True)
    ]
    return b"".join(messages), offsets[-1]


def _check_alone(item: Given, records: list[Given], offsets: list[int]) -> None:
    if not records:
        raise item.refuse("records", "without compression a message set is its messages: there is none to write")
    last = item.number("lastOffset", "int64", offsets[-1])
    if last != offsets[-1]:
        raise item.refuse("lastOffset", f"without compression it is the offset of the last message, {offsets[-1]}")
    if len(records) > 1 and (not item.flag("crcValid", default=True) or item.has("fields")):
        raise item.refuse(
            "fields" if item.has("fields") else "crc",
            "these are several messages; say it of each record, in its fields",
        )


def _legacy_timestamp_type(item: Given, layout: Layout) -> int:
    if layout.magic == 0:
        item.absent({"timestampType": NO_TIMESTAMP_TYPE}, layout.name)
        return 0
    return timestamp_type_of(item)


def _wrapper(
    item: Given, layout: Layout, payloads: Payloads, codec: int, offsets: list[int], times: list[int], first: int
) -> tuple[bytes, int]:
    final = offsets[-1] if offsets else item.number("baseOffset", "int64", first)
    last = item.number("lastOffset", "int64", final)
    # Readers take inner offsets as they are where the wrapper's is 0 (a producer's) or lower than the last of them.
    usual = 1 if layout.magic and last == final else 0
    if layout.magic and last > final and "innerOffsets" not in item.value:
        raise item.refuse("lastOffset", f"a wrapper message has the offset of its last message, {final}")
    base = offsets[0] if offsets and item.choice("innerOffsets", INNER_OFFSETS, usual) else 0
    attributes = attributes_of((TIMESTAMP_TYPE, _legacy_timestamp_type(item, layout)))
    inner = b"".join(
        _message(record, layout, payloads, int64(offset - base), time, attributes, record.fields(), None)
        for record, offset, time in zip(item.list("records"), offsets, times, strict=True)
    )
    value = {
        "offset": last,
        "crc": 0,
        "magic": layout.magic,
        "attributes": attributes | attributes_of((COMPRESSION, codec)),
        "key": None,
        "value": base64_text(packed(item, codec, inner, min(layout.magic, 1))),
    }
    if layout.magic:
        value["timestamp"] = item.number("maxTimestamp", "int64", max(times, default=-1))
    fields = item.fields()
    return sealed(built(layout.decl, value | fields, item.path), layout, said_crc(item, fields)), last


def _message(
    record: Given,
    layout: Layout,
    payloads: Payloads,
    offset: int,
    time: int,
    attributes: int,
    fields: dict[str, Any],
    crc: int | None,
) -> bytes:
    key, data = payloads.of(record, control=None)
    value: dict[str, Any] = {
        "offset": offset,
        "crc": 0,
        "magic": layout.magic,
        "attributes": attributes,
        "key": base64_text(key),
        "value": base64_text(data),
    }
    if layout.magic:
        value["timestamp"] = time
    headers = record.list("headers")
    if headers and layout.decl is not kip82.MESSAGE:
        raise record.refuse("headers", f"format {layout.name} has no headers")
    if headers:
        value |= {
            "attributes": attributes | kip82.HAS_HEADERS.mask,
            "headers": [_numbered_header(header) for header in headers],
        }
    if crc is None and "crc" in record.fields():
        crc = said_crc(record, record.fields())
    return sealed(built(layout.decl, value | fields, record.path), layout, crc)


def _numbered_header(header: Given) -> dict[str, Any]:
    header.only(HEADER_KEYS)
    key, value = header.integer("key", "uint32"), header.bytes("value")
    if key is None or value is None:
        raise header.refuse(
            "value" if key is not None else "key", "a header of this draft has a number for its key, and a value"
        )
    return {"key": key, "value": base64_text(value)}


# Message sets of the KIP-98 draft.


def write_draft98(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """Return a message set and its last offset; `first` is the default of its offset."""
    item.absent(NOT_IN_DRAFT, layout.name)
    records = item.list("records")
    base = item.number("baseOffset", "int64", records[0].number("offset", "int64", first) if records else first)
    offsets = offsets_of(records, base)
    codec = codec_of(item)
    appended = timestamp_type_of(item)
    latest = item.integer("maxTimestamp", "int64")
    times = [
        record.number("timestamp", "int64", latest if appended and latest is not None else -1) for record in records
    ]
    last = item.number("lastOffset", "int64", max(offsets, default=base))
    rows = [
        _message_of_set(record, payloads, _set_delta(record, "offset", offset, base, 0), time)
        for record, offset, time in zip(records, offsets, times, strict=True)
    ]
    value: dict[str, Any] = {
        "offset": base,
        "crc": 0,
        "magic": layout.magic,
        "attributes": attributes_of(
            (COMPRESSION, codec), (TIMESTAMP_TYPE, appended), (kip98.TRANSACTIONAL, item.flag("isTransactional"))
        ),
        "offsetDelta": _set_delta(item, "lastOffset", last, base, RANGES["int32"][0]),
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


def _set_delta(where: Given, key: str, offset: int, base: int, low: int) -> int:
    delta = int64(offset - base)
    if not low <= delta <= RANGES["int32"][1]:
        raise where.refuse(
            key, f"offset {offset} is {delta} after the set's offset {base}, which does not fit its delta"
        )
    return delta


def _message_of_set(record: Given, payloads: Payloads, delta: int, time: int) -> dict[str, Any]:
    """Return a message with its checksum."""
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
        kip98.MESSAGE.size.subcon.parse_stream(stream)  # the checksum covers the bytes after the size
        value["crc"] = crc32(whole[stream.tell() : -INTS["uint32"].length])
    return value
