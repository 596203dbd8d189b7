"""Anomalies of the batches in a stretch of frames, as rows of `faults`. The frames themselves have no anomaly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_cli.engine.arrow import batch_of
from kwire_cli.message.known_layout import NO_TAIL, Plain
from kwire_cli.message.record_notes import record_notes
from kwire_cli.message.roles import RAW, RecordsAs
from kwire_cli.pipeline.capture_faults import CAPTURE_FAULTS
from kwire_cli.pipeline.lake.frames import places_of
from kwire_cli.records.bulk_batches import odd_record_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from kwire_cli.pipeline.lake.frames import Values
    from kwire_cli.source.kafka.bulk_frames import Frames, Stretch
    from kwire_cli.source.packets.model import Origin


def record_faults(values: Values, stretch: Stretch, origin: Origin) -> Iterator[pa.RecordBatch]:
    """Yield the anomalies of the batches in the frames of one layout as rows, as `line_faults` does of lines."""
    frames, layout = values.frames, values.frames.layout
    odd = _anomalous_frames(values) if layout.has_records else []
    if not odd:
        return
    files, packets = (column.to_pylist() for column in places_of(frames.packet[odd], origin))
    ends = (stretch.dst, stretch.src) if layout.kind == "response" else (stretch.src, stretch.dst)
    reading = RecordsAs(stretch.connection.catalog)
    rows = []
    for frame, file, packet in zip(odd, files, packets, strict=True):
        place = (origin.point, file, packet, None, stretch.stream, *ends)
        size = int(frames.number[frame]), int(frames.size[frame])
        body = _body(frames, frame).body(RAW)
        notes = record_notes(layout.message, layout.roles, body, reading, deep=False)
        rows += [(*place, *size, note.code, note.path, note.offset, note.detail) for note in notes]
    if rows:
        yield batch_of(rows, CAPTURE_FAULTS)


def _anomalous_frames(values: Values) -> list[int]:
    """Return the frames with batches whose header or checksum may have an anomaly."""
    odd: set[int] = set()
    for leaf in values.frames.layout.entry.program.leaves:
        if leaf.kind == "records":
            at = values.columns.places(leaf)
            which = np.flatnonzero(odd_record_sets(at.data, at.value, at.end))
            odd.update(values.job(leaf)[which].tolist())
    return sorted(odd)


def _body(frames: Frames, frame: int) -> Plain:
    start, stop = frames.walk.jobs[frame, 1:3].tolist()
    return Plain(frames.layout, frames.walk.data[start:stop].tobytes(), 0, NO_TAIL, 0)
