"""The groups and the transactional ids that requests name."""

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
    from collections.abc import Iterator

    from kwire_cli.source.kafka.captured import Captured

_GROUPS = ("groupId", "groups", "groupIds", "groupsNames")
_TRANSACTIONS = ("transactionalId", "transactions", "transactionalIds")
"""The field for one name, and arrays of names or of objects with that field."""
IN_ARRAYS = frozenset(
    {
        OFFSET_FETCH,
        DESCRIBE_SHARE_GROUP_OFFSETS,
        DESCRIBE_GROUPS,
        FIND_COORDINATOR,
        DELETE_GROUPS,
        CONSUMER_GROUP_DESCRIBE,
        SHARE_GROUP_DESCRIBE,
        STREAMS_GROUP_DESCRIBE,
    }
)
"""Apis whose requests name groups elsewhere than in `groupId`."""
_GROUP_KEY = 0
_TRANSACTION_KEY = 1
"""The types of a coordinator's key that say what the key is."""


def groups_named(api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the groups that a request names, each once. Values of other types than their definition says count for
    nothing.
    """
    return _each_once(*_named(body, *_GROUPS), *_keys_of(_GROUP_KEY, api_key, body))


def transactions_named(api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the transactional ids that a request names, as `groups_named` does with groups."""
    return _each_once(*_named(body, *_TRANSACTIONS), *_keys_of(_TRANSACTION_KEY, api_key, body))


def keys_named(body: dict[str, Any]) -> list[str]:
    """Return the keys that a request looks for the coordinators of, each once, whatever type they have."""
    return _each_once(body.get("key"), *members(body.get("coordinatorKeys")))


def members(value: Any) -> list[Any]:
    """Return the elements of an array; none if the value is none."""
    return value if isinstance(value, list) else []


def groups_of(line: Captured) -> list[str]:
    """Return the groups that a request names, or those of a response's request."""
    request = line.request if line.kind == "response" else line
    if request is None:
        return []
    if request.api_key in IN_ARRAYS:
        return groups_named(request.api_key, body_of(request)) if request.read else []
    return groups_named(request.api_key, {"groupId": request.field("groupId")})


def transactions_of(line: Captured) -> list[str]:
    """Return the transactional ids that a request names, or those of a response's request."""
    request = line.request if line.kind == "response" else line
    return transactions_named(request.api_key, body_of(request)) if request and request.read else []


def _each_once(*names: Any) -> list[str]:
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _named(body: dict[str, Any], field: str, *arrays: str) -> Iterator[Any]:
    """Yield a field, and the elements of arrays: themselves, or this field of objects."""
    yield body.get(field)
    for name in arrays:
        for member in members(body.get(name)):
            yield member.get(field) if isinstance(member, dict) else member


def _keys_of(kind: int, api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the keys of this type whose coordinators a request looks for; the first versions know groups only."""
    return keys_named(body) if api_key == FIND_COORDINATOR and body.get("keyType", _GROUP_KEY) == kind else []
