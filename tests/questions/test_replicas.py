"""In-sync replicas and leaders over time."""

from kit.calls import MadeCall, found


def metadata(at, isr, leader=1, epoch=0, replicas=(1, 2, 3), index=0, cluster="c1"):
    part = {"partitionIndex": index, "leaderId": leader, "leaderEpoch": epoch}
    part |= {"isrNodes": [*isr], "replicaNodes": [*replicas]}
    topics = [{"name": "orders", "partitions": [part]}]
    brokers = [{"nodeId": 1, "host": "10.0.0.9", "port": 9092}]
    return MadeCall("Metadata", {}, {"clusterId": cluster, "brokers": brokers, "topics": topics}, at=at)


def changes(calls):
    """Return the severity, subject and text of findings of both rules."""
    return [row[:3] for code in ("ISR_CHANGES", "LEADER_CHANGES") for row in found(code, calls)]


def test_replicas_in_sync_are_nothing():
    assert changes([metadata(step, (1, 2, 3)) for step in range(4)]) == []


def test_a_replica_that_is_missing_all_the_time():
    calls = [metadata(step, (1, 2), index=step % 2) for step in range(3)]
    text = (
        "not in the in-sync replicas of orders-0, orders-1: orders-0 [1,2]; 1 partition still out of sync when last "
        "named; 1 partition not named again"
    )
    assert changes(calls) == [("warning", "broker 3", text)]


def test_a_new_replica_is_no_warning():
    ((severity, _, text),) = changes([metadata(0, (1, 2)), metadata(1, (1, 2, 3))])
    assert (severity, text) == (
        "info",
        "not in the in-sync replicas of orders-0: [1,2], then [1,2,3] 1.0 s later",
    )


def test_a_replica_that_is_added_is_no_warning():
    """It is of no partition before, and in sync after a while."""
    calls = [metadata(0, (1, 2), replicas=(1, 2)), metadata(1, (1, 2)), metadata(4, (1, 2, 3))]
    assert changes(calls) == [
        ("info", "broker 3", "not in the in-sync replicas of orders-0: [1,2], then [1,2,3] 3.0 s later")
    ]


def test_a_replica_that_was_moved_away_is_nothing():
    assert changes([metadata(0, (1, 2), replicas=(1, 2)), metadata(1, (2, 3), replicas=(2, 3), leader=2)]) == []


def test_what_leaders_and_controllers_say_of_partitions():
    """AlterPartition and DescribeTopicPartitions do not name the cluster."""
    part = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "errorCode": 0}
    altered = {"topics": [{"topicName": "orders", "partitions": [part | {"isr": [1, 2]}]}]}
    refused = {"topics": [{"topicName": "orders", "partitions": [part | {"isr": [], "leaderId": 0}]}]}
    listed = {"topics": [{"name": "orders", "partitions": [part | {"isrNodes": [3, 2, 1], "replicaNodes": [1, 2, 3]}]}]}
    calls = [
        metadata(0, (1, 2, 3)),
        MadeCall("AlterPartition", {}, altered, at=1, broker="10.0.0.8:9093"),
        MadeCall("AlterPartition", {}, refused, at=2, broker="10.0.0.8:9093"),
        MadeCall("DescribeTopicPartitions", {}, listed, at=3),
    ]
    ((_, _, text),) = changes(calls)
    assert text.endswith("orders-0: [1,2,3] became [1,2], then [1,2,3] 2.0 s later")


def test_a_broker_whose_partitions_get_new_leaders():
    calls = [metadata(0, (1, 2, 3)), metadata(1, (1, 2, 3), leader=2, epoch=1)]
    text = "1 partition (orders-0) went from broker 1 to 2: orders-0 in epoch 1"
    assert changes(calls) == [("info", "broker 1", text)]


def test_leaders_that_move_again_and_again():
    calls = [metadata(step, (1, 2, 3), leader=1 + step % 2, epoch=step) for step in range(5)]
    assert [row[0] for row in changes(calls)] == ["warning", "warning"]


def test_old_answers_are_no_changes():
    assert changes([metadata(0, (1, 2, 3), 2, 5), metadata(1, (1, 2), 1, 4), metadata(2, (1, 2, 3), 2, 5)]) == []


def test_two_clusters_have_partitions_of_their_own():
    """Nor does a leader change within an epoch, if the same name stands for two clusters."""
    assert changes([metadata(0, (1,), 1, 4, (1,)), metadata(1, (2,), 2, 6, (2,), cluster="c2")]) == []
    assert changes([metadata(0, (1,), 1, 4, (1,)), metadata(1, (2,), 2, 4, (2,))]) == []


def leaderless(at, leader=-1, replicas=(2,)):
    call = metadata(at, (), leader, replicas=replicas)
    call.errors = [] if leader >= 0 else ["LEADER_NOT_AVAILABLE"]
    return call


def test_a_partition_without_a_leader_waits_for_a_broker():
    ((severity, subject, text, _),) = found("NO_LEADER", [leaderless(second) for second in (0, 2, 5)])
    assert (severity, subject) == ("error", "topic orders")
    assert text == (
        "1 partition without a leader for 5.0 s: orders-0; Metadata does not name broker 2, which has replicas; "
        "billing got 3 answers"
    )
    ((_, _, text, _),) = found("NO_LEADER", [leaderless(second, replicas=(1,)) for second in (0, 5)])
    assert "; the replicas are on broker 1; " in text


def test_a_partition_that_gets_a_leader_soon_is_nothing():
    assert found("NO_LEADER", [leaderless(0), leaderless(1), leaderless(2, leader=1), leaderless(9)]) == []
    ((severity, _, text, _),) = found("NO_LEADER", [leaderless(0), leaderless(5), leaderless(7, leader=1)])
    assert severity == "warning"
    assert "for 7.0 s" in text
    assert "; a leader was named afterwards; " in text
