"""The table `frames`: a row for each frame, token, gap and piece of another protocol in a capture.

Regular frames become rows together, column by column. All others become rows one by one, from lines.
Names of topics and brokers are known only after all of a capture point was read: `resolved` adds them.
"""

from __future__ import annotations

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
    repeated_words,
    shifted,
    side_by_side,
    times,
    word,
    words,
)
from kwire_cli.facts.columnar.record_anomalies import plain_frame, record_anomalies
from kwire_cli.facts.columnar.regular import NO_REQUEST
from kwire_cli.facts.columns import FRAMES as FRAME_COLUMNS, IN_MEMORY, VARIES, Column
from kwire_cli.facts.frame_values import (
    GROUP,
    SESSION_ID,
    THROTTLE,
    TIMEOUTS,
    broker_address_of,
    has_digest,
    session_of,
)
from kwire_cli.message.roles import is_internal
from kwire_cli.source.kafka.group_names import IN_ARRAYS, groups_named, groups_of
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.spec.kafka import FETCH, PRODUCE

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kwire_cli.facts.columnar.regular import Regular
    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.source.kafka.captured import Names
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


# The rows of regular frames.


def frame_rows(regular: Regular, schema: pa.Schema = UNRESOLVED) -> pa.RecordBatch:
    """Return the rows of regular frames, with the columns of a schema."""
    columns = _columns(regular)
    arrays = [columns[each.name] if each.name in columns else _more(each, regular) for each in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _more(field: pa.Field, regular: Regular) -> pa.Array:
    """Return a column that `_columns` does not have: from its own function, as a constant, or from lines."""
    if field.name in MANY_AT_A_TIME:
        return MANY_AT_A_TIME[field.name](regular)
    column = LINE_COLUMNS[field.name]
    count = len(regular.place)
    if column.regular is VARIES:
        return pa.array([column.of_line(line) for line in regular.lines], field.type)
    if column.regular is None:
        return pa.nulls(count, field.type)
    if column.type == "word":
        return word(column.regular, count)
    value = [*column.regular] if column.is_list else column.regular
    return pa.repeat(pa.scalar(value, field.type), count)


def _columns(regular: Regular) -> dict[str, pa.Array]:
    asked = regular.request_columns
    request = regular.request
    count = len(request)
    has_no_request = ~regular.is_response | (request == NO_REQUEST)
    time = regular.joined("time")
    untimed = has_no_request | (asked.time[request] == NO_TIME) | (time == NO_TIME)
    wait = asked.wait[request]
    codes = pa.concat_arrays([values.error_codes() for values in regular.values])
    layouts = [values.frames.layout for values in regular.values]
    sessions = _sessions(regular)
    throttle, has_no_throttle = _throttle(regular)
    return {
        "file": regular.file,
        "packet": regular.packet,
        "time": times(time),
        "src": regular.src,
        "dst": regular.dst,
        "connection": pa.array(regular.connection),
        "stream": pa.array(regular.stream),
        "frame": pa.array(regular.joined("number")),
        "request_frame": pa.array(asked.number[request], mask=has_no_request),
        "kind": repeated_words((layout.kind for layout in layouts), regular.counts),
        "size": pa.array(regular.joined("size")),
        "api_key": pa.array(np.repeat([layout.api_key for layout in layouts], regular.counts).astype(np.int32)),
        "api": repeated_words((layout.api for layout in layouts), regular.counts),
        "api_version": pa.array(np.repeat([layout.version for layout in layouts], regular.counts).astype(np.int32)),
        "correlation_id": pa.array(regular.joined("correlation_id").astype(np.int32)),
        "client_id": words(asked.client[request], asked.clients),
        "software": regular.software,
        "broker": pa.nulls(count, pa.int32()),
        "topics": regular.topics,
        "groups": pa.concat_arrays([values.groups() for values in regular.values]),
        "transactional_id": pa.concat_arrays([values.transactional_id() for values in regular.values]),
        "latency_us": pa.array(latency_us(np.where(untimed, 0, time - asked.time[request])), mask=untimed),
        "delayed": pa.array(regular.delayed, mask=has_no_request),
        "wait_ms": pa.array(wait.astype(np.int32), mask=wait < 0),
        "throttle_ms": pa.array(throttle, mask=has_no_throttle),
        "error_codes": codes,
        "errors": _names_of(codes, regular.values[0].catalog),
        ADDRESS: regular.broker,
        SESSION: pa.array(sessions, mask=sessions == 0),
    }


def _sessions(regular: Regular) -> Ints:
    """Return the fetch session of each frame; 0 for no session. A response may have the session of its request."""
    asked = regular.request_columns.session[regular.request]
    found = np.zeros(len(asked), np.int64)
    for values, part in regular.parts():
        sessions = values.top(SESSION_ID) if values.frames.layout.api_key == FETCH else None
        if sessions is not None:
            found[part] = np.where(sessions == 0, asked[part], sessions)
    return found


def _throttle(regular: Regular) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the throttle times of responses, and a mask of the frames without one."""
    found = np.zeros(len(regular.place), np.int64)
    has_none = np.full(len(regular.place), fill_value=True)
    for values, part in regular.parts():
        throttle = values.top(THROTTLE) if values.frames.layout.kind == "response" else None
        if throttle is not None:
            found[part] = throttle
            has_none[part] = False
    return found, has_none


def _no_texts(count: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], pa.string()))


def _digests(values: Values) -> pa.Array:
    """Return the checksums of the bytes of requests. Frames that may hold secrets have none.

    Topics may be ids here: `resolved` removes the checksums of records of internal topics.
    """
    frames = values.frames
    if frames.layout.kind != "request" or not has_digest(frames.layout.message, ()):
        return pa.nulls(values.count, pa.int64())
    data = frames.walk.data.data
    stops = frames.walk.jobs[:, 2].tolist()
    sizes = frames.size.tolist()
    found = [crc32(data[stop - size : stop]) for stop, size in zip(stops, sizes, strict=True)]
    return pa.array(found, pa.int64())


def _allowed_ms(values: Values) -> pa.Array:
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
    if values.frames.layout.kind != "request":
        return pa.nulls(values.count, pa.bool_())
    acks = values.top("acks") if values.frames.layout.api_key == PRODUCE else None
    return pa.array(np.full(values.count, fill_value=True) if acks is None else acks != 0)


def _request_groups(regular: Regular) -> pa.ListArray:
    """Return the groups in each request, or in the request of each response."""
    before = len(regular.pending)
    groups = {number: groups_of(line) for number, line in enumerate(regular.pending)}
    for values in regular.requests:
        groups.update(zip((before + values.frames.which).tolist(), _groups_in(values), strict=False))
    return pa.array([groups.get(number, []) for number in regular.request.tolist()], WORDS)


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


def _by_layout(column: Callable[[Values], pa.Array]) -> Callable[[Regular], pa.Array]:
    """Return a function for all frames from a function for the frames of one layout."""
    return lambda regular: pa.concat_arrays([column(values) for values in regular.values])


MANY_AT_A_TIME: dict[str, Callable[[Regular], pa.Array]] = {
    "capture_point": lambda regular: word(regular.origin.capture, len(regular.place)),
    "batch_anomalies": _by_layout(_batch_anomalies),
    "digest": _by_layout(_digests),
    "allowed_ms": _by_layout(_allowed_ms),
    "expects_answer": _by_layout(_expects_answer),
    "in_flight": lambda regular: pa.array(regular.in_flight, mask=regular.is_response),
    "request_groups": _request_groups,
}
"""Functions that compute columns of tables in memory for many frames at once. Lines give the same values slowly."""


def _names_of(codes: pa.ListArray, catalog: Catalog) -> pa.ListArray:
    """Return the names of error codes."""
    flat = codes.flatten().to_pylist()
    return pa.ListArray.from_arrays(codes.offsets, pa.array([error_text(code, catalog) for code in flat], pa.string()))


def error_text(code: int, catalog: Catalog) -> str:
    """Return the name of an error code, or the number if Kafka has no such error."""
    return catalog.error_name(code) or str(code)


# The rows of lines one by one.


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
    if "digest" in schema.names:
        columns["digest"] = _without_secrets(rows, topics)
    return pa.RecordBatch.from_arrays(
        [columns[name] if name in columns else rows.column(name) for name in schema.names], schema=schema
    )


def _without_secrets(rows: pa.RecordBatch, topics: pa.ListArray) -> pa.Array:
    """Return the digests of rows, without the digests of Produce requests to internal topics."""
    if not any(map(is_internal, pc.unique(topics.flatten()).to_pylist())):
        return rows.column("digest")
    internal = pa.array([any(map(is_internal, own)) for own in topics.to_pylist()], pa.bool_())
    hides = pc.and_(internal, pc.equal(rows.column("api_key"), PRODUCE).fill_null(fill_value=False))
    return pc.if_else(hides, pa.scalar(None, pa.int64()), rows.column("digest"))


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
