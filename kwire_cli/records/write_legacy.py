"""Messages of formats v0 and v1 and of the KIP-82 draft from JSON, alone or in a compressed wrapper message
(MemoryRecordsBuilder).
"""

from __future__ import annotations

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
from kwire_cli.records.write_v2 import HEADER_KEYS
from kwire_cli.structs.records import kip82
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from kwire_cli.records.building import Given
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.writing import Payloads

INNER_OFFSETS = {0: "absolute", 1: "relative"}
"""How offsets in a wrapper are written: Kafka writes absolute ones in v0, relative ones from v1 on (KIP-31)."""

NOT_THERE = {
    "producerId": -1,
    "producerEpoch": -1,
    "baseSequence": -1,
    "partitionLeaderEpoch": -1,
    "isTransactional": False,
    "isControl": False,
    "deleteHorizonMs": None,
}


def write(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """A message for each record, or a wrapper with all of them, and the last offset; `first` is the first one where
    nothing says it.
    """
    item.absent(NOT_THERE, layout.name)
    records = item.list("records")
    offsets = offsets_of(records, item.number("baseOffset", "int64", first))
    appended = _timestamp_type(item, layout)
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


def _timestamp_type(item: Given, layout: Layout) -> int:
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
    attributes = attributes_of((TIMESTAMP_TYPE, _timestamp_type(item, layout)))
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
        value |= {"attributes": attributes | kip82.HAS_HEADERS.mask, "headers": [_header(header) for header in headers]}
    if crc is None and "crc" in record.fields():
        crc = said_crc(record, record.fields())
    return sealed(built(layout.decl, value | fields, record.path), layout, crc)


def _header(header: Given) -> dict[str, Any]:
    header.only(HEADER_KEYS)
    key, value = header.integer("key", "uint32"), header.bytes("value")
    if key is None or value is None:
        raise header.refuse(
            "value" if key is not None else "key", "a header of this draft has a number for its key, and a value"
        )
    return {"key": key, "value": base64_text(value)}
