"""The values of columns: functions that read them from a line of a capture, or from half an exchange of a request log.

The values of a line come from the message that the reader has decoded already. Half an exchange has no bytes, so its
values come from the JSON of the request log.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import UNREAD
from kwire_cli.engine.lower import entry_for
from kwire_cli.message.roles import WITH_RECORDS, can_hold_secrets, is_internal
from kwire_cli.spec.kafka import FETCH
from kwire_cli.spec.model import fields_by_path
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.engine.program import Leaf
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

LAST_SECOND = 253402300800
"""The first second that a time cannot represent."""
THROTTLE = "throttleTimeMs"
WAIT = "maxWaitMs"
SESSION_ID = "sessionId"
TIMEOUTS = (WAIT, "timeoutMs", "rebalanceTimeoutMs", "sessionTimeoutMs")
"""Fields of requests with a time for which a broker may delay the response."""
GROUP = "groupId"
TRANSACTIONAL_ID = "transactionalId"
"""Types of entities in definitions."""


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

    @property
    def body(self) -> dict[str, Any]:
        """Return the message in JSON form."""
        return (self.exchange.response if self.is_response else self.exchange.request) or {}


@lru_cache(maxsize=1 << 10)
def _logged_connection(file: str, connection: str) -> int:
    return int.from_bytes(blake2b(f"{file}\0{connection}".encode(), digest_size=8).digest(), "big", signed=True)


def connection_of_half(half: Half) -> int:
    """Return the key of the connection of an exchange: a digest of the log's name and the broker's text for it."""
    return _logged_connection(half.file, half.exchange.connection)


def halves_of(exchange: Exchange, file: str, catalog: Catalog) -> list[Half]:
    """Return the request of an exchange, and its response if there is one."""
    kinds = ("request",) if exchange.response is None else ("request", "response")
    return [Half(exchange, kind, file, catalog) for kind in kinds]


def microseconds_of(time: int | None) -> int | None:
    """Return nanoseconds since 1970 in microseconds; None for no time, and for a time that no date can have."""
    return None if time is None or not 0 <= time < LAST_SECOND * 1_000_000_000 else time // 1000


# Of lines of captures


def latency_us(line: Captured) -> int | None:
    """Return the microseconds from a request to its response, rounded."""
    request = line.request
    if request is None or line.seen.time is None or request.seen.time is None:
        return None
    return (line.seen.time - request.seen.time + 500) // 1000


def wait_ms(line: Captured) -> int | None:
    """Return how long a request, or the request of a response, lets the broker wait."""
    request = line.request if line.seen.kind == "response" else line
    wait = number_in(request, WAIT, -1) if request is not None else -1
    return wait if 0 <= wait < 1 << 31 else None


def allowed_ms(line: Captured) -> int | None:
    """Return the longest of the timeouts and waits of a request."""
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


def named_in_line(line: Captured, kind: str) -> list[str]:
    """Return the entities of a kind in a line, without duplicates."""
    plain = line.plain if line.is_frame else None
    if plain is not None:
        spec = line.connection.catalog.message(plain.layout.message)
        version = plain.layout.version
    else:
        body = line.frame.body if line.frame else None
        if body is None or line.read is None:
            return []
        spec = body.spec
        version = body.version
    ids = _entity_ids(spec, version, kind)
    if not ids or (decoded := line.read) is None:
        return []
    raw = decoded[1]
    texts = [bytes(raw.data[raw.value[at] : raw.end[at]]) for at, node in enumerate(raw.node) if node in ids]
    return [*dict.fromkeys(text.decode("utf-8", "replace") for text in texts if text)]


def broker_address_of(line: Captured) -> str | None:
    """Return the broker's address, or None if it is unknown which peer is the broker."""
    client = line.connection.client
    if client is None:
        return None
    return line.dst if client == line.seen.side else line.src


def session_of(line: Captured) -> int | None:
    """Return the id of the fetch session that a Fetch belongs to (KIP-227); None for no session."""
    if line.api_key != FETCH:
        return None
    return number_in(line, SESSION_ID, 0) or (line.request and number_in(line.request, SESSION_ID, 0)) or None


def host_of(address: str) -> str:
    """Return an address without its port, and without the brackets of an IPv6 address."""
    return address.rpartition(":")[0].strip("[]")


def ends(line: Captured) -> list[str]:
    """Return the addresses of both ends."""
    return [line.src, line.dst]


def digest(line: Captured) -> int | None:
    """Return a checksum of the bytes of a request that holds no secret, as a checksum would confirm a guess of one."""
    if line.kind != "request" or line.message is None or not line.is_frame:
        return None
    return zlib.crc32(line.seen.data) if has_digest(line.message, line.topics) else None


def has_digest(message: str, topics: Iterable[str]) -> bool:
    """Return whether requests of a message about some topics have a digest."""
    return not (can_hold_secrets(message) or (message in WITH_RECORDS and any(map(is_internal, topics))))


def is_misread(line: Captured) -> bool:
    """Return whether the body of a frame that is captured whole does not fit its version, so that its fields may have
    the bytes of others.
    """
    if line.plain or not line.frame or line.frame.body is None or line.seen.missing:
        return False
    return line.frame.body.raw.lost > 0 or fits_as(line) is not None


def is_read(line: Captured) -> bool:
    """Return whether all of the body could be read."""
    has_body = line.plain is not None or (line.frame is not None and line.frame.body is not None)
    return has_body and UNREAD.isdisjoint(line.anomalies)


def fits_as(line: Captured) -> str | None:
    """Return the detail of FITS_OTHERWISE."""
    notes = line.frame.fits if line.anomalies and line.frame else ()
    return notes[0].detail if notes else None


# Of exchanges

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def logged_time(half: Half) -> int | None:
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


def logged_names(half: Half, name: str) -> list[str]:
    """Return the entities that half an exchange names in a field of the message, or of its groups."""
    groups = half.body.get("groups")
    parts = [half.body, *(groups if isinstance(groups, list) else ())]
    names = [part.get(name) for part in parts if isinstance(part, dict)]
    return [*dict.fromkeys(text for text in names if isinstance(text, str) and text)]


def logged_error_codes(half: Half) -> list[int]:
    """Return the error codes of a response."""
    if not half.is_response:
        return []
    codes = _codes_by_name(half.catalog)
    numbers = (codes.get(error) if isinstance(error, str) else within(error, "int32") for error in half.exchange.errors)
    return [code for code in numbers if code is not None]


@lru_cache(maxsize=8)
def _codes_by_name(catalog: Catalog) -> dict[str, int]:
    return {row.name: row.code for row in catalog.errors}


def logged_latency_us(half: Half) -> int | None:
    """Return the microseconds that the broker took."""
    total = half.exchange.total_ms
    return round(total * 1000) if half.is_response and total is not None else None


def logged_throttle_ms(half: Half) -> int | None:
    """Return the milliseconds for which the response throttles the client."""
    return within(half.body.get(THROTTLE), "int32") if half.is_response else None


def microseconds_by_stage(exchange: Exchange) -> dict[str, int]:
    """Return the microseconds that the broker took in each stage."""
    return {name.removesuffix("Ms").removesuffix("Time"): round(took * 1000) for name, took in exchange.stages.items()}
