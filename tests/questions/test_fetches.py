"""Fetches that bring nothing, wait for more, or begin a session each time."""

import pytest
from kit.calls import fetch, found, sample_findings


@pytest.mark.parametrize(
    ("wait", "took", "size", "levels"),
    [
        (2000, 2.0, 50, ["warning"]),
        (500, 0.5, 50, ["info"]),
        (2000, 0.1, 50, []),  # the bytes were present
        (2000, 2.0, 0, []),  # no records
        (100, 0.1, 50, []),  # a short wait
    ],
)
def test_waits_for_bytes(wait, took, size, levels):
    calls = [
        fetch(3 * step, 10 * step, 10 * step + 10, size=size, took=took, maxWaitMs=wait, minBytes=1000)
        for step in range(4)
    ]
    assert [row[0] for row in found("SLOW_FETCH", calls)] == levels


def test_an_open_transaction_holds_committed_reads_back():
    (row,) = sample_findings("incidents/hanging-transaction.pcap", "EMPTY_FETCHES")
    assert (row["severity"], row["command"]) == ("info", "transactions")
    assert row["text"] == (
        "12 empty answers in 5.9 s at offset 2 of payments-0, whose high watermark is 9: an open transaction holds "
        "the records back: the last stable offset is 2"
    )


@pytest.mark.parametrize(
    ("more", "reason", "level"),
    [
        ({"isolationLevel": 1, "stable": 5}, "an open transaction", "warning"),
        ({"isolationLevel": 0, "stable": 5}, "no transaction, quota or size explains 6", "warning"),
        ({"throttle": 1.0}, "the broker throttles the client, for up to 1.0 s", "info"),
    ],
)
def test_reasons_of_empty_answers(more, reason, level):
    ((severity, _, text, _),) = found("EMPTY_FETCHES", [fetch(3 * step, 5, 9, size=0, **more) for step in range(6)])
    assert severity == level
    assert reason in text


def test_answers_that_other_partitions_fill_up():
    calls = [fetch(step, 5, 9, size=0) for step in range(6)]
    for call in calls:
        busy = {"partitionIndex": 1, "errorCode": 0, "highWatermark": 9, "recordsSizeInBytes": 1 << 20}
        call.response["responses"][0]["partitions"].append(busy)
    ((_, _, text, _),) = found("EMPTY_FETCHES", calls)
    assert "other partitions used up the size of the answers, 1.05 MB" in text


def test_a_replica_nearby_is_no_empty_answer():
    calls = [fetch(step, 5, 9, size=0) for step in range(6)]
    for call in calls:
        call.response["responses"][0]["partitions"][0]["preferredReadReplica"] = 3
    assert found("EMPTY_FETCHES", calls) == []


def test_an_answer_that_was_not_read_is_not_empty():
    calls = [fetch(step, 5, 9, size=0) for step in range(6)]
    for call in calls:
        call.anomalies = ["TRUNCATED"]
    assert found("EMPTY_FETCHES", calls) == []


def test_sessions_that_the_broker_forgot():
    calls = [fetch(step, 5, 5, size=0, sessionId=7, sessionEpoch=step) for step in range(20)]
    for call in calls[::2]:
        call.response["errorCode"] = 70
    ((_, _, text, _),) = found("FETCH_SESSION_CHURN", calls)
    assert text.endswith("10 FETCH_SESSION_ID_NOT_FOUND")


def test_clients_without_sessions_have_no_churn():
    calls = [fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=-1) for step in range(50)]
    calls += [fetch(step, 5, 5, size=0, who="old") for step in range(50)]
    assert found("FETCH_SESSION_CHURN", calls) == []


def test_an_answer_that_a_quota_empties_ends_no_session():
    calls = [fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=0, throttle=1.0) for step in range(50)]
    assert found("FETCH_SESSION_CHURN", calls) == []
    for call in calls:
        call.throttle = 0.0
    assert len(found("FETCH_SESSION_CHURN", calls)) == 1


def test_a_session_for_each_connection_is_no_churn():
    calls = [fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=0, connection=step) for step in range(50)]
    assert found("FETCH_SESSION_CHURN", calls) == []


def test_a_client_that_ignores_its_sessions_is_no_matter_of_the_broker():
    calls = [fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=0) for step in range(20)]
    for number, call in enumerate(calls):
        call.response["sessionId"] = 1000 + number
    assert found("FETCH_SESSION_CHURN", calls) == []
