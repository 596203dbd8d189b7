from kit.logs import COMMIT, Log, keyed

PLACE = {"group": "g", "topic": "t", "partition": 0}


def commit(offset, partition=0, **more):
    value = {"offset": offset, "leaderEpoch": 3, "metadata": "m", "commitTimestamp": 1_760_000_000_000}
    return keyed(1, "OffsetCommit", PLACE | {"partition": partition}, value | more, version=3, key_version=0)


def gone(partition=0):
    return keyed(1, "OffsetCommit", PLACE | {"partition": partition}, None)


def log():
    return Log("__consumer_offsets")


def offsets(log, table="offsets"):
    return {(row["topic"], row["partition"]): row["offset"] for row in log.rows(table)}


def test_the_newest_commit_counts_and_a_tombstone_removes_it():
    state = log().add(commit(5)).add(commit(7, partition=1)).add(commit(6))
    assert offsets(state) == {("t", 0): 6, ("t", 1): 7}
    assert offsets(state.add(gone(1)).add(gone(9))) == {("t", 0): 6}
    [group] = state.rows("groups")
    assert state.rows("offsets")[0]["recordOffset"] == 2
    assert (group["type"], group["state"]) == ("classic", "Empty")  # what Kafka makes for offsets alone


def test_offsets_of_a_transaction_count_once_it_is_committed():
    state = log().add(commit(5)).add(commit(9), producer=4).add(commit(11, partition=1), producer=4)
    assert offsets(state) == {("t", 0): 5}
    assert offsets(state, "pendingOffsets") == {("t", 0): 9, ("t", 1): 11}
    assert offsets(state.end(4, COMMIT)) == {("t", 0): 9, ("t", 1): 11}
    assert offsets(state, "pendingOffsets") == {}


def test_a_later_commit_outside_the_transaction_stands():
    # OffsetMetadataManager.replayEndTransactionMarker compares the offsets of the records.
    state = log().add(commit(9), producer=4).add(commit(2)).end(4, COMMIT)
    assert offsets(state) == {("t", 0): 2}


def test_a_tombstone_takes_pending_offsets_with_it():
    state = log().add(commit(9), producer=4).add(gone()).end(4, COMMIT)
    assert offsets(state) == {}


def test_the_first_key_version_means_the_same_partition():
    old = keyed(0, "LegacyOffsetCommit", PLACE, {"offset": 3, "metadata": "", "commitTimestamp": 1})
    assert offsets(log().add(old)) == {("t", 0): 3}
    assert offsets(log().add(old).add(commit(8))) == {("t", 0): 8}


def test_a_classic_group_with_its_members():
    member = {
        "memberId": "m1",
        "groupInstanceId": None,
        "clientId": "c",
        "clientHost": "/127.0.0.1",
        "rebalanceTimeout": 1,
        "sessionTimeout": 2,
        "subscription": "AAAAAAABAAF0/////w==",
        "assignment": "",
    }
    value = {
        "protocolType": "consumer",
        "generation": 2,
        "protocol": "range",
        "leader": "m1",
        "currentStateTimestamp": 5,
        "members": [member],
    }
    state = log().add(keyed(2, "GroupMetadata", {"group": "g"}, value, version=3))
    [group] = state.rows("groups")
    assert (group["state"], group["generation"], group["leader"]) == ("Stable", 2, "m1")
    assert state.rows("members")[0]["subscription"]["topics"] == ["t"]
    assert state.add(keyed(2, "GroupMetadata", {"group": "g"}, None)).rows("groups") == []


def consumer_group(state=0, epoch=3, assigned=3, member_epoch=3):
    key, member = {"groupId": "g"}, {"groupId": "g", "memberId": "m"}
    metadata = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "subscribedTopicNames": ["t"],
        "subscribedTopicRegex": "",
        "rebalanceTimeoutMs": 1,
        "serverAssignor": None,
    }
    held = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0]}]
    current = {
        "memberEpoch": member_epoch,
        "previousMemberEpoch": 0,
        "state": state,
        "assignedPartitions": held,
        "partitionsPendingRevocation": [],
    }
    return (
        log()
        .add(keyed(5, "ConsumerGroupMemberMetadata", member, metadata))
        .add(keyed(3, "ConsumerGroupMetadata", key, {"epoch": epoch}))
        .add(keyed(6, "ConsumerGroupTargetAssignmentMetadata", key, {"assignmentEpoch": assigned}))
        .add(keyed(7, "ConsumerGroupTargetAssignmentMember", member, {"topicPartitions": held}))
        .add(keyed(8, "ConsumerGroupCurrentMemberAssignment", member, current))
        .add(
            keyed(
                16,
                "ConsumerGroupRegularExpression",
                key | {"regularExpression": "t.*"},
                {"topics": ["t"], "version": 1, "timestamp": 2},
            )
        )
    )


def test_a_consumer_group_and_its_states():
    state = consumer_group()
    [group] = state.rows("groups")
    assert (group["type"], group["state"], group["epoch"], group["assignmentEpoch"]) == ("consumer", "Stable", 3, 3)
    [member] = state.rows("members")
    assert (member["clientId"], member["state"]) == ("c", "STABLE")
    assert member["targetAssignment"]["topicPartitions"] == member["currentAssignment"]["assignedPartitions"]
    assert group["regularExpressions"][0]["topics"] == ["t"]
    assert consumer_group(assigned=2, member_epoch=2).rows("groups")[0]["state"] == "Assigning"
    assert consumer_group(member_epoch=2).rows("groups")[0]["state"] == "Reconciling"
    assert consumer_group(state=1).rows("groups")[0]["state"] == "Reconciling"


def test_a_streams_group_is_not_ready_without_its_topology():
    key, member = {"groupId": "s"}, {"groupId": "s", "memberId": "m"}
    who = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "rebalanceTimeoutMs": 1,
        "topologyEpoch": 0,
        "processId": "p",
        "userEndpoint": None,
        "clientTags": [],
    }
    tasks: dict[str, list[int]] = {name: [] for name in ("activeTasks", "standbyTasks", "warmupTasks")}
    current = (
        tasks
        | {f"{name}PendingRevocation": [] for name in tasks}
        | {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 1}
    )
    state = (
        Log("__consumer_offsets")
        .add(keyed(19, "StreamsGroupMemberMetadata", member, who))
        .add(keyed(17, "StreamsGroupMetadata", key, {"epoch": 1, "metadataHash": 0, "validatedTopologyEpoch": 0}))
        .add(keyed(20, "StreamsGroupTargetAssignmentMetadata", key, {"assignmentEpoch": 1}))
        .add(keyed(22, "StreamsGroupCurrentMemberAssignment", member, current))
    )
    assert state.rows("groups")[0]["state"] == "NotReady"
    state.add(keyed(23, "StreamsGroupTopology", key, {"epoch": 0, "subtopologies": []}))
    assert state.rows("groups")[0]["state"] == "Stable"


def test_a_share_group():
    key = {"groupId": "s"}
    parts = {"initializingTopics": [], "initializedTopics": [], "deletingTopics": []}
    state = (
        log()
        .add(keyed(11, "ShareGroupMetadata", key, {"epoch": 1, "metadataHash": 0}))
        .add(keyed(15, "ShareGroupStatePartitionMetadata", key, parts))
    )
    [group] = state.rows("groups")
    assert (group["type"], group["state"], group["statePartitions"]) == ("share", "Empty", parts)


def test_what_is_not_known_is_counted():
    state = log().add((b"\0\x63abc", b"\0\0")).add((b"\0", b"")).add((None, b"x")).add((b"\0\1\0", b"\0\3"))
    assert dict(state.state.unknown) == {"99": 1, "none": 2}
    assert (state.rows("groups"), state.state.undecoded) == ([], 1)
