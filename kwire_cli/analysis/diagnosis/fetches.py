"""Fetches of consumers with the offsets asked for: one walk for all questions about consumers.

In a fetch session (KIP-227) a request names only partitions that changed, so their offsets are kept by connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import host_of, parts
from kwire_cli.analysis.diagnosis.tallies import whole

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kwire_cli.analysis.call import Call

MOST_SESSIONS, MOST_OFFSETS = 1 << 12, 1 << 18
"""Connections whose offsets are kept at a time, and offsets of all of them."""
MOST_OFFSET = 1 << 63
"""Larger numbers are no offsets, whatever a request log says."""
Client = tuple[str, str]
"""A client: its id (its address if it has none) and its host."""
Partition = tuple[str, int]
Commit = tuple[str, Partition, int]
"""A commit: the group, the partition and the offset."""


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
        elif not request.get("sessionId") or request.get("sessionEpoch") in (0, -1):
            self._count -= len(offsets)
            offsets.clear()
        asked = self._asked(call, request, offsets)
        both, answered = _answered(call, response, offsets)
        both += [Part(key, offsets[key], None) for key in asked if key not in answered]
        if self._count > MOST_OFFSETS:
            self._forget()
        return FetchCall(call, client_of(call), request, response, both, is_first)

    def _asked(self, call: Call, request: dict[str, Any], offsets: dict[Partition, int]) -> list[Partition]:
        """Keep the offsets that a request asks for, and return their partitions."""
        asked: list[Partition] = []
        for topic in _list(request, "topics"):
            if type(topic) is not dict:
                continue
            name = _topic(call, topic)
            for part in _list(topic, "partitions"):
                if type(part) is not dict:
                    continue
                index, offset = part.get("partition"), part.get("fetchOffset")
                if type(index) is int and type(offset) is int and offset < MOST_OFFSET:
                    key = name, index
                    if key not in offsets:
                        self._count += 1
                    offsets[key] = offset
                    asked.append(key)
        return asked

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


def _answered(
    call: Call, response: dict[str, Any] | None, offsets: dict[Partition, int]
) -> tuple[list[Part], set[Partition]]:
    """Return the partitions of an answer with the offsets that were asked for."""
    both: list[Part] = []
    answered: set[Partition] = set()
    for topic in _list(response, "responses"):
        if type(topic) is not dict:
            continue
        name = _topic(call, topic)
        for part in _list(topic, "partitions"):
            if type(part) is not dict:
                continue
            index = part.get("partitionIndex")
            if type(index) is int:
                key = name, index
                answered.add(key)
                both.append(Part(key, offsets.get(key), part))
    return both, answered


def is_replica(request: dict[str, Any]) -> bool:
    """Return whether a Fetch or ListOffsets request is a broker's or a controller's."""
    replica = request.get("replicaId")
    if replica is None and isinstance(state := request.get("replicaState"), dict):
        replica = state.get("replicaId")
    return type(replica) is int and replica >= 0


def client_of(call: Call) -> Client:
    """Return the client of a call."""
    return call.who, host_of(call.client)


def committed(call: Call) -> list[Commit]:
    """Return what a call commits, or what OffsetFetch answers."""
    body = call.response if call.api == "OffsetFetch" else call.request
    if not body:
        return []
    first = call.request.get("groupId")
    commits: list[Commit] = []
    for (its,) in parts(body, "groups") if "groups" in body else (((body,)),):
        group = its.get("groupId", first)
        if not isinstance(group, str):
            continue
        for topic in _list(its, "topics"):
            if type(topic) is not dict:
                continue
            name = _topic(call, topic)
            for part in _list(topic, "partitions"):
                if type(part) is not dict:
                    continue
                index, offset = part.get("partitionIndex"), part.get("committedOffset")
                if type(index) is int and type(offset) is int and 0 <= offset < MOST_OFFSET:
                    commits.append((group, (name, index), offset))
    return commits


def size_of(answer: dict[str, Any]) -> int:
    """Return the bytes of records in a partition's answer."""
    return whole(answer.get("recordsSizeInBytes")) or 0


def _topic(call: Call, topic: dict[str, Any]) -> str:
    name = topic.get("topic")
    return name if name and type(name) is str else call.topic(topic)


def _list(body: dict[str, Any] | None, name: str) -> list[Any]:
    values = body.get(name) if body else None
    return values if type(values) is list else []
