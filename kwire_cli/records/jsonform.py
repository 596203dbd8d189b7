"""Batches and records in the JSON form of `kwire dump`: all keys always there, payloads of Kafka's own topics beside the bytes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import MOST_NOTES
from kwire_cli.structs.sized import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Hide, Record


def batch_json(batch: Batch, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
    """A batch; with its records where `deep`."""
    out = head_json(batch)
    notes: list[Anomaly] = []
    if deep:
        out["records"] = [record_json(batch, record, number, notes, hide) for number, record in enumerate(batch.records(notes))]
    out["anomalies"] = [note._asdict() for note in (*batch.notes, *notes)]
    return out


def head_json(batch: Batch) -> dict[str, Any]:
    """The keys of a batch that come before its records."""
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
    """A record, the one of this number in its batch; what is odd about its payload is added to `notes`."""
    from kwire_cli.records.payloads import payload_notes, payload_of  # noqa: PLC0415 - a list of batches needs none of it

    payload = payload_of(batch, record)
    hidden = hide.record(batch, payload.record if payload else None) if hide else {}
    key, value = record.key, record.value
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
        if len(notes) < MOST_NOTES:
            notes += payload_notes(batch, record, number, payload)
    return out


def headers_json(record: Record, *, hidden: bool = False) -> list[dict[str, Any]]:
    """Return the headers of a record, a name and a value each; where a length is wrong a name may be secret too."""
    if hidden:
        return [{"key": name, "value": data and data.decode("ascii")} for name, data in _redacted(record)]
    return [{"key": name, "value": base64_text(data)} for name, data in record.headers]


def headers_of(batch: Batch, record: Record, hide: Hide | None) -> Sequence[tuple[str | int, bytes | None]]:
    """Return the headers of a record for views, redacted where they may be secret."""
    return _redacted(record) if hide and "headers" in hide.record(batch, None) else record.headers


def _redacted(record: Record) -> list[tuple[str, bytes | None]]:
    pairs = ((len(str(name).encode()), data) for name, data in record.headers)
    return [(redacted(size), None if data is None else redacted(len(data)).encode()) for size, data in pairs]


def base64_text(data: bytes | None) -> str | None:
    """Bytes as base64 text, the form that declarations take too."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def _shown(data: bytes | None, hidden: bool) -> str | None:  # noqa: FBT001 - a part of the above
    return redacted(len(data)) if hidden and data is not None else base64_text(data)
