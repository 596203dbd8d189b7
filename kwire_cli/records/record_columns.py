"""Records as Arrow columns, as `batch_columns` makes them of batches."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.columns import Columns
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.payload.records import OWN_TOPICS
from kwire_cli.records.batch import Batch
from kwire_cli.records.batch_columns import BATCHES, EVERYTHING, BatchValues
from kwire_cli.records.exact_rows import Rows, batch_row, payload_part, record_row
from kwire_cli.records.located import FIELDS, Located, located
from kwire_cli.records.model import Gap
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.records.model import Hide, Source
    from kwire_cli.records.selecting import Selection

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
        ("payload", pa.string()),
        *(BATCHES.field(name) for name in _OF_BATCH),
    ]
)
"""Of `record_columns`: `position` is that of the record's batch, sizes are -1 for null. `payload` is what control records, and those of Kafka's own
topics, hold: JSON text in the form of `kwire dump`, {"control": ...} or {"decoded": ...}. The columns behind it say what the batch says."""


def record_columns(
    source: Source,
    start: int = 0,
    stop: int | None = None,
    names: Sequence[str] = RECORDS.names,
    selection: Selection = EVERYTHING,
    *,
    hide: Hide | None = None,
) -> Iterator[pa.RecordBatch | Gap]:
    """The records in [start, stop), without those of batches that hold nothing of `selection`, by their headers; and gaps, as `batch_columns`.

    `hide` says what is secret in payloads: that is left out of them, and of keys and values.
    """
    rows = Rows(pa.schema([RECORDS.field(name) for name in names]))
    of_batch, with_payload = bool({*names} & {*_OF_BATCH}), "payload" in names
    own = source.topic in OWN_TOPICS and (with_payload or (hide is not None and bool({"key", "value"} & {*names})))
    for item in _parted(source, located(source, start, stop, selection), exact=own):
        if isinstance(item, Batch):
            shared = batch_row(item) if of_batch else {}
            for record in item.records():
                row = shared | record_row(item, record) | (payload_part(item, record, hide) if own or with_payload else {})
                if rows.add(row, len(record.key or b"") + len(record.value or b"")):
                    yield rows.take()
            continue
        if isinstance(item, Gap):
            yield item
            continue
        if rows.waiting:
            yield rows.take()
        if item.first[-1]:
            yield _RecordValues(source, item).rows(rows.schema)
    if rows.waiting:
        yield rows.take()


def _parted(source: Source, items: Iterable[Located | Batch | Gap], *, exact: bool) -> Iterator[Located | Batch | Gap]:
    """The items; with `exact` all batches one by one, as what their records hold is decoded one by one."""
    for item in items:
        if exact and isinstance(item, Located):
            yield from item.heads.batches(source)
        else:
            yield item


class _RecordValues:
    """The columns of the records of plain batches, each made when it is asked for."""

    def __init__(self, source: Source, found: Located) -> None:
        self.of_batches, self.said = BatchValues(source, found.heads), found.heads.numbers
        self.columns, self.batch, self.first = Columns(records_entry(v2.RECORDS), found.walk), found.batch, found.first

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

    def payload(self) -> pa.Array:
        """Of control records alone: the topic is none of Kafka's own."""
        texts: list[str | None] = [None] * len(self.batch)
        control = np.flatnonzero(self.of_batches.flag(v2.CONTROL.mask))
        for at, batch in zip(self.first[control].tolist(), self.of_batches.heads.only(control).batches(self.of_batches.source), strict=True):
            for k, record in enumerate(batch.records(), at):
                texts[k] = payload_part(batch, record, None)["payload"]
        return pa.array(texts, pa.string())

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
    "payload": _RecordValues.payload,
}
