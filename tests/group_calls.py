"""Calls about groups, made by hand: exchanges of a request log, and records of coordinators."""

import functools

from log_lines import document
from record_sets import batch, record
from state_records import keyed

import kwire_cli as kwire
from kwire_cli.analysis.subjects import LogItem
from kwire_cli.source.request_log.exchange import Reader

KEYS = {
    "Heartbeat": (12, 4),
    "JoinGroup": (11, 9),
    "LeaveGroup": (13, 5),
    "SyncGroup": (14, 5),
    "OffsetCommit": (8, 9),
    "ConsumerGroupHeartbeat": (68, 1),
    "ShareGroupHeartbeat": (76, 1),
    "ShareFetch": (78, 2),
    "ShareAcknowledge": (79, 2),
    "StreamsGroupHeartbeat": (88, 1),
}
"""Keys and versions of apis."""
NOTHING, ORDERS_0, ORDERS_1 = "", "AAAAAAABAAZvcmRlcnMAAAABAAAAAAAAAAA=", "AAAAAAABAAZvcmRlcnMAAAABAAAAAQAAAAA="
"""Assignments of the consumer protocol: nothing, orders-0, orders-1."""


@functools.cache
def reader():
    return Reader(kwire.catalog())


def call(api, second, request, response=None, *, client="c", port=50012):
    """An exchange about the group `g`, answered so many seconds after ten o'clock."""
    key, version = KEYS[api]
    time = f"2026-11-21T10:{int(second) // 60:02}:{second % 60:09.6f}Z"
    body = {"groupId": "g"} | request if isinstance(request, dict) else request
    exchange = document(key, version, client=client, request=body, response=response, port=port, totalTimeMs=1)
    return reader().exchange(exchange, round(second * 10) + 1, time)


def join(second, member, generation, *, leader=None, members=(), **more):
    options = {name: more.pop(name) for name in ("client", "port") if name in more}
    request = {
        "memberId": member,
        "protocolType": "consumer",
        "sessionTimeoutMs": 10_000,
        "rebalanceTimeoutMs": 300_000,
        "protocols": [{"name": "range", "metadata": ""}],
    } | more
    listed = [{"memberId": name} for name in members]
    response = {
        "errorCode": 0,
        "generationId": generation,
        "protocolName": more.get("assignor", "range"),
        "leader": leader or member,
        "memberId": member,
        "members": listed,
    }
    return call("JoinGroup", second, request, response, **{"client": member, **options})


def sync(second, member, generation, assignment=NOTHING, **options):
    request = {"memberId": member, "generationId": generation, "protocolType": "consumer", "assignments": []}
    response = {"errorCode": 0, "protocolType": "consumer", "assignment": assignment}
    return call("SyncGroup", second, request, response, **{"client": member, **options})


def beat(second, member, generation, error=0, **options):
    request = {"memberId": member, "generationId": generation}
    return call("Heartbeat", second, request, {"errorCode": error}, **{"client": member, **options})


def leave(second, member, reason=None, **options):
    request = {"members": [{"memberId": member, "groupInstanceId": None, "reason": reason}]}
    return call("LeaveGroup", second, request, {"errorCode": 0, "members": []}, **{"client": member, **options})


def modern(second, member, epoch, answer, *, error=0, request=None, given=None, **options):
    """A heartbeat in a member epoch, answered with another; `given` is an assignment of topic ids."""
    asked = {"memberId": member, "memberEpoch": epoch} | (request or {})
    assignment = None if given is None else {"topicPartitions": [{"topicId": "A" * 21 + "Q", "partitions": given}]}
    response = {
        "errorCode": error,
        "memberId": member,
        "memberEpoch": answer,
        "heartbeatIntervalMs": 1000,
        "assignment": assignment,
    }
    return call("ConsumerGroupHeartbeat", second, asked, response, **{"client": member, **options})


def logged(topic, offset, second, number, name, key, value, **versions):
    """A batch with a record of a coordinator."""
    return logged_pair(topic, offset, second, keyed(number, name, key, value, **versions))


def logged_pair(topic, offset, second, pair):
    """Return a batch with a record that has these bytes as its key and its value."""
    time = 1_760_000_000_000 + 1000 * second
    data = batch(offset, [record(*pair)], baseTimestamp=time, maxTimestamp=time)
    (item,) = kwire.read_records(data)
    return LogItem(topic, 0, "00000000000000000000.log", item)
