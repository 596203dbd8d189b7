"""Batches and records as Arrow columns: of plain batches by the compiled engine, of all others what the exact reader gives, in one order.

Only the columns that are asked for are made. Names are those of `kwire dump --format jsonl`, as SQL writes them: `base_offset` for `baseOffset`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.columns import Columns
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.records.batch import Batch
from kwire_cli.records.exact_rows import Rows, batch_row, record_row
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.located import FIELDS, Heads, Located, heads, located
from kwire_cli.records.model import Gap
from kwire_cli.records.selecting import Selection
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.records.model import Source

_ANOMALY = pa.struct([("code", pa.string()), ("path", pa.string()), ("offset", pa.int64()), ("detail", pa.string())])
BATCHES = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int64()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("magic", pa.int8()),
        ("crc", pa.int64()),
        ("crc_valid", pa.bool_()),
        ("compression", pa.string()),
        ("timestamp_type", pa.string()),
        ("max_timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("partition_leader_epoch", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("delete_horizon_ms", pa.int64()),
        ("count", pa.int32()),
        ("anomalies", pa.list_(_ANOMALY)),
    ]
)
"""Of `batch_columns`: what a batch says of itself. Positions and sizes are bytes of the file, timestamps milliseconds since 1970; -1 where the format
lacks a number, null where JSON has null. `count` is the header's; `anomalies` are those that can be seen without the records."""

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_OF_BATCH = (
    "magic",
    "crc_valid",
    "compression",
    "timestamp_type",
    "producer_id",
    "producer_epoch",
    "partition_leader_epoch",
    "is_transactional",
    "is_control",
)
RECORDS = pa.schema(
    [
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("sequence", pa.int32()),
        ("key_size", pa.int32()),
        ("value_size", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        *(BATCHES.field(name) for name in _OF_BATCH),
    ]
)
"""Of `record_columns`: `position` is that of the record's batch, sizes are -1 for null; the columns behind `headers` say what the batch says."""

EVERYTHING = Selection()
_CODECS = [COMPRESSION.names.get(codec) or f"unknown-{codec}" for codec in range(COMPRESSION.mask + 1)]
_TIMES = [TIMESTAMP_TYPE.names[kind] for kind in range(2)]


def batch_columns(
    source: Source, start: int = 0, stop: int | None = None, names: Sequence[str] = BATCHES.names, selection: Selection = EVERYTHING
) -> Iterator[pa.RecordBatch | Gap]:
    """The batches in [start, stop), and the gaps between them; without those that hold nothing of `selection`, by their headers."""
    rows = Rows(pa.schema([BATCHES.field(name) for name in names]))
    for item in heads(source, start, stop):
        if isinstance(item, Batch):
            if (selection.everything or selection.may_have(item)) and rows.add(batch_row(item)):
                yield rows.take()
            continue
        if rows.waiting:
            yield rows.take()
        if isinstance(item, Gap):
            yield item
        elif len(wanted := item.wanted(selection)):
            yield _BatchValues(source, wanted).rows(rows.schema)
    if rows.waiting:
        yield rows.take()


def record_columns(
    source: Source, start: int = 0, stop: int | None = None, names: Sequence[str] = RECORDS.names, selection: Selection = EVERYTHING
) -> Iterator[pa.RecordBatch | Gap]:
    """The records in [start, stop), and the gaps between batches; without those of batches that hold nothing of `selection`, by their headers."""
    rows = Rows(pa.schema([RECORDS.field(name) for name in names]))
    of_batch = bool({*names} & {*_OF_BATCH})
    for item in located(source, start, stop, selection):
        if isinstance(item, Batch):
            shared = batch_row(item) if of_batch else {}
            for record in item.records():
                if rows.add(shared | record_row(item, record), len(record.key or b"") + len(record.value or b"")):
                    yield rows.take()
            continue
        if rows.waiting:
            yield rows.take()
        if isinstance(item, Gap):
            yield item
        elif item.first[-1]:
            yield _RecordValues(source, item).rows(rows.schema)
    if rows.waiting:
        yield rows.take()


class _BatchValues:
    """The columns of plain batches, each made when it is asked for."""

    def __init__(self, source: Source, found: Heads) -> None:
        self.source, self.heads, self.said = source, found, found.numbers

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.column(field) for field in schema], schema=schema)

    def column(self, field: pa.Field) -> pa.Array:
        made = _BATCH_COLUMNS[field.name](self)
        return (made if isinstance(made, pa.Array) else pa.array(made)).cast(field.type)

    def flag(self, mask: int) -> Any:
        return (self.said["attributes"] & mask) != 0

    def delete_horizon(self) -> pa.Array:
        return pa.array(self.said["baseTimestamp"], mask=~self.flag(v2.DELETE_HORIZON.mask))

    def anomalies(self) -> pa.Array:
        """None of nearly all of them; of the others the exact reader says what."""
        notes: list[list[dict[str, Any]]] = [[]] * len(self.heads)
        for k in np.flatnonzero(self.heads.odd).tolist():
            at, end = int(self.heads.start[k]), int(self.heads.end[k])
            notes[k] = [note._asdict() for note in Batch(self.source, at, end - at, LAYOUTS["v2"], True).notes]  # noqa: FBT003 - as everywhere
        return pa.array(notes, pa.list_(_ANOMALY))


def _named(names: Sequence[str], which: Any) -> pa.Array:
    return pa.array(names).take(pa.array(which))


_BATCH_COLUMNS: dict[str, Callable[[_BatchValues], Any]] = {
    "position": lambda of: of.heads.start,
    "size": lambda of: of.heads.end - of.heads.start,
    "base_offset": lambda of: of.said["baseOffset"],
    "last_offset": lambda of: of.heads.last_offset,
    "magic": lambda of: of.said["magic"],
    "crc": lambda of: of.said["crc"],
    "crc_valid": lambda of: np.ones(len(of.heads), np.bool_),
    "compression": lambda of: _named(_CODECS, of.heads.codec),
    "timestamp_type": lambda of: _named(_TIMES, of.flag(TIMESTAMP_TYPE.mask).astype(np.int8)),
    "max_timestamp": lambda of: of.said["maxTimestamp"],
    "producer_id": lambda of: of.said["producerId"],
    "producer_epoch": lambda of: of.said["producerEpoch"],
    "base_sequence": lambda of: of.said["baseSequence"],
    "partition_leader_epoch": lambda of: of.said["partitionLeaderEpoch"],
    "is_transactional": lambda of: of.flag(v2.TRANSACTIONAL.mask),
    "is_control": lambda of: of.flag(v2.CONTROL.mask),
    "delete_horizon_ms": _BatchValues.delete_horizon,
    "count": lambda of: of.said["recordsCount"],
    "anomalies": _BatchValues.anomalies,
}


class _RecordValues:
    """The columns of the records of plain batches, each made when it is asked for."""

    def __init__(self, source: Source, found: Located) -> None:
        self.of_batches, self.said = _BatchValues(source, found.heads), found.heads.numbers
        self.columns, self.batch = Columns(records_entry(v2.RECORDS), found.walk), found.batch

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.column(field) for field in schema], schema=schema)

    def column(self, field: pa.Field) -> pa.Array:
        make = _RECORD_COLUMNS.get(field.name)
        if make is None:
            return self.of_batches.column(field).take(pa.array(self.batch))
        made = make(self)
        return (made if isinstance(made, pa.Array) else pa.array(made)).cast(field.type)

    def field(self, name: str) -> pa.Array:
        return self.columns.array(FIELDS[name], len(self.batch))

    def head(self, name: str) -> Any:
        return self.said[name][self.batch]

    @cached_property
    def delta(self) -> Any:
        return self.field("offsetDelta").to_numpy().astype(np.int64)

    def timestamp(self) -> Any:
        """Of a batch with LogAppendTime its own; a sum wraps, as Java's."""
        appended = self.of_batches.flag(TIMESTAMP_TYPE.mask)[self.batch]
        return np.where(appended, self.head("maxTimestamp"), self.head("baseTimestamp") + self.field("timestampDelta").to_numpy())

    def sequence(self) -> Any:
        """As `batch.sequence_after`."""
        base = self.head("baseSequence")
        return np.where(base >= 0, (base + self.delta) & 0x7FFFFFFF, -1)

    def size(self, name: str) -> Any:
        """The length that the record says, which needs no look at the bytes."""
        return self.columns.lengths(FIELDS[name])


_RECORD_COLUMNS: dict[str, Callable[[_RecordValues], Any]] = {
    "position": lambda of: of.of_batches.heads.start[of.batch],
    "offset": lambda of: of.head("baseOffset") + of.delta,
    "timestamp": _RecordValues.timestamp,
    "sequence": _RecordValues.sequence,
    "key_size": lambda of: of.size("key"),
    "value_size": lambda of: of.size("value"),
    "key": lambda of: of.field("key"),
    "value": lambda of: of.field("value"),
    "headers": lambda of: of.field("headers"),
}
