"""Dimensions of traffic: the api, client, topic, broker, consumer group and software that a message belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.captured import body_of
from kwire_cli.spec.kafka import (
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    FIND_COORDINATOR,
    OFFSET_FETCH,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange

Name = str | None
"""The name of a group: None if the client says no id or no software. An empty id is another name."""
_WITH_STRUCTS = frozenset({OFFSET_FETCH, DESCRIBE_SHARE_GROUP_OFFSETS})
"""Apis whose requests name groups in structs of an array."""
_NESTED = _WITH_STRUCTS | {
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    DELETE_GROUPS,
    CONSUMER_GROUP_DESCRIBE,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
}
"""Apis whose requests name groups elsewhere than in `groupId`."""
_GROUP_KEY = 0
"""The type of a coordinator's key that says the key is a group."""


def api_name(name: str | None, key: int | None, version: int | None) -> str:
    """Return the name of an api with its version: `Fetch 17`; the key of an api without a name."""
    return f"{name or key} {version}"


def groups_named(api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the groups that a request names, each once. Values of other types than their definition says count for
    nothing.
    """
    names = [body.get("groupId"), *_members(body, "groupIds")]
    if api_key in _WITH_STRUCTS:
        names += [group.get("groupId") for group in _members(body, "groups") if isinstance(group, dict)]
    elif api_key == DESCRIBE_GROUPS:
        names += _members(body, "groups")
    elif api_key == DELETE_GROUPS:
        names += _members(body, "groupsNames")
    elif api_key == FIND_COORDINATOR and body.get("keyType", _GROUP_KEY) == _GROUP_KEY:
        names += [body.get("key"), *_members(body, "coordinatorKeys")]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _members(body: dict[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _groups_of_line(line: Captured) -> list[str]:
    request = line.request if line.kind == "response" else line
    if request is None:
        return []
    if request.api_key in _NESTED:
        return groups_named(request.api_key, body_of(request))
    return groups_named(request.api_key, {"groupId": request.field("groupId")})


OF_LINES: dict[str, Callable[[Captured], Iterable[Name]]] = {
    "api": lambda line: (api_name(line.api, line.api_key, line.api_version),),
    "client": lambda line: (line.client_id,),
    "topic": lambda line: line.topics,
    "broker": lambda line: (line.dst if line.kind == "request" else line.src,),
    "group": _groups_of_line,
    "software": lambda line: (line.software or None,),
}
"""The names by dimension that a request or response of a capture counts under."""

OF_EXCHANGES: dict[str, Callable[[Exchange], Iterable[Name]]] = {
    "api": lambda exchange: (api_name(exchange.api, exchange.api_key, exchange.api_version),),
    "client": lambda exchange: (exchange.client_id,),
    "topic": lambda exchange: exchange.topics,
    "broker": lambda exchange: (exchange.broker,) if exchange.broker else (),
    "group": lambda exchange: groups_named(exchange.api_key, exchange.request),
    "software": lambda exchange: (exchange.software or None,),
}
"""The names by dimension that an exchange of a request log counts under."""

DIMENSIONS = (*OF_LINES,)
