"""The frames between two endpoints, decoded in bulk where traffic is regular.

Segments must arrive in order, frames must have unambiguous layouts, and responses must be in the order of their
requests. Numpy and compiled loops then process thousands of segments at once. All other segments go through
`tcp.Streams` and `connection.Connection`. A reader can switch between both at each segment; a test compares the
results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, numpy_type, octets, read_rows, walk_many
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES
from kwire_cli.source.kafka.captured import Captured, Names
from kwire_cli.source.kafka.framing import Cut
from kwire_cli.source.kafka.pending import MAX_BYTES_UNHEARD, MAX_PENDING
from kwire_cli.source.kafka.traffic import Lines, Watch
from kwire_cli.source.packets import packet_columns
from kwire_cli.source.packets.descriptors import Run
from kwire_cli.source.packets.model import NO_TIME, Start
from kwire_cli.source.packets.segment_columns import payloads
from kwire_cli.source.packets.tcp import DECIDING, Streams
from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE, WAITING
from kwire_cli.structs.headers import REQUEST_HEAD, RESPONSE_HEAD
from kwire_cli.structs.network import ACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from kwire_cli.message.known_layout import Layout, Layouts, Tail
    from kwire_cli.source.kafka.connection import Connection, Seen
    from kwire_cli.source.kafka.traffic import TcpConnection
    from kwire_cli.source.packets.model import Origin, Segment
    from kwire_cli.source.packets.tcp_direction import Half
    from kwire_cli.source.tls.decryption import Decryption

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]

_HEADS = {"request": numpy_type(REQUEST_HEAD), "response": numpy_type(RESPONSE_HEAD)}
FEWEST = 512
"""Minimum number of segments for which columns are faster."""
_STEP = 32
_MAX_STEP = 4096
"""Segments that are processed singly before columns are tried again. The number doubles after each failure."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of one layout. Arrays have one value per frame.

    Attributes:
        walk: The spans of the bodies.
        tail: The number of the end of each header in `tails`.
        which: The index of a request among all requests, of a response that of its request among `pending` and the
            requests.
        number: The number of each frame between the two endpoints.
        packet: The packet of the last byte.
        time: The time of that packet in nanoseconds, or NO_TIME.
        size: The size of the frame including its prefix.

    """

    layout: Layout
    walk: Walk
    tail: Ints
    tails: tuple[Tail, ...]
    which: Ints
    number: Ints
    packet: Ints
    time: Ints
    size: Ints
    correlation_id: Ints


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive requests and responses of a connection without irregularities.

    The k-th response belongs to the k-th element of `pending` and the requests together.

    Attributes:
        stream: The first packet of the connection.
        src: The client.
        dst: The broker.
        pending: The earlier requests that had no response yet.
        delayed: `Seen.delayed` of each response.
        left: The requests without a response, by their index among the requests.

    """

    connection: Connection
    stream: int
    src: str
    dst: str
    requests: tuple[Frames, ...]
    responses: tuple[Frames, ...]
    pending: tuple[Captured, ...]
    delayed: npt.NDArray[np.bool_]
    left: dict[int, Captured]

    @property
    def frames(self) -> Iterator[Frames]:
        """The frames of both directions, grouped by layout."""
        yield from self.requests
        yield from self.responses


class _IrregularError(Exception):
    """Segments or frames are irregular, and must be processed singly."""


class EndsReader:
    """Reads the frames between two endpoints from segments in order. The state between calls is kept.

    Args:
        ends: The addresses and ports of direction 0.
        layouts: The layouts of frames.
        port: The port of the broker, if known.
        names: The names known so far. Lines add names. The caller must add the names of a stretch before the next one.
        origin: Maps packets to files.
        tls: Decrypts TLS.
        ended: Is called with each TCP connection that has ended.
        after: The number of frames before the first one.

    """

    def __init__(
        self,
        ends: bytes,
        layouts: Layouts,
        port: int | None,
        names: Names,
        origin: Origin,
        tls: Decryption,
        *,
        ended: Callable[[TcpConnection], None] | None = None,
        after: int = 0,
    ) -> None:
        self.ends = ends
        self.layouts = layouts
        self.tls = tls
        self.origin = origin
        self.streams = Streams()
        self.starts: dict[int, int] = {}
        self.lines = Lines(Watch(layouts, port, names, origin), self.streams.waiting_since)
        self.lines.watch.on_ended = ended
        self.lines.count = after
        self._step = _STEP

    def forget_starts(self) -> None:
        """Forget the start packets of connections that have ended and whose frames were all returned."""
        watch = self.lines.watch
        active = {*watch.connections, *(line.stream for line in self.lines.held), *self.tls.streams}
        self.starts = {number: start for number, start in self.starts.items() if number in active}

    @property
    def is_over(self) -> bool:
        """Return whether no connection is open and nothing waits."""
        return self.streams.is_settled and not self.lines.watch.connections and not self.lines.held

    @property
    def connections(self) -> list[Connection]:
        """The open connections."""
        return [stream.connection for stream in self.lines.watch.connections.values()]

    @property
    def steady(self) -> tuple[Connection, Half] | None:
        """The only open connection and its half, if both peers are certain and nothing waits. Otherwise None."""
        return self._calm() if len(self.lines.watch.connections) == 1 and self.streams.is_settled else None

    def _calm(self) -> tuple[Connection, Half] | None:
        """Return the connection of the ends and its half, if both peers are certain and nothing of it waits."""
        half = None if self.lines.held else self.streams.calm(self.ends)
        if half is None or self.tls.holds(half.connection.number):
            return None
        connection = self.lines.watch.connections[half.connection.number].connection
        return (connection, half) if connection.steady else None

    def feed(self, segments: Iterable[Segment]) -> list[Captured]:
        """Return the lines that these segments complete, processed singly."""
        events: list[Any] = []
        for segment in segments:
            events += self.streams.idle(segment.packet - 1)
            events += self.streams.feed(segment)
        return self._process(events)

    def take(self, run: Run) -> Iterator[Stretch | Captured]:
        """Yield the stretches and lines that these segments complete."""
        rows = run.rows
        at = 0
        while at < len(rows):
            if calm := self._calm() if len(rows) - at >= FEWEST else None:
                connection, half = calm
                state, count = _in_order(rows[at:], half)
                if count >= FEWEST:
                    try:
                        stretch = self._stretch(Run(rows[at : at + count], run.kept), half, connection, state)
                    except _IrregularError:
                        pass
                    else:
                        yield stretch
                        at += count
                        self._step = _STEP
                        continue
            stop = min(at + self._step, len(rows))
            self._step = min(2 * self._step, _MAX_STEP)
            yield from self.feed(Run(rows[at:stop], run.kept).segments(self.ends))
            at = stop

    def close(self, last: int) -> Iterator[Stretch | Captured]:
        """Yield the remaining frames. `last` is the last packet of the capture."""
        yield from self._process([*self.streams.idle(last), *self.streams.close()])
        yield from self.lines.close()

    def _process(self, events: list[Any]) -> list[Captured]:
        events = self.tls.take(events)
        for event in events:
            if type(event) is Start:
                self.starts[event.connection] = event.packet
        return self.lines.take(events)

    def _stretch(self, run: Run, half: Half, connection: Connection, state: Ints) -> Stretch:
        """Return the frames of segments that arrived in order, and update streams and connection as if they had been
        fed. Raise _IrregularError without an update if anything is irregular.
        """
        stream = half.connection.number
        texts = self.lines.watch.connections[stream].texts
        client = connection.client or 0
        pending = list(connection.pending)
        waiting = [request.line for request in pending]
        if any(line is None for line in waiting):
            raise _IrregularError
        requests, responses, resumed, rows, delayed = _frames(run, half, connection, state, pending)
        total = len(rows)
        before = self.lines.count
        self.lines.count += total
        order = np.empty(total, np.int64)
        order[np.argsort(rows, kind="stable")] = np.arange(before + 1, before + 1 + total)
        count = sum(len(frames.which) for frames in requests)
        own = [replace(frames, number=order[frames.which]) for frames in requests]
        answers = [replace(frames, number=order[count + frames.which]) for frames in responses]
        left: dict[int, Captured] = {}
        numbers = order[:count]
        answered = sum(len(frames.which) for frames in answers)
        for at, seen in enumerate(resumed, answered):
            if at < len(waiting):
                seen.line = waiting[at]
                continue
            line = Captured(
                seen, stream, texts[client], texts[1 - client], connection, self.lines.watch.names, self.origin
            )
            line.number = int(numbers[at - len(waiting)])
            left[at - len(waiting)] = line
            seen.line = line
        return Stretch(
            connection,
            self.starts[stream],
            texts[client],
            texts[1 - client],
            tuple(own),
            tuple(answers),
            tuple(waiting),
            delayed,
            left,
        )


def _in_order(rows: npt.NDArray[Any], half: Half) -> tuple[Ints, int]:
    """Return the state after the leading segments that arrived in order, and the number of these segments.

    The state has both directions, in the order of the ends.
    """
    state = np.array([[half.next, 0, half.acked], [half.peer.next, 0, half.peer.acked]], np.int64)
    names = ("direction", "sequence", "acknowledgment", "size", "missing", "flags")
    columns = [rows[name].astype(np.int64) for name in names]
    return state, compiled(packet_columns.in_order)(*columns, DECIDING, ACK, state)


@dataclass(frozen=True, slots=True)
class _Side:
    """The frames of one direction in `data`, the row that completes each, and the rest, which begins a frame."""

    data: Octets
    start: Ints
    stop: Ints
    row: Ints
    rest: bytes
    last: tuple[int, int | None]


def _side(run: Run, direction: int, rest: bytes) -> _Side:
    which = np.flatnonzero(run.rows["direction"] == direction)
    rows = run.rows[which]
    data, offsets = payloads(octets(run.kept), rows)
    if rest:
        data = np.concatenate([octets(rest), data])
    data.flags.writeable = False
    out = np.empty(len(data) // SIZE_BYTES + 1, np.int64)
    count, end = compiled(packet_columns.hop_frames)(data, 0, SIZE_BYTES, MAX_SIZE, out)
    if end < 0:
        raise _IrregularError
    start = out[:count].copy()
    stop = np.append(start[1:], end)[:count] if count else start
    row = which[np.searchsorted(offsets[1:] + len(rest), stop)] if count else start
    last = _stamp(rows[-1]) if len(rows) else (0, None)
    return _Side(data, start, stop, row, data[end:].tobytes(), last)


def _stamp(row: Any) -> tuple[int, int | None]:
    return int(row["packet"]), None if row["time"] == NO_TIME else int(row["time"])


def _frames(
    run: Run, half: Half, connection: Connection, state: Ints, pending: list[Seen]
) -> tuple[list[Frames], list[Frames], list[Seen], Ints, npt.NDArray[np.bool_]]:
    """Return the requests and responses of a stretch, the requests without a response at its end, the rows that
    complete the frames of both directions, and which responses the broker may have delayed.
    """
    rests = connection.rests
    sides = [_side(run, direction, rests[stream.direction]) for direction, stream in enumerate((half, half.peer))]
    client = 0 if half.direction == connection.client else 1
    requests = sides[client]
    answered = sides[1 - client]
    heads = _request_heads(requests)

    def both(name: str, field: str) -> Ints:
        """Return a header field of the pending requests and of the requests."""
        before = [getattr(request.head, field) for request in pending if request.head]
        return np.concatenate([np.array(before, np.int64), heads[name].astype(np.int64)])

    ids = both("correlationId", "correlation_id")
    rows = np.concatenate([np.full(len(pending), -1), requests.row])
    count = len(answered.start)
    if count > len(ids) or len(ids) - count > MAX_PENDING or (answered.stop - answered.start < 2 * SIZE_BYTES).any():
        raise _IrregularError
    answers = read_rows(answered.data, answered.start + SIZE_BYTES, _HEADS["response"])["correlationId"]
    if (answers != ids[:count]).any() or (rows[:count] >= answered.row).any():
        raise _IrregularError
    answered_here = max(count - len(pending), 0)
    left = len(requests.data) - int(requests.start[answered_here]) if answered_here < len(requests.start) else 0
    if left + sum(len(request.data) for request in pending[count:]) > MAX_BYTES_UNHEARD:
        raise _IrregularError
    keys = both("requestApiKey", "api_key")
    versions = both("requestApiVersion", "version")
    first = len(pending)
    request_groups = [*_groups("request", keys[first:], versions[first:], ids[first:], requests, run, connection)]
    response_groups = [*_groups("response", keys[:count], versions[:count], ids[:count], answered, run, connection)]
    # All checks have passed: update the streams and the connection.
    for direction, stream in enumerate((half, half.peer)):
        rows_of = np.flatnonzero(run.rows["direction"] == direction)
        if rows_of.size:
            stream.advance(int(state[direction, 1]))
            stream.acked = int(state[direction, 2])
            stream.connection.last = max(stream.connection.last, int(run.rows["packet"][rows_of[-1]]))
    waiting = [Cut("frame", request.data, request.packet, request.time) for request in pending[count:]]
    for number in range(answered_here, len(requests.start)):
        data = requests.data[requests.start[number] : requests.stop[number]].tobytes()
        waiting.append(Cut("frame", data, *_stamp(run.rows[requests.row[number]])))
    by_side = {stream.direction: side for side, stream in zip(sides, (half, half.peer), strict=True)}
    before = [NO_TIME if request.time is None else request.time for request in pending]
    times = np.concatenate([np.array(before, np.int64), run.rows["time"][requests.row].astype(np.int64)])
    delayed = _delayed(connection, keys[:count], times[:count], run.rows["time"][answered.row].astype(np.int64))
    resumed = connection.resume([(by_side[side].rest, *by_side[side].last) for side in (0, 1)], waiting)
    return request_groups, response_groups, resumed, np.concatenate([requests.row, answered.row]), delayed


def _delayed(connection: Connection, keys: Ints, request_times: Ints, response_times: Ints) -> npt.NDArray[np.bool_]:
    """Return for each response whether the broker may have delayed it on purpose; see `Seen.delayed`."""
    waits = np.isin(keys, [*WAITING.values()])
    start = NO_TIME if connection.delayed_until is None else connection.delayed_until
    until = np.maximum.accumulate(np.concatenate(([start], np.where(waits, response_times, NO_TIME))))
    connection.delay(None if until[-1] == NO_TIME else int(until[-1]))
    delayed: npt.NDArray[np.bool_] = waits | ((request_times != NO_TIME) & (request_times < until[:-1]))
    return delayed


def _request_heads(side: _Side) -> npt.NDArray[Any]:
    layout = _HEADS["request"]
    if (side.stop - side.start < SIZE_BYTES + layout.itemsize).any():
        raise _IrregularError
    return read_rows(side.data, side.start + SIZE_BYTES, layout)


def _groups(
    kind: str, keys: Ints, versions: Ints, ids: Ints, side: _Side, run: Run, connection: Connection
) -> Iterator[Frames]:
    """Yield the frames of each layout, not numbered yet. Raise _IrregularError if a frame has no layout or is
    malformed, or if headers differ.
    """
    both = keys << 16 | versions & 0xFFFF
    for pair in np.unique(both).tolist():
        key = pair >> 16
        version = pair & 0xFFFF
        layout = connection.layouts.get(kind, key, version)
        if layout is None or key in {SASL_HANDSHAKE, SASL_AUTHENTICATE} or (kind == "request" and key == API_VERSIONS):
            raise _IrregularError  # the connection follows authentication; a client states its software in ApiVersions
        which = np.flatnonzero(both == pair)
        start = side.start[which]
        stop = side.stop[which]
        first = side.data[start[0] : stop[0]].tobytes()
        plain = connection.headers.plain(layout, first, int(ids[which[0]]))
        if plain is None:
            raise _IrregularError
        size = plain.start
        tail = plain.tail.data
        if tail:
            if (stop - start < size).any():
                raise _IrregularError
            row = np.dtype([("tail", (np.uint8, (len(tail),)))])
            tails = read_rows(side.data, start + layout.tail_at, row)["tail"]
            if (tails != np.frombuffer(tail, np.uint8)).any():
                raise _IrregularError
        walk = walk_many(layout.entry.program, side.data, jobs_of(layout.entry, start + size, stop))
        if walk.jobs[:, 5].any() or len(walk.flags):
            raise _IrregularError
        if any(anomalies(build(layout.entry, walk.spans(job))) for job in walk.doubtful.tolist()):
            raise _IrregularError
        if kind == "request" and key == PRODUCE and not _all_have_responses(walk):
            raise _IrregularError
        rows = run.rows[side.row[which]]
        yield Frames(
            layout,
            walk,
            np.zeros(len(which), np.int64),
            (plain.tail,),
            which,
            which,
            rows["packet"].astype(np.int64),
            rows["time"].astype(np.int64),
            stop - start,
            ids[which],
        )


def _all_have_responses(walk: Walk) -> bool:
    """Return whether all of these Produce requests have a response (acks is not 0)."""
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
