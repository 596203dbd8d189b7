"""The anomalies of the batches in a stretch of frames. The frames themselves have no anomaly.

One call finds the record sets that are anything but batches of format v2 with valid checksums. Only these are read
exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_cli.message.known_layout import NO_TAIL, Plain
from kwire_cli.message.record_notes import record_notes
from kwire_cli.message.roles import RAW, RecordsAs
from kwire_cli.records.bulk_batches import odd_record_sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.source.kafka.bulk_frames import Frames


def record_anomalies(values: Values) -> Mapping[int, Sequence[Anomaly]]:
    """Return the anomalies of the batches in frames of one layout, by the frame's place among these."""
    layout = values.frames.layout
    if not layout.has_records:
        return {}
    reading = RecordsAs(values.catalog)
    found = {}
    for frame in _frames_with_odd_batches(values):
        body = plain_frame(values.frames, frame).body(RAW)
        found[frame] = [*record_notes(layout.message, layout.roles, body, reading, deep=False)]
    return found


def _frames_with_odd_batches(values: Values) -> list[int]:
    odd: set[int] = set()
    for leaf in values.frames.layout.entry.program.leaves:
        if leaf.kind == "records":
            at = values.columns.places(leaf)
            which = np.flatnonzero(odd_record_sets(at.data, at.value, at.end))
            odd.update(values.job(leaf)[which].tolist())
    return sorted(odd)


def plain_frame(frames: Frames, frame: int) -> Plain:
    """Return one of several frames as a separate message without its header."""
    start, stop = frames.walk.jobs[frame, 1:3].tolist()
    return Plain(frames.layout, frames.walk.data[start:stop].tobytes(), 0, NO_TAIL, 0)
