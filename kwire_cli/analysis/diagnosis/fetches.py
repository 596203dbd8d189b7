"""Whose Fetch or ListOffsets a request is."""

from __future__ import annotations

from typing import Any

Partition = tuple[str, int]


def is_replica(request: dict[str, Any]) -> bool:
    """Return whether a Fetch or ListOffsets request is a broker's or a controller's."""
    replica = request.get("replicaId")
    if replica is None and isinstance(state := request.get("replicaState"), dict):
        replica = state.get("replicaId")
    return type(replica) is int and replica >= 0
