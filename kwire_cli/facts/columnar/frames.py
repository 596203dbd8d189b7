"""The table `frames`: a row for each frame, token, gap and piece of another protocol in a capture.

Regular frames of one layout become rows together, column by column. All others become rows one by one, from lines.
Names of topics and brokers are known only after all of a capture point was read: `resolved` adds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import values_of
from kwire_cli.facts.columnar.arrays import (
    WORD,
    WORDS,
    arrow_schema,
    latency_us,
    once,
    shifted,
    side_by_side,
    times,
    word,
    words,
)
from kwire_cli.facts.columnar.lines import StretchLines, in_flight
from kwire_cli.facts.columnar.record_anomalies import plain_frame, record_anomalies
from kwire_cli.facts.columnar.values import Values
from kwire_cli.facts.columns import FRAMES as FRAME_COLUMNS, IN_MEMORY, VARIES, Column
from kwire_cli.facts.frame_values import (
    GROUP,
    SESSION_ID,
    THROTTLE,
    TIMEOUTS,
    WAIT,
    broker_address_of,
    has_digest,
    number_in,
    session_of,
)
from kwire_cli.source.kafka.group_names import IN_ARRAYS, groups_named, groups_of
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.spec.kafka import FETCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.source.kafka.bulk_frames import Stretch
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.source.packets.model import Origin
    from kwire_cli.spec.catalog import Catalog

    Ints = npt.NDArray[np.int64]

FRAMES = arrow_schema((column.name, column.type) for column in FRAME_COLUMNS)
"""The columns of `frames` in a lake. docs/tables.md describes them."""
ADDRESS = "broker_address"
SESSION = "session"
UNRESOLVED = pa.schema([*FRAMES, pa.field(ADDRESS, WORD), pa.field(SESSION, pa.int64())])
"""The columns before the names of the capture point are known. Topics may be ids, brokers are addresses, and fetch
sessions may have begun on another connection.
"""
MEMORY = pa.schema(
    [
        *arrow_schema((column.name, column.type) for column in IN_MEMORY),
        *(each for each in UNRESOLVED if each.name != "connection"),
    ]
)
"""The columns for tables in memory, which have more columns and another key of connections."""


_NOT_IN_ALL = ("broker", "request_frame", "throttle_ms", "delayed", "latency_us", SESSION)
"""Columns of UNRESOLVED that are null in some layouts, or until all names are known."""


# The rows of a stretch.


@dataclass(frozen=True)
class RequestColumns:
    """The requests of the responses of a stretch, in their order, as columns."""

    number: Ints
    time: Ints
    wait: Ints
    session: Ints
    client: Ints
    clients: tuple[str | None, ...]


def _request_columns(stretch: Stretch, requests: Sequence[Values]) -> RequestColumns:
    before = len(stretch.pending)
    count = sum(values.count for values in requests)
    number, time, wait, session, client = np.zeros((5, before + count), np.int64)
    clients: dict[str | None, int] = {}
    for at, line in enumerate(stretch.pending):
        number[at] = line.number
        wait[at] = number_in(line, WAIT, -1)
        session[at] = number_in(line, SESSION_ID, 0)
        time[at] = NO_TIME if line.seen.time is None else line.seen.time
        client[at] = clients.setdefault(line.client_id, len(clients))
    for values in requests:
        own = before + values.frames.which
        number[own] = values.frames.number
        time[own] = values.frames.time
        client[own] = clients.setdefault(values.frames.client_id, len(clients))
        waits = values.top(WAIT)
        wait[own] = -1 if waits is None else waits
        sessions = values.top(SESSION_ID)
        session[own] = 0 if sessions is None else sessions
    return RequestColumns(number, time, wait, session, client, tuple(clients))


@dataclass(frozen=True, slots=True)
class _Around:
    """The stretch of frames, the origin of its packets, the groups of its requests (`_groups_of_requests`), and the
    topics of its frames by `id` of the frames.
    """

    stretch: Stretch
    origin: Origin
    groups: dict[int, list[str]]
    topics: dict[int, pa.ListArray]
    lines: StretchLines


def stretch_rows(
    stretch: Stretch,
    requests: Sequence[Values],
    responses: Sequence[Values],
    topics: dict[int, pa.ListArray],
    origin: Origin,
    names: Names,
    schema: pa.Schema = UNRESOLVED,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a stretch, layout by layout, with the columns of a schema.

    `topics` are the topics of its frames, by `id` of the frames. `names` are the names that are known so far.
    """
    asked = _request_columns(stretch, requests)
    groups = _groups_of_requests(stretch, requests) if "request_groups" in schema.names else {}
    around = _Around(stretch, origin, groups, topics, StretchLines(stretch, origin, names))
    for values in (*requests, *responses):
        columns = _columns(values, stretch, asked, topics[id(values.frames)], origin)
        arrays = [columns[each.name] if each.name in columns else _more(each, values, around) for each in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _more(field: pa.Field, values: Values, around: _Around) -> pa.Array:
    """Return a column that `_columns` does not have: from its own function, as a constant, or from lines."""
    if field.name in MANY_AT_A_TIME:
        return MANY_AT_A_TIME[field.name](values, around)
    column = LINE_COLUMNS[field.name]
    if column.regular is VARIES:
        return around.lines.column(column, values.frames, field.type)
    if column.regular is None:
        return pa.nulls(values.count, field.type)
    if column.type == "word":
        return word(column.regular, values.count)
    value = [*column.regular] if column.is_list else column.regular
    return pa.repeat(pa.scalar(value, field.type), values.count)


def _columns(
    values: Values, stretch: Stretch, asked: RequestColumns, topics: pa.ListArray, origin: Origin
) -> dict[str, pa.Array]:
    frames = values.frames
    layout = frames.layout
    count = values.count
    is_response = layout.kind == "response"
    file, packet = places_of(frames.packet, origin)
    src, dst = (stretch.dst, stretch.src) if is_response else (stretch.src, stretch.dst)
    codes = values.error_codes()
    columns: dict[str, pa.Array] = {name: pa.nulls(count, UNRESOLVED.field(name).type) for name in _NOT_IN_ALL}
    columns |= {
        "file": file,
        "packet": packet,
        "time": times(frames.time),
        "src": word(src, count),
        "dst": word(dst, count),
        "connection": pa.array(np.full(count, stretch.connection.key)),
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
    return columns


def _no_texts(count: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], pa.string()))


def _digests(values: Values, topics: pa.ListArray) -> pa.Array:
    """Return the checksums of the bytes of requests. Frames that may hold secrets have none."""
    frames = values.frames
    message = frames.layout.message
    if frames.layout.kind != "request" or not has_digest(message, ()):
        return pa.nulls(values.count, pa.int64())
    data = frames.walk.data.data
    stops = frames.walk.jobs[:, 2].tolist()
    sizes = frames.size.tolist()
    found = [crc32(data[stop - size : stop]) for stop, size in zip(stops, sizes, strict=True)]
    if has_digest(message, pc.unique(topics.flatten()).to_pylist()):
        return pa.array(found, pa.int64())
    has = [has_digest(message, own) for own in topics.to_pylist()]
    return pa.array(found, pa.int64(), mask=~np.array(has))


def _allowed_ms(values: Values) -> pa.Array | None:
    if values.frames.layout.kind != "request":
        return pa.nulls(values.count, pa.int64())
    longest = np.zeros(values.count, np.int64)
    for name in TIMEOUTS:
        own = values.top(name)
        if own is not None:
            longest = np.maximum(longest, own)
    return pa.array(longest)


def _batch_anomalies(values: Values) -> pa.ListArray:
    notes = record_anomalies(values)
    if not notes:
        return _no_texts(values.count)
    codes: list[list[str]] = [[]] * values.count
    for frame, found in notes.items():
        codes[frame] = [note.code for note in found]
    return pa.array(codes, WORDS)


def _expects_answer(values: Values) -> pa.Array:
    """Return true for requests. A request without a response is never part of a stretch."""
    if values.frames.layout.kind == "request":
        return pa.array(np.full(values.count, fill_value=True))
    return pa.nulls(values.count, pa.bool_())


def _in_flight(values: Values, stretch: Stretch) -> pa.Array:
    if values.frames.layout.kind != "request":
        return pa.nulls(values.count, pa.int64())
    return pa.array(in_flight(stretch, values.frames))


def _request_groups(values: Values, around: _Around) -> pa.ListArray:
    """Return the groups in each request, or in the request of each response."""
    which = values.frames.which
    if values.frames.layout.kind == "request":
        which = which + len(around.stretch.pending)
    return pa.array([around.groups.get(number, []) for number in which.tolist()], WORDS)


def _groups_of_requests(stretch: Stretch, requests: Sequence[Values]) -> dict[int, list[str]]:
    """Return the groups in requests, by the number of the request: pending requests first, then the others."""
    before = len(stretch.pending)
    groups = {number: groups_of(line) for number, line in enumerate(stretch.pending)}
    for values in requests:
        groups.update(zip((before + values.frames.which).tolist(), _groups_in(values), strict=False))
    return groups


def _groups_in(values: Values) -> list[list[str]]:
    """Return the groups in each request; an empty list if requests of this layout contain no groups."""
    frames = values.frames
    layout = frames.layout
    if layout.api_key in IN_ARRAYS:
        bodies = (plain_frame(frames, at).body("size") for at in range(values.count))
        return [groups_named(layout.api_key, body) for body in bodies]
    leaf = values.nodes.top.get(GROUP)
    if leaf is None or leaf.kind != "string":
        return []
    texts = values_of(leaf, values.columns.places(leaf)).to_pylist()
    return [[text] if text else [] for text in texts]


MANY_AT_A_TIME: dict[str, Callable[[Values, _Around], pa.Array]] = {
    "capture_point": lambda values, around: word(around.origin.capture, values.count),
    "batch_anomalies": lambda values, _: _batch_anomalies(values),
    "digest": lambda values, around: _digests(values, around.topics[id(values.frames)]),
    "allowed_ms": lambda values, _: _allowed_ms(values),
    "expects_answer": lambda values, _: _expects_answer(values),
    "in_flight": lambda values, around: _in_flight(values, around.stretch),
    "request_groups": _request_groups,
}
"""Functions that compute columns of tables in memory for many frames at once. Lines give the same values slowly."""


def places_of(packets: Ints, origin: Origin) -> tuple[pa.Array, pa.Array]:
    """Return the files of packets, and the numbers of the packets in their files."""
    if not origin.is_merged:
        (row,) = origin.chains
        befores = np.asarray(row.befores, np.int64)
        at = np.maximum(np.searchsorted(befores, packets, side="left") - 1, 0)
        some, which = np.unique(at, return_inverse=True)
        return words(which, [row.files[number] for number in some.tolist()]), pa.array(packets - befores[at])
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
    """Return the name of an error code, or the number if Kafka has no such error."""
    return catalog.error_name(code) or str(code)


# The rows of single lines, which are not part of a stretch.


LINE_COLUMNS: dict[str, Column] = {column.name: column for column in (*FRAME_COLUMNS, *IN_MEMORY)}
"""The columns of UNRESOLVED and of MEMORY, for lines."""
LINE_COLUMNS["topics"] = LINE_COLUMNS["topics"]._replace(of_line=lambda line: line.topics_by(str))
LINE_COLUMNS[ADDRESS] = Column(ADDRESS, "word", "the address of the broker", broker_address_of)
LINE_COLUMNS[SESSION] = Column(SESSION, "int64", "the fetch session", session_of)


# Names of the whole capture point.


def resolved(rows: pa.RecordBatch, names: Names, schema: pa.Schema = FRAMES) -> pa.RecordBatch:
    """Return rows with names in place of topic ids, with node ids of brokers, and with the columns of a schema."""
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
    return pa.RecordBatch.from_arrays(
        [columns[name] if name in columns else rows.column(name) for name in schema.names], schema=schema
    )


def _with_sessions(rows: pa.RecordBatch, names: Names) -> pa.ListArray:
    """Return the topics of rows. A Fetch without topics has the topics of its session, if they are known."""
    topics = rows.column("topics")
    sessions = rows.column(SESSION)
    if sessions.null_count == len(sessions) or not names.sessions:
        return topics
    empty = np.diff(topics.offsets.to_numpy()) == 0
    where = np.flatnonzero(empty & sessions.is_valid().to_numpy(zero_copy_only=False))
    more: list[list[str]] = [[]] * len(topics)
    address = rows.column(ADDRESS)
    for row in where.tolist():
        more[row] = names.sessions.get((address[row].as_py(), sessions[row].as_py()), [])
    return side_by_side(topics, pa.array(more, WORDS)) if any(more) else topics
