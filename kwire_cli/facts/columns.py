"""The columns of the tables that questions read: one entry says the name, the type, the meaning and how to get it.

A column of `frames` is read from a line of a capture and from half an exchange of a request log. The lake takes its
schema from here, and so do the tables in memory. Types are those of `DUCKDB_TYPES`; `word` is text of which few values
differ.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import UNREAD
from kwire_cli.engine.lower import entry_for
from kwire_cli.source.kafka.group_names import groups_named, groups_of
from kwire_cli.source.kafka.line_records import line_record_notes
from kwire_cli.spec.kafka import FETCH
from kwire_cli.spec.model import fields_by_path
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.engine.program import Leaf
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

DUCKDB_TYPES = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "texts": "VARCHAR[]",
    "int32": "INTEGER",
    "int32s": "INTEGER[]",
    "int64": "BIGINT",
    "flag": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "amounts": "MAP(VARCHAR, BIGINT)",
}
LAST_SECOND = 253402300800
"""The first second that no time can be any more."""
THROTTLE, WAIT, SESSION_ID = "throttleTimeMs", "maxWaitMs", "sessionId"
TIMEOUTS = (WAIT, "timeoutMs", "rebalanceTimeoutMs", "sessionTimeoutMs")
"""Fields of requests for which a broker may hold the response back."""
GROUP, TRANSACTIONAL_ID = "groupId", "transactionalId"
"""Types of entities, as definitions name them."""


class Half(NamedTuple):
    """The request or the response of an exchange. `kind` is request or response, `file` the log."""

    exchange: Exchange
    kind: str
    file: str
    catalog: Catalog

    @property
    def is_response(self) -> bool:
        """Return whether this is the response."""
        return self.kind == "response"


class Column(NamedTuple):
    """A column of `frames`: how to get its value from a line of a capture, and from half an exchange."""

    name: str
    type: str
    meaning: str
    of_line: Callable[[Captured], Any]
    of_half: Callable[[Half], Any] = lambda _: None


def microseconds_of(time: int | None) -> int | None:
    """Return nanoseconds since 1970 in microseconds; None for no time, and for a time that no date can have."""
    return None if time is None or not 0 <= time < LAST_SECOND * 1_000_000_000 else time // 1000


# Of lines of captures


def _latency_us(line: Captured) -> int | None:
    request = line.request
    if request is None or line.seen.time is None or request.seen.time is None:
        return None
    return (line.seen.time - request.seen.time + 500) // 1000


def _wait_ms(line: Captured) -> int | None:
    request = line.request if line.seen.kind == "response" else line
    wait = number_in(request, WAIT, -1) if request is not None else -1
    return wait if 0 <= wait < 1 << 31 else None


def _allowed_ms(line: Captured) -> int | None:
    if line.seen.kind != "request":
        return None
    return max(0, *(number_in(line, name, 0) for name in TIMEOUTS))


def number_in(line: Captured, name: str, default: int) -> int:
    """Return an integer field of the message itself, or `default` if the message has no such field."""
    value = line.field(name)
    return value if isinstance(value, int) else default


def entities(spec: MessageSpec, leaves: Iterable[Leaf], kind: str) -> tuple[Leaf, ...]:
    """Return the strings of a layout that name entities of a kind, such as `groupId`, by type or by name."""
    paths = _entity_paths(spec, kind)
    return tuple(leaf for leaf in leaves if leaf.kind == "string" and leaf.path.removesuffix("[]") in paths)


@lru_cache(maxsize=1024)
def _entity_paths(spec: MessageSpec, kind: str) -> frozenset[str]:
    return frozenset(path for path, field in fields_by_path(spec) if kind in {field.entity_type, field.name})


@lru_cache(maxsize=2048)
def _entity_ids(spec: MessageSpec, version: int, kind: str) -> frozenset[int]:
    return frozenset(leaf.id for leaf in entities(spec, entry_for(spec, version).program.leaves, kind))


def _named(line: Captured, kind: str) -> list[str]:
    """Return the entities of a kind that a line names, each once."""
    plain = line.plain if line.is_frame else None
    if plain is not None:
        spec, version = line.connection.catalog.message(plain.layout.message), plain.layout.version
    else:
        body = line.frame.body if line.frame else None
        if body is None or line.read is None:
            return []
        spec, version = body.spec, body.version
    ids = _entity_ids(spec, version, kind)
    if not ids or (decoded := line.read) is None:
        return []
    raw = decoded[1]
    texts = [bytes(raw.data[raw.value[at] : raw.end[at]]) for at, node in enumerate(raw.node) if node in ids]
    return [*dict.fromkeys(text.decode("utf-8", "replace") for text in texts if text)]


def broker_address_of(line: Captured) -> str | None:
    """Return the broker's end of the connection; None while nothing says which end that is."""
    client = line.connection.client
    if client is None:
        return None
    return line.dst if client == line.seen.side else line.src


def session_of(line: Captured) -> int | None:
    """Return the id of the fetch session that a Fetch belongs to (KIP-227); None for no session."""
    if line.api_key != FETCH:
        return None
    return number_in(line, SESSION_ID, 0) or (line.request and number_in(line.request, SESSION_ID, 0)) or None


def _digest(line: Captured) -> int | None:
    return zlib.crc32(line.seen.data) if line.is_frame else None


def is_misread(line: Captured) -> bool:
    """Return whether the body of a frame that is captured whole does not fit its version, so that its fields may have
    the bytes of others.
    """
    if line.plain or not line.frame or line.frame.body is None or line.seen.missing:
        return False
    return line.frame.body.raw.lost > 0 or _fits_as(line) is not None


def _is_read(line: Captured) -> bool:
    has_body = line.plain is not None or (line.frame is not None and line.frame.body is not None)
    return has_body and UNREAD.isdisjoint(line.anomalies)


def _fits_as(line: Captured) -> str | None:
    """Return the detail of FITS_OTHERWISE."""
    notes = line.frame.fits if line.anomalies and line.frame else ()
    return notes[0].detail if notes else None


# Of exchanges

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _logged_time(half: Half) -> int | None:
    """Return when the broker was done, and for a request when it had arrived, in microseconds since 1970.

    A clock without a zone counts as UTC.
    """
    exchange = half.exchange
    if exchange.time is None:
        return None
    at = datetime.fromisoformat(exchange.time)
    microseconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
    if not half.is_response:
        microseconds -= round((exchange.total_ms or 0) * 1000)
    return microseconds if microseconds >= 0 else None


def within(value: Any, kind: str) -> int | None:
    """Return a number of a type; None for any other value."""
    low, high = RANGES[kind]
    return value if type(value) is int and low <= value <= high else None


def _logged_names(half: Half, name: str) -> list[str]:
    """Return the entities that half an exchange names in a field of the message, or of its groups."""
    body = (half.exchange.response if half.is_response else half.exchange.request) or {}
    groups = body.get("groups")
    parts = [body, *(groups if isinstance(groups, list) else ())]
    names = [part.get(name) for part in parts if isinstance(part, dict)]
    return [*dict.fromkeys(text for text in names if isinstance(text, str) and text)]


def _logged_error_codes(half: Half) -> list[int]:
    if not half.is_response:
        return []
    codes = _codes_by_name(half.catalog)
    numbers = (codes.get(error) if isinstance(error, str) else within(error, "int32") for error in half.exchange.errors)
    return [code for code in numbers if code is not None]


@lru_cache(maxsize=8)
def _codes_by_name(catalog: Catalog) -> dict[str, int]:
    return {row.name: row.code for row in catalog.errors}


def _logged_latency(half: Half) -> int | None:
    total = half.exchange.total_ms
    return round(total * 1000) if half.is_response and total is not None else None


def _logged_throttle(half: Half) -> int | None:
    return within((half.exchange.response or {}).get(THROTTLE), "int32") if half.is_response else None


def _microseconds_by_stage(exchange: Exchange) -> dict[str, int]:
    return {name.removesuffix("Ms").removesuffix("Time"): round(took * 1000) for name, took in exchange.stages.items()}


FRAMES: tuple[Column, ...] = (
    Column("file", "word", "the file or log", lambda line: line.where.file, lambda half: half.file),
    Column("packet", "int64", "the packet with the last byte, counted in its file", lambda line: line.where.packet),
    Column(
        "time",
        "time",
        "when the last byte arrived; in a request log, when the broker had the request or was done",
        lambda line: microseconds_of(line.seen.time),
        _logged_time,
    ),
    Column(
        "src",
        "word",
        "the address of the sender",
        lambda line: line.src,
        lambda half: half.exchange.broker if half.is_response else half.exchange.client,
    ),
    Column(
        "dst",
        "word",
        "the address of the receiver",
        lambda line: line.dst,
        lambda half: half.exchange.client if half.is_response else half.exchange.broker,
    ),
    Column("stream", "int64", "the number of the TCP connection in its capture", lambda line: line.stream),
    Column("frame", "int64", "the number of the frame", lambda line: line.number, lambda half: half.exchange.start),
    Column(
        "request_frame",
        "int64",
        "the number of the request of a response",
        lambda line: line.request.number if line.request else None,
        lambda half: half.exchange.start if half.is_response else None,
    ),
    Column(
        "kind",
        "word",
        "request, response, gap, sasl-token or not-kafka",
        lambda line: line.kind,
        lambda half: half.kind,
    ),
    Column("size", "int64", "bytes of the frame without its length", lambda line: line.seen.size),
    Column("api_key", "int32", "the key of the api", lambda line: line.api_key, lambda half: half.exchange.api_key),
    Column("api", "word", "the name of the api", lambda line: line.api, lambda half: half.exchange.api),
    Column(
        "api_version",
        "int32",
        "the version of the api",
        lambda line: line.api_version,
        lambda half: half.exchange.api_version,
    ),
    Column(
        "correlation_id",
        "int32",
        "the correlation id",
        lambda line: line.correlation_id,
        lambda half: within(half.exchange.correlation_id, "int32"),
    ),
    Column(
        "client_id",
        "word",
        "the client id of the request",
        lambda line: line.client_id,
        lambda half: half.exchange.client_id,
    ),
    Column(
        "software",
        "word",
        "the name and version of the client's software, as the client said on the connection so far",
        lambda line: line.software if line.is_frame else None,
        lambda half: half.exchange.software,
    ),
    Column("broker", "int32", "the node id of the broker, if a response named its address", lambda line: line.broker),
    Column(
        "topics",
        "texts",
        "the topics that the frame is about, of a fetch session too: names, or ids without a known name",
        lambda line: line.topics,
        lambda half: half.exchange.topics,
    ),
    Column(
        "groups",
        "texts",
        "the groups that the frame names",
        lambda line: _named(line, GROUP),
        lambda half: _logged_names(half, GROUP),
    ),
    Column(
        "transactional_id",
        "text",
        "the first transactional id in the frame",
        lambda line: next(iter(_named(line, TRANSACTIONAL_ID)), None),
        lambda half: next(iter(_logged_names(half, TRANSACTIONAL_ID)), None),
    ),
    Column("latency_us", "int64", "microseconds from the request to the response", _latency_us, _logged_latency),
    Column(
        "delayed",
        "flag",
        "whether the broker may have held the response back on purpose",
        lambda line: line.delayed if line.request else None,
        lambda half: half.exchange.delayed if half.is_response else None,
    ),
    Column("wait_ms", "int32", "how long the request lets the broker wait (Fetch)", _wait_ms),
    Column(
        "throttle_ms",
        "int64",
        "how long the response throttles the client",
        lambda line: line.throttle,
        _logged_throttle,
    ),
    Column(
        "error_codes",
        "int32s",
        "the error codes of the response that are not 0, each once",
        lambda line: line.error_codes,
        _logged_error_codes,
    ),
    Column(
        "errors",
        "texts",
        "the names of these error codes",
        lambda line: [str(error) for error in line.errors],
        lambda half: [str(error) for error in half.exchange.errors] if half.is_response else [],
    ),
    Column("protocol", "word", "the protocol of bytes that are not Kafka's", lambda line: line.seen.protocol),
    Column("anomalies", "texts", "the codes of anomalies", lambda line: line.anomalies, lambda _: []),
)
"""The columns of `frames` that lakes have too."""

IN_MEMORY: tuple[Column, ...] = (
    Column(
        "capture_point",
        "word",
        "the capture point, if there are several",
        lambda line: line.origin.capture,
    ),
    Column("line", "int64", "the line of a request log", lambda _: None, lambda half: half.exchange.line),
    Column("source", "word", "capture or request-log", lambda _: "capture", lambda _: "request-log"),
    Column("missing_bytes", "int64", "bytes of the frame that are not captured", lambda line: line.seen.missing),
    Column("guess", "flag", "whether the layout was guessed from the bytes", lambda line: line.guess, lambda _: False),
    Column("gap", "word", "why bytes are a gap: LOST or NOT_RECOGNISED", lambda line: line.seen.code),
    Column("is_misread", "flag", "whether the body does not fit its version", is_misread, lambda _: False),
    Column(
        "fits_as",
        "text",
        "what the bytes fit, if they do not fit the version in their label",
        _fits_as,
    ),
    Column("reason", "text", "why TLS could not be decrypted", lambda line: line.seen.reason),
    Column("content", "texts", "what TLS records hold, as far as that is known", lambda line: [*line.seen.content]),
    Column(
        "batch_anomalies",
        "texts",
        "the codes of anomalies of the batches in the frame",
        lambda line: [note.code for note in line_record_notes(line, deep=False)] if line.is_frame else [],
    ),
    Column(
        "digest",
        "int64",
        "a checksum of the frame's bytes, by which one exchange is found at two capture points",
        _digest,
    ),
    Column(
        "allowed_ms",
        "int64",
        "how long the request lets the broker take: the longest of its timeouts and waits",
        _allowed_ms,
    ),
    Column(
        "expects_answer",
        "flag",
        "whether a request has a response: no Produce request with acks=0 has one",
        lambda line: line.wants_response if line.seen.kind == "request" else None,
        lambda half: half.exchange.response is not None if not half.is_response else None,
    ),
    Column(
        "is_read",
        "flag",
        "whether all of the body could be read",
        _is_read,
        lambda _: True,
    ),
    Column(
        "in_flight",
        "int64",
        "how many requests of the connection waited for their responses when the request came, itself among them",
        lambda line: line.seen.in_flight,
    ),
    Column(
        "request_groups",
        "texts",
        "the groups that the request names, or the request of a response",
        groups_of,
        lambda half: groups_named(half.exchange.api_key, half.exchange.request),
    ),
    Column(
        "stages_us",
        "amounts",
        "the microseconds that an exchange took in each stage of the broker",
        lambda _: None,
        lambda half: None if half.is_response else _microseconds_by_stage(half.exchange),
    ),
    Column(
        "principal",
        "word",
        "the principal that the broker saw in the client",
        lambda _: None,
        lambda half: half.exchange.principal,
    ),
    Column(
        "forwarded",
        "flag",
        "whether another broker passed the request on",
        lambda _: False,
        lambda half: half.exchange.forwarded,
    ),
)
"""Columns of `frames` that only tables in memory have."""

OF_BODIES = frozenset(
    {
        "topics",
        "groups",
        "request_groups",
        "transactional_id",
        "wait_ms",
        "throttle_ms",
        "error_codes",
        "errors",
        "allowed_ms",
    }
)
"""The columns of `frames` that come from fields of bodies. Tables in memory leave them empty if a body does not fit."""
