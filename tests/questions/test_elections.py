"""Votes of controllers, and snapshots."""

from kit.calls import MadeCall, first, sample_findings
from kit.rules import found


def vote(at, epoch, node=1, api="Vote", **more):
    part = {"partitionIndex": 0, "replicaEpoch": epoch, "replicaId": node} | more
    return MadeCall(api, {"topics": [{"topicName": "__cluster_metadata", "partitions": [part]}]}, {}, at=at)


def test_an_election_after_a_controller_was_killed():
    row = next(row for row in sample_findings("incidents/election.pcap") if row["code"] == "ELECTIONS")
    assert (row["severity"], row["subject"]) == ("info", "quorum of controllers")
    assert row["text"] == (
        "3 pre-vote requests of controller 1, controller 3; "
        "3 vote requests of controller 1, controller 3 for epoch 3, epoch 4; "
        "controller 3 leads from epoch 4 on; 748 ms from first to last"
    )


def test_elections_again_and_again():
    (row,) = found("ELECTIONS", [vote(step, step) for step in range(4)])
    assert row[:2] == ("warning", "quorum of controllers")


def test_a_leader_that_gives_up():
    part = {"partitionIndex": 0, "leaderId": 2, "leaderEpoch": 7}
    body = {"topics": [{"topicName": "__cluster_metadata", "partitions": [part]}]}
    calls = [MadeCall("EndQuorumEpoch", body, {}, at=0), vote(1, 8, 3, preVote=False), vote(0.5, 7, 3, preVote=True)]
    (row,) = found("ELECTIONS", calls)
    assert row[2] == (
        "1 pre-vote request of controller 3; 1 vote request of controller 3 for epoch 8; controller 2 gave up epoch 7; "
        "1.0 s from first to last"
    )


def test_snapshots():
    calls = [MadeCall("FetchSnapshot", {"replicaId": 3}, {}, at=step) for step in range(2)]
    (row,) = found("METADATA_SNAPSHOTS", calls)
    assert row[:3] == ("info", "node 3", "2 FetchSnapshot requests in 1.0 s")


def test_a_controller_with_a_new_disk():
    code, severity, _, text, frames = first("incidents/metadata-snapshot.pcap")
    assert (code, severity, text) == ("METADATA_SNAPSHOTS", "info", "1 FetchSnapshot request")
    assert len(frames) == 1
