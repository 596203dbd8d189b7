"""What consumers ask for, get and commit: real incidents, thresholds, hostile bodies."""

import pytest
from kit.calls import MadeCall, findings, first, sample_findings

from kwire_cli.analysis.diagnosis import fetches
from kwire_cli.analysis.diagnosis.consumers import Consumers


def fetch(at, offset, end, *, size=100, error=0, start=0, stable=None, took=0.001, key="orders", **more):
    request = {
        "replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "isolationLevel": 0,
        "topics": [{"topic": key, "partitions": [{"partition": 0, "fetchOffset": offset}]}],
    }  # fmt: skip
    call = {name: more.pop(name) for name in [*more] if name in {"who", "host", "broker", "throttle", "connection"}}
    request |= more
    part = {
        "partitionIndex": 0, "errorCode": error, "highWatermark": end, "logStartOffset": start,
        "recordsSizeInBytes": size, "lastStableOffset": end if stable is None else stable,
    }  # fmt: skip
    response = {"errorCode": 0, "sessionId": 0, "responses": [{"topic": key, "partitions": [part]}]}
    return MadeCall("Fetch", request, response, at=at, took=took, **call)


def commit(at, offset, group="billing", **call):
    partition = {"partitionIndex": 0, "committedOffset": offset}
    body = {"groupId": group, "topics": [{"name": "orders", "partitions": [partition]}]}
    return MadeCall("OffsetCommit", body, {"topics": []}, at=at, **call)


def codes(calls):
    return [code for code, *_ in findings(Consumers, calls)]


def test_growing_lag_of_a_group_is_told_first():
    code, severity, subject, text, frames = first("incidents/lag.pcap")
    assert (code, severity, subject) == ("LAG", "warning", "group click-counters")
    assert text == (
        "clicks-0: lag grew from 16 to 313 records in 12.2 s (+24 a second): 44 a second are added, 20 are done"
    )
    assert frames == [38, 46, 56, 82]


def test_lag_that_shrinks_is_no_warning():
    calls = [fetch(step, 100 * step, 1000 + 10 * step) for step in range(9)]
    text = "orders-0: lag shrank from 1000 to 270 records in 8.0 s (-91 a second): 8.8 a second are added, 100 are done"
    assert findings(Consumers, calls) == [("LAG", "info", "client billing", text)]


def test_lag_that_is_made_up_for_is_nothing():
    assert codes([fetch(step, 200 * step, 1000) for step in range(6)]) == []


def test_a_consumer_at_the_end_has_no_lag():
    calls = [fetch(step, 100 * step, 100 * step + 100) for step in range(20)]
    assert codes(calls) == []


def test_replicas_are_no_consumers():
    calls = [fetch(step, 0, 1000 * step, replicaId=2) for step in range(20)]
    calls += [fetch(step, 0, 1000 * step, replicaId=None, replicaState={"replicaId": 2}) for step in range(20)]
    assert codes(calls) == []


def test_a_group_that_stops_to_commit_lags():
    calls = [call for step in range(8) for call in (fetch(step, 100 * step, 100 * step + 100), commit(step + 0.5, 50))]
    texts = [(subject, text) for code, _, subject, text in findings(Consumers, calls) if code == "LAG"]
    assert [subject for subject, _ in texts] == ["group billing"]
    assert "lag grew from 50 to 750 records" in texts[0][1]


def test_two_clusters_with_topics_of_one_name():
    calls = [
        fetch(step, 100 * step, 100 * step + 100 + end, broker=broker, who=who)
        for step in range(20)
        for broker, who, end in (("a:9092", "billing", 0), ("b:9092", "audit", 90_000 * step))
    ]
    assert [subject for _, _, subject, _ in findings(Consumers, calls)] == ["client audit"]


def test_lag_of_a_fetch_session_whose_request_names_no_partition():
    calls = [fetch(0, 10, 10, size=0, sessionId=0, sessionEpoch=0)]
    for step in range(1, 9):
        call = fetch(step, 0, 10 + 100 * step, size=0, sessionId=7, sessionEpoch=step)
        call.request["topics"] = []
        calls.append(call)
    assert {(code, level) for code, level, *_ in findings(Consumers, calls)} == {
        ("LAG", "warning"), ("EMPTY_FETCHES", "warning"),
    }  # fmt: skip


def test_a_consumer_that_waits_for_bytes_is_slow_by_itself():
    code, severity, subject, text, frames = first("incidents/slow-fetch.pcap")
    assert (code, severity, subject) == ("SLOW_FETCH", "warning", "client warehouse")
    assert text == "2 of 2 fetches waited 2.5 s for 1000000 bytes and brought 589 bytes at most"
    assert frames == [88, 125]


@pytest.mark.parametrize(
    ("wait", "took", "size", "levels"),
    [
        (2000, 2.0, 50, ["warning"]),
        (500, 0.5, 50, ["info"]),
        (2000, 0.1, 50, []),  # enough was there
        (2000, 2.0, 0, []),  # nothing was there
        (100, 0.1, 50, []),  # nobody minds
    ],
)
def test_waits_for_bytes(wait, took, size, levels):
    calls = [
        fetch(3 * step, 10 * step, 10 * step + 10, size=size, took=took, maxWaitMs=wait, minBytes=1000)
        for step in range(4)
    ]
    assert [level for code, level, *_ in findings(Consumers, calls) if code == "SLOW_FETCH"] == levels


def test_an_open_transaction_holds_committed_reads_back():
    rows = {row["code"]: row for row in sample_findings("incidents/hanging-transaction.pcap")}
    row = rows["EMPTY_FETCHES"]
    assert row["severity"] == "info"
    assert row["text"] == (
        "12 empty answers in 5.9 s at offset 2 of payments-0, whose high watermark is 9: an open transaction holds "
        "the records back: the last stable offset is 2"
    )


@pytest.mark.parametrize(
    ("more", "reason", "level"),
    [
        ({"isolationLevel": 1, "stable": 5}, "an open transaction", "warning"),
        ({"isolationLevel": 0, "stable": 5}, "no transaction, quota or size", "warning"),
        ({"throttle": 1.0}, "the broker throttles", "info"),
    ],
)
def test_reasons_of_empty_answers(more, reason, level):
    calls = [fetch(3 * step, 5, 9, size=0, **more) for step in range(6)]
    (row,) = [row for row in findings(Consumers, calls) if row[0] == "EMPTY_FETCHES"]
    assert row[1] == level
    assert reason in row[3]


def test_answers_that_other_partitions_fill_up():
    calls = [fetch(step, 5, 9, size=0) for step in range(6)]
    for call in calls:
        busy = {"partitionIndex": 1, "errorCode": 0, "highWatermark": 9, "recordsSizeInBytes": 1 << 20}
        call.response["responses"][0]["partitions"].append(busy)
    assert "other partitions used up the size" in findings(Consumers, calls)[0][3]


def test_a_replica_nearby_is_no_empty_answer():
    calls = [fetch(step, 5, 9, size=0) for step in range(6)]
    for call in calls:
        call.response["responses"][0]["partitions"][0]["preferredReadReplica"] = 3
    assert codes(calls) == []


def test_records_deleted_before_they_were_read():
    code, severity, subject, text, frames = first("incidents/offset-out-of-range.pcap")
    assert (code, severity, subject) == ("OFFSET_OUT_OF_RANGE", "error", "client billing")
    assert text == (
        "it asked for offset 10 of orders-0; the log begins at 30 and ends at 40; auto.offset.reset took it to "
        "earliest, the start, offset 30: 20 records never read"
    )
    assert frames == [58, 60]


def listed(at, timestamp, offset):
    topics = [{"name": "orders", "partitions": [{"partitionIndex": 0, "timestamp": timestamp}]}]
    answer = [{"name": "orders", "partitions": [{"partitionIndex": 0, "offset": offset}]}]
    return MadeCall("ListOffsets", {"replicaId": -1, "topics": topics}, {"topics": answer}, at=at)


def test_a_reset_to_latest_skips_what_is_left():
    calls = [fetch(0, 50, -1, error=1), listed(1, -1, 900), fetch(2, 900, 900, size=0, start=100)]
    text = (
        "it asked for offset 50 of orders-0; the log begins at 100 and ends at 900; auto.offset.reset took it to "
        "latest, the end, offset 900: 850 records never read"
    )
    assert findings(Consumers, calls) == [("OFFSET_OUT_OF_RANGE", "error", "client billing", text)]


def test_an_offset_beyond_the_end_loses_nothing():
    calls = [fetch(0, 500, -1, error=1), fetch(1, 500, -1, error=1), listed(2, -2, 0)]
    text = (
        "it asked for offset 500 of orders-0 (2 answers with OFFSET_OUT_OF_RANGE); the log begins at 0; "
        "auto.offset.reset took it to earliest, the start, offset 0"
    )
    assert findings(Consumers, calls) == [("OFFSET_OUT_OF_RANGE", "warning", "client billing", text)]


def test_a_commit_for_each_record():
    code, severity, subject, text, _ = first("incidents/commits.pcap")
    assert (code, severity, subject) == ("COMMITS_TOO_OFTEN", "warning", "client billing of group billing")
    assert text == "80 commits in 2.8 s (29 a second), 1.0 records of orders apart"


@pytest.mark.parametrize(
    ("pause", "count", "expected"), [(1.0, 200, []), (0.1, 20, []), (0.1, 60, ["COMMITS_TOO_OFTEN"])]
)
def test_commits_a_second(pause, count, expected):
    assert codes([commit(pause * step, 10 * step) for step in range(count)]) == expected


def test_members_of_a_group_are_told_apart():
    calls = [commit(0.2 * step, step, host=f"10.0.0.{step % 8}") for step in range(200)]
    assert codes(calls) == []


def test_no_room_for_fetch_sessions():
    rows = [row for row in sample_findings("incidents/fetch-sessions.pcap") if row["code"] == "FETCH_SESSION_CHURN"]
    assert [row["subject"] for row in rows] == ["client audit", "client billing"]
    assert rows[0]["text"] == (
        "16 of 17 fetches to 127.0.0.1:29092 in 3.9 s began a new session, with up to 6 partitions each; 16 got "
        "no session: the broker's cache is full"
    )


def test_sessions_that_the_broker_forgot():
    calls = []
    for step in range(20):
        call = fetch(step, 5, 5, size=0, sessionId=7, sessionEpoch=step)
        call.response["errorCode"] = 70 if step % 2 else 0
        calls.append(call)
    (row,) = findings(Consumers, calls)
    assert row[0] == "FETCH_SESSION_CHURN"
    assert row[3].endswith("10 FETCH_SESSION_ID_NOT_FOUND")


def test_a_session_that_the_broker_gave_to_others():
    code, severity, subject, text, frames = first("incidents/fetch-sessions-evicted.pcap")
    assert (code, severity, subject) == ("FETCH_SESSION_CHURN", "warning", "client billing")
    assert text == (
        "20 of 24 fetches to 127.0.0.1:29092 in 8.1 s began a new session, with up to 6 partitions each; "
        "20 got no session: the broker's cache is full; 1 FETCH_SESSION_ID_NOT_FOUND"
    )
    assert frames[:3] == [9, 11, 13]


def test_a_session_that_a_restart_forgot_is_no_churn():
    assert [row["code"] for row in sample_findings("incidents/fetch-sessions-forgotten.pcap")] == ["CONNECTION_REFUSED"]


def test_clients_without_sessions_have_no_churn():
    assert codes([fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=-1) for step in range(50)]) == []
    assert codes([fetch(step, 5, 5, size=0) for step in range(50)]) == []


def test_a_session_for_each_connection_is_no_churn():
    calls = [fetch(step, 5, 5, size=0, sessionId=0, sessionEpoch=0, connection=step) for step in range(50)]
    assert codes(calls) == []


def test_sessions_are_bounded(monkeypatch):
    monkeypatch.setattr(fetches, "MOST_SESSIONS", 4)
    monkeypatch.setattr(fetches, "MOST_OFFSETS", 3)
    kept = fetches.Fetches()
    for step in range(20):
        kept.take(fetch(step, 5, 5, connection=step, key=f"orders-{step}"))
    assert len(kept._sessions) <= 4
    assert kept._count == sum(len(offsets) for offsets in kept._sessions.values()) <= 3


def test_samples_of_long_captures_are_thinned_out():
    rule = Consumers()
    for step in range(5000):
        rule.call(fetch(0.1 * step, step, 2 * step + 1))
    (fetched,) = rule._lag._fetched.values()
    for track in (fetched.positions, fetched.ends):
        assert len(track.samples) <= 257
        assert len(track.places) < 20
    assert fetched.positions.samples[-1][1] == 4999
    ((code, level, _, text),) = [
        (finding.kind.code, finding.level, finding.subject, finding.text) for finding in rule.findings()
    ]
    assert (code, level) == ("LAG", "warning")
    assert "20 a second are added, 10 are done" in text
