"""Moves in calls: JoinGroup, SyncGroup and their kin, heartbeats of the newer protocols, share fetches."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import parts
from kwire_cli.analysis.calls import calls_query
from kwire_cli.analysis.groups.moves import (
    CONNECT,
    NOTHING,
    Assignment,
    Move,
    number,
    offsets_in,
    partitions,
    span_of,
    text,
)
from kwire_cli.records.payload_fields import member_payloads
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.records.payload_fields import Role

HEARTBEATS = {
    "ConsumerGroupHeartbeat": "consumer",
    "ShareGroupHeartbeat": "share",
    "StreamsGroupHeartbeat": "streams",
}
"""Apis that are the whole protocol of a group, and its name."""
CLASSIC = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})
COMMITS = frozenset({"OffsetCommit", "TxnOffsetCommit"})
SHARES = frozenset({"ShareFetch", "ShareAcknowledge"})
APIS = CLASSIC | frozenset(HEARTBEATS) | COMMITS | SHARES
GROUP_ERRORS = (
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "FENCED_INSTANCE_ID",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
)
"""Errors of a commit that are about the group, not about partitions."""
QUERY = calls_query(APIS, f"c.api not in {(*sorted(COMMITS),)} or list_has_any(c.errors, {[*GROUP_ERRORS]})")
"""The calls about groups. Most commits say nothing about the group."""
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
"""The answer to the first JoinGroup of a dynamic member, which gives it its id (KIP-394)."""
RELEASE, REJECT = 2, 3
"""AcknowledgeType of share groups."""
LEAVES, LEAVES_FOR_NOW = -1, -2
"""Member epochs in requests of members that leave."""


def moves_of(call: Call) -> Iterator[tuple[str, Move]]:
    """Yield the moves that a call is, each with its group's name."""
    api = call.api
    group = text(call.request.get("groupId"))
    if not group:
        return
    if api == "JoinGroup":
        yield group, _join(call)
    elif api == "SyncGroup":
        yield group, _sync(call)
    elif api == "Heartbeat":
        yield group, _move("heartbeat", call)
    elif api == "LeaveGroup":
        for move in _leaves(call):
            yield group, move
    elif api in HEARTBEATS:
        yield group, _heartbeat(call)
    elif api in COMMITS:
        error = next(error for error in call.errors if error in GROUP_ERRORS)
        own = number(call.request.get("generationIdOrMemberEpoch"))
        yield group, _move("commit", call)._replace(error=error, generation=own)
    elif api in SHARES:
        for move in _shares(call):
            yield group, move


def _move(kind: str, call: Call, member: str | None = None) -> Move:
    request, response = call.request, call.response or {}
    time, until = call.asked, call.answered
    if time is None:
        place = call.place
        time = 1e-6 * (place.line or place.frame or 0)
        until = None if call.response is None else time
    return Move(
        kind,
        time,
        until,
        call.request_place if kind == "leave" else call.place,
        text(request.get("memberId")) if member is None else member,
        call.who,
        call.host,
        call.connection,
        text(request.get("groupInstanceId", request.get("instanceId"))) or None,
        number(request.get("generationId", request.get("memberEpoch"))),
        number(response.get("generationId", response.get("memberEpoch"))),
        _error(call),
        rebalance_timeout=span_of(request.get("rebalanceTimeoutMs")),
        session_timeout=span_of(request.get("sessionTimeoutMs")),
    )


def _error(call: Call) -> str:
    """Return the name of the error of the whole answer."""
    return call.errors[0] if call.response and call.response.get("errorCode") and call.errors else ""


def _join(call: Call) -> Move:
    request, response = call.request, call.response or {}
    protocol_type = text(request.get("protocolType"))
    protocols = [protocol for (protocol,) in parts(request, "protocols")]
    subscription = decoded(text(protocols[0].get("metadata")), "metadata", protocol_type) if protocols else {}
    names = subscription.get("topics")
    topics = tuple(sorted(name for name in names if isinstance(name, str))) if isinstance(names, list) else None
    everybody = [row for (row,) in parts(response, "members")]
    member = text(response.get("memberId")) or text(request.get("memberId"))
    leads = bool(member) and text(response.get("leader")) == member
    return _move("join", call, member)._replace(
        generation=None,
        reason=text(request.get("reason")),
        detail=", ".join(filter(None, (text(protocol.get("name")) for protocol in protocols))),
        assignor=text(response.get("protocolName")),
        topics=topics,
        owned=_owned_in(subscription),
        has_id=bool(text(request.get("memberId"))),
        everybody=tuple(text(row.get("memberId")) for row in everybody) if leads else None,
        everybody_owned=tuple(
            (text(row.get("memberId")), _owned_in(decoded(text(row.get("metadata")), "metadata", protocol_type)))
            for row in everybody
        ),
    )


def _owned_in(message: dict[str, Any]) -> Assignment | None:
    """Return the partitions (KIP-429), or the connectors and tasks (KIP-415), of a member that joins."""
    allocation = message.get("allocation")
    if isinstance(allocation, str):
        return tasks_in(decoded(allocation, "assignment", CONNECT))
    if not isinstance(message.get("ownedPartitions"), list):
        return None
    return partitions((text(row.get("topic")), row.get("partitions")) for (row,) in parts(message, "ownedPartitions"))


def _sync(call: Call) -> Move:
    request, response = call.request, call.response or {}
    protocol_type = text(response.get("protocolType") or request.get("protocolType"))
    move = _move("sync", call)
    assignment = response.get("assignment")
    move = move._replace(reached=move.generation)
    if move.error:
        return move
    by_member = [
        (text(row.get("memberId")), decoded(text(row.get("assignment")), "assignment", protocol_type))
        for (row,) in parts(request, "assignments")
    ]
    own = decoded(assignment, "assignment", protocol_type) if isinstance(assignment, str) else None
    return move._replace(
        assignment=None if own is None else tasks_in(own),
        revoked=None if own is None else _revoked_in(own),
        leader_assignments=tuple((member, tasks_in(message), _revoked_in(message)) for member, message in by_member),
    )


def _revoked_in(message: dict[str, Any]) -> Assignment | None:
    """Return the connectors and tasks that a worker of Connect has to give up; None if its assignment is whole."""
    if not isinstance(message.get("revoked"), list):
        return None
    return partitions((text(row.get("connector")), row.get("tasks")) for (row,) in parts(message, "revoked"))


def _leaves(call: Call) -> Iterator[Move]:
    rows = [row for (row,) in parts(call.request, "members")]
    errors = [row.get("errorCode") for (row,) in parts(call.response, "members")]
    for at, row in enumerate(rows or [call.request]):
        refused = at < len(errors) and bool(errors[at])
        move = _move("leave", call, text(row.get("memberId")))
        error = move.error or (call.errors[0] if refused and call.errors else "")
        instance = text(row.get("groupInstanceId")) or None
        yield move._replace(instance=instance, reason=text(row.get("reason")), error=error)


def _heartbeat(call: Call) -> Move:
    request, response = call.request, call.response or {}
    move = _move("heartbeat", call)
    epoch = move.generation
    kind = "join" if epoch == 0 else "leave" if epoch in {LEAVES, LEAVES_FOR_NOW} else "heartbeat"
    topics = request.get("subscribedTopicNames")
    pattern = text(request.get("subscribedTopicRegex"))
    names = None if topics is None else tuple(sorted(map(text, topics)))
    statuses = [row for (row,) in parts(response, "status")]
    streams = call.api == "StreamsGroupHeartbeat"
    return move._replace(
        kind=kind,
        place=call.request_place if kind == "leave" else call.place,
        member=move.member or text(response.get("memberId")),
        reason="leaves for a while, as a static member"
        if epoch == LEAVES_FOR_NOW
        else " ".join(filter(None, (text(row.get("statusDetail")) for row in statuses))),
        detail=", ".join(dict.fromkeys(_status(row.get("statusCode")) for row in statuses)),
        assignor=text(request.get("serverAssignor")),
        topics=(*(names or ()), pattern) if pattern else names,
        assignment=_active(response) if streams else _assigned(call, response.get("assignment")),
        owned=_active(request) if streams else _assigned(call, request),
    )


def _status(code: int | None) -> str:
    if code is None:
        return "UNKNOWN"
    return catalog().named_value("StreamsGroupHeartbeatResponse", "status.statusCode", code) or f"status {code}"


def _assigned(call: Call, body: Any) -> Assignment | None:
    if not body or body.get("topicPartitions") is None:
        return None
    return partitions((call.topic(row), row.get("partitions")) for (row,) in parts(body, "topicPartitions"))


def _active(body: dict[str, Any]) -> Assignment | None:
    """Return the active tasks of a streams member."""
    if body.get("activeTasks") is None:
        return None
    return partitions((text(row.get("subtopologyId")), row.get("partitions")) for (row,) in parts(body, "activeTasks"))


def _shares(call: Call) -> Iterator[Move]:
    """Yield deliveries of records that were delivered before, and records that a member gives back."""
    move = _move("share", call)
    for topic, partition, records in parts(call.response, "responses", "partitions", "acquiredRecords"):
        count = number(records.get("deliveryCount")) or 0
        if count > 1:
            yield _shared(move, "redelivery", call.topic(topic), partition, records, count)
    for topic, partition, records in parts(call.request, "topics", "partitions", "acknowledgementBatches"):
        kinds = records.get("acknowledgeTypes") or []
        for code, reason in ((RELEASE, "release"), (REJECT, "reject")):
            if code in kinds:
                yield _shared(move, reason, call.topic(topic), partition, records, kinds.count(code))


def _shared(
    move: Move, reason: str, topic: str, partition: dict[str, Any], records: dict[str, Any], count: int
) -> Move:
    index = number(partition.get("partitionIndex"))
    place = frozenset({(topic, index)}) if index is not None else NOTHING
    return move._replace(
        reason=reason, detail=offsets_in(records), owned=place, times=count, generation=None, reached=None
    )


def tasks_in(message: dict[str, Any]) -> Assignment:
    """Return what a member's assignment holds: partitions of topics, or tasks of connectors."""
    rows = [(text(row.get("topic")), row.get("partitions")) for (row,) in parts(message, "assignedPartitions")]
    rows += [(text(row.get("connector")), row.get("tasks")) for (row,) in parts(message, "assignment")]
    return partitions(rows)


@lru_cache(maxsize=1 << 8)
def decoded(data: str, role: Role, protocol_type: str) -> dict[str, Any]:
    """Return the message in a member's bytes, given as base64 text; empty if there is none, or of another protocol."""
    try:
        payloads = member_payloads(catalog(), role, protocol_type or None, None, base64.b64decode(data), "")
    except (binascii.Error, ValueError):
        return {}
    payload = payloads[0] if payloads else None
    if payload is None or payload.body is None or not payload.body.complete:
        return {}
    value = payload.json_data()
    return value if isinstance(value, dict) else {}
