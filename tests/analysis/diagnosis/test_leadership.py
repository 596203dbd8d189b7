"""Partitions that a broker does not lead, and brokers with one address."""

import pytest
from kit.calls import MadeCall, findings, first, sample_findings

from kwire_cli.analysis.diagnosis.leadership import Leadership


def refused(at, code=6, name="NOT_LEADER_OR_FOLLOWER", index=0, leader=2, **call):
    part = {"index": index, "errorCode": code, "currentLeader": {"leaderId": leader, "leaderEpoch": 4}}
    body = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
    return MadeCall("Produce", {}, body, at=at, errors=[name], **call)


def metadata(*brokers, at=0.0):
    body = {"brokers": [{"nodeId": node, "host": host, "port": port} for node, host, port in brokers], "topics": []}
    return MadeCall("Metadata", {}, body, at=at)


def test_brokers_behind_one_address_are_the_cause():
    code, severity, subject, text, frames = first("incidents/not-leader.pcap")
    assert (code, severity, subject) == ("ALL_BROKERS_ONE_ADDRESS", "error", "address 127.0.0.1:29092")
    assert text == "3 of 3 brokers (1, 2, 3) have the address 127.0.0.1:29092 in 4 Metadata responses"
    assert frames == [4, 20, 28, 34]
    loop = sample_findings("incidents/not-leader.pcap")[1]
    assert (loop["code"], loop["severity"]) == ("LEADERSHIP_LOOP", "warning")
    assert loop["text"] == (
        "127.0.0.1:29092 refused orders-0, orders-2 8 times in 2.4 s: NOT_LEADER_OR_FOLLOWER; it named 2, 3 as leaders"
    )


@pytest.mark.parametrize(
    ("pause", "count", "levels"), [(0.1, 4, []), (5.0, 3, []), (1.0, 4, ["warning"]), (1.0, 40, ["error"])]
)
def test_loops(pause, count, levels):
    told = findings(Leadership, [refused(pause * step) for step in range(count)])
    assert [(code, level) for code, level, *_ in told] == [("LEADERSHIP_LOOP", level) for level in levels]


@pytest.mark.parametrize(("code", "name"), [(74, "FENCED_LEADER_EPOCH"), (75, "UNKNOWN_LEADER_EPOCH")])
def test_epochs(code, name):
    (row,) = findings(Leadership, [refused(step, code, name) for step in range(5)])
    assert name in row[3]


def test_replicas_follow_in_their_own_way():
    calls = []
    for step in range(50):
        body = {"responses": [{"topic": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 6}]}]}
        calls.append(MadeCall("Fetch", {"replicaId": 3}, body, at=step, errors=["NOT_LEADER_OR_FOLLOWER"]))
    assert findings(Leadership, calls) == []


def test_addresses_of_their_own_are_well():
    assert findings(Leadership, [metadata((1, "a", 9092), (2, "a", 9093), (3, "b", 9092))]) == []
    assert findings(Leadership, [metadata((1, "a", 9092))]) == []


def test_two_of_three_share_an_address():
    (row,) = findings(Leadership, [metadata((1, "a", 9092), (2, "a", 9092), (3, "b", 9092))])
    assert row[3] == "2 of 3 brokers (1, 2) have the address a:9092 in 1 Metadata response"
