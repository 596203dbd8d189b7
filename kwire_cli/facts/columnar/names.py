"""Names in stretches: topics of ids, brokers of addresses, topics of fetch sessions; and the table `names`.

A Fetch names only the topics that change in its session (KIP-227). The topics of a session are therefore computed from
all of its requests, in order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of, values_of
from kwire_cli.facts.columnar.arrays import side_by_side
from kwire_cli.facts.columnar.regular import with_request_topics
from kwire_cli.facts.columnar.values import NO_UUID_TEXT
from kwire_cli.source.kafka.captured import MOST_NAMES, MOST_SESSIONS, SESSIONS_SINCE, Names, address_of, forget
from kwire_cli.spec.kafka import DESCRIBE_CLUSTER, FETCH, METADATA
from kwire_cli.structs.numbers import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.engine.program import Leaf
    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.message.known_layout import Layout
    from kwire_cli.source.kafka.bulk_frames import Stretch

    Ints = npt.NDArray[np.int64]

NAMES = pa.schema([pa.field("kind", pa.string()), pa.field("key", pa.string()), pa.field("name", pa.string())])
"""`key` and `name` are, by `kind`: the id and the name of a topic, the address and the node id of a broker, the id
and the software of a client.
"""
_BROKERS = {METADATA: "nodeId", DESCRIBE_CLUSTER: "brokerId"}
"""The fields with node ids of brokers, by api."""


def tells_names(layout: Layout) -> bool:
    """Return whether messages of a layout can contain names, or change a fetch session."""
    if layout.api_key == FETCH:
        return layout.version >= SESSIONS_SINCE
    return layout.kind == "response" and (bool(layout.roles.naming) or layout.api_key in _BROKERS)


def learn(responses: Sequence[Values], names: Names) -> None:
    """Learn the names of topics and brokers in responses."""
    for values in responses:
        layout = values.frames.layout
        leaves = values.columns.walk.program.leaves
        if layout.api_key == FETCH:
            continue
        for name, topic_id in layout.roles.naming:
            texts = [values_of(leaves[node], values.columns.places(leaves[node])) for node in (topic_id, name)]
            if len(texts[0]) == len(texts[1]):
                for topic, text in dict.fromkeys(zip(*(each.to_pylist() for each in texts), strict=True)):
                    if text and topic != NO_UUID_TEXT:
                        names.topics.setdefault(topic, text)
        forget(names.topics, MOST_NAMES)
        if node_name := _BROKERS.get(layout.api_key):
            _learn_brokers(values, node_name, names)


def _learn_brokers(values: Values, node_name: str, names: Names) -> None:
    by_path = {leaf.path: leaf for leaf in values.columns.walk.program.leaves}
    wanted = [by_path.get(f"brokers[].{name}") for name in ("host", "port", node_name)]
    if any(leaf is None for leaf in wanted):
        return
    columns = [values_of(leaf, values.columns.places(leaf)).to_pylist() for leaf in wanted if leaf is not None]
    brokers = dict.fromkeys(zip(*columns, strict=True))
    names.learn_brokers((address_of(host, port), node) for host, port, node in brokers if host)


@dataclass
class Learnt:
    """The names that connections of a capture point contain. `clients` are the ids of clients with their software.

    `since` maps the id of a topic or a client to the first packet of the connection that its name comes from.
    """

    names: Names = field(default_factory=Names)
    clients: dict[str, str] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)

    def merge(self, other: Learnt) -> None:
        """Add the names of other connections. The result does not depend on the order of merging.

        If a topic id has two names, the name from the connection that began first is kept. If a client has two versions
        of its software, the version from the connection that began last is kept. An address with two node ids has no
        node id.
        """
        own = self.names
        names = other.names
        for topic_id, name in names.topics.items():
            since = other.since.get(topic_id, 0)
            if topic_id not in own.topics or since < self.since.get(topic_id, 0):
                own.topics[topic_id] = name
                self.since[topic_id] = since
        own.learn_brokers(names.brokers.items())
        own.sessions |= names.sessions
        for client_id, software in other.clients.items():
            since = other.since.get(client_id, 0)
            if client_id not in self.clients or since >= self.since.get(client_id, 0):
                self.clients[client_id] = software
                self.since[client_id] = since

    def with_others(self, other: Learnt) -> Learnt:
        """Return the names of both in a new object."""
        both = Learnt()
        both.merge(self)
        both.merge(other)
        return both

    def know(self, kind: str, key: str, name: str) -> None:
        """Add a row of the table `names`."""
        if kind == "topic":
            self.names.topics[key] = name
        elif kind == "broker":
            self.names.learn_brokers([(key, int(name))])
        else:
            self.clients[key] = name

    def rows(self) -> pa.RecordBatch:
        """Return the rows of the table `names`."""
        rows = [("topic", key, name) for key, name in sorted(self.names.topics.items())]
        rows += [("broker", key, str(node)) for key, node in sorted(self.names.brokers.items()) if node is not None]
        rows += [("client", key, software) for key, software in sorted(self.clients.items())]
        return batch_of(rows, NAMES)


# Topics of frames: the topics in them, and the topics of the fetch session of a Fetch (KIP-227).


def topics_of(
    names: Names, stretch: Stretch, requests: Sequence[Values], responses: Sequence[Values]
) -> list[pa.ListArray]:
    """Return the topics of the frames of a stretch, layout by layout, and learn the names and sessions in it."""
    both = [*requests, *responses]
    topics = {id(values.frames): values.topics() for values in both}
    if sessions := learn_stretch(names, stretch, requests, responses, topics):
        for values, more in sessions.topics_of_frames():
            topics[id(values.frames)] = side_by_side(topics[id(values.frames)], more)
    found = [topics[id(values.frames)] for values in both]
    for number, values in enumerate(responses, len(requests)):
        if values.frames.layout.api_key == FETCH:
            found[number] = with_request_topics(found[number], values, requests, found, stretch.pending)
    return found


def learn_stretch(
    names: Names,
    stretch: Stretch,
    requests: Sequence[Values],
    responses: Sequence[Values],
    topics: dict[int, pa.ListArray] | None = None,
) -> _Sessions | None:
    """Learn the names and the fetch sessions of a stretch; return the sessions if there are fetches.

    `topics` are the topics in the frames, by `id` of the frames, if they are known.
    """
    learn(responses, names)
    fetch_requests = [each for each in requests if each.frames.layout.api_key == FETCH]
    fetch_responses = [each for each in responses if each.frames.layout.api_key == FETCH]
    if not (fetch_requests or fetch_responses):
        return None
    sessions = _Sessions(names, stretch, fetch_requests, topics)
    for values in (*fetch_requests, *fetch_responses):
        if values.frames.layout.version >= SESSIONS_SINCE:
            sessions.observe(values)
    sessions.follow()
    for number, line in stretch.left.items():
        for values in fetch_requests:
            at = np.flatnonzero(values.frames.which == number)
            if len(at):
                line.session = sessions.state(values, int(at[0]))
    return sessions


class _Sessions:
    """The fetch sessions in a stretch, with their topics after each request and response that changes them."""

    def __init__(
        self, names: Names, stretch: Stretch, requests: Sequence[Values], topics: dict[int, pa.ListArray] | None
    ) -> None:
        self._names = names
        self._stretch = stretch
        self._topics = {} if topics is None else topics
        self._observed: list[Values] = []
        self._events: dict[int, list[tuple[int, bool, Values, int]]] = {}
        self._ids: dict[int, Ints] = {}
        before = len(stretch.pending)
        count = before + sum(len(frames.which) for frames in stretch.requests)
        self._epoch = np.full(count, 1, np.int64)
        for at, line in enumerate(stretch.pending):
            epoch = line.field("sessionEpoch")
            self._epoch[at] = 1 if epoch is None else epoch
        for values in requests:
            epochs = values.top("sessionEpoch")
            if epochs is not None:
                self._epoch[before + values.frames.which] = epochs
        self._requests = requests
        self._states: dict[int, tuple[list[int], list[list[str]]]] = {}

    def observe(self, values: Values) -> None:
        """Find the frames of a layout that create or change sessions."""
        frames = values.frames
        ids = values.top("sessionId")
        if ids is None:
            return
        self._ids[id(frames)] = ids
        self._observed.append(values)
        if frames.layout.kind == "request":
            changes = (ids != 0) & ((values.length("topics") > 0) | (values.length("forgottenTopicsData") > 0))
        else:
            epochs = self._epoch[frames.which]
            changes = (ids != 0) & ((epochs == 0) | (epochs == -1))
        for session in np.unique(ids[ids != 0]).tolist():
            self._events.setdefault(session, [])
        for row in np.flatnonzero(changes).tolist():
            event = int(frames.number[row]), frames.layout.kind == "request", values, row
            self._events[int(ids[row])].append(event)

    def follow(self) -> None:
        """Compute the topics of each session after each event. Call it after `observe` of all frames."""
        for session, events in self._events.items():
            self._states[session] = self._follow(session, sorted(events, key=lambda event: event[0]))

    def topics_of_frames(self) -> Iterator[tuple[Values, pa.ListArray]]:
        """Yield the topics of the session of each frame, layout by layout."""
        for values in self._observed:
            ids = self._ids[id(values.frames)]
            if not ids.any():
                continue
            words: list[list[str]] = [[]]
            which = np.zeros(values.count, np.int64)
            for session in np.unique(ids[ids != 0]).tolist():
                since, states = self._states[session]
                rows = np.flatnonzero(ids == session)
                which[rows] = len(words) + np.searchsorted(since, values.frames.number[rows], side="right")
                words += states
            yield values, pa.array(words, pa.list_(pa.string())).take(pa.array(which))

    def state(self, values: Values, row: int) -> list[str]:
        """Return the topics of the session of a request."""
        ids = self._ids.get(id(values.frames))
        if ids is None or not ids[row]:
            return []
        since, states = self._states[int(ids[row])]
        return states[bisect_right(since, int(values.frames.number[row]))]

    def _follow(
        self, session: int, events: Sequence[tuple[int, bool, Values, int]]
    ) -> tuple[list[int], list[list[str]]]:
        """Return the numbers of the frames that change a session, and its topics before and after each of them."""
        known = self._names.sessions
        key = self._stretch.dst, session
        current = known.get(key)
        since: list[int] = []
        states = [current or []]
        for number, is_request, values, row in events:
            if is_request and current is not None:
                current = _changed(values, row, current)
            elif not is_request:
                current = self._own_topics(values, row)
            since.append(number)
            states.append(current or [])
        if current is not None:
            known.pop(key, None)  # so that it becomes the newest
            known[key] = current
            forget(known, MOST_SESSIONS)
        return since, states

    def _own_topics(self, values: Values, row: int) -> list[str]:
        """Return the topics in the request of a response."""
        number = int(values.frames.which[row]) - len(self._stretch.pending)
        if number < 0:
            names, ids = self._stretch.pending[number].own_topics
            return [*names, *ids]
        for each in self._requests:
            at = np.flatnonzero(each.frames.which == number)
            if len(at):
                if id(each.frames) not in self._topics:
                    self._topics[id(each.frames)] = each.topics()
                own: list[str] = self._topics[id(each.frames)][int(at[0])].as_py()
                return own
        return []


def _changed(values: Values, row: int, known: list[str]) -> list[str]:
    """Return the topics of a session after a request that adds and removes topics."""
    walk = values.frames.walk
    job = walk.only(np.array([row]))
    leaves = walk.program.leaves
    added: dict[str, None] = {}
    forgotten: dict[str, None] = {}
    for node, start, stop in zip(job.node.tolist(), job.value.tolist(), job.end.tolist(), strict=True):
        leaf = leaves[node] if node >= 0 else None
        if leaf is None or leaf not in (*values.nodes.names, *values.nodes.ids):
            continue
        text = _text(leaf, walk.data, start, stop)
        (forgotten if leaf.path.startswith("forgottenTopicsData") else added)[text] = None
    gone = {*forgotten} - {*added}
    return [topic for topic in dict.fromkeys([*known, *added]) if topic not in gone]


def _text(leaf: Leaf, data: Any, start: int, stop: int) -> str:
    raw = bytes(data[start:stop])
    return uuid_text(raw) if leaf.kind == "uuid" else raw.decode("utf-8", "replace")
