"""Columns of regular frames that have no code in `facts/columnar/frames.py` for many frames at once.

Each frame becomes a line, and the column reads its value from the line. The values are the same, but it takes longer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kwire_cli.message.known_layout import Headers
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.connection import Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.facts.columns import Column
    from kwire_cli.source.kafka.bulk_frames import Frames, Stretch
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.source.packets.model import Origin

    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StretchLines:
    """The frames of a stretch as lines, which are created when a column first needs them."""

    stretch: Stretch
    origin: Origin
    names: Names
    _lines: dict[int, list[Captured]] = field(default_factory=dict)

    def column(self, column: Column, frames: Frames, kind: pa.DataType) -> pa.Array:
        """Return the values of a column for frames of the stretch."""
        return pa.array([column.of_line(line) for line in self._lines_of(frames)], kind)

    def _lines_of(self, frames: Frames) -> list[Captured]:
        if not self._lines:
            self._make()
        return self._lines[id(frames)]

    def _make(self) -> None:
        stretch = self.stretch
        before = len(stretch.pending)
        requests = dict(enumerate(stretch.pending))
        for frames in stretch.requests:
            lines = self._build_lines(frames, 0)
            self._lines[id(frames)] = lines
            waiting = in_flight(stretch, frames)
            for line, which, count in zip(lines, frames.which.tolist(), waiting.tolist(), strict=True):
                line.seen.in_flight = count
                requests[before + which] = line
        for frames in stretch.responses:
            lines = self._build_lines(frames, 1)
            self._lines[id(frames)] = lines
            for line, which in zip(lines, frames.which.tolist(), strict=True):
                line.request = requests[which]
                line.seen.delayed = bool(stretch.delayed[which])

    def _build_lines(self, frames: Frames, of_broker: int) -> list[Captured]:
        stretch = self.stretch
        connection = stretch.connection
        layout = frames.layout
        data = frames.walk.data.data
        src, dst = (stretch.dst, stretch.src) if of_broker else (stretch.src, stretch.dst)
        side = (connection.client or 0) ^ of_broker
        headers = Headers(connection.catalog)
        lines = []
        for at, stop in enumerate(frames.walk.jobs[:, 2].tolist()):
            own = bytes(data[stop - int(frames.size[at]) : stop])
            time = int(frames.time[at])
            seen = Seen(layout.kind, side, Cut("frame", own, int(frames.packet[at]), None if time == NO_TIME else time))
            seen.plain = headers.plain(layout, own, int(frames.correlation_id[at]))
            line = Captured(seen, stretch.stream, src, dst, connection, self.names, self.origin)
            line.number = int(frames.number[at])
            lines.append(line)
        return lines


def in_flight(stretch: Stretch, requests: Frames) -> Ints:
    """Return for each request the number of requests that wait for a response when it is sent, including itself."""
    answered = np.sort(np.concatenate([np.zeros(0, np.int64), *(frames.number for frames in stretch.responses)]))
    before: Ints = np.searchsorted(answered, requests.number)
    return len(stretch.pending) + requests.which + 1 - before
