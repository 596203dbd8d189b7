"""The frames between two ends, many in one call.

The segments must arrive in order, the frames must have unambiguous layouts, and responses must be in the order of
their requests. Any other segment goes through `tcp.Streams` and `connection.Connection`. Reading can change between the
two ways at every segment; a test cross-checks the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, numpy_type, octets, read_rows, walk_many
from kwire_cli.message.encode import decode_header, header_spec
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.connection import MOST_PENDING, MOST_UNHEARD_BYTES, Connection
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.kafka.traffic import Watch
from kwire_cli.source.packets import packet_columns
from kwire_cli.source.packets.descriptors import Run
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.source.packets.segment_columns import payloads
from kwire_cli.source.packets.tcp import DECIDING
from kwire_cli.spec.kafka import PRODUCE, SASL_HANDSHAKE
from kwire_cli.structs.messages import declare
from kwire_cli.structs.network import ACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from kwire_cli.message.known_layout import Layout, Layouts
    from kwire_cli.source.captures import Replay
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.tcp_direction import Half
    from kwire_cli.spec.catalog import Catalog

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]

FEWEST = 48
"""Segments for which columns pay."""
_STEP, _LONGEST_STEP = 32, 4096
"""Segments that are taken one by one before columns are tried again: more each time that they are tried in vain."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of one layout. `walk` are the spans of their bodies; `front` is what stands before the body of the first:
    size and header.

    The headers of the others differ from it in nothing but numbers.
    """

    layout: Layout
    front: bytes
    walk: Walk


class _OddError(Exception):
    """Something is not as it should be."""


def frames_between(replay: Replay, layouts: Layouts, port: int | None = None) -> Iterator[list[Frames | Captured]]:
    """All frames between two ends, not in order: many at once, or one line each."""
    reader = _Reader(replay, layouts, port)
    for run in replay.runs:
        yield from reader.take(run)
    yield [
        *reader.watch.take(replay.tls.take([*replay.streams.idle(replay.last), *replay.streams.close()])),
        *reader.watch.close(),
    ]


class _Reader:
    def __init__(self, replay: Replay, layouts: Layouts, port: int | None) -> None:
        self.ends, self.streams, self.tls, self.layouts = replay.ends, replay.streams, replay.tls, layouts
        self.watch = Watch(layouts, port, Names())
        self._step = _STEP

    def take(self, run: Run) -> Iterator[list[Frames | Captured]]:
        """The frames that these segments complete."""
        rows, at = run.rows, 0
        while at < len(rows):
            half = self.streams.calm(self.ends) if len(rows) - at >= FEWEST else None
            connection = self.watch.connections[half.connection.number][0] if half else None
            if half and connection and connection.steady and not self.tls.holds(half.connection.number):
                state, count = _in_order(rows[at:], half)
                if count >= FEWEST:
                    try:
                        frames = _frames(
                            Run(rows[at : at + count], run.file, run.kept), half, connection, state, self.layouts
                        )
                    except _OddError:
                        pass
                    else:
                        yield frames
                        at += count
                        self._step = _STEP
                        continue
            stop = min(at + self._step, len(rows))
            self._step = min(2 * self._step, _LONGEST_STEP)
            events: list[Any] = []
            for segment in Run(rows[at:stop], run.file, run.kept).segments(self.ends):
                events += self.streams.idle(segment.packet - 1)
                events += self.streams.feed(segment)
            yield [*self.watch.take(self.tls.take(events))]
            at = stop


def _in_order(rows: npt.NDArray[Any], half: Half) -> tuple[Ints, int]:
    """Return the state after the segments that came in order, and how many of them there are.

    The state is of both directions, in the order of the ends.
    """
    state = np.array([[half.next, 0, half.acked], [half.peer.next, 0, half.peer.acked]], np.int64)
    names = ("direction", "sequence", "acknowledgment", "size", "missing", "flags")
    columns = [rows[name].astype(np.int64) for name in names]
    return state, compiled(packet_columns.in_order)(*columns, DECIDING, ACK, state)


@dataclass(frozen=True, slots=True)
class _Side:
    """The bytes of one direction: frames in `data`, the row in which each is complete, and the rest that begins one."""

    data: Octets
    start: Ints
    stop: Ints
    row: Ints
    rest: bytes
    last: tuple[int, int | None]


def _side(run: Run, direction: int, rest: bytes) -> _Side:
    which = np.flatnonzero(run.rows["direction"] == direction)
    rows = run.rows[which]
    file = np.frombuffer(run.file, np.uint8) if len(run.file) else octets(b"\0")
    if int((rows["position"] + rows["size"]).max(initial=0)) > len(file):
        raise _OddError  # the file has become shorter
    data, offsets = payloads(file, rows, run.kept)
    if rest:
        data = np.concatenate([octets(rest), data])
    data.flags.writeable = False
    out = np.empty(len(data) // SIZE_BYTES + 1, np.int64)
    count, end = compiled(packet_columns.hop_frames)(data, 0, SIZE_BYTES, MAX_SIZE, out)
    if end < 0:
        raise _OddError
    start = out[:count].copy()
    stop = np.append(start[1:], end)[:count] if count else start
    row = which[np.searchsorted(offsets[1:] + len(rest), stop)] if count else start
    last = _stamp(rows[-1]) if len(rows) else (0, None)
    return _Side(data, start, stop, row, data[end:].tobytes(), last)


def _stamp(row: Any) -> tuple[int, int | None]:
    return int(row["packet"]), None if row["time"] == NO_TIME else int(row["time"])


def _frames(run: Run, half: Half, connection: Connection, state: Ints, layouts: Layouts) -> list[Frames | Captured]:
    """The frames in segments that come as they should. Streams and connection are as if they had been fed with them;
    _OddError leaves them alone.
    """
    rests = connection.rests
    sides = [_side(run, direction, rests[stream.direction]) for direction, stream in enumerate((half, half.peer))]
    client = 0 if half.direction == connection.client else 1
    requests, answered = sides[client], sides[1 - client]
    pending = connection.pending
    heads = _request_heads(layouts.catalog, requests)
    ids = np.concatenate(
        [
            np.array([request.head.correlation_id for request in pending if request.head], np.int64),
            heads["correlationId"].astype(np.int64),
        ]
    )
    rows = np.concatenate([np.full(len(pending), -1), requests.row])
    count = len(answered.start)
    if count > len(ids) or len(ids) - count > MOST_PENDING or (answered.stop - answered.start < 2 * SIZE_BYTES).any():
        raise _OddError
    answers = read_rows(answered.data, answered.start + SIZE_BYTES, _head_type("response", layouts.catalog))[
        "correlationId"
    ]
    if (answers != ids[:count]).any() or (rows[:count] >= answered.row).any():
        raise _OddError
    answered_here = max(count - len(pending), 0)
    left = len(requests.data) - int(requests.start[answered_here]) if answered_here < len(requests.start) else 0
    if left + sum(len(request.data) for request in pending[count:]) > MOST_UNHEARD_BYTES:
        raise _OddError
    keys = np.concatenate(
        [
            np.array([request.head.api_key for request in pending if request.head], np.int64),
            heads["requestApiKey"].astype(np.int64),
        ]
    )
    versions = np.concatenate(
        [
            np.array([request.head.version for request in pending if request.head], np.int64),
            heads["requestApiVersion"].astype(np.int64),
        ]
    )
    groups = [*_groups("request", keys[len(pending) :], versions[len(pending) :], requests, layouts)]
    groups += _groups("response", keys[:count], versions[:count], answered, layouts)
    # From here on nothing is odd.
    for direction, stream in enumerate((half, half.peer)):
        if (rows_of := np.flatnonzero(run.rows["direction"] == direction)).size:
            stream.passed(int(state[direction, 1]), int(state[direction, 2]), int(run.rows["packet"][rows_of[-1]]))
    waiting = [Cut("frame", request.data, request.packet, request.time) for request in pending[count:]]
    for number in range(answered_here, len(requests.start)):
        data = requests.data[requests.start[number] : requests.stop[number]].tobytes()
        waiting.append(Cut("frame", data, *_stamp(run.rows[requests.row[number]])))
    by_side = {stream.direction: side for side, stream in zip(sides, (half, half.peer), strict=True)}
    connection.resume([(by_side[side].rest, *by_side[side].last) for side in (0, 1)], waiting)
    return [*groups]


def _request_heads(catalog: Catalog, side: _Side) -> npt.NDArray[Any]:
    layout = _head_type("request", catalog)
    if (side.stop - side.start < SIZE_BYTES + layout.itemsize).any():
        raise _OddError
    return read_rows(side.data, side.start + SIZE_BYTES, layout)


@lru_cache(maxsize=4)
def _head_type(kind: str, catalog: Catalog) -> np.dtype[Any]:
    """Return the type of what all headers of a kind begin with: the fields of version 0."""
    return numpy_type(declare(header_spec(catalog, kind), 0))


def _groups(kind: str, keys: Ints, versions: Ints, side: _Side, layouts: Layouts) -> Iterator[Frames]:
    """The frames of each layout. _OddError where one has none, or headers differ."""
    head = _head_type(kind, layouts.catalog).itemsize
    both = keys << 16 | versions & 0xFFFF
    for pair in np.unique(both).tolist():
        key, version = pair >> 16, pair & 0xFFFF
        layout = layouts.get(kind, key, version)
        if layout is None or key == SASL_HANDSHAKE:
            raise _OddError
        which = np.flatnonzero(both == pair)
        start, stop = side.start[which], side.stop[which]
        first = side.data[start[0] : stop[0]].tobytes()
        header = decode_header(layouts.catalog, kind, layout.header_version, first, start=SIZE_BYTES, stop=len(first))
        if not header.complete or header.anomalies:
            raise _OddError
        size = header.raw.used
        tail = size - SIZE_BYTES - head
        if tail:
            if (stop - start < size).any():
                raise _OddError
            tails = np.dtype((np.uint8, (tail,)))
            tail_rows = read_rows(side.data, start + SIZE_BYTES + head, np.dtype([("tail", tails)]))["tail"]
            if (tail_rows != np.frombuffer(first[SIZE_BYTES + head : size], np.uint8)).any():
                raise _OddError
        walk = walk_many(layout.entry.program, side.data, jobs_of(layout.entry, start + size, stop))
        if kind == "request" and key == PRODUCE and not _all_answered(walk):
            raise _OddError
        yield Frames(layout, first[:size], walk)


def _all_answered(walk: Walk) -> bool:
    """Return whether all of these Produce requests want an answer (acks is not 0)."""
    leaf = next(leaf for leaf in walk.program.leaves if leaf.path == "acks")
    spans = np.flatnonzero(walk.node == leaf.id)
    acks = np.empty(len(spans), np.int64)
    if len(spans) != len(walk.jobs):
        return False
    compiled(numba_loops.fixed_numbers)(
        walk.data,
        walk.value[spans],
        int(walk.end[spans[0]] - walk.value[spans[0]]),
        True,  # noqa: FBT003
        acks,
    )
    return bool(acks.all())
