"""In-sync replicas and leaders over time."""

from kit.calls import MadeCall, findings, first, sample_findings

from kwire_cli.analysis.diagnosis.replicas import Replicas


def metadata(at, isr, leader=1, epoch=0, replicas=(1, 2, 3), index=0):
    part = {"partitionIndex": index, "leaderId": leader, "leaderEpoch": epoch}
    part |= {"isrNodes": [*isr], "replicaNodes": [*replicas]}
    return MadeCall("Metadata", {}, {"topics": [{"name": "orders", "partitions": [part]}]}, at=at)


def test_a_follower_that_stands_still():
    code, severity, subject, text, frames = first("incidents/isr.pcap")
    assert (code, severity, subject) == ("ISR_CHANGES", "warning", "broker 3")
    assert text == ("left the in-sync replicas of orders-0: [1,2,3] became [1,2], and [1,2,3] again 5.6 s later")
    assert frames == [14, 48]


def test_a_restart_moves_a_leader_and_an_election_moves_it_back():
    rows = [row for row in sample_findings("incidents/leader-changes.pcap") if row["code"] == "LEADER_CHANGES"]
    assert [(row["severity"], row["subject"], row["text"]) for row in rows] == [
        ("info", "broker 1", "1 partition (orders-2) went from broker 1 to 3: orders-2 in epoch 2"),
        ("info", "broker 3", "1 partition (orders-2) went from broker 3 to 1: orders-2 in epoch 1"),
    ]
    assert [[place["frame"] for place in row["evidence"]] for row in rows] == [[118], [24]]


def test_replicas_in_sync_are_nothing():
    assert findings(Replicas, [metadata(step, (1, 2, 3)) for step in range(4)]) == []


def test_a_replica_that_is_missing_all_the_time():
    calls = [metadata(step, (1, 2), index=step % 2) for step in range(4)]
    (row,) = findings(Replicas, calls)
    assert row == (
        "ISR_CHANGES", "warning", "broker 3",
        "not in the in-sync replicas of 2 partitions (orders-0, orders-1): orders-0 [1,2]; 2 of them until the end",
    )  # fmt: skip


def test_a_new_replica_is_no_warning():
    (row,) = findings(Replicas, [metadata(0, (1, 2)), metadata(1, (1, 2, 3))])
    assert row[:2] == ("ISR_CHANGES", "info")


def test_a_replica_that_was_moved_away_is_nothing():
    assert findings(Replicas, [metadata(0, (1, 2), replicas=(1, 2)), metadata(1, (2, 3), replicas=(2, 3))]) == []


def test_the_leader_tells_the_controller():
    calls = [metadata(0, (1, 2, 3))]
    for at, isr in ((1, [1, 2]), (3, [1, 2, 3])):
        part = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "isr": isr, "errorCode": 0}
        calls.append(MadeCall("AlterPartition", {}, {"topics": [{"topicName": "orders", "partitions": [part]}]}, at=at))
    (row,) = findings(Replicas, calls)
    assert row[3].endswith("orders-0: [1,2,3] became [1,2], and [1,2,3] again 2.0 s later")


def test_a_broker_whose_partitions_get_new_leaders():
    calls = [metadata(0, (1, 2, 3)), metadata(1, (2, 3), leader=2, epoch=1)]
    assert (
        "LEADER_CHANGES",
        "info",
        "broker 1",
        "1 partition (orders-0) went from broker 1 to 2: orders-0 in epoch 1",
    ) in (findings(Replicas, calls))


def test_leaders_that_move_again_and_again():
    calls = [metadata(step, (1, 2, 3), leader=1 + step % 2, epoch=step) for step in range(5)]
    assert {level for code, level, *_ in findings(Replicas, calls) if code == "LEADER_CHANGES"} == {"warning"}


def test_old_answers_are_no_changes():
    calls = [metadata(0, (1, 2, 3), 2, 5), metadata(1, (1, 2, 3), 1, 4), metadata(2, (1, 2, 3), 2, 5)]
    assert findings(Replicas, calls) == []
