"""Offsets that consumers commit, ask for, lose or never get past."""

import pytest
from kit.calls import MadeCall, first, sample_findings
from kit.rules import commit, fetch, find_offset, found, list_offset


def test_records_deleted_before_they_were_read():
    code, severity, subject, text, frames = first("incidents/offset-out-of-range.pcap")
    assert (code, severity, subject) == ("OFFSET_OUT_OF_RANGE", "error", "client billing")
    assert text == (
        "it asked for offset 10 of orders-0; the log begins at 30 and ends at 40; auto.offset.reset took it to "
        "earliest, the start, offset 30: 20 records never read"
    )
    assert frames == [58, 60]


def test_a_reset_to_latest_skips_records():
    calls = [fetch(0, 50, -1, error=1, size=0), list_offset(1, -1, 900), fetch(2, 900, 900, size=0, start=100)]
    ((severity, _, text, _),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert severity == "error"
    assert text == (
        "it asked for offset 50 of orders-0; the log begins at 100 and ends at 900; auto.offset.reset took it to "
        "latest, the end, offset 900: 850 records never read"
    )


def test_an_offset_beyond_the_end_loses_nothing():
    calls = [fetch(0, 500, -1, error=1), fetch(1, 500, -1, error=1), list_offset(2, -2, 0)]
    ((severity, _, text, frames),) = found("OFFSET_OUT_OF_RANGE", calls)
    assert severity == "warning"
    assert text == (
        "it asked for offset 500 of orders-0 (2 answers with OFFSET_OUT_OF_RANGE); the log begins at 0; "
        "auto.offset.reset took it to earliest, the start, offset 0"
    )
    assert frames == [2, 4, 6]


def test_a_commit_for_each_record():
    code, severity, subject, text, _ = first("incidents/commits.pcap")
    assert (code, severity, subject) == ("COMMITS_TOO_OFTEN", "warning", "client billing of group billing")
    assert text == "80 commits in 2.8 s (29 a second), 1.0 records of orders apart"


@pytest.mark.parametrize(("pause", "count", "findings"), [(1.0, 200, 0), (0.1, 20, 0), (0.1, 60, 1)])
def test_commits_a_second(pause, count, findings):
    calls = [commit(pause * step, 10 * step) for step in range(count)]
    assert len(found("COMMITS_TOO_OFTEN", calls)) == findings


def test_members_of_a_group_commit_each_for_themselves():
    calls = [commit(0.2 * step, step, host=f"10.0.0.{step % 8}") for step in range(200)]
    assert found("COMMITS_TOO_OFTEN", calls) == []


def test_a_record_that_stops_a_group():
    code, severity, subject, text, _ = first("incidents/poison-pill.pcap")
    assert (code, severity, subject) == ("STUCK_AT_OFFSET", "error", "group payments")
    assert text == (
        "client payments-worker read payments-0 from offset 7 5 times in 7.0 s, over 5 connections, got records each "
        "time and committed nothing beyond offset 7"
    )


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
    row = next(
        row for row in sample_findings("incidents/rebalancing-consumer.pcap") if row["code"] == "STUCK_AT_OFFSET"
    )
    assert row["text"].startswith("client worker-2 read payments-3 from offset 0 3 times in 16.0 s")
    assert row["text"].endswith("; likewise payments-2")


def test_a_client_without_a_group_may_read_again():
    assert found("STUCK_AT_OFFSET", [fetch(at, 7, 100) for at in range(4)]) == []


def test_records_that_a_group_skips():
    code, severity, subject, text, frames = first("incidents/offsets-skipped.pcap")
    assert (code, severity, subject) == ("OFFSETS_SKIPPED", "error", "group audit")
    assert text == (
        "it had committed offset 30 of audit-log-0, the log begins at 250, and client audit-writer went on at 250: "
        "220 offsets skipped"
    )
    assert len(frames) == 2


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
