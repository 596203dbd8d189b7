"""Anomalies of the batches in regular frames, as rows of `faults`. The frames themselves have no anomaly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.record_anomalies import record_anomalies
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from kwire_cli.facts.columnar.regular import Regular


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
