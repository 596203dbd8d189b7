"""Lag of groups and of clients, and its trend."""

from kit.calls import MadeCall, commit, fetch, find_offset, found


def test_lag_that_shrinks_is_no_warning():
    calls = [fetch(step, 100 * step, 1000 + 10 * step) for step in range(9)]
    ((severity, subject, text, _),) = found("LAG", calls)
    assert (severity, subject) == ("info", "client billing")
    assert text == "orders-0: lag shrank from 1,000 to 270 records in 8.0 s: 8.8 a second are added, 100 are done"


def test_lag_that_is_made_up_for_is_nothing():
    assert found("LAG", [fetch(step, 200 * step, 1000) for step in range(6)]) == []


def test_a_consumer_at_the_end_has_no_lag():
    assert found("LAG", [fetch(step, 100 * step, 100 * step + 100) for step in range(20)]) == []


def test_replicas_are_no_consumers():
    calls = [fetch(step, 0, 1000 * step, replicaId=2) for step in range(20)]
    calls += [fetch(step, 0, 1000 * step, replicaId=None, replicaState={"replicaId": 2}) for step in range(20)]
    assert found("LAG", calls) == []


def test_a_group_that_stops_to_commit_lags():
    calls = [call for step in range(8) for call in (fetch(step, 100 * step, 100 * step + 100), commit(step + 0.5, 50))]
    ((_, subject, text, _),) = found("LAG", calls)
    assert subject == "group billing"
    assert "lag grew from 50 to 750 records" in text


def test_a_commit_that_was_found_counts():
    calls = [call for step in range(4) for call in (fetch(step, 100 * step, 100 * step), find_offset(step + 0.5, 5))]
    ((_, subject, text, _),) = found("LAG", [*calls, fetch(9, 900, 900)])
    assert subject == "group billing"
    assert "from 0 to 895" in text


def test_a_client_of_a_group_whose_commits_are_not_seen_is_named_with_it():
    calls = [fetch(step, 10 * step, 100 * step + 100) for step in range(9)]
    calls.append(MadeCall("JoinGroup", {"groupId": "billing"}, {}, at=0))
    assert [row[1] for row in found("LAG", calls)] == ["client billing of group billing"]


def test_two_clusters_with_topics_of_one_name():
    calls = [
        fetch(step, 100 * step, 100 * step + 100 + end, broker=broker, who=who)
        for step in range(20)
        for broker, who, end in (("a:9092", "billing", 0), ("b:9092", "audit", 90_000 * step))
    ]
    assert [row[1] for row in found("LAG", calls)] == ["client audit"]


def test_the_offset_of_a_fetch_session_stands_until_it_changes():
    calls = [fetch(0, 10, 10, size=0, sessionId=0, sessionEpoch=0), fetch(1, 500, 500, sessionId=7, sessionEpoch=1)]
    calls[1].response["responses"] = []
    for step in range(2, 9):
        calls.append(fetch(step, 0, 500 + 100 * step, size=0, sessionId=7, sessionEpoch=step))
        calls[-1].request["topics"] = []
    ((severity, _, text, _),) = found("LAG", calls)
    assert severity == "warning"
    assert "to 800 records" in text
