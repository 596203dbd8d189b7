"""What is wrong with a record set as Arrow columns: a row for each gap and for each anomaly of a batch or of its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.records.exact_rows import Rows
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
    rows = Rows(FAULTS)
    for item in located(source, start, stop):
        if isinstance(item, Located) or (isinstance(item, Gap) and item.code == PADDING):
            continue
        notes = [Anomaly(item.code, "", item.position, f"{item.size} bytes: {MEANING[item.code]}")] if isinstance(item, Gap) else item.anomalies
        for note in notes:
            if rows.add({"position": item.position, "size": item.size, **note._asdict()}, len(note.detail)):
                yield rows.take()
    if rows.waiting:
        yield rows.take()


def unreadable(reason: str) -> pa.RecordBatch:
    """The one fault of a file that cannot be read."""
    row = {"position": 0, "size": 0, "code": "UNREADABLE", "path": "", "offset": 0, "detail": reason}
    return pa.RecordBatch.from_pylist([row], schema=FAULTS)
