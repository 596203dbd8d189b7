"""One exchange as a broker logged it (Kafka's RequestConvertToJson): who asked what, what was answered, and how long each stage took."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING, Any

from kwire_cli.message.json_roles import Found, Marks, found_in, marks
from kwire_cli.source.kafka.names import address_of

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

STAGES = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs")
"""Where a request's time goes in a broker, in this order; they add up to totalTimeMs. Milliseconds."""
CONVERSION = "messageConversionsTime"
"""Milliseconds, within localTimeMs, for which the broker turned messages of one format into another's; logged where there were any."""
UNTOLD = "unknown"
"""What Kafka logs as name and version of a client's software until the client has said them."""
_CONNECTION = re.compile(r"(.+):(\d+)-(.+):(\d+)(?:-\d+)+")
_LONGEST_NAME = 200
"""Characters of a connection's name; two IPv6 addresses with their zones are shorter."""
_HIGHEST = 32767


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line of the log, which begins at the byte `start` of the file, unpacked.

    `client` and `broker` are addresses, `10.0.0.1:9092`; `connection` is the broker's name for the connection.

    `response` is None where the client wanted none (acks=0). `errors` are the names of the error codes in the response, numbers where no name is
    known, each once. `topics` are names, and ids for which the line has no name; `named` are ids with names beside them. `stages` are times in
    milliseconds by name, CONVERSION among them where it is there; `total_ms` is the sum of STAGES as the broker logged it. A `forwarded` request came
    from another broker, which took it from the client and logs it too.
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
    deprecated: bool
    forwarded: bool
    total_ms: float | None
    stages: dict[str, float]
    errors: list[str | int]
    topics: list[str]
    named: dict[str, str]
    request: dict[str, Any]
    response: dict[str, Any] | None
    start: int = 0


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
        asked, answered = self._found(api and api.request, request), self._found(api and api.response, response)
        connection = _text(document.get("connection")) or ""
        broker, client = ends(connection)
        correlation = header.get("correlationId")
        named = {**asked.named, **answered.named}
        names = dict.fromkeys([*asked.topics, *answered.topics, *(named.get(topic, topic) for topic in (*asked.topic_ids, *answered.topic_ids))])
        return Exchange(
            line, time, connection, client, broker, _text(document.get("principal")),
            _text(header.get("clientId")), _software(document, request), key, api and api.name, version,
            correlation if type(correlation) is int else None, header.get("requestApiVersionDeprecated") is True, document.get("isForwarded") is True,
            _number(document.get("totalTimeMs")), {name: took for name in (*STAGES, CONVERSION) if (took := _number(document.get(name))) is not None},
            [self._catalog.error_name(code) or code for code in dict.fromkeys(answered.errors)], [*names], named, request, response, start,
        )  # fmt: skip

    def _found(self, message: str | None, body: dict[str, Any] | None) -> Found:
        if message is None or body is None:
            return Found()
        if message not in self._marks:
            self._marks[message] = marks(self._catalog.message(message))
        return found_in(self._marks[message], body)


def ends(connection: str) -> tuple[str | None, str | None]:
    """The addresses of broker and client in a broker's name for a connection: `127.0.0.1:9092-127.0.0.1:50012-0-3` (ServerConnectionId)."""
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
    """What the client says that it is, on this connection so far; an ApiVersions request says it first."""
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
