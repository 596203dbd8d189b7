"""Exchanges in a broker's request log: requests and responses with their times, topics and errors.

A broker logs each exchange as one line of JSON (RequestConvertToJson): the header and body of the request, the body of
the response, the connection, and the time of each stage. `Reader` turns a parsed line into an `Exchange`. It finds
topics and error codes by the definitions of the messages, as `message.roles` does for messages in bytes. A
log has the values of all fields except records. Of records it has only the size (KIP-673).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.source.kafka.captured import address_of
from kwire_cli.spec.kafka import WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec


NO_ID = "A" * 22
"""The zero uuid in base64, which stands for no id."""


@dataclass(slots=True)
class Marks:
    """The keys of one JSON object: `roles` of values that have a role, `inner` of objects that contain such values."""

    roles: dict[str, str] = field(default_factory=dict)
    inner: dict[str, Marks] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.roles or self.inner)


@dataclass(slots=True)
class Found:
    """The values of a body that have a role. `named` has the topic ids that appear next to a name, with that name."""

    topics: list[str] = field(default_factory=list)
    topic_ids: list[str] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)


def marks(spec: MessageSpec) -> Marks:
    """Return the marks of a message for all of its versions. A field name has the same meaning in each."""
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
    """Return the values with a role in one or more bodies of a message. Values that do not match the definition are
    skipped.
    """
    values = Found()
    for item, its in _objects(marked, bodies):
        names: list[str] = []
        ids: list[str] = []
        for key, role in its.roles.items():
            if key in item:
                _add_value(item[key], role, values, names, ids)
        values.topics += names
        values.topic_ids += ids
        if len(names) == len(ids) == 1:
            values.named[ids[0]] = names[0]
    return values


def _objects(marked: Marks, values: Any) -> Iterator[tuple[dict[str, Any], Marks]]:
    """Yield the objects that can contain values with a role, in order, at any depth."""
    left: list[tuple[Any, Marks]] = [(value, marked) for value in reversed(values)]
    while left:
        value, its = left.pop()
        if isinstance(value, list):
            left += [(element, its) for element in reversed(value)]
        elif isinstance(value, dict):
            yield value, its
            left += [(value[key], inner) for key, inner in reversed(its.inner.items()) if key in value]


def _add_value(value: Any, role: str, found: Found, names: list[str], ids: list[str]) -> None:
    if role == ERROR:
        if type(value) is int and value:
            found.errors.append(value)
        return
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str) and text]
    if role == TOPIC:
        names += texts
    else:
        ids += [text for text in texts if text != NO_ID]


STAGES = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs")
"""The stages of a request in a broker, in order, in milliseconds. Their sum is totalTimeMs."""


CONVERSION = "messageConversionsTime"
"""Milliseconds, within localTimeMs, for conversion of record batches to another format; logged if there were any."""
UNTOLD = "unknown"
"""The software name and version that Kafka logs before the client has sent them."""
_CONNECTION = re.compile(r"(.+):(\d+)-(.+):(\d+)(?:-\d+)+")
_MAX_NAME = 200
"""Maximum length of a connection's name; two IPv6 addresses with zones are shorter."""
_MAX_INT16 = 32767


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line of the log.

    Attributes:
        line: The line number.
        start: The byte of the uncompressed file at which the line begins.
        connection: The broker's name for the connection.
        client: The address of the client, such as `10.0.0.1:9092`.
        broker: The address of the broker.
        forwarded: Whether another broker forwarded the request. That broker logs it too.
        total_ms: The sum of STAGES as logged.
        stages: Milliseconds by stage. CONVERSION is included if it was logged.
        errors: The distinct error codes of the response by name, or by number if the name is unknown.
        topics: Topic names, and ids if the line does not contain their names.
        named: Topic ids that appear next to a name, with that name.
        response: None if the client requested no response (acks=0).

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
        """The time that the broker took in seconds, exact to the nanosecond; None if it was not logged."""
        return None if self.total_ms is None else round(self.total_ms / 1000, 9)

    @property
    def delayed(self) -> bool:
        """Return whether brokers delay the responses of this api on purpose."""
        return self.api in WAITING


class OddExchangeError(ValueError):
    """A line is JSON, but not a logged request."""


class Reader:
    """Converts parsed lines to exchanges. The marks of each message are cached."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._marks: dict[str, Marks] = {}

    def exchange(self, document: Any, line: int, time: str | None, start: int = 0) -> Exchange:
        """Return the exchange of a parsed line. Raise OddExchangeError with the reason if the line has no exchange."""
        header = document.get("requestHeader") if isinstance(document, dict) else None
        if not isinstance(header, dict):
            raise OddExchangeError("has no requestHeader")
        key = _int16(header, "requestApiKey")
        version = _int16(header, "requestApiVersion")
        request = document.get("request")
        response = document.get("response")
        if response == "":  # no response; releases from 4.4 write null
            response = None
        if not isinstance(request, dict) or not isinstance(response, dict | None):
            raise OddExchangeError("has no request, or a response that is no object")
        api = self._catalog.api_by_key(key)
        requested = self._marked_values(api and api.request, request)
        answered = self._marked_values(api and api.response, response)
        connection = _text(document.get("connection")) or ""
        broker, client = ends(connection)
        correlation = header.get("correlationId")
        named = requested.named | answered.named
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

    def _marked_values(self, message: str | None, body: dict[str, Any] | None) -> Found:
        if message is None or body is None:
            return Found()
        if message not in self._marks:
            self._marks[message] = marks(self._catalog.message(message))
        return found_in(self._marks[message], body)


def ends(connection: str) -> tuple[str | None, str | None]:
    """Return the addresses of broker and client in a broker's name for a connection (ServerConnectionId), such as
    `127.0.0.1:9092-127.0.0.1:50012-0-3`.
    """
    return _ends(connection) if len(connection) <= _MAX_NAME else (None, None)


@lru_cache(maxsize=1 << 12)
def _ends(connection: str) -> tuple[str | None, str | None]:
    match = _CONNECTION.fullmatch(connection)
    if not match:
        return None, None
    near, near_port, far, far_port = match.groups()
    return address_of(_host(near), int(near_port)), address_of(_host(far), int(far_port))


def _host(text: str) -> str:
    """Return an address in its short form. Java writes IPv6 addresses in full."""
    try:
        return ip_address(text).compressed
    except ValueError:
        return text


def _software(document: dict[str, Any], request: dict[str, Any]) -> str | None:
    """Return the client's software if it is known on this connection, or None.

    The body of an ApiVersions request is the first to contain it. Later lines have it in clientInformation.
    """
    information = document.get("clientInformation")
    pairs = [(request.get("clientSoftwareName"), request.get("clientSoftwareVersion"))]
    if isinstance(information, dict):
        pairs.append((information.get("softwareName"), information.get("softwareVersion")))
    for name, version in pairs:
        if isinstance(name, str) and name and name != UNTOLD:
            return f"{name} {version if isinstance(version, str) else ''}".rstrip()
    return None


def _int16(header: dict[str, Any], name: str) -> int:
    value = header.get(name)
    if type(value) is not int or not 0 <= value <= _MAX_INT16:
        raise OddExchangeError(f"{name} is {'missing' if value is None else 'no number from 0 to 32767'}")
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in {int, float} and abs(value) < 1e15 and isfinite(value) else None
