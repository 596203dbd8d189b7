"""Labels of requests and responses: the api, and the few words that matter in a sequence of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import parts
from kwire_cli.source.kafka.group_names import groups_named, keys_named, members, transactions_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.call import Call

MOST_NAMES = 2
"""Topics and other names of a label; the others are counted."""
LONGEST = 60
"""Characters of a name in a label: names come from outside."""
TOPICS = ("topics", "topicData", "topicNames")
"""Arrays of requests that are about topics."""
LEAST_THROTTLE = 1


def request_label(call: Call) -> str:
    """Return the label of a request, such as `JoinGroup v7 billing`."""
    body = call.request
    words = [listed(groups_of(call)), listed(transactions_of(call))]
    words += _REQUESTS.get(call.api, _nothing)(body)
    if topics := listed(_topics(call)):
        words.append(topics)
    return " ".join([f"{call.api} v{call.version}", ", ".join(dict.fromkeys(filter(None, words)))]).rstrip()


def response_label(call: Call) -> str:
    """Return the label of a response, such as `JoinGroup v7 -> generation 3, leader`; its errors if it has any."""
    body = call.response or {}
    words = [*call.errors]
    words += _RESPONSES.get(call.api, _nothing)(body)
    if call.throttle_ms >= LEAST_THROTTLE:
        words.append(f"throttled {call.throttle_ms:.0f} ms")
    return " -> ".join([f"{call.api} v{call.version}", *([", ".join(words)] if words else [])])


def groups_of(call: Call) -> list[str]:
    """Return the groups that a request names."""
    return groups_named(call.api_key, call.request)


def transactions_of(call: Call) -> list[str]:
    """Return the transactional ids that a request names."""
    return transactions_named(call.api_key, call.request)


def _text(value: Any) -> str:
    """Return a name of a label; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"


def listed(names: list[str]) -> str:
    """Return the first names, and how many more there are: `orders, payments, +22`."""
    more = len(names) - MOST_NAMES
    return ", ".join([*map(_text, names[:MOST_NAMES]), *([f"+{more}"] if more > 0 else [])])


def _topics(call: Call) -> list[str]:
    names: dict[str, None] = {}
    for array in TOPICS:
        for member in members(call.request.get(array)):
            name = call.topic(member) if isinstance(member, dict) else member
            if isinstance(name, str) and name:
                names[name] = None
    return [*names]


def _nothing(_: dict[str, Any]) -> list[str]:
    return []


def _count(body: dict[str, Any], field: str, word: str) -> list[str]:
    """Return `word` with the number in a field, if the number is none of those that stand for nothing."""
    value = body.get(field)
    return [f"{word} {value}"] if type(value) is int and value >= 0 else []


def _find_coordinator(body: dict[str, Any]) -> list[str]:
    return [name] if (name := listed(keys_named(body))) else []


def _coordinators(body: dict[str, Any]) -> list[str]:
    found = [body, *(row for (row,) in parts(body, "coordinators"))]
    return [
        f"node {row['nodeId']} {_text(row.get('host'))}:{row.get('port')}"
        for row in found
        if type(row.get("nodeId")) is int and row["nodeId"] >= 0
    ][:MOST_NAMES]


def _generation(body: dict[str, Any]) -> list[str]:
    return _count(body, "generationId", "generation")


def _joined(body: dict[str, Any]) -> list[str]:
    words = _generation(body)
    member, joined = body.get("memberId"), members(body.get("members"))
    if words and isinstance(member, str) and member and member == body.get("leader"):
        words.append(f"leader of {len(joined)}" if joined else "leader")
    return words


def _leaving(body: dict[str, Any]) -> list[str]:
    reasons = [_text(row.get("reason")) for (row,) in parts(body, "members")]
    return [f'"{reason}"' for reason in dict.fromkeys(reasons) if reason][:1]


def _member_epoch(body: dict[str, Any]) -> list[str]:
    epoch = body.get("memberEpoch")
    if type(epoch) is not int:
        return []
    return ["leaves"] if epoch < 0 else [f"epoch {epoch}"] if epoch else ["joins"]


def _epoch(body: dict[str, Any]) -> list[str]:
    words = _count(body, "memberEpoch", "epoch")
    assignment = body.get("assignment")
    if isinstance(assignment, dict):
        rows = [row for (row,) in parts(assignment, "topicPartitions")]
        words.append(f"assigned {sum(len(members(row.get('partitions'))) for row in rows)} partitions")
    return words


def _producer(body: dict[str, Any]) -> list[str]:
    return _count(body, "producerId", "producer") + _count(body, "producerEpoch", "epoch")


def _ending(body: dict[str, Any]) -> list[str]:
    return [] if not isinstance(body.get("committed"), bool) else ["commit" if body["committed"] else "abort"]


def _mechanism(body: dict[str, Any]) -> list[str]:
    return [text] if (text := _text(body.get("mechanism"))) else []


def _mechanisms(body: dict[str, Any]) -> list[str]:
    names = [name for name in members(body.get("mechanisms")) if isinstance(name, str)]
    return [f"has {listed(names)}"] if body.get("errorCode") and names else []


def _software(body: dict[str, Any]) -> list[str]:
    texts = (_text(body.get("clientSoftwareName")), _text(body.get("clientSoftwareVersion")))
    return [text] if (text := " ".join(texts).strip()) else []


def _brokers(body: dict[str, Any]) -> list[str]:
    count = len(members(body.get("brokers")))
    return [f"{count} broker{'s' if count != 1 else ''}"] if count else []


def _offsets(body: dict[str, Any]) -> list[str]:
    """Return the offset that the first partition of a Produce response gives its batch."""
    for _, partition in parts(body, "responses", "partitionResponses"):
        return _count(partition, "baseOffset", "offset")
    return []


_REQUESTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "ApiVersions": _software,
    "ConsumerGroupHeartbeat": _member_epoch,
    "EndTxn": _ending,
    "FindCoordinator": _find_coordinator,
    "Heartbeat": _generation,
    "LeaveGroup": _leaving,
    "SaslHandshake": _mechanism,
    "ShareGroupHeartbeat": _member_epoch,
    "StreamsGroupHeartbeat": _member_epoch,
    "SyncGroup": _generation,
}
_RESPONSES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "ConsumerGroupHeartbeat": _epoch,
    "DescribeCluster": _brokers,
    "FindCoordinator": _coordinators,
    "InitProducerId": _producer,
    "JoinGroup": _joined,
    "Metadata": _brokers,
    "Produce": _offsets,
    "SaslHandshake": _mechanisms,
    "ShareGroupHeartbeat": _epoch,
    "StreamsGroupHeartbeat": _epoch,
}
