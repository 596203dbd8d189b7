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
    member = {"memberId": "m1", "groupInstanceId": None, "clientId": "c", "clientHost": "/127.0.0.1", "assignment": ""}
    member |= {"rebalanceTimeout": 1, "sessionTimeout": 2, "subscription": "AAAAAAABAAF0/////w=="}
    value = {"protocolType": "consumer", "generation": 2, "protocol": "range", "leader": "m1", "members": [member]}
    state = log().add(keyed(2, "GroupMetadata", {"group": "g"}, value | {"currentStateTimestamp": 5}, version=3))
    [group] = state.rows("groups")
    assert (group["state"], group["generation"], group["leader"]) == ("Stable", 2, "m1")
    assert state.rows("members")[0]["subscription"]["topics"] == ["t"]
    assert state.add(keyed(2, "GroupMetadata", {"group": "g"}, None)).rows("groups") == []


KEY, MEMBER = {"groupId": "g"}, {"groupId": "g", "memberId": "m"}
ABOUT = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h", "rebalanceTimeoutMs": 1}


def consumer_group(state=0, epoch=3, assigned=3, member_epoch=3):
    about = ABOUT | {"subscribedTopicNames": ["t"], "subscribedTopicRegex": "", "serverAssignor": None}
    held = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0]}]
    current = {"memberEpoch": member_epoch, "previousMemberEpoch": 0, "state": state, "assignedPartitions": held}
    expression = {"topics": ["t"], "version": 1, "timestamp": 2}
    records = (
        (5, "MemberMetadata", MEMBER, about),
        (3, "Metadata", KEY, {"epoch": epoch}),
        (6, "TargetAssignmentMetadata", KEY, {"assignmentEpoch": assigned}),
        (7, "TargetAssignmentMember", MEMBER, {"topicPartitions": held}),
        (8, "CurrentMemberAssignment", MEMBER, current | {"partitionsPendingRevocation": []}),
        (16, "RegularExpression", KEY | {"regularExpression": "t.*"}, expression),
    )
    found = log()
    for number, name, key, value in records:
        found.add(keyed(number, f"ConsumerGroup{name}", key, value))
    return found


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
    about = ABOUT | {"topologyEpoch": 0, "processId": "p", "userEndpoint": None, "clientTags": []}
    tasks = [f"{name}Tasks{more}" for name in ("active", "standby", "warmup") for more in ("", "PendingRevocation")]
    current = {name: [] for name in tasks} | {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 1}
    state = log()
    state.add(keyed(19, "StreamsGroupMemberMetadata", MEMBER, about))
    state.add(keyed(17, "StreamsGroupMetadata", KEY, {"epoch": 1, "metadataHash": 0, "validatedTopologyEpoch": 0}))
    state.add(keyed(20, "StreamsGroupTargetAssignmentMetadata", KEY, {"assignmentEpoch": 1}))
    state.add(keyed(22, "StreamsGroupCurrentMemberAssignment", MEMBER, current))
    assert state.rows("groups")[0]["state"] == "NotReady"
    state.add(keyed(23, "StreamsGroupTopology", KEY, {"epoch": 0, "subtopologies": []}))
    assert state.rows("groups")[0]["state"] == "Stable"


def test_a_share_group():
    parts = {"initializingTopics": [], "initializedTopics": [], "deletingTopics": []}
    state = log().add(keyed(11, "ShareGroupMetadata", KEY, {"epoch": 1, "metadataHash": 0}))
    [group] = state.add(keyed(15, "ShareGroupStatePartitionMetadata", KEY, parts)).rows("groups")
    assert (group["type"], group["state"], group["statePartitionMetadata"]) == ("share", "Empty", parts)


def test_what_is_not_known_is_counted():
    state = log().add((b"\0\x63abc", b"\0\0")).add((b"\0", b"")).add((None, b"x")).add((b"\0\1\0", b"\0\3"))
    assert dict(state.state.unknown) == {"99": 1, "none": 2}
    assert (state.rows("groups"), state.state.undecoded) == ([], 1)
