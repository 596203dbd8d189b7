"""Record batches of format v2 from JSON (org.apache.kafka.common.record.DefaultRecordBatch)."""

from __future__ import annotations

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
from kwire_cli.structs.numbers import RANGES
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from kwire_cli.records.building import Given
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.writing import Payloads

HEADER_KEYS = ("key", "value")


def write(item: Given, layout: Layout, payloads: Payloads, first: int) -> tuple[bytes, int]:
    """A batch and its last offset; `first` is its base offset where it does not say one."""
    records = item.list("records")
    base = item.number("baseOffset", "int64", records[0].number("offset", "int64", first) if records else first)
    offsets = offsets_of(records, base)
    control = item.flag("isControl", default=any(record.has("control") for record in records))
    codec, appended, horizon = codec_of(item), timestamp_type_of(item), item.integer("deleteHorizonMs", "int64")
    latest = item.integer("maxTimestamp", "int64")
    times = [
        record.number("timestamp", "int64", latest if appended and latest is not None else -1) for record in records
    ]
    base_time = (times[0] if times else -1) if horizon is None else horizon
    last = item.number("lastOffset", "int64", max(offsets, default=base))
    rows = [
        _record(record, payloads, control, _delta(record, "offset", offset, base), int64(time - base_time))
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


def _record(
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
        "headers": [_header(header) for header in record.list("headers")],
    }
    return row | record.fields()


def _header(header: Given) -> dict[str, Any]:
    header.only(HEADER_KEYS)
    name = header.text("key")
    if name is None:
        raise header.refuse("key", "a header has a name")
    return {"key": name, "value": base64_text(header.bytes("value"))}
