"""Coordinators that are not found."""

import pytest
from kit.calls import MadeCall, exchanges, found_by_each, rows, sample_findings

CODES = ("COORDINATOR_UNAVAILABLE",)


def lost(at, api="FindCoordinator", error="COORDINATOR_NOT_AVAILABLE", **request):
    return MadeCall(api, request or {"coordinatorKeys": ["billing"]}, {}, at=at, errors=[error])


def both(calls):
    """Return the code, the severity and the text of findings of both rules."""
    return [(code, row[0], row[2]) for code, rows in found_by_each(CODES, calls).items() for row in rows]


@pytest.mark.parametrize(
    ("pause", "expected"),
    [
        (0.1, ("COORDINATOR_UNAVAILABLE", "info")),
        (1.0, ("COORDINATOR_UNAVAILABLE", "warning")),
        (10.0, ("COORDINATOR_UNAVAILABLE", "error")),
    ],
)
def test_loops(pause, expected):
    assert [row[:2] for row in both([lost(pause * step) for step in range(5)])] == [expected]


@pytest.mark.parametrize(("api", "field"), [("JoinGroup", "groupId"), ("FindCoordinator", "key")])
def test_a_coordinator_that_came_late(api, field):
    calls = [lost(step * 10) for step in range(5)]
    calls.append(MadeCall(api, {field: "billing"}, {"errorCode": 0}, at=50))
    assert both(calls) == [
        (
            "COORDINATOR_UNAVAILABLE", "warning",
            (
                "5 answers (FindCoordinator) for billing in 40.0 s: COORDINATOR_NOT_AVAILABLE; "
                "the coordinator answered afterwards"
            ),
        )
    ]  # fmt: skip


def test_a_coordinator_that_is_found_and_is_none():
    """What FindCoordinator answers is not the end of a wait for something else."""
    calls = []
    for step in range(5):
        calls.append(MadeCall("FindCoordinator", {"key": "billing"}, {"errorCode": 0}, at=step))
        calls.append(lost(step + 0.5, "JoinGroup", "NOT_COORDINATOR", groupId="billing"))
    (row,) = both(calls)
    assert row[2] == "5 answers (JoinGroup) for billing in 4.0 s: NOT_COORDINATOR"


def test_a_coordinator_that_cannot_write():
    """The broker answers SyncGroup after offsets.commit.timeout.ms, as too few replicas are in sync."""
    sync = MadeCall("SyncGroup", {"groupId": "billing"}, {}, took=5.0, errors=["COORDINATOR_NOT_AVAILABLE"])
    assert [row[0] for row in both([sync])] == ["COORDINATOR_UNAVAILABLE"]
    commits = [lost(step / 10, "OffsetCommit", groupId="billing") for step in range(3)]
    assert [row[0] for row in both(commits)] == ["COORDINATOR_UNAVAILABLE"]
    assert [row[0] for row in both(commits[:2])] == ["COORDINATOR_UNAVAILABLE"]


def test_the_coordinator_of_a_transaction_has_another_topic():
    for key_type, topic in ((0, "__consumer_offsets"), (1, "__transaction_state")):
        request = {"keyType": key_type, "coordinatorKeys": ["t"]}
        answer = {"coordinators": [{"key": "t", "errorCode": 15}]}
        calls = exchanges(*(("FindCoordinator", 4, request, answer, second) for second in range(5)))
        (row,) = rows(calls, CODES)
        assert (row["code"], f"--topic {topic}:" in row["advice"]) == ("COORDINATOR_UNAVAILABLE", True)


def test_short_waits_do_not_add_up():
    calls = []
    for step in range(0, 60, 20):
        calls += [lost(step + more, "Heartbeat", "NOT_COORDINATOR", groupId="billing") for more in (0, 0.2)]
        calls.append(MadeCall("Heartbeat", {"groupId": "billing"}, {"errorCode": 0}, at=step + 1))
    (row,) = both(calls)
    assert row == (
        "COORDINATOR_UNAVAILABLE", "info",
        (
            "6 answers (Heartbeat) for billing in 200 ms, the longest of 3 waits: NOT_COORDINATOR; "
            "the coordinator answered afterwards"
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("api", "request_"),
    [
        ("FindCoordinator", {"key": "billing"}),
        ("OffsetFetch", {"groupId": "billing"}),
        ("InitProducerId", {"transactionalId": "billing"}),
        ("TxnOffsetCommit", {"groupId": "billing", "transactionalId": "tx"}),
        ("AddOffsetsToTxn", {"groupId": "shop", "transactionalId": "billing"}),
    ],
)
def test_names_of_groups_and_transactional_ids(api, request_):
    calls = [lost(step, api, "NOT_COORDINATOR", **request_) for step in range(5)]
    assert [row[2] for row in both(calls)] == [f"5 answers ({api}) for billing in 4.0 s: NOT_COORDINATOR"]


def test_a_producer_without_a_transactional_id_has_no_coordinator():
    calls = [lost(step, "InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS", transactionTimeoutMs=1) for step in range(5)]
    assert both(calls) == []


def test_the_first_request_of_a_new_cluster():
    (row,) = sample_findings("incidents/strimzi-broker.log", *CODES)
    assert (row["code"], row["severity"], row["subject"]) == ("COORDINATOR_UNAVAILABLE", "info", "client packing")
    assert row["text"] == (
        "1 answer (FindCoordinator) for packing: COORDINATOR_NOT_AVAILABLE; the coordinator answered afterwards"
    )


def test_a_request_log_names_groups_too():
    beat = {"groupId": "billing", "generationId": 1, "memberId": "m"}
    (row,) = rows(exchanges(("Heartbeat", 0, beat, {"errorCode": 16}, 1)), CODES)
    assert (row["code"], row["text"]) == (
        "COORDINATOR_UNAVAILABLE",
        "1 answer (Heartbeat) for billing: NOT_COORDINATOR",
    )
