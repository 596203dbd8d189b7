"""Rows of batches and records that are not plain, from the objects of the exact reader; made into Arrow columns some at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.records.located import CHUNK
from kwire_cli.structs.sized import redacted

if TYPE_CHECKING:
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Hide, Record

MOST = 4096
"""Rows that are kept at most before they are made into columns."""


class Rows:
    """Rows that wait: in old formats a batch is a single message, and columns of one row would cost more than reading it."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.clear()

    def clear(self) -> None:
        """Forget them."""
        self.waiting: list[dict[str, Any]] = []
        self.size = 0

    def add(self, row: dict[str, Any], size: int = 0) -> bool:
        """Keep a row that holds about so many bytes; whether there are enough of them now."""
        self.waiting.append(row)
        self.size += size
        return len(self.waiting) >= MOST or self.size >= CHUNK

    def take(self) -> pa.RecordBatch:
        """All that wait, as columns."""
        arrays = [pa.array([row[field.name] for row in self.waiting], field.type) for field in self.schema]
        self.clear()
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def batch_row(batch: Batch) -> dict[str, Any]:
    """A batch that is not plain."""
    head = batch.head
    return {
        "position": batch.position,
        "size": batch.size,
        "base_offset": head.base_offset,
        "last_offset": head.last_offset,
        "magic": batch.magic,
        "crc": head.crc,
        "crc_valid": batch.crc_valid,
        "compression": batch.compression,
        "timestamp_type": batch.timestamp_type,
        "max_timestamp": head.max_timestamp,
        "producer_id": head.producer_id,
        "producer_epoch": head.producer_epoch,
        "base_sequence": head.base_sequence,
        "partition_leader_epoch": head.leader_epoch,
        "is_transactional": head.transactional,
        "is_control": head.control,
        "delete_horizon_ms": head.delete_horizon,
        "count": head.records_count,
        "anomalies": [note._asdict() for note in batch.notes],
    }


def record_row(batch: Batch, record: Record) -> dict[str, Any]:
    """A record of a batch that is not plain, without its payload."""
    return {
        "position": batch.position,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": record.sequence,
        "key_size": -1 if record.key is None else len(record.key),
        "value_size": -1 if record.value is None else len(record.value),
        "key": record.key,
        "value": record.value,
        "headers": [{"key": str(name), "value": data} for name, data in record.headers],
    }


def payload_part(batch: Batch, record: Record, hide: Hide | None) -> dict[str, Any]:
    """The payload of a record as JSON text, null where there is none; and, in place of a key or value with a secret, what stands for it."""
    from kwire_cli.records.jsonform import headers_of  # noqa: PLC0415 - as below
    from kwire_cli.records.payloads import payload_of  # noqa: PLC0415 - most record sets hold nothing that needs it

    payload = payload_of(batch, record)
    hidden = hide.record(batch, payload.record if payload else None) if hide else {}
    out: dict[str, Any] = {"payload": None if payload is None else json.dumps(payload.to_json(hidden), ensure_ascii=False, separators=(",", ":"))}
    for name, data in (("key", record.key), ("value", record.value)):
        if hidden.get(name) and data is not None:
            out[name] = redacted(len(data)).encode()
    if "headers" in hidden:
        out["headers"] = [{"key": str(name), "value": data} for name, data in headers_of(batch, record, hide)]
    return out
