"""The groups and transactional ids in requests.

Requests name groups in a `groupId` field, in arrays of names, or in arrays of objects with that field. A
FindCoordinator request has keys whose type decides whether they are groups or transactional ids.
"""

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
"""The field with one name, then fields with arrays of names or of objects with that field."""
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
"""Apis whose requests name groups in fields other than `groupId`."""
_GROUP_KEY = 0
_TRANSACTION_KEY = 1
"""Key types of coordinators."""


def groups_named(api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the distinct groups that a request names. Values that do not match their definition are skipped."""
    return _distinct(*_named(body, *_GROUPS), *_keys_of(_GROUP_KEY, api_key, body))


def transactions_named(api_key: int | None, body: dict[str, Any]) -> list[str]:
    """Return the distinct transactional ids that a request names."""
    return _distinct(*_named(body, *_TRANSACTIONS), *_keys_of(_TRANSACTION_KEY, api_key, body))


def _members(value: Any) -> list[Any]:
    """Return the elements of an array, or an empty list for any other value."""
    return value if isinstance(value, list) else []


def groups_of(line: Captured) -> list[str]:
    """Return the groups in a request, or in the request of a response."""
    request = line.request if line.kind == "response" else line
    if request is None:
        return []
    if request.api_key in IN_ARRAYS:
        return groups_named(request.api_key, body_of(request)) if request.read else []
    return groups_named(request.api_key, {"groupId": request.field("groupId")})


def transactions_of(line: Captured) -> list[str]:
    """Return the transactional ids in a request, or in the request of a response."""
    request = line.request if line.kind == "response" else line
    return transactions_named(request.api_key, body_of(request)) if request and request.read else []


def _distinct(*names: Any) -> list[str]:
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _named(body: dict[str, Any], field: str, *arrays: str) -> Iterator[Any]:
    """Yield a field, and the elements of arrays: names, or this field of objects."""
    yield body.get(field)
    for name in arrays:
        for member in _members(body.get(name)):
            yield member.get(field) if isinstance(member, dict) else member


def _keys_of(kind: int, api_key: int | None, body: dict[str, Any]) -> list[Any]:
    """Return the keys of this type whose coordinators a request looks up. Version 0 has only groups and no key type."""
    if api_key != FIND_COORDINATOR or body.get("keyType", _GROUP_KEY) != kind:
        return []
    return [body.get("key"), *_members(body.get("coordinatorKeys"))]
