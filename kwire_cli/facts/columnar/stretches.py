"""The frames of a stretch as regular frames, and as lines for columns without code for many frames at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kwire_cli.facts.columnar.arrays import word, words
from kwire_cli.facts.columnar.regular import Regular, places_of
from kwire_cli.message.known_layout import Plain
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.connection import Seen
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.packets.model import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.source.kafka.bulk_frames import Frames, Stretch
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.source.packets.model import Origin

    Ints = npt.NDArray[np.int64]


def regular_stretch(
    stretch: Stretch,
    requests: Sequence[Values],
    responses: Sequence[Values],
    topics: Sequence[pa.ListArray],
    origin: Origin,
    names: Names,
) -> Regular:
    """Return the frames of a stretch. `topics` are their topics, layout by layout, `names` the names known so far."""
    both = [*requests, *responses]
    packets = np.concatenate([values.frames.packet for values in both])
    of_requests = sum(values.count for values in requests)
    count = len(packets)
    is_response = (np.arange(count) >= of_requests).astype(np.int64)
    delayed = [stretch.delayed[values.frames.which] for values in responses]
    waiting = [_in_flight(stretch, values.frames) for values in requests]
    return Regular(
        requests,
        responses,
        stretch.pending,
        origin,
        packets,
        *places_of(packets, origin),
        words(is_response, (stretch.src, stretch.dst)),
        words(is_response, (stretch.dst, stretch.src)),
        word(stretch.dst, count),
        word(stretch.connection.software, count),
        np.full(count, stretch.connection.key),
        np.full(count, stretch.stream),
        pa.concat_arrays(topics),
        np.concatenate([np.zeros(of_requests, np.bool_), *delayed]),
        np.concatenate([*waiting, np.zeros(count - of_requests, np.int64)]),
        lambda: _lines(stretch, requests, responses, origin, names),
    )


def _in_flight(stretch: Stretch, requests: Frames) -> Ints:
    """Return for each request the number of requests that wait for a response when it is sent, including itself."""
    answered = np.sort(np.concatenate([np.zeros(0, np.int64), *(frames.number for frames in stretch.responses)]))
    before: Ints = np.searchsorted(answered, requests.number)
    return len(stretch.pending) + requests.which + 1 - before


def _lines(
    stretch: Stretch, requests: Sequence[Values], responses: Sequence[Values], origin: Origin, names: Names
) -> list[Captured]:
    before = len(stretch.pending)
    asked = dict(enumerate(stretch.pending))
    lines = []
    for values in requests:
        waiting = _in_flight(stretch, values.frames).tolist()
        for at, which in enumerate(values.frames.which.tolist()):
            line = _line(stretch, values.frames, at, origin, names)
            line.seen.in_flight = waiting[at]
            asked[before + which] = line
            lines.append(line)
    for values in responses:
        for at, which in enumerate(values.frames.which.tolist()):
            line = _line(stretch, values.frames, at, origin, names)
            line.seen.delayed = bool(stretch.delayed[which])
            line.request = asked[which]
            lines.append(line)
    return lines


def _line(stretch: Stretch, frames: Frames, at: int, origin: Origin, names: Names) -> Captured:
    connection = stretch.connection
    of_broker = frames.layout.kind == "response"
    ends = (stretch.dst, stretch.src) if of_broker else (stretch.src, stretch.dst)
    start, stop = frames.walk.jobs[at, 1:3].tolist()
    first = stop - int(frames.size[at])
    data = frames.walk.data[first:stop].tobytes()
    time = int(frames.time[at])
    cut = Cut("frame", data, int(frames.packet[at]), None if time == NO_TIME else time)
    seen = Seen(frames.layout.kind, (connection.client or 0) ^ of_broker, cut)
    tail = frames.tails[int(frames.tail[at])]
    seen.plain = Plain(frames.layout, data, int(frames.correlation_id[at]), tail, start - first)
    line = Captured(seen, stretch.stream, *ends, connection, names, origin)
    line.number = int(frames.number[at])
    return line
