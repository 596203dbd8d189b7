"""Votes of controllers, and snapshots."""

from kit.calls import MadeCall, found


def vote(at, epoch, node=1, api="Vote", **more):
    part = {"partitionIndex": 0, "replicaEpoch": epoch, "replicaId": node} | more
    return MadeCall(api, {"topics": [{"topicName": "__cluster_metadata", "partitions": [part]}]}, {}, at=at)


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
