"""Requests and their responses as OpenTelemetry spans, in the JSON form of OTLP that collectors read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from kwire_cli.source.kafka.captured import Captured

SCHEMA = "https://opentelemetry.io/schemas/1.27.0"
"""The version of the semantic conventions that name the attributes."""
_CLIENT, _ERROR = 3, 2
"""The kind of a span that calls another service, and the status code of an error."""
_OPERATIONS = {
    "Produce": "send",
    "Fetch": "receive",
    "ShareFetch": "receive",
    "OffsetCommit": "settle",
    "TxnOffsetCommit": "settle",
    "ShareAcknowledge": "settle",
}
"""The type of messaging operation by api. Other apis have no type."""
MOST_TOPICS = 20
"""The most topics that a span lists."""


def traces(line: Captured) -> dict[str, Any] | None:
    """Return a response and its request as one span of one resource, `{"resourceSpans": [...]}`.

    Return None if the line is not a response, or if the capture lacks its request or time. Of the bodies, a span
    contains only topics, the group, the throttle time and error codes. Its ids are a hash of the capture point, the
    connection and the request's frame, time and addresses: the same capture always gives the same ids.
    """
    request = line.request
    if request is None or line.seen.time is None or request.seen.time is None:
        return None
    digest = _digest(line, request)
    topics, errors, api = line.topics, [str(error) for error in line.errors], line.api or f"api key {line.api_key}"
    span: dict[str, Any] = {
        "traceId": digest[:32],
        "spanId": digest[32:48],
        "name": f"{api} {topics[0]}" if len(topics) == 1 else api,
        "kind": _CLIENT,
        "startTimeUnixNano": str(request.seen.time),
        "endTimeUnixNano": str(max(line.seen.time, request.seen.time)),
        "attributes": _attributes(_facts(line, request, api, topics, errors)),
    }
    if errors:
        span["status"] = {"code": _ERROR, "message": ", ".join(errors)}
    resource = {"attributes": _attributes({"service.name": line.client_id or line.software or "unknown_service"})}
    scope = {"scope": {"name": "kwire", "version": VERSION}, "spans": [span], "schemaUrl": SCHEMA}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope], "schemaUrl": SCHEMA}]}


def _digest(line: Captured, request: Captured) -> str:
    from hashlib import sha256  # noqa: PLC0415 - start-up counts

    place = (line.origin.capture or "", line.stream, request.number, request.seen.time, request.src, request.dst)
    return sha256("\0".join(map(str, place)).encode("utf-8", "surrogatepass")).hexdigest()


def _facts(line: Captured, request: Captured, api: str, topics: list[str], errors: list[str]) -> dict[str, Any]:
    """Return the attributes of a span by name. None for unknown ones."""
    group = request.field("groupId")
    ends: dict[str, Any] = {}
    for name, end in (("client", request.src), ("server", request.dst), ("network.peer", request.dst)):
        host, _, port = end.rpartition(":")
        ends |= {f"{name}.address": host.strip("[]"), f"{name}.port": int(port)}
    return {
        "messaging.system": "kafka",
        "messaging.operation.name": api,
        "messaging.operation.type": _OPERATIONS.get(api),
        "messaging.destination.name": topics[0] if len(topics) == 1 else None,
        "messaging.client.id": line.client_id,
        "messaging.consumer.group.name": group if isinstance(group, str) and group else None,
        **ends,
        "network.transport": "tcp",
        "network.protocol.name": "kafka",
        "error.type": errors[0] if errors else None,
        "kwire.errors": errors or None,
        "kwire.topics": topics[:MOST_TOPICS] if len(topics) > 1 else None,
        "kwire.api.version": line.api_version,
        "kwire.request.size": request.seen.size,
        "kwire.response.size": line.seen.size,
        "kwire.request.frame": request.number,
        "kwire.response.frame": line.number,
        "kwire.stream": line.stream,
        "kwire.capture": line.origin.capture,
        "kwire.correlation_id": line.correlation_id,
        "kwire.broker.id": line.broker,
        "kwire.throttle_ms": line.throttle or None,
        "kwire.client.software": line.software,
    }


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in facts.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    """Return a value in OTLP's JSON form, in which 64-bit integers are text."""
    if isinstance(value, int):
        return {"intValue": str(value)}
    return (
        {"arrayValue": {"values": [_value(part) for part in value]}}
        if isinstance(value, list)
        else {"stringValue": value}
    )
