"""The `faults` table of captures: unreadable and truncated files, missing bytes, and malformed frames.

A fault of a file is one row. The anomalies of a line become a row each, with the key of the frame. Regular frames have
no anomaly, but the batches in them may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.engine.codes import MEANING
from kwire_cli.facts.columnar.record_anomalies import record_anomalies
from kwire_cli.source.kafka.line_records import line_record_notes
from kwire_cli.stores.paths import location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.facts.columnar.regular import Regular
    from kwire_cli.source.kafka.captured import Captured

CAPTURE_FAULTS = pa.schema(
    [
        pa.field("capture_point", pa.string()),
        pa.field("file", pa.string()),
        pa.field("packet", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("connection", pa.int64()),
        pa.field("src", pa.string()),
        pa.field("dst", pa.string()),
        pa.field("frame", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("code", pa.string()),
        pa.field("path", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("detail", pa.string()),
    ]
)
"""The columns of faults. A row about a file has `capture_point`, `file`, `packet` (the last packet before the fault),
`position`, `code` and `detail`. A row about a line has all columns except `position`."""


UNREADABLE = "UNREADABLE"
OVERLAPPING_FILES = "OVERLAPPING_FILES"
"""The code of files that are treated as a separate capture point each."""
_ROWS = 4096


def file_fault(
    point: str | None, file: str, packet: int | None, position: int | None, code: str, detail: str
) -> pa.RecordBatch:
    """Return a row about a fault of a file."""
    row = (point, location(file), packet, position, None, None, None, None, None, code, None, None, detail)
    return batch_of([row], CAPTURE_FAULTS)


def line_faults(lines: Iterable[Captured]) -> Iterator[pa.RecordBatch]:
    """Yield the anomalies of lines, as rows."""
    rows: list[tuple[Any, ...]] = []
    for captured in lines:
        in_records = [*line_record_notes(captured, deep=False)]
        if not (captured.anomalies or in_records):
            continue
        own = (
            captured.origin.point,
            *captured.where,
            None,
            captured.connection.key,
            captured.src,
            captured.dst,
            captured.number,
            captured.seen.size,
        )
        if code := captured.code:
            rows.append((*own, code, None, None, MEANING.get(code)))
        of_frame = captured.frame.anomalies if captured.anomalies and captured.frame else []
        rows += [(*own, note.code, note.path, note.offset, note.detail) for note in (*of_frame, *in_records)]
        if len(rows) >= _ROWS:
            yield batch_of(rows, CAPTURE_FAULTS)
            rows = []
    if rows:
        yield batch_of(rows, CAPTURE_FAULTS)


def record_faults(regular: Regular) -> Iterator[pa.RecordBatch]:
    """Yield the anomalies of the batches in regular frames as rows, in the form of `line_faults`."""
    rows = []
    for values, part in regular.parts():
        frames = values.frames
        for frame, notes in record_anomalies(values).items():
            at = part.start + frame
            file, packet, src, dst = (
                column[at].as_py() for column in (regular.file, regular.packet, regular.src, regular.dst)
            )
            place = (regular.origin.point, file, packet, None, int(regular.connection[at]), src, dst)
            size = int(frames.number[frame]), int(frames.size[frame])
            rows += [(*place, *size, note.code, note.path, note.offset, note.detail) for note in notes]
    if rows:
        yield batch_of(rows, CAPTURE_FAULTS)
