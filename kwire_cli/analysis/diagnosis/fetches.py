"""Fetches of consumers with the offsets asked for: one walk for all questions about consumers.

In a fetch session (KIP-227) a request names only partitions that changed, so their offsets are kept by connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.calls import parts
from kwire_cli.analysis.diagnosis.tallies import host_of, whole

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kwire_cli.analysis.calls import Call

MOST_SESSIONS, MOST_OFFSETS = 1 << 12, 1 << 18
"""Connections whose offsets are kept at a time, and offsets of all of them."""
Client = tuple[str, str]
"""A client: its id (its address if it has none) and its host."""
Partition = tuple[str, int]


class Part(NamedTuple):
    """A partition in a Fetch: the offset asked for (None if it was asked before what was captured), and the answer."""

    key: Partition
    offset: int | None
    answer: dict[str, Any] | None


class FetchCall(NamedTuple):
    """A Fetch of a consumer. `is_first` tells that its connection had no Fetch before."""

    call: Call
    client: Client
    request: dict[str, Any]
    response: dict[str, Any] | None
    parts: list[Part]
    is_first: bool


class Fetches:
    """The fetch sessions of consumers: offsets asked for, by connection."""

    def __init__(self) -> None:
        self._sessions: dict[Hashable, dict[Partition, int]] = {}
        self._count = 0

    def take(self, call: Call) -> FetchCall | None:
        """Return a consumer's Fetch with its partitions; None for one of a broker, which replicates."""
        request, response = call.request, call.response
        if is_replica(request):
            return None
        connection = call.connection
        offsets = self._sessions.get(connection)
        is_first = offsets is None
        if offsets is None:
            offsets = self._open(connection)
        elif not request.get("sessionId") or request.get("sessionEpoch") in {0, -1}:
            self._count -= len(offsets)
            offsets.clear()
        asked: list[Partition] = []
        for topic in _objects(request, "topics"):
            name = call.topic(topic)
            for part in _objects(topic, "partitions"):
                index, offset = part.get("partition"), part.get("fetchOffset")
                if type(index) is int and type(offset) is int:
                    key = name, index
                    if key not in offsets:
                        self._count += 1
                    offsets[key] = offset
                    asked.append(key)
        both: list[Part] = []
        answered: set[Partition] = set()
        for topic in _objects(response, "responses"):
            name = call.topic(topic)
            for part in _objects(topic, "partitions"):
                index = part.get("partitionIndex")
                if type(index) is int:
                    key = name, index
                    answered.add(key)
                    both.append(Part(key, offsets.get(key), part))
        both += [Part(key, offsets[key], None) for key in asked if key not in answered]
        if self._count > MOST_OFFSETS:
            self._forget()
        return FetchCall(call, client_of(call), request, response, both, is_first)

    def end(self, connection: Hashable) -> None:
        """Forget a connection that has ended."""
        self._count -= len(self._sessions.pop(connection, ()))

    def _open(self, connection: Hashable) -> dict[Partition, int]:
        if len(self._sessions) >= MOST_SESSIONS:
            self.end(next(iter(self._sessions)))
        offsets = self._sessions[connection] = {}
        return offsets

    def _forget(self) -> None:
        while self._count > MOST_OFFSETS and self._sessions:
            self.end(next(iter(self._sessions)))


def is_replica(request: dict[str, Any]) -> bool:
    """Return whether a Fetch or ListOffsets request is a broker's or a controller's."""
    replica = request.get("replicaId")
    if replica is None and isinstance(state := request.get("replicaState"), dict):
        replica = state.get("replicaId")
    return type(replica) is int and replica >= 0


def client_of(call: Call) -> Client:
    """Return the client of a call."""
    return call.who, host_of(call.client)


def committed(call: Call) -> list[tuple[str, Partition, int]]:
    """Return the group, the partition and the offset of each commit in a call, and of each answer to OffsetFetch."""
    body = call.response if call.api == "OffsetFetch" else call.request
    if not body:
        return []
    group = call.request.get("groupId") or ""
    groups = parts(body, "groups") if "groups" in body else iter([(body,)])
    return [
        (str(its.get("groupId") or group), (call.topic(topic), index), offset)
        for (its,) in groups
        for topic, part in parts(its, "topics", "partitions")
        if (index := whole(part.get("partitionIndex"))) is not None
        and (offset := whole(part.get("committedOffset"))) is not None
        and offset >= 0
    ]


def size_of(answer: dict[str, Any]) -> int:
    """Return the bytes of records in a partition's answer."""
    return whole(answer.get("recordsSizeInBytes")) or 0


def _objects(body: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    objects = body.get(name) if body else None
    if not isinstance(objects, list):
        return []
    return objects if all(map(_is_object, objects)) else [item for item in objects if _is_object(item)]


def _is_object(item: Any) -> bool:
    return isinstance(item, dict)
