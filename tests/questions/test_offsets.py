"""Offsets that consumers commit, ask for, lose or never get past."""

import pytest
from kit.calls import MadeCall, commit, fetch, find_offset, found, list_offset, sample_findings


def test_a_reset_to_latest_skips_records():
    calls = [fetch(0, 50, -1, error=1, size=0), list_offset(1, -1, 900), fetch(2, 900, 900, size=0, start=100)]
    ((severity, _, text, _),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert severity == "error"
    assert text == (
        "it asked for offset 50 of orders-0; the log begins at 100 and ends at 900; auto.offset.reset took it to "
        "latest, the end, offset 900: 850 records never read"
    )


def test_a_log_that_had_the_offset_before_has_changed():
    calls = [fetch(0, 40, 50, start=0), fetch(1, 50, 50, size=0), fetch(9, 50, -1, error=1)]
    ((_, _, text, _),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert text == "it asked for offset 50 of orders-0; the log began at 0 and ended at 50 before"
    calls += [list_offset(10, -1, 90), fetch(11, 90, 90, size=0, start=80)]
    ((severity, _, text, _),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert severity == "error"
    assert "orders-0; the log begins at 80 and ends at 90; auto.offset.reset took it to latest" in text
    assert text.endswith(": 40 records never read")


def test_an_offset_beyond_the_end_loses_nothing():
    calls = [fetch(0, 500, -1, error=1), fetch(1, 500, -1, error=1), list_offset(2, -2, 0)]
    ((severity, _, text, frames),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert severity == "warning"
    assert text == (
        "it asked for offset 500 of orders-0 (2 answers with OFFSET_OUT_OF_RANGE); the log begins at 0; "
        "auto.offset.reset took it to earliest, the start, offset 0"
    )
    assert frames == [2, 4, 6]


@pytest.mark.parametrize(("pause", "count", "findings"), [(1.0, 200, 0), (0.1, 20, 0), (0.1, 60, 1)])
def test_commits_a_second(pause, count, findings):
    calls = [commit(pause * step, 10 * step) for step in range(count)]
    assert len(found("COMMITS_TOO_OFTEN", calls)) == findings


def test_commits_that_are_refused_are_sent_again():
    calls = [commit(0.1 * step, 10) for step in range(60)]
    for call in calls:
        call.errors = ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert found("COMMITS_TOO_OFTEN", calls) == []


def test_members_of_a_group_commit_each_for_themselves():
    calls = [commit(0.2 * step, step, host=f"10.0.0.{step % 8}") for step in range(200)]
    assert found("COMMITS_TOO_OFTEN", calls) == []


def test_a_group_that_never_committed_can_be_stuck():
    calls = [find_offset(0, -1), *(fetch(at, 0, 100) for at in range(4))]
    ((severity, _, text, _),) = found("STUCK_AT_OFFSET", calls)
    assert severity == "warning"
    assert text.endswith("4 times in 3.0 s, over 1 connection, got records each time and committed nothing beyond")


@pytest.mark.parametrize(
    "more",
    [
        [commit(9, 8)],  # its own commit
        [commit(9, 8, who="other")],
        [MadeCall("TxnOffsetCommit", commit(9, 8).request, {"topics": []}, at=9, who="producer")],
    ],
)
def test_a_group_that_gets_past_an_offset(more):
    calls = [find_offset(0, 7), find_offset(0, 7, who="other"), *(fetch(at, 7, 100) for at in range(4))]
    assert len(found("STUCK_AT_OFFSET", calls)) == 1
    assert found("STUCK_AT_OFFSET", [*calls, *more]) == []


def test_a_group_that_is_stuck_at_several_partitions():
    """One finding names all of them."""
    row, *_ = sample_findings("incidents/rebalancing-consumer.pcap", "STUCK_AT_OFFSET")
    assert row["text"].startswith("worker-1, worker-2 read payments-3 from offset 0 4 times in 18.0 s")
    assert "; likewise payments-2 from offset 0; members exceeded" in row["text"]


@pytest.mark.parametrize(
    ("clients", "hosts", "words"),
    [
        (["billing"], ["10.0.0.1", "10.0.0.2"], "billing read orders-0 from offset 7 6 times in 5.0 s, over 2 conn"),
        (["a", "b", "c"], ["10.0.0.1"], "a, b, c read orders-0 from offset 7 6 times in 5.0 s, over 1 connection, "),
    ],
)
def test_a_group_is_stuck_once_over_all_its_members_hosts_and_connections(clients, hosts, words):
    who = [{"who": clients[at % len(clients)], "host": hosts[at % len(hosts)]} for at in range(6)]
    calls = [find_offset(0, 7, **one) for one in who]
    calls += [fetch(at, 7, 100, **one) for at, one in enumerate(who)]
    ((_, subject, text, _),) = found("STUCK_AT_OFFSET", calls)
    assert subject == "group billing"
    assert text.startswith(words)


def test_a_client_without_a_group_may_read_again():
    assert found("STUCK_AT_OFFSET", [fetch(at, 7, 100) for at in range(4)]) == []


def test_a_consumer_that_seeks_skips_nothing_that_was_lost():
    assert found("OFFSETS_SKIPPED", [find_offset(0, 30), fetch(1, 250, 300, start=10)]) == []
    assert found("OFFSETS_SKIPPED", [find_offset(0, 30), fetch(1, 30, 300, start=10)]) == []


def test_an_offset_that_the_broker_refuses_is_not_skipped_in_silence():
    calls = [
        find_offset(0, 30),
        fetch(1, 30, -1, error=1, size=0),
        list_offset(2, -2, 250),
        fetch(3, 250, 300, start=250),
    ]
    assert found("OFFSETS_SKIPPED", calls) == []
    assert len(found("OFFSET_OUT_OF_RANGE", calls)) == 1


def test_a_group_that_works_too_long_is_no_poison_pill():
    codes = ("GROUP_REBALANCE_LOOP", "STUCK_AT_OFFSET", "MEMBER_FENCED")
    loop, stuck, fenced = sample_findings("incidents/slow-polls.pcap", *codes)
    assert stuck["text"].endswith("; members exceeded max.poll.interval.ms 3 times")
    assert "need not be at fault" in stuck["meaning"]
    assert fenced["text"] == "rd, which has left the group, got UNKNOWN_MEMBER_ID 5 times at OffsetCommit"
    assert loop["text"] == "formed 5 times in 25.7 s: rd exceeded max.poll.interval.ms 3 times (3.0 s)"


def test_a_consumer_without_an_offset_stops():
    (row,) = sample_findings("incidents/no-offset.pcap", "NO_OFFSET")
    assert row["subject"] == "group g-py"
    assert "no committed offset of orders-0, orders-1" in row["text"]


def test_a_consumer_that_asks_in_vain_where_to_begin_has_a_reset_policy():
    member = {"groupId": "billing", "memberId": "m"}
    topic = {"name": "orders", "partitions": [{"partitionIndex": 0, "committedOffset": -1}]}
    part = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1], "isrNodes": [1]}
    calls = [
        MadeCall("Metadata", {}, {"brokers": [], "topics": [{"name": "orders", "partitions": [part]}]}, node=1),
        MadeCall("JoinGroup", member, member, node=1),
        MadeCall("OffsetFetch", member, {"groups": [{"groupId": "billing", "topics": [topic]}]}, at=1, node=1),
        MadeCall("LeaveGroup", {"groupId": "billing", "members": [{"memberId": "m"}]}, {}, at=2, node=1),
    ]
    assert [row[1] for row in found("NO_OFFSET", calls)] == ["group billing"]
    assert found("NO_OFFSET", [*calls, MadeCall("ListOffsets", at=1.5, node=1)]) == []
