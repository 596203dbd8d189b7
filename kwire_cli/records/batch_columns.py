"""Batches as Arrow columns: of plain ones by the compiled engine, of all others what the exact reader gives, in one order.

Only the columns that are asked for are made. Names are those of `kwire dump --format jsonl`, as SQL writes them: `base_offset` for `baseOffset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.records.batch import Batch
from kwire_cli.records.exact_rows import Rows, batch_row
from kwire_cli.records.located import Heads, heads
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

EVERYTHING = Selection()
_CODECS = [COMPRESSION.names.get(codec) or f"unknown-{codec}" for codec in range(COMPRESSION.mask + 1)]
_TIMES = [TIMESTAMP_TYPE.names[kind] for kind in range(2)]


def batch_columns(
    source: Source, start: int = 0, stop: int | None = None, names: Sequence[str] = BATCHES.names, selection: Selection = EVERYTHING
) -> Iterator[pa.RecordBatch | Gap]:
    """The batches in [start, stop), without those that hold nothing of `selection`, by their headers.

    The gaps between them come as they are met, which may be before the batches that stand in front of them.
    """
    rows = Rows(pa.schema([BATCHES.field(name) for name in names]))
    for item in heads(source, start, stop):
        if isinstance(item, Batch):
            if (selection.everything or selection.may_have(item)) and rows.add(batch_row(item)):
                yield rows.take()
            continue
        if isinstance(item, Gap):
            yield item
            continue
        if rows.waiting:
            yield rows.take()
        if len(wanted := item.wanted(selection)):
            yield BatchValues(source, wanted).rows(rows.schema)
    if rows.waiting:
        yield rows.take()


class BatchValues:
    """The columns of plain batches, each made when it is asked for; `said` are the numbers of their headers."""

    def __init__(self, source: Source, found: Heads) -> None:
        self.source, self.heads, self.said = source, found, found.numbers

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """These columns."""
        return pa.RecordBatch.from_arrays([self.column(field) for field in schema], schema=schema)

    def column(self, field: pa.Field) -> pa.Array:
        """One of BATCHES."""
        made = _BATCH_COLUMNS[field.name](self)
        return (made if isinstance(made, pa.Array) else pa.array(made)).cast(field.type)

    def flag(self, mask: int) -> Any:
        """Whether these bits of the attributes are set."""
        return (self.said["attributes"] & mask) != 0

    def delete_horizon(self) -> pa.Array:
        """The base timestamp where a bit says that it is one."""
        return pa.array(self.said["baseTimestamp"], mask=~self.flag(v2.DELETE_HORIZON.mask))

    def anomalies(self) -> pa.Array:
        """None of nearly all of them; of the others the exact reader says what."""
        notes: list[list[dict[str, Any]]] = [[]] * len(self.heads)
        odd = np.flatnonzero(self.heads.odd)
        for k, batch in zip(odd.tolist(), self.heads.only(odd).batches(self.source), strict=True):
            notes[k] = [note._asdict() for note in batch.notes]
        return pa.array(notes, pa.list_(_ANOMALY))


def _named(names: Sequence[str], which: Any) -> pa.Array:
    return pa.array(names).take(pa.array(which))


_BATCH_COLUMNS: dict[str, Callable[[BatchValues], Any]] = {
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
    "delete_horizon_ms": BatchValues.delete_horizon,
    "count": lambda of: of.said["recordsCount"],
    "anomalies": BatchValues.anomalies,
}
