"""The table `frames`: a row for each frame, token, gap and piece of another protocol in a capture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import Columns, numbers, values_of
from kwire_cli.engine.program import Array, Leaf
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.facts.columns import FRAMES as FRAME_COLUMNS
from kwire_cli.facts.frame_values import (
    GROUP,
    SESSION_ID,
    THROTTLE,
    TRANSACTIONAL_ID,
    WAIT,
    broker_address_of,
    entities,
    number_in,
    session_of,
)
from kwire_cli.pipeline.lake.columns import (
    WORD,
    WORDS,
    arrow_schema,
    latency_us,
    list_offsets,
    once,
    padded,
    shifted,
    side_by_side,
    times,
    word,
    words,
)
from kwire_cli.source.packets.model import NO_TIME, InRow
from kwire_cli.spec.kafka import FETCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.message.known_layout import Layout
    from kwire_cli.source.kafka.bulk_frames import Frames, Stretch
    from kwire_cli.source.kafka.captured import Captured, Names
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

    Ints = npt.NDArray[np.int64]

FRAMES = arrow_schema((column.name, column.type) for column in FRAME_COLUMNS)
"""The columns of `frames` in a lake; docs/tables.md says what each one holds."""
ADDRESS, SESSION = "broker_address", "session"
UNRESOLVED = pa.schema([*FRAMES, pa.field(ADDRESS, WORD), pa.field(SESSION, pa.int64())])
"""The columns before the names of the capture point are known: topics may be ids, brokers are addresses, and fetch
sessions may have begun on another connection.
"""
NO_UUID_TEXT = "A" * 22


# Where the columns of a frame stand in its layout.


@dataclass(frozen=True, slots=True)
class Nodes:
    """The leaves of a layout from which columns are made."""

    names: tuple[Leaf, ...]
    ids: tuple[Leaf, ...]
    errors: tuple[Leaf, ...]
    groups: tuple[Leaf, ...]
    transactional_ids: tuple[Leaf, ...]
    top: dict[str, Leaf]
    counts: dict[str, Leaf]


_NODES: dict[int, tuple[Any, Nodes]] = {}


def nodes_of(spec: MessageSpec, layout: Layout) -> Nodes:
    """Return the leaves of a layout from which columns are made, looked up once."""
    cached = _NODES.get(id(layout))
    if cached is None:
        by_node, leaves = layout.roles.by_node, layout.entry.program.leaves
        own = [leaves[number] for number in by_node]
        top = {leaf.name: leaf for leaf in layout.entry.root.fields if isinstance(leaf, Leaf)}
        counts = {node.name: node.count for node in layout.entry.root.fields if isinstance(node, Array)}
        cached = _NODES[id(layout)] = (
            layout,  # kept, so that its id stays its own
            Nodes(
                tuple(leaf for leaf in own if by_node[leaf.id] == TOPIC),
                tuple(leaf for leaf in own if by_node[leaf.id] == TOPIC_ID),
                tuple(leaf for leaf in own if by_node[leaf.id] == ERROR),
                entities(spec, leaves, GROUP),
                entities(spec, leaves, TRANSACTIONAL_ID),
                top,
                counts,
            ),
        )
    return cached[1]


# Columns of frames of one layout.


@dataclass(frozen=True)
class Values:
    """The columns of the frames of one layout in a stretch."""

    frames: Frames
    nodes: Nodes
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", Columns(self.frames.layout.entry, self.frames.walk))

    @property
    def count(self) -> int:
        """Return the number of frames."""
        return len(self.frames.which)

    def job(self, leaf: Leaf) -> Ints:
        """Return in which frame each value of a leaf stands."""
        return np.searchsorted(self.frames.walk.first, self.columns.spans(leaf), side="right") - 1

    def top(self, name: str) -> Ints | None:
        """Return a number of the message itself for each frame, or None if the layout has no such field."""
        leaf = self.nodes.top.get(name)
        if leaf is None:
            return None
        at = self.columns.places(leaf)
        return numbers(leaf.decl, at.data, at.start) if len(at.start) == self.count else None

    def length(self, name: str) -> Ints:
        """Return the length of an array of the message itself for each frame; 0 if the layout has no such array."""
        leaf = self.nodes.counts.get(name)
        return np.zeros(self.count, np.int64) if leaf is None else np.maximum(self.columns.lengths(leaf), 0)

    def topics(self) -> pa.ListArray:
        """Return the topics in each frame: names, then ids."""
        return self._lists(((self.nodes.names, ""), (self.nodes.ids, NO_UUID_TEXT)))

    def groups(self) -> pa.ListArray:
        """Return the groups in each frame, each once."""
        return once(self._lists(((self.nodes.groups, ""),)))

    def transactional_id(self) -> pa.Array:
        """Return the first transactional id in each frame."""
        lists = self._lists(((self.nodes.transactional_ids, ""),))
        return pc.list_element(padded(lists), 0)

    def _lists(self, roles: Sequence[tuple[tuple[Leaf, ...], str]]) -> pa.ListArray:
        """Return a list for each frame of the values of some leaves, without those that say nothing."""
        jobs, spans, order, texts = [], [], [], []
        for number, (leaves, nothing) in enumerate(roles):
            for leaf in leaves:
                value = values_of(leaf, self.columns.places(leaf))
                keep = np.flatnonzero(
                    pc.not_equal(value, nothing).fill_null(fill_value=False).to_numpy(zero_copy_only=False)
                )
                jobs.append(self.job(leaf)[keep])
                spans.append(self.columns.spans(leaf)[keep])
                order.append(np.full(len(keep), number))
                texts.append(value if len(keep) == len(value) else value.take(pa.array(keep)))
        if not texts:
            return pa.ListArray.from_arrays(pa.array(np.zeros(self.count + 1, np.int32)), pa.array([], pa.string()))
        job, flat = np.concatenate(jobs), pa.concat_arrays(texts)
        if len(texts) > 1:
            which = np.lexsort((np.concatenate(spans), np.concatenate(order), job))
            flat = flat.take(pa.array(which))
        return pa.ListArray.from_arrays(pa.array(list_offsets(job, self.count)), flat)

    def error_codes(self) -> pa.ListArray:
        """Return the error codes of each frame that are not 0, each once."""
        jobs, spans, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for leaf in self.nodes.errors if self.frames.layout.kind == "response" else ():
            at = self.columns.places(leaf)
            value = numbers(leaf.decl, at.data, at.start)
            keep = np.flatnonzero(value)
            jobs.append(self.job(leaf)[keep])
            spans.append(self.columns.spans(leaf)[keep])
            codes.append(value[keep])
        job, code = np.concatenate(jobs), np.concatenate(codes)
        which = np.lexsort((np.concatenate(spans), job))
        values = pa.array(code[which].astype(np.int32))
        return once(pa.ListArray.from_arrays(pa.array(list_offsets(job, self.count)), values))


# The rows of a stretch.


@dataclass(frozen=True)
class Asked:
    """The requests that the responses of a stretch answer, in their order, as columns."""

    number: Ints
    time: Ints
    wait: Ints
    session: Ints
    client: Ints
    clients: tuple[str | None, ...]


def _asked(stretch: Stretch, requests: Sequence[Values]) -> Asked:
    before, count = len(stretch.pending), sum(values.count for values in requests)
    number, time, wait, session, client = np.zeros((5, before + count), np.int64)
    clients: dict[str | None, int] = {}
    for at, line in enumerate(stretch.pending):
        number[at], wait[at], session[at] = line.number, number_in(line, WAIT, -1), number_in(line, SESSION_ID, 0)
        time[at] = NO_TIME if line.seen.time is None else line.seen.time
        client[at] = clients.setdefault(line.client_id, len(clients))
    for values in requests:
        own = before + values.frames.which
        number[own], time[own] = values.frames.number, values.frames.time
        client[own] = clients.setdefault(values.frames.client_id, len(clients))
        waits = values.top(WAIT)
        wait[own] = -1 if waits is None else waits
        sessions = values.top(SESSION_ID)
        session[own] = 0 if sessions is None else sessions
    return Asked(number, time, wait, session, client, tuple(clients))


def stretch_rows(
    stretch: Stretch,
    requests: Sequence[Values],
    responses: Sequence[Values],
    topics: dict[int, pa.ListArray],
    origin: Origin,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a stretch, layout by layout; `topics` are those of its frames by the identity of these."""
    asked = _asked(stretch, requests)
    for values in (*requests, *responses):
        yield _rows(values, stretch, asked, topics[id(values.frames)], origin)


def _rows(values: Values, stretch: Stretch, asked: Asked, topics: pa.ListArray, origin: Origin) -> pa.RecordBatch:
    frames, layout, count = values.frames, values.frames.layout, values.count
    is_response = layout.kind == "response"
    file, packet = places_of(frames.packet, origin)
    src, dst = (stretch.dst, stretch.src) if is_response else (stretch.src, stretch.dst)
    codes = values.error_codes()
    none = pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], pa.string()))
    columns: dict[str, pa.Array] = {
        "file": file,
        "packet": packet,
        "time": times(frames.time),
        "src": word(src, count),
        "dst": word(dst, count),
        "stream": pa.array(np.full(count, stretch.stream)),
        "frame": pa.array(frames.number),
        "kind": word(layout.kind, count),
        "size": pa.array(frames.size),
        "api_key": pa.array(np.full(count, layout.api_key, np.int32)),
        "api": word(layout.api, count),
        "api_version": pa.array(np.full(count, layout.version, np.int32)),
        "correlation_id": pa.array(frames.correlation_id.astype(np.int32)),
        "software": word(stretch.connection.software, count),
        "topics": topics,
        "groups": values.groups(),
        "transactional_id": values.transactional_id(),
        "error_codes": codes,
        "errors": _names_of(codes, stretch.connection.catalog),
        "anomalies": none,
        ADDRESS: word(stretch.dst, count),
    }
    if layout.api_key == FETCH and (sessions := values.top(SESSION_ID)) is not None:
        own = np.where(sessions == 0, asked.session[frames.which], sessions) if is_response else sessions
        columns[SESSION] = pa.array(own, mask=own == 0)
    throttle = values.top(THROTTLE) if is_response else None
    if throttle is not None:
        columns["throttle_ms"] = pa.array(throttle)
    if is_response:
        own = frames.which
        columns["request_frame"] = pa.array(asked.number[own])
        columns["delayed"] = pa.array(stretch.delayed[own])
        untimed = (asked.time[own] == NO_TIME) | (frames.time == NO_TIME)
        columns["latency_us"] = pa.array(latency_us(frames.time - asked.time[own]), mask=untimed)
        columns["client_id"] = words(asked.client[own], asked.clients)
        wait = asked.wait[own]
    else:
        columns["client_id"] = word(frames.client_id, count)
        waits = values.top(WAIT)
        wait = np.full(count, -1) if waits is None else waits
    columns["wait_ms"] = pa.array(wait.astype(np.int32), mask=wait < 0)
    return pa.RecordBatch.from_arrays(
        [columns.get(each.name, pa.nulls(count, each.type)) for each in UNRESOLVED], schema=UNRESOLVED
    )


def places_of(packets: Ints, origin: Origin) -> tuple[pa.Array, pa.Array]:
    """Return the files of packets, and their numbers there."""
    if isinstance(origin, InRow):
        befores = np.asarray(origin.row.befores, np.int64)
        at = np.maximum(np.searchsorted(befores, packets, side="left") - 1, 0)
        some, which = np.unique(at, return_inverse=True)
        return words(which, [origin.row.files[number] for number in some.tolist()]), pa.array(packets - befores[at])
    found = [origin.place(packet) for packet in packets.tolist()]
    return (
        pa.array([place.file for place in found], pa.string()).dictionary_encode(),
        pa.array([place.packet for place in found], pa.int64()),
    )


def _names_of(codes: pa.ListArray, catalog: Catalog) -> pa.ListArray:
    """Return the names of error codes."""
    flat = codes.flatten().to_pylist()
    return pa.ListArray.from_arrays(codes.offsets, pa.array([error_text(code, catalog) for code in flat], pa.string()))


def error_text(code: int, catalog: Catalog) -> str:
    """Return the name of an error code; the number if Kafka has no error of this code."""
    return catalog.error_name(code) or str(code)


# The rows of single lines: of whatever does not come in stretches.


LINE_COLUMNS: dict[str, Callable[[Captured], Any]] = {column.name: column.of_line for column in FRAME_COLUMNS} | {
    "topics": lambda line: line.said_topics,
    ADDRESS: broker_address_of,
    SESSION: session_of,
}
"""How to get the columns of UNRESOLVED from a line."""


# Names that the whole capture point tells, put into rows.


def resolved(rows: pa.RecordBatch, names: Names) -> pa.RecordBatch:
    """Return rows with the names of topic ids and the node ids of brokers."""
    topics = _with_sessions(rows, names)
    known = pc.unique(topics.flatten()).to_pylist()
    if any(text in names.topics for text in known):
        flat = topics.flatten().dictionary_encode()
        texts = pa.array([names.topics.get(text, text) for text in flat.dictionary.to_pylist()], pa.string())
        topics = once(pa.ListArray.from_arrays(shifted(topics.offsets), texts.take(flat.indices)))
    else:
        topics = once(topics)
    address = rows.column(ADDRESS)
    nodes = pa.array([names.node(text) for text in address.dictionary.to_pylist()], pa.int32())
    columns = {"topics": topics, "broker": nodes.take(address.indices)}
    return pa.RecordBatch.from_arrays([columns.get(name, rows.column(name)) for name in FRAMES.names], schema=FRAMES)


def _with_sessions(rows: pa.RecordBatch, names: Names) -> pa.ListArray:
    """Return the topics of rows; a Fetch that has none is about those of its session, if that is known by now."""
    topics, sessions = rows.column("topics"), rows.column(SESSION)
    if sessions.null_count == len(sessions) or not names.sessions:
        return topics
    empty = np.diff(topics.offsets.to_numpy()) == 0
    where = np.flatnonzero(empty & sessions.is_valid().to_numpy(zero_copy_only=False))
    more: list[list[str]] = [[]] * len(topics)
    address = rows.column(ADDRESS)
    for row in where.tolist():
        more[row] = names.sessions.get((address[row].as_py(), sessions[row].as_py()), [])
    return side_by_side(topics, pa.array(more, WORDS)) if any(more) else topics
