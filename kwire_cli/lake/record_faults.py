"""Anomalies of the batches in a stretch of frames, as rows of `faults`. The frames themselves have no anomaly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.arrow import batch_of
from kwire_cli.facts.columnar.frames import places_of
from kwire_cli.facts.columnar.record_anomalies import record_anomalies
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.source.kafka.bulk_frames import Stretch
    from kwire_cli.source.packets.model import Origin


def record_faults(values: Values, stretch: Stretch, origin: Origin) -> Iterator[pa.RecordBatch]:
    """Yield the anomalies of the batches in the frames of one layout as rows, in the form of `line_faults`."""
    frames = values.frames
    layout = frames.layout
    anomalies = record_anomalies(values)
    if not anomalies:
        return
    files, packets = (column.to_pylist() for column in places_of(frames.packet[[*anomalies]], origin))
    ends = (stretch.dst, stretch.src) if layout.kind == "response" else (stretch.src, stretch.dst)
    rows = []
    for (frame, notes), file, packet in zip(anomalies.items(), files, packets, strict=True):
        place = (origin.point, file, packet, None, stretch.connection.key, *ends)
        size = int(frames.number[frame]), int(frames.size[frame])
        rows += [(*place, *size, note.code, note.path, note.offset, note.detail) for note in notes]
    if rows:
        yield batch_of(rows, CAPTURE_FAULTS)
