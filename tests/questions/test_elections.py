"""Votes of controllers."""

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
        "1 pre-vote request; 1 vote request of controller 3 in 1 epoch; controller 2 gave up epoch 7; "
        "1.0 s from first to last"
    )
