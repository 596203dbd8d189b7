"""Partitions that a broker does not lead, and brokers with one address."""

import pytest
from kit.calls import MadeCall, found, sample_findings


def refused(at, code=6, name="NOT_LEADER_OR_FOLLOWER", leader=2, **call):
    part = {"index": 0, "errorCode": code, "currentLeader": {"leaderId": leader, "leaderEpoch": 4}}
    body = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
    return MadeCall("Produce", {}, body, at=at, errors=[name], **call)


def metadata(*brokers, at=0.0):
    body = {"brokers": [{"nodeId": node, "host": host, "port": port} for node, host, port in brokers], "topics": []}
    return MadeCall("Metadata", {}, body, at=at)


def test_brokers_behind_one_address_are_the_cause_of_a_loop():
    (loop,) = sample_findings("incidents/not-leader.pcap", "LEADERSHIP_LOOP")
    assert loop["severity"] == "warning"
    assert loop["text"] == (
        "127.0.0.1:29092 refused orders-0, orders-2 8 times in 2.4 s: NOT_LEADER_OR_FOLLOWER; it named 2, 3 as leader"
    )


@pytest.mark.parametrize(
    ("pause", "count", "levels"), [(0.1, 4, []), (5.0, 3, []), (1.0, 4, ["warning"]), (1.0, 40, ["error"])]
)
def test_a_client_that_follows_a_new_leader_is_no_loop(pause, count, levels):
    rows = found("LEADERSHIP_LOOP", [refused(pause * step) for step in range(count)])
    assert [severity for severity, *_ in rows] == levels


@pytest.mark.parametrize(("code", "name"), [(74, "FENCED_LEADER_EPOCH"), (75, "UNKNOWN_LEADER_EPOCH")])
def test_epochs(code, name):
    ((_, _, text, _),) = found("LEADERSHIP_LOOP", [refused(step, code, name) for step in range(5)])
    assert name in text


def test_replicas_follow_in_their_own_way():
    calls = [refused(step, who="broker-3-fetcher-0") for step in range(50)]
    assert found("LEADERSHIP_LOOP", calls) == []


def test_several_brokers_share_an_address():
    ((_, subject, text, _),) = found(
        "ALL_BROKERS_ONE_ADDRESS", [metadata((1, "a", 9092), (2, "a", 9092), (3, "b", 9092))]
    )
    assert (subject, text) == (
        "address a:9092",
        "2 of 3 brokers (1, 2) have the address a:9092 in 1 Metadata response",
    )


def test_a_host_with_several_ports_is_several_addresses():
    assert found("ALL_BROKERS_ONE_ADDRESS", [metadata((1, "a", 9092), (2, "a", 9093), (3, "b", 9092))]) == []
