"""Arrow columns of batches, records and faults.

The compiled engine reads well-formed batches of format v2, many at a time, and the exact reader reads all others. Both
results have the same rows, so the columns do not depend on the reader. A Python object per record would be too slow for
large logs.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import Columns
from kwire_cli.engine.lower import records_entry
from kwire_cli.records.batch import (
    PADDING,
    Batch,
    deep_anomalies,
    head_json,
    headers_of,
    means_something,
    noted_payload,
)
from kwire_cli.records.bulk_batches import CHUNK, FIELDS, Heads, Located, heads, located
from kwire_cli.records.gaps import Gap
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import BATCH_KEYS, COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Hide, Record, Source


# Rows of batches and records that are not plain, from the objects of the exact reader; made into Arrow
# columns some at a time.

MOST = 4096
"""Rows that are kept at most before they are made into columns."""


class Rows:
    """Rows that wait: in old formats a batch is a single message, and columns of one row would cost more than reading
    it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.clear()

    def clear(self) -> None:
        """Forget them."""
        self.waiting: list[dict[str, Any]] = []
        self.size = 0

    def add(self, row: dict[str, Any], size: int = 0) -> bool:
        """Append a row of about `size` bytes. Return whether the rows suffice for a record batch."""
        self.waiting.append(row)
        self.size += size
        return len(self.waiting) >= MOST or self.size >= CHUNK

    def take(self) -> pa.RecordBatch:
        """Remove all rows and return them as columns."""
        arrays = [self._column(field) for field in self.schema]
        self.clear()
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field) -> pa.Array:
        return pa.array([row[field.name] for row in self.waiting], field.type)


_KEYS = {re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key): key for key in BATCH_KEYS}
"""The keys of a batch in JSON form, by the name of their column."""


def batch_row(batch: Batch) -> dict[str, Any]:
    """Return the row of a batch that only the exact reader can read."""
    document = head_json(batch)
    row = {name: document[key] for name, key in _KEYS.items()}
    return row | {"anomalies": [note._asdict() for note in batch.notes]}


def record_row(batch: Batch, record: Record) -> dict[str, Any]:
    """Return the row of a record in such a batch, without its payload."""
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


def payload_part(
    batch: Batch, record: Record, number: int, hide: Hide | None, notes: list[Anomaly] | None
) -> dict[str, Any]:
    """Return the payload of a record as JSON text, or null, and placeholders for a key or value with a secret.

    `notes` gets the anomalies of the payload, unless it is None.
    """
    payload, hidden = noted_payload(batch, record, number, notes, hide)
    out: dict[str, Any] = {
        "payload": None
        if payload is None
        else json.dumps(payload.to_json(hidden), ensure_ascii=False, separators=(",", ":"))
    }
    for name, data in (("key", record.key), ("value", record.value)):
        if hidden.get(name) and data is not None:
            out[name] = redacted(len(data)).encode()
    if "headers" in hidden:
        out["headers"] = [{"key": str(name), "value": data} for name, data in headers_of(batch, record, hide)]
    return out


# The faults of a record set as Arrow columns: a row for each gap and for each anomaly of a batch, its records, or their
# payloads.

FAULTS = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int64()),
        ("code", pa.string()),
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("detail", pa.string()),
    ]
)
"""`position` and `size` locate the batch or gap in the file; `path` and `offset` locate the fault: the field, and the
position of its bytes."""


def fault_columns(
    source: Source, start: int = 0, stop: int | None = None, *, hide: Hide | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the faults in [start, stop). Padding at the end of a file is not a fault.

    Records are decoded one by one only in control batches and in topics whose records kwire decodes. `hide` excludes
    some of these records.
    """
    rows = Rows(FAULTS)
    for item in _with_payloads(source, located(source, start, stop)):
        yield from _faults_of(rows, item, () if isinstance(item, Gap) else deep_anomalies(item, hide))
    if rows.waiting:
        yield rows.take()


def _faults_of(rows: Rows, item: Batch | Gap, notes: Iterable[Anomaly]) -> Iterator[pa.RecordBatch]:
    """Add the anomalies of a batch, which are `notes`, or a gap to rows of FAULTS. Yield these if they are many."""
    if isinstance(item, Gap):
        notes = () if item.code == PADDING else (item.as_anomaly(),)
    for note in notes:
        if rows.add({"position": item.position, "size": item.size, **note._asdict()}, len(note.detail)):
            yield rows.take()


def _with_payloads(source: Source, items: Iterable[Located | Batch | Gap]) -> Iterator[Batch | Gap]:
    """Yield the items that are not plain, and of plain batches those whose records may hold payloads."""
    every = means_something(source)
    for item in items:
        if not isinstance(item, Located):
            yield item
            continue
        which = slice(None) if every else np.flatnonzero(item.heads.numbers["attributes"] & v2.CONTROL.mask)
        yield from item.heads.only(which).batches(source)


def unreadable(reason: str) -> pa.RecordBatch:
    """Return the only fault of a file that cannot be read."""
    row = {"position": 0, "size": 0, "code": "UNREADABLE", "path": "", "offset": 0, "detail": reason}
    return pa.RecordBatch.from_pylist([row], schema=FAULTS)


# Batches as Arrow columns. The compiled engine reads well-formed batches, the exact reader all others; both results are
# merged in the order of the file.
#
# Columns are named as the keys of `kwire dump --format jsonl` in SQL style: `base_offset` for `baseOffset`.

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
"""The columns of `batch_columns`, from the headers of batches. Positions and sizes are bytes of the file, timestamps
milliseconds since 1970; -1 if the format lacks a number, null where JSON has null. `count` is the header's; `anomalies`
are found without reading the records."""

_CODECS = [COMPRESSION.names.get(codec) or f"unknown-{codec}" for codec in range(COMPRESSION.mask + 1)]
_TIMES = [TIMESTAMP_TYPE.names[kind] for kind in range(2)]


def batch_columns(source: Source, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch | Gap]:
    """Yield the batches in [start, stop).

    Gaps are yielded when they are found, which may be before batches that precede them in the file.
    """
    rows = Rows(BATCHES)
    for item in heads(source, start, stop):
        if isinstance(item, Batch):
            if rows.add(batch_row(item)):
                yield rows.take()
            continue
        if isinstance(item, Gap):
            yield item
            continue
        if rows.waiting:
            yield rows.take()
        if len(item):
            yield BatchValues(source, item).rows()
    if rows.waiting:
        yield rows.take()


class BatchValues:
    """The columns of well-formed batches, computed lazily; `said` are the numbers of their headers."""

    def __init__(self, source: Source, found: Heads) -> None:
        self.source = source
        self.heads = found
        self.said = found.numbers

    def rows(self) -> pa.RecordBatch:
        """Return all columns."""
        return pa.RecordBatch.from_arrays([self.column(field) for field in BATCHES], schema=BATCHES)

    def column(self, field: pa.Field) -> pa.Array:
        """Return one of BATCHES."""
        make = _BATCH_COLUMNS.get(field.name)
        return _typed(make(self) if make else self.said[_KEYS[field.name]], field.type)

    def flag(self, mask: int) -> Any:
        """Return for each batch whether any of these bits of the attributes is set."""
        return (self.said["attributes"] & mask) != 0

    def delete_horizon(self) -> pa.Array:
        """Return the base timestamps of batches in which they are delete horizons."""
        return pa.array(self.said["baseTimestamp"], mask=~self.flag(v2.DELETE_HORIZON.mask))

    def anomalies(self) -> pa.Array:
        """Return the anomalies. Most batches are well-formed; the exact reader reads the others."""
        notes: list[list[dict[str, Any]]] = [[]] * len(self.heads)
        odd = np.flatnonzero(self.heads.odd)
        for k, batch in zip(odd.tolist(), self.heads.only(odd).batches(self.source), strict=True):
            notes[k] = [note._asdict() for note in batch.notes]
        return pa.array(notes, pa.list_(_ANOMALY))


def _typed(values: Any, kind: pa.DataType) -> pa.Array:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    return column if column.type == kind else column.cast(kind)


def _named(names: Sequence[str], which: Any) -> pa.Array:
    return pa.array(names).take(pa.array(which))


_BATCH_COLUMNS: dict[str, Callable[[BatchValues], Any]] = {
    "position": lambda of: of.heads.start,
    "size": lambda of: of.heads.end - of.heads.start,
    "last_offset": lambda of: of.heads.last_offset,
    "crc_valid": lambda of: np.ones(len(of.heads), np.bool_),
    "compression": lambda of: _named(_CODECS, of.heads.codec),
    "timestamp_type": lambda of: _named(_TIMES, of.flag(TIMESTAMP_TYPE.mask).astype(np.int8)),
    "is_transactional": lambda of: of.flag(v2.TRANSACTIONAL.mask),
    "is_control": lambda of: of.flag(v2.CONTROL.mask),
    "delete_horizon_ms": BatchValues.delete_horizon,
    "count": lambda of: of.said["recordsCount"],
    "anomalies": BatchValues.anomalies,
}
"""The columns that are not a number of the header under the same name."""


# Records as Arrow columns, as `batch_columns` makes them of batches.

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
"""The columns of `record_columns`: `position` is the position of the record's batch, sizes are -1 for null. `payload`
is the content of control records and of records of Kafka's own topics: JSON text in the form of `kwire dump`,
{"control":
...} or {"decoded": ...}. The columns after it come from the batch."""


class Faults(NamedTuple):
    """Columns of FAULTS in the stream of record columns."""

    rows: pa.RecordBatch


def record_columns(
    source: Source,
    start: int = 0,
    stop: int | None = None,
    *,
    hide: Hide | None = None,
    faults: bool = False,
) -> Iterator[pa.RecordBatch | Gap | Faults]:
    """Yield the records in [start, stop), and gaps as `batch_columns` does.

    `hide` selects secrets, which are omitted from payloads, keys and values. With `faults` the rows of `fault_columns`
    are included: each payload is decoded once for both.
    """
    rows = Rows(RECORDS)
    of_faults = Rows(FAULTS)
    exact = means_something(source) or (hide is not None and hide.gap(source.topic))
    for item in _parted(source, located(source, start, stop), exact=exact):
        if isinstance(item, Batch):
            notes: list[Anomaly] | None = [] if faults else None
            shared = batch_row(item)
            for number, record in enumerate(item.records(notes)):
                row = shared | record_row(item, record) | payload_part(item, record, number, hide, notes)
                if rows.add(row, len(record.key or b"") + len(record.value or b"")):
                    yield rows.take()
            if faults:
                yield from map(Faults, _faults_of(of_faults, item, [*item.notes, *(notes or ())]))
            continue
        if isinstance(item, Gap):
            yield item
            if faults:
                yield from map(Faults, _faults_of(of_faults, item, ()))
            continue
        if rows.waiting:
            yield rows.take()
        if item.first[-1]:
            values = _RecordValues(source, item)
            yield values.rows()
            for batch, notes in values.notes if faults else ():
                yield from map(Faults, _faults_of(of_faults, batch, notes))
    if rows.waiting:
        yield rows.take()
    if of_faults.waiting:
        yield Faults(of_faults.take())


def _parted(source: Source, items: Iterable[Located | Batch | Gap], *, exact: bool) -> Iterator[Located | Batch | Gap]:
    """Yield the items. With `exact`, batches are yielded one by one, because payloads are decoded one by one."""
    for item in items:
        if exact and isinstance(item, Located):
            yield from item.heads.batches(source)
        else:
            yield item


class _RecordValues:
    """The columns of the records of well-formed batches, computed lazily."""

    def __init__(self, source: Source, found: Located) -> None:
        self.of_batches = BatchValues(source, found.heads)
        self.said = found.heads.numbers
        self.columns = Columns(records_entry(v2.RECORDS), found.walk)
        self.batch = found.batch
        self.first = found.first
        self.notes: list[tuple[Batch, list[Anomaly]]] = []
        """The anomalies of control batches, once their payloads were decoded."""

    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.column(field) for field in RECORDS], schema=RECORDS)

    def column(self, field: pa.Field) -> pa.Array:
        make = _RECORD_COLUMNS.get(field.name)
        if make is None:
            return self.of_batches.column(field).take(pa.array(self.batch))
        return _typed(make(self), field.type)

    def field(self, name: str) -> pa.Array:
        return self.columns.array(FIELDS[name], len(self.batch))

    def head(self, name: str) -> Any:
        return self.said[name][self.batch]

    @cached_property
    def delta(self) -> Any:
        return self.field("offsetDelta").to_numpy().astype(np.int64)

    def timestamp(self) -> Any:
        """Return the timestamp of each record, or the timestamp of its batch for LogAppendTime.

        A sum wraps, as Java's.
        """
        appended = self.of_batches.flag(TIMESTAMP_TYPE.mask)[self.batch]
        return np.where(
            appended, self.head("maxTimestamp"), self.head("baseTimestamp") + self.field("timestampDelta").to_numpy()
        )

    def sequence(self) -> Any:
        """Return the sequence of each record, as `batch.sequence_after` does."""
        base = self.head("baseSequence")
        return np.where(base >= 0, (base + self.delta) & 0x7FFFFFFF, -1)

    def payload(self) -> pa.Array:
        """Return the payloads of control records as JSON text, and null for all other records.

        No other record has a payload, since the topic is not one of Kafka's own.
        """
        texts: list[str | None] = [None] * len(self.batch)
        control = np.flatnonzero(self.of_batches.flag(v2.CONTROL.mask))
        for at, batch in zip(
            self.first[control].tolist(),
            self.of_batches.heads.only(control).batches(self.of_batches.source),
            strict=True,
        ):
            notes: list[Anomaly] = []
            for number, record in enumerate(batch.records(notes)):
                texts[at + number] = payload_part(batch, record, number, None, notes)["payload"]
            self.notes.append((batch, [*batch.notes, *notes]))
        return pa.array(texts, pa.string())

    def size(self, name: str) -> Any:
        """Return the length from the record, without access to the bytes."""
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
