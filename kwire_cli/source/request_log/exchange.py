"""Exchanges in a broker's request log, with their bodies and roles of fields."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.message.decoded import build, decode_spec, records_in_json
from kwire_cli.source.kafka.captured import address_of
from kwire_cli.spec.kafka import API_VERSIONS, WAITING
from kwire_cli.structs.composites import SIZE_SUFFIX
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.decoded import Decoded, Way
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# What in a body's JSON form has a role, by its definition: topic names and ids, error codes. As
# `message.roles`, for messages without bytes.

NO_ID = "A" * 22
"""The text of a uuid that stands for none."""


@dataclass(slots=True)
class Marks:
    """The keys of one object: those whose values have a role, and those of objects in which there are any."""

    roles: dict[str, str] = field(default_factory=dict)
    inner: dict[str, Marks] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.roles or self.inner)


@dataclass(slots=True)
class Found:
    """The values in a body that have a role. `named` are topic ids with the names that stand beside them."""

    topics: list[str] = field(default_factory=list)
    topic_ids: list[str] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)


def marks(spec: MessageSpec) -> Marks:
    """The marks of a message, in all of its versions: a name means the same in each."""
    return _marks(spec, spec.fields)


def _marks(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> Marks:
    field_marks = Marks()
    for field_spec in fields:
        if role := _role(field_spec):
            field_marks.roles[field_spec.json_name] = role
        elif inner := _marks(spec, spec.struct_fields(field_spec)):
            field_marks.inner[field_spec.json_name] = inner
    return field_marks


def _role(each: FieldSpec) -> str | None:
    name = each.name.lower()
    if each.element_type == "uuid" and name.endswith(("topicid", "topicids")):
        return TOPIC_ID
    if each.type == "int16" and name.endswith("errorcode"):
        return ERROR
    return TOPIC if each.element_type == "string" and each.entity_type == "topicName" else None


def found_in(marked: Marks, *bodies: Any) -> Found:
    """The values with a role in one or several bodies of a message; whatever is not as its definition says is passed
    over.
    """
    values = Found()
    for item, its in _objects(marked, bodies):
        names: list[str] = []
        ids: list[str] = []
        for key, role in its.roles.items():
            if key in item:
                _take(item[key], role, values, names, ids)
        values.topics += names
        values.topic_ids += ids
        if len(names) == len(ids) == 1:
            values.named[ids[0]] = names[0]
    return values


def _objects(marked: Marks, values: Any) -> Iterator[tuple[dict[str, Any], Marks]]:
    """The objects in which something has a role, in order, however deep they lie."""
    left: list[tuple[Any, Marks]] = [(value, marked) for value in reversed(values)]
    while left:
        value, its = left.pop()
        if isinstance(value, list):
            left += [(element, its) for element in reversed(value)]
        elif isinstance(value, dict):
            yield value, its
            left += [(value[key], inner) for key, inner in reversed(its.inner.items()) if key in value]


def _take(value: Any, role: str, found: Found, names: list[str], ids: list[str]) -> None:
    if role == ERROR:
        if type(value) is int and value:
            found.errors.append(value)
        return
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str) and text]
    if role == TOPIC:
        names += texts
    else:
        ids += [text for text in texts if text != NO_ID]


# One exchange as a broker logged it (Kafka's RequestConvertToJson): who asked what, what was answered, and
# how long each stage took.

STAGES = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs")
"""Where a request's time goes in a broker, in this order; they add up to totalTimeMs. Milliseconds."""


CONVERSION = "messageConversionsTime"
"""Milliseconds, within localTimeMs, for which the broker turned messages of one format into another's; logged where
there were any."""
UNTOLD = "unknown"
"""The name and version of a client's software that Kafka logs until the client has sent them."""
_CONNECTION = re.compile(r"(.+):(\d+)-(.+):(\d+)(?:-\d+)+")
_LONGEST_NAME = 200
"""Characters of a connection's name; two IPv6 addresses with their zones are shorter."""
_HIGHEST = 32767


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line of the log, which begins at the byte `start` of the file, unpacked.

    `client` and `broker` are addresses, `10.0.0.1:9092`; `connection` is the broker's name for the connection.

    `response` is None where the client wanted none (acks=0). `errors` are the names of the error codes in the response,
    numbers where no name is known, each once. `topics` are names, and ids for which the line has no name; `named` are
    ids with names beside them. `stages` are times in milliseconds by name, CONVERSION among them where it is there;
    `total_ms` is the sum of STAGES as the broker logged it. A `forwarded` request came from another broker, which took
    it from the client and logs it too.
    """

    line: int
    time: str | None
    connection: str
    client: str | None
    broker: str | None
    principal: str | None
    client_id: str | None
    software: str | None
    api_key: int
    api: str | None
    api_version: int
    correlation_id: int | None
    forwarded: bool
    total_ms: float | None
    stages: dict[str, float]
    errors: list[str | int]
    topics: list[str]
    named: dict[str, str]
    request: dict[str, Any]
    response: dict[str, Any] | None
    start: int = 0

    @property
    def seconds(self) -> float | None:
        """Seconds that the broker took, to the nanosecond; None if the log does not say."""
        return None if self.total_ms is None else round(self.total_ms / 1000, 9)

    @property
    def delayed(self) -> bool:
        """Return whether the broker holds the answers of this api back on purpose."""
        return self.api in WAITING


class OddExchangeError(ValueError):
    """A line is JSON, and no logged request."""


class Reader:
    """Makes exchanges of parsed lines; what it has found out of a definition it keeps."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._marks: dict[str, Marks] = {}

    def exchange(self, document: Any, line: int, time: str | None, start: int = 0) -> Exchange:
        """The exchange of a line's JSON; OddExchangeError, with what is wrong, where it is none."""
        header = document.get("requestHeader") if isinstance(document, dict) else None
        if not isinstance(header, dict):
            raise OddExchangeError("has no requestHeader")
        key, version = _int16(header, "requestApiKey"), _int16(header, "requestApiVersion")
        request, response = document.get("request"), document.get("response")
        if response == "":  # there is none: 4.4 writes null
            response = None
        if not isinstance(request, dict) or not isinstance(response, dict | None):
            raise OddExchangeError("has no request, or a response that is no object")
        api = self._catalog.api_by_key(key)
        requested, answered = self._found(api and api.request, request), self._found(api and api.response, response)
        connection = _text(document.get("connection")) or ""
        broker, client = ends(connection)
        correlation = header.get("correlationId")
        named = {**requested.named, **answered.named}
        names = dict.fromkeys(
            [
                *requested.topics,
                *answered.topics,
                *(named.get(topic, topic) for topic in (*requested.topic_ids, *answered.topic_ids)),
            ]
        )
        return Exchange(
            line, time, connection, client, broker, _text(document.get("principal")),
            _text(header.get("clientId")), _software(document, request), key, api and api.name, version,
            correlation if type(correlation) is int else None,
            document.get("isForwarded") is True,
            _number(document.get("totalTimeMs")),
            {name: took for name in (*STAGES, CONVERSION) if (took := _number(document.get(name))) is not None},
            [self._catalog.error_name(code) or code for code in dict.fromkeys(answered.errors)], [*names], named,
            request, response, start,
        )  # fmt: skip

    def _found(self, message: str | None, body: dict[str, Any] | None) -> Found:
        if message is None or body is None:
            return Found()
        if message not in self._marks:
            self._marks[message] = marks(self._catalog.message(message))
        return found_in(self._marks[message], body)


def ends(connection: str) -> tuple[str | None, str | None]:
    """The addresses of broker and client in a broker's name for a connection: `127.0.0.1:9092-127.0.0.1:50012-0-3`
    (ServerConnectionId).
    """
    return _ends(connection) if len(connection) <= _LONGEST_NAME else (None, None)


@lru_cache(maxsize=1 << 12)
def _ends(connection: str) -> tuple[str | None, str | None]:
    match = _CONNECTION.fullmatch(connection)
    if not match:
        return None, None
    near, near_port, far, far_port = match.groups()
    return address_of(_host(near), int(near_port)), address_of(_host(far), int(far_port))


def _host(text: str) -> str:
    """An address as it is usually written: Java spells IPv6 in full."""
    try:
        return ip_address(text).compressed
    except ValueError:
        return text


def _software(document: dict[str, Any], request: dict[str, Any]) -> str | None:
    """Return the client's software as said on this connection so far, or None.

    An ApiVersions request is the first to say it.
    """
    told = document.get("clientInformation")
    pairs = [(request.get("clientSoftwareName"), request.get("clientSoftwareVersion"))]
    pairs += [(told.get("softwareName"), told.get("softwareVersion"))] if isinstance(told, dict) else []
    for name, version in pairs:
        if isinstance(name, str) and name and name != UNTOLD:
            return f"{name} {version if isinstance(version, str) else ''}".rstrip()
    return None


def _int16(header: dict[str, Any], name: str) -> int:
    value = header.get(name)
    if type(value) is not int or not 0 <= value <= _HIGHEST:
        raise OddExchangeError(f"{name} is {'missing' if value is None else 'no number from 0 to 32767'}")
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in {int, float} and abs(value) < 1e15 and isfinite(value) else None


# The bodies of logged requests and responses as bytes again: a log has their values, and of records only the
# size (KIP-673).

REFUSED = "UNSUPPORTED_VERSION"
"""With this error a broker answers an ApiVersions request in version 0, whatever the request's (KIP-511); of that it
has read the header alone."""


_LONGEST = RANGES["int32"][1]


class Written(NamedTuple):
    """A body with the bytes of its values, without records; `unsaid` is by how many these would make it longer, of
    which nothing else is known.
    """

    body: Decoded
    unsaid: int


class Unwritten(NamedTuple):
    """A body that cannot be written, and why; where it is as in `Exchange`."""

    line: int
    reason: str
    start: int = 0


@dataclass(slots=True)
class LeftOut:
    """Bodies that cannot be written: how many, and why not the first one and where it is."""

    count: int = 0
    first: str | None = None

    def add(self, place: str, body: Unwritten) -> None:
        """Count one."""
        self.count += 1
        self.first = self.first or f"{place}: {body.reason}"

    @property
    def text(self) -> str | None:
        """The note on the first body that cannot be written and on how many follow, or None if all can be."""
        if not self.first:
            return None
        more = self.count - 1
        also = f", as {'is' if more == 1 else 'are'} {more} more" if more else ""
        return f"{self.first}: it cannot be written as bytes and is left out{also}"


class Bodies:
    """Writes bodies; what it has found out of a definition it keeps."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._ways: dict[str, Way] = {}

    def of(self, exchange: Exchange) -> Iterator[Written | Unwritten]:
        """The request of an exchange, and its response if there is one."""
        api = self._catalog.api_by_key(exchange.api_key)
        if api is None:
            yield Unwritten(exchange.line, f"api key {exchange.api_key} is not known", exchange.start)
            return
        version = exchange.api_version
        refused = exchange.api_key == API_VERSIONS and REFUSED in exchange.errors
        for message, value, layout in (
            (api.request, exchange.request, version),
            (api.response, exchange.response, 0 if refused else version),
        ):
            if value is None or not message:
                continue
            try:
                yield self.written(message, value, layout)
            except (EncodeError, InputError) as error:
                yield Unwritten(exchange.line, f"{message} {layout}: {error}", exchange.start)

    def written(self, message: str, value: dict[str, Any], version: int) -> Written:
        """A body. EncodeError with the path of what does not fit, InputError for a message or version that no
        definition has.
        """
        spec = self._catalog.message(message)
        if message not in self._ways:
            self._ways[message] = records_in_json(spec)
        sizes: list[int] = []
        data = build(spec, _without_records(value, self._ways[message], sizes), version)
        body = decode_spec(spec, data, version)
        return Written(body, _unsaid(body, sizes) if sizes else 0)


def _without_records(value: Any, way: Way, sizes: list[int]) -> Any:
    """The value with nothing in place of records, whose sizes are added to `sizes`; itself where it has none. What is
    odd is left to be refused.
    """
    if isinstance(value, list):
        return [_without_records(element, way, sizes) for element in value] if way else value
    if not isinstance(value, dict) or not way:
        return value
    changed: dict[str, Any] = {}
    for key, inner in way.items():
        if inner is not None and key in value:
            changed[key] = _without_records(value[key], inner, sizes)
        size = value.get(key + SIZE_SUFFIX) if inner is None else None
        if type(size) is int and 0 <= size <= _LONGEST:
            sizes.append(size)
            changed[key] = ""
    if not changed:
        return value
    return {
        key: part for key, part in value.items() if key.removesuffix(SIZE_SUFFIX) not in changed or key in changed
    } | changed


def _unsaid(body: Decoded, sizes: list[int]) -> int:
    """Return how many bytes records of these sizes add to a body, their longer length prefixes included."""
    decl = next(leaf.decl for leaf in body.entry.program.leaves if leaf.kind == "records")
    lengths = [len(decl.prefix.build(size + decl.compact)) for size in (0, *sizes)]
    return sum(sizes) + sum(lengths[1:]) - len(sizes) * lengths[0]
