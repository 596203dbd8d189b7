"""What tells the elements of an array apart: fields that are their key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.defaults import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.spec.model import FieldSpec

IDENTIFYING: tuple[tuple[str, ...], ...] = (
    ("resourceType", "resourceName"),
    ("entityType", "entityName"),
    ("principalType", "principalName"),
    ("user", "mechanism"),
    ("topicId",),
    ("topicName",),
    ("topic",),
    ("name",),
    ("partitionIndex",),
    ("partition",),
    ("partitionId",),
    ("index",),
    ("batchIndex",),
    ("subtopologyId",),
    ("topicGroupId",),
    ("groupId",),
    ("memberId",),
    ("transactionalId",),
    ("producerId",),
    ("brokerId",),
    ("nodeId",),
    ("replicaId",),
    ("candidateId",),
    ("voterId",),
    ("resourceName",),
    ("logDir",),
    ("user",),
    ("id",),
    ("firstOffset",),
    ("key",),
)
"""Fields in JSON names that say which element of an array one is where no mapKey does, in the order in which they are tried."""


def candidates(mine: Sequence[FieldSpec], other: Sequence[FieldSpec]) -> Iterator[tuple[str, ...]]:
    """The fields that may be the key of the elements of an array: the mapKeys of each side's definition, then what identifies."""
    for fields in (mine, other):
        if keys := tuple(field.json_name for field in fields if field.map_key):
            yield keys
    yield from IDENTIFYING


def key_names(mine: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]], tried: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    """The first key that all elements of two arrays have, each its own on its side; none where there is no such."""
    return next((names for names in tried if _distinct(mine, names) and _distinct(other, names)), ())


def _distinct(rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> bool:
    keys = set()
    for row in rows:
        key = tuple(row.get(name) for name in names)
        if None in key or ZERO_UUID in key or any(isinstance(part, dict | list) for part in key):
            return False
        keys.add(key)
    return len(keys) == len(rows)


def key_text(names: tuple[str, ...], row: Mapping[str, Any]) -> str:
    """A key for people: `name="orders"`, `partitionIndex=3`."""
    return ",".join(f"{name}={json.dumps(row[name], ensure_ascii=False)}" for name in names)
