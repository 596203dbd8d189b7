"""What is wrong with a record set as Arrow columns: a row for each gap and for each anomaly of a batch or of its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.records.located import Located, located
from kwire_cli.records.model import PADDING, Gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.model import Source

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
"""`position` and `size` are those of the batch or gap in the file, `path` and `offset` where in it: the field, and the position of its bytes."""


def fault_columns(source: Source, start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
    """The faults in [start, stop); padding at the end of a file is none."""
    for item in located(source, start, stop):
        if isinstance(item, Located):
            continue
        if isinstance(item, Gap):
            notes = [] if item.code == PADDING else [Anomaly(item.code, "", item.position, f"{item.size} bytes: {MEANING[item.code]}")]
        else:
            notes = item.anomalies
        if notes:
            rows = [(item.position, item.size, note.code, note.path, note.offset, note.detail) for note in notes]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), FAULTS, strict=True)], schema=FAULTS
            )


def unreadable(reason: str) -> pa.RecordBatch:
    """The one fault of a file that can't be read."""
    row = {"position": 0, "size": 0, "code": "UNREADABLE", "path": "", "offset": 0, "detail": reason}
    return pa.RecordBatch.from_pylist([row], schema=FAULTS)
