"""Conversion of calls to moves: JoinGroup, SyncGroup and so on, heartbeats of the newer protocols, share fetches.

APIS has a function for each api, which completes a move with the fields of the request and of the response. The query
selects only calls of these apis, and only those commits that failed because of the group.
"""

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
    UNTIMED,
    Assignment,
    Move,
    partitions_in,
    span_of,
    topics_in,
)
from kwire_cli.records.payload_fields import member_payloads
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.records.payload_fields import Role

    Moves = Iterator[Move]

COMMITS = ("OffsetCommit", "TxnOffsetCommit")
GROUP_ERRORS = (
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "FENCED_INSTANCE_ID",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
)
"""Errors of a commit that concern the group, and not partitions."""
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
"""The error in the response to the first JoinGroup of a dynamic member. The response contains its id (KIP-394)."""
RELEASE = 2
"""AcknowledgeType of a record that a share group may deliver again."""
REJECT = 3
"""AcknowledgeType of a record that a share group must not deliver again."""
LEAVES = -1
"""Member epoch in the request of a member that leaves."""
LEAVES_FOR_NOW = -2
"""Member epoch in the request of a static member that leaves and will come back."""


def moves_of(call: Call) -> Moves:
    """Yield the moves of a call."""
    protocol, kind, complete = APIS[call.api]
    request = call.request
    response = call.response or {}
    time = call.asked
    until = call.answered
    if time is None:
        time = UNTIMED + 1e-6 * (call.place.line or call.place.frame or 0)
        until = None if call.response is None else time
    move = Move(
        kind,
        time,
        until,
        call.place,
        request.get("groupId") or "",
        protocol,
        request.get("memberId") or "",
        call.who,
        call.host,
        call.connection,
        request.get("groupInstanceId", request.get("instanceId")) or None,
        request.get("generationId", request.get("memberEpoch")),
        response.get("generationId", response.get("memberEpoch")),
        call.errors[0] if response.get("errorCode") and call.errors else "",
        rebalance_timeout=span_of(request.get("rebalanceTimeoutMs")),
        session_timeout=span_of(request.get("sessionTimeoutMs")),
        interval=span_of(response.get("heartbeatIntervalMs")) or 0.0,
    )
    if move.group:
        yield from complete(call, move)


def _join(call: Call, move: Move) -> Moves:
    request = call.request
    response = call.response or {}
    protocol_type = request.get("protocolType") or ""
    protocols = [protocol for (protocol,) in parts(request, "protocols")]

    def subscription(row: dict[str, Any]) -> dict[str, Any]:
        return decoded(row.get("metadata") or "", "metadata", protocol_type)

    own = subscription(protocols[0]) if protocols else {}
    member = response.get("memberId") or move.member
    everybody = ((row.get("memberId") or "", _owned_in(subscription(row))) for (row,) in parts(response, "members"))
    yield move._replace(
        member=member,
        reason=request.get("reason") or "",
        detail=", ".join(filter(None, (protocol.get("name") for protocol in protocols))),
        assignor=response.get("protocolName") or "",
        topics=topics_in(own.get("topics")),
        owned=_owned_in(own),
        has_id=bool(move.member),
        everybody=tuple(everybody) if member and response.get("leader") == member else None,
    )


def _owned_in(subscription: dict[str, Any]) -> Assignment | None:
    """Return the partitions (KIP-429), or the connectors and tasks (KIP-415), of a member that joins."""
    allocation = subscription.get("allocation")
    if isinstance(allocation, str):
        return tasks_in(decoded(allocation, "assignment", CONNECT))
    return partitions_in(subscription, "ownedPartitions")


def _sync(call: Call, move: Move) -> Moves:
    response = call.response or {}
    protocol_type = response.get("protocolType") or call.request.get("protocolType") or ""
    move = move._replace(reached=move.generation)
    if move.error:
        yield move
        return

    def read_assignment(row: dict[str, Any]) -> tuple[Assignment, Assignment | None]:
        """Return an assignment, and the tasks that a worker of Connect has to give up.

        The second value is None if the assignment is complete, and not a change.
        """
        message = decoded(row.get("assignment") or "", "assignment", protocol_type)
        return tasks_in(message), partitions_in(message, "revoked")

    has_own = isinstance(response.get("assignment"), str)
    assignment, revoked = read_assignment(response) if has_own else (None, None)
    rows = parts(call.request, "assignments")
    by_member = tuple((row.get("memberId") or "", *read_assignment(row)) for (row,) in rows)
    yield move._replace(assignment=assignment, revoked=revoked, leader_assignments=by_member)


def _leave(call: Call, move: Move) -> Moves:
    rows = [row for (row,) in parts(call.request, "members")]
    errors = [row.get("errorCode") for (row,) in parts(call.response, "members")]
    for at, row in enumerate(rows or [call.request]):
        refused = at < len(errors) and bool(errors[at])
        yield move._replace(
            place=call.request_place,
            member=row.get("memberId") or "",
            instance=row.get("groupInstanceId") or None,
            reason=row.get("reason") or "",
            error=move.error or (call.errors[0] if refused and call.errors else ""),
        )


def _heartbeat(call: Call, move: Move) -> Moves:
    request = call.request
    response = call.response or {}
    epoch = move.generation
    if epoch == 0:
        move = move._replace(kind="join")
    elif epoch in {LEAVES, LEAVES_FOR_NOW}:
        move = move._replace(kind="leave", place=call.request_place)
    topics = topics_in(request.get("subscribedTopicNames"))
    pattern = request.get("subscribedTopicRegex") or ""
    statuses = [row for (row,) in parts(response, "status")]
    reason = " ".join(filter(None, (row.get("statusDetail") for row in statuses)))
    if call.api == "StreamsGroupHeartbeat":
        assignment = partitions_in(response, "activeTasks")
        owned = partitions_in(request, "activeTasks")
    else:
        assignment = partitions_in(response.get("assignment"), "topicPartitions", name=call.topic)
        owned = partitions_in(request, "topicPartitions", name=call.topic)
    yield move._replace(
        member=move.member or response.get("memberId") or "",
        reason="leaves for a while, as a static member" if epoch == LEAVES_FOR_NOW else reason,
        detail=", ".join(dict.fromkeys(_status(row.get("statusCode")) for row in statuses)),
        topics=(*(topics or ()), pattern) if pattern else topics,
        assignment=assignment,
        owned=owned,
    )


def _status(code: int | None) -> str:
    if code is None:
        return "UNKNOWN"
    return catalog().named_value("StreamsGroupHeartbeatResponse", "status.statusCode", code) or f"status {code}"


def _commit(call: Call, move: Move) -> Moves:
    error = next(error for error in call.errors if error in GROUP_ERRORS)
    yield move._replace(error=error, generation=call.request.get("generationIdOrMemberEpoch"))


def _shares(call: Call, move: Move) -> Moves:
    """Yield repeated deliveries of records, and records that a member releases or rejects."""
    for topic, partition, row in parts(call.response, "responses", "partitions", "acquiredRecords"):
        count = row["deliveryCount"] or 0
        if count > 1:
            yield move.shared("redelivery", (call.topic(topic), partition["partitionIndex"]), row, count)
    for topic, partition, row in parts(call.request, "topics", "partitions", "acknowledgementBatches"):
        kinds = row.get("acknowledgeTypes") or []
        for code, reason in ((RELEASE, "release"), (REJECT, "reject")):
            if code in kinds:
                count = kinds.count(code)
                yield move.shared(reason, (call.topic(topic), partition["partitionIndex"]), row, count)


APIS: dict[str, tuple[str, str, Callable[[Call, Move], Moves]]] = {
    "JoinGroup": ("classic", "join", _join),
    "SyncGroup": ("classic", "sync", _sync),
    "Heartbeat": ("classic", "heartbeat", lambda _, move: iter([move])),
    "LeaveGroup": ("classic", "leave", _leave),
    "ConsumerGroupHeartbeat": ("consumer", "heartbeat", _heartbeat),
    "ShareGroupHeartbeat": ("share", "heartbeat", _heartbeat),
    "StreamsGroupHeartbeat": ("streams", "heartbeat", _heartbeat),
    "OffsetCommit": ("classic", "commit", _commit),
    "TxnOffsetCommit": ("classic", "commit", _commit),
    "ShareFetch": ("share", "share", _shares),
    "ShareAcknowledge": ("share", "share", _shares),
}
"""The protocol of each api, the kind of its moves, and the function that completes a move."""
QUERY = calls_query(APIS, f"c.api not in {COMMITS} or list_has_any(c.errors, {[*GROUP_ERRORS]})")
"""The calls about groups. Commits are left out unless they have an error of the group."""


def tasks_in(message: dict[str, Any]) -> Assignment:
    """Return the contents of a member's assignment: partitions of topics, or tasks of connectors."""
    return partitions_in(message, "assignedPartitions", "assignment") or NOTHING


@lru_cache(maxsize=1 << 8)
def decoded(data: str, role: Role, protocol_type: str) -> dict[str, Any]:
    """Return the message in `data`, the bytes of a member in base64.

    The result is empty if the bytes cannot be decoded, or belong to another protocol.
    """
    try:
        payloads = member_payloads(catalog(), role, protocol_type or None, None, base64.b64decode(data), "")
    except (binascii.Error, ValueError):
        return {}
    body = payloads[0].body if payloads else None
    value = payloads[0].json_data() if body is not None and body.complete else None
    return value if isinstance(value, dict) else {}
