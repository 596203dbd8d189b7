"""Regular frames, from which the tables are built by column: requests and responses of known layouts, without
anomalies.

Frames are grouped by layout, since the bodies of one layout are read together. The values that are not in the bodies,
such as addresses and requests of responses, are arrays over all frames: requests first, both in the order of the
layouts. A stretch has the frames of one connection (`stretches`). Single lines are gathered from many connections,
since columns are built fast only for many frames at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.compiled import jobs_of, octets, walk_many
from kwire_cli.facts.columnar.arrays import WORDS, side_by_side, words
from kwire_cli.facts.columnar.values import values_in
from kwire_cli.facts.frame_values import SESSION_ID, WAIT, broker_address_of, number_in
from kwire_cli.source.kafka.bulk_frames import Frames
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.spec.kafka import FETCH, PRODUCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.engine.compiled import Walk
    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.message.known_layout import Layout, Plain, Tail
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.spec.catalog import Catalog

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

NO_REQUEST = -1
"""In place of the index of a response's request, if the request was not captured."""


@dataclass(frozen=True, slots=True)
class RequestColumns:
    """Requests as columns: the pending ones, then all others. The last row stands for a missing request."""

    number: Ints
    time: Ints
    wait: Ints
    session: Ints
    client: Ints
    clients: tuple[str | None, ...]


@dataclass(frozen=True)
class Regular:
    """Regular frames by layout. Arrays have a value for each frame, in the order of `values`.

    Attributes:
        pending: The requests of responses that are not among the frames.
        place: The packet that orders the frame among the others of its capture.
        broker: The address of the broker.
        topics: Topics in the frame and of its fetch session, which may be ids.
        delayed: `Seen.delayed` of responses.
        in_flight: `Seen.in_flight` of requests.
        make_lines: Returns the frames as lines.

    """

    requests: Sequence[Values]
    responses: Sequence[Values]
    pending: Sequence[Captured]
    origin: Origin
    place: Ints
    file: pa.Array
    packet: pa.Array
    src: pa.Array
    dst: pa.Array
    broker: pa.Array
    software: pa.Array
    connection: Ints
    stream: Ints
    topics: pa.ListArray
    delayed: Mask
    in_flight: Ints
    make_lines: Callable[[], Sequence[Captured]]

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """All frames, layout by layout."""
        return (*self.requests, *self.responses)

    @cached_property
    def counts(self) -> Ints:
        """The number of frames of each layout."""
        return np.array([values.count for values in self.values], np.int64)

    @cached_property
    def is_response(self) -> Mask:
        """Whether each frame is a response."""
        return np.arange(self.counts.sum()) >= sum(values.count for values in self.requests)

    def parts(self) -> Iterator[tuple[Values, slice]]:
        """Yield the frames of each layout, and their part of the arrays."""
        start = 0
        for values in self.values:
            yield values, slice(start, start + values.count)
            start += values.count

    @cached_property
    def lines(self) -> Sequence[Captured]:
        """The frames as lines."""
        return self.make_lines()

    def joined(self, name: str) -> Ints:
        """Return an array of `Frames` for the frames of all layouts."""
        return np.concatenate([getattr(values.frames, name) for values in self.values])

    @cached_property
    def request(self) -> Ints:
        """The row of `request_columns` of each request, and of the request of each response."""
        which = self.joined("which")
        return np.where(self.is_response, which, which + len(self.pending))

    @cached_property
    def request_columns(self) -> RequestColumns:
        """The requests of the responses, and the requests themselves."""
        before = len(self.pending)
        count = before + sum(values.count for values in self.requests)
        number, time, wait, session, client = np.zeros((5, count + 1), np.int64)
        clients: dict[str | None, int] = {None: 0}
        time[NO_REQUEST] = NO_TIME
        wait[NO_REQUEST] = -1
        for at, line in enumerate(self.pending):
            number[at] = line.number
            wait[at] = number_in(line, WAIT, -1)
            session[at] = number_in(line, SESSION_ID, 0)
            time[at] = NO_TIME if line.seen.time is None else line.seen.time
            client[at] = clients.setdefault(line.client_id, len(clients))
        for values in self.requests:
            frames = values.frames
            own = before + frames.which
            number[own] = frames.number
            time[own] = frames.time
            codes = [clients.setdefault(tail.rest.get("clientId"), len(clients)) for tail in frames.tails]
            client[own] = np.array(codes, np.int64)[frames.tail]
            waits = values.top(WAIT)
            wait[own] = -1 if waits is None else waits
            sessions = values.top(SESSION_ID)
            session[own] = 0 if sessions is None else sessions
        return RequestColumns(number, time, wait, session, client, tuple(clients))


def places_of(packets: Ints, origin: Origin) -> tuple[pa.Array, pa.Array]:
    """Return the files of packets, and the numbers of the packets in their files."""
    befores = np.asarray(origin.befores, np.int64)
    at = np.maximum(np.searchsorted(befores, packets, side="left") - 1, 0)
    some, which = np.unique(at, return_inverse=True)
    return words(which, [origin.files[number] for number in some.tolist()]), pa.array(packets - befores[at])


# Single lines


class _Group(NamedTuple):
    """Lines of one layout, and the spans of their bodies."""

    lines: list[Captured]
    plains: list[Plain]
    walk: Walk


def regular_lines(lines: Iterable[Captured], catalog: Catalog) -> tuple[Regular | None, list[Captured]]:
    """Return the regular frames among the lines of a capture point, or None, and the other lines."""
    by_layout: dict[Layout, tuple[list[Captured], list[Plain]]] = {}
    others: list[Captured] = []
    for line in lines:
        plain = line.seen.plain
        if plain is None:
            others.append(line)
            continue
        own = by_layout.setdefault(plain.layout, ([], []))
        own[0].append(line)
        own[1].append(plain)
    groups = {}
    for layout, (found, plains) in sorted(by_layout.items(), key=lambda each: each[0].kind):  # requests first
        group, irregular = _group(layout, found, plains)
        others += irregular
        if group.lines:
            groups[layout] = group
    return (_regular(groups, catalog) if groups else None), others


def _group(layout: Layout, lines: list[Captured], plains: list[Plain]) -> tuple[_Group, list[Captured]]:
    """Return the lines without anomalies, and the other lines."""
    stops = np.cumsum([len(plain.data) for plain in plains])
    starts = np.append(0, stops[:-1]) + [plain.start for plain in plains]
    data = octets(b"".join(plain.data for plain in plains))
    walk = walk_many(layout.entry.program, data, jobs_of(layout.entry, starts, stops))
    is_irregular = walk.jobs[:, 5] != 0
    if len(walk.flags):
        is_irregular[np.searchsorted(walk.first, walk.flags[:, 0], side="right") - 1] = True
    for job in walk.doubtful.tolist():
        is_irregular[job] |= lines[job].plain is None
    if not is_irregular.any():
        return _Group(lines, plains, walk), []
    kept = np.flatnonzero(~is_irregular)
    some = kept.tolist()
    group = _Group([lines[at] for at in some], [plains[at] for at in some], walk.only(kept))
    return group, [lines[at] for at in np.flatnonzero(is_irregular).tolist()]


def _regular(groups: dict[Layout, _Group], catalog: Catalog) -> Regular:
    lines = [*chain.from_iterable(group.lines for group in groups.values())]
    requests = [line for line in lines if line.seen.kind == "request"]
    known = {*map(id, requests)}
    asked = (line.request for line in lines)
    pending = [*{id(line): line for line in asked if line is not None and id(line) not in known}.values()]
    rows = {id(line): row for row, line in enumerate((*pending, *requests))}
    frames = []
    before = 0
    for layout, group in groups.items():
        if layout.kind == "request":
            which = np.arange(before, before + len(group.lines))
            before += len(group.lines)
        else:
            which = np.array([NO_REQUEST if line.request is None else rows[id(line.request)] for line in group.lines])
        frames.append(_frames(layout, group, which))
    of_requests = values_in([each for each in frames if each.layout.kind == "request"], catalog)
    of_responses = values_in([each for each in frames if each.layout.kind == "response"], catalog)
    topics = _topics(of_requests, of_responses, pending, [group.lines for group in groups.values()])
    origin = lines[0].origin
    file, packet = places_of(np.array([line.seen.packet for line in lines], np.int64), origin)
    return Regular(
        of_requests,
        of_responses,
        pending,
        origin,
        np.array([line.place for line in lines], np.int64),
        file,
        packet,
        _words(line.src for line in lines),
        _words(line.dst for line in lines),
        _words(map(broker_address_of, lines)),
        _words(line.software for line in lines),
        np.array([line.connection.key for line in lines], np.int64),
        np.array([line.stream for line in lines], np.int64),
        pa.concat_arrays(topics),
        np.array([line.seen.delayed for line in lines], np.bool_),
        np.array([line.seen.in_flight or 0 for line in lines], np.int64),
        lambda: lines,
    )


def _words(texts: Iterable[str | None]) -> pa.Array:
    return pa.array([*texts], pa.string()).dictionary_encode()


def _frames(layout: Layout, group: _Group, which: Ints) -> Frames:
    tails: dict[Tail, int] = {}
    lines = group.lines
    return Frames(
        layout,
        group.walk,
        np.array([tails.setdefault(plain.tail, len(tails)) for plain in group.plains], np.int64),
        (*tails,),
        which,
        np.array([line.number for line in lines], np.int64),
        np.array([line.seen.packet for line in lines], np.int64),
        np.array([NO_TIME if line.seen.time is None else line.seen.time for line in lines], np.int64),
        np.array([line.seen.size for line in lines], np.int64),
        np.array([plain.correlation_id for plain in group.plains], np.int64),
    )


def _topics(
    requests: Sequence[Values],
    responses: Sequence[Values],
    pending: Sequence[Captured],
    lines: Sequence[Sequence[Captured]],
) -> list[pa.ListArray]:
    """Return the topics of the frames of each layout, with the topics of their fetch sessions."""
    both = [*requests, *responses]
    topics = [values.topics() for values in both]
    for number, values in enumerate(both):
        if values.frames.layout.api_key == FETCH and any(line.session for line in lines[number]):
            more = pa.array([line.session for line in lines[number]], WORDS)
            topics[number] = side_by_side(topics[number], more)
    for number, values in enumerate(requests):
        if values.frames.layout.api_key == PRODUCE and values.nodes.ids:  # what is written to internal topics is secret
            lists = zip(lines[number], topics[number].to_pylist(), strict=True)
            topics[number] = pa.array([[*map(line.names.topic, own)] for line, own in lists], WORDS)
    for number, values in enumerate(responses, len(requests)):
        if values.frames.layout.api_key == FETCH:
            topics[number] = with_request_topics(topics[number], values, requests, topics, pending)
    return topics


def with_request_topics(
    own: pa.ListArray,
    values: Values,
    requests: Sequence[Values],
    topics: Sequence[pa.ListArray],
    pending: Sequence[Captured],
) -> pa.ListArray:
    """Return the topics of Fetch responses. A response without topics has the topics of its request.

    `topics` are the topics of the requests.
    """
    empty = np.flatnonzero(np.diff(own.offsets.to_numpy()) == 0)
    if not len(empty):
        return own
    before = len(pending)
    places: dict[int, tuple[int, int]] = {}
    for number, each in enumerate(requests):
        places.update((which, (number, at)) for at, which in enumerate(each.frames.which.tolist()))
    more: list[list[str]] = [[]] * values.count
    has_topics = False
    for row in empty.tolist():
        which = int(values.frames.which[row])
        if which == NO_REQUEST:
            continue
        if which < before:
            more[row] = pending[which].topics_by(str)
        else:
            number, at = places[which - before]
            more[row] = topics[number][at].as_py()
        has_topics = has_topics or bool(more[row])
    return side_by_side(own, pa.array(more, WORDS)) if has_topics else own
