"""Members of groups: fenced, in each other's way, late to give up partitions, or without an answer to use."""

from kit.calls import MadeCall, found


def member(api, at, *, error=None, name="a", who=None, response=None, **request):
    """Return a call of a member of the group g."""
    body = {"groupId": "g", "memberId": name} | request
    errors = [error] if error else []
    return MadeCall(api, body, response or {}, at=at, errors=errors, who=who or name or "a")


def joined(at, name="a", **request):
    return member("JoinGroup", at, name="", who=name, response={"memberId": name}, sessionTimeoutMs=10_000, **request)


def test_a_member_that_was_accepted_and_is_fenced():
    paused = [member("Heartbeat", at, error="UNKNOWN_MEMBER_ID") for at in (40, 41)]
    assert found("MEMBER_FENCED", [joined(1), member("Heartbeat", 2), *paused]) == [
        (
            "warning", "group g",
            ("a got UNKNOWN_MEMBER_ID 2 times at Heartbeat, 38.0 s after its previous call; "
             "session.timeout.ms is 10.0 s"),
            [6, 8],
        )
    ]  # fmt: skip
    assert found("MEMBER_FENCED", paused) == []


def test_a_client_that_is_not_a_member_cannot_commit():
    outside = {"generationIdOrMemberEpoch": -1, "error": "UNKNOWN_MEMBER_ID"}
    commits = [member("OffsetCommit", at, name="", who="tool", **outside) for at in (2, 3)]
    ((severity, subject, text, _),) = found("MEMBER_FENCED", [joined(1), *commits])
    assert (severity, subject) == ("warning", "group g")
    assert text == "tool, which is not a member, got UNKNOWN_MEMBER_ID 2 times at OffsetCommit"


def test_a_member_that_leaves_too_late_is_not_fenced():
    leaves = member("LeaveGroup", 30, error="UNKNOWN_MEMBER_ID", members=[{"memberId": "a"}])
    heartbeat = member("ConsumerGroupHeartbeat", 31, error="UNKNOWN_MEMBER_ID", memberEpoch=-1)
    assert found("MEMBER_FENCED", [joined(1), leaves, heartbeat]) == []


def test_two_members_with_one_instance():
    fenced = member("Heartbeat", 3, error="FENCED_INSTANCE_ID", groupInstanceId="i")
    calls = [joined(1, groupInstanceId="i"), joined(2, "b", groupInstanceId="i"), fenced]
    text = "group.instance.id i: 1 FENCED_INSTANCE_ID; members with it: a at 10.0.0.1, b at 10.0.0.1"
    assert found("STATIC_MEMBER_CONFLICT", calls) == [("error", "group g", text, [6])]


def test_an_instance_that_has_to_wait_is_a_warning():
    calls = [
        member("ConsumerGroupHeartbeat", 1, instanceId="i", memberEpoch=0),
        member("ConsumerGroupHeartbeat", 2, name="b", instanceId="i", memberEpoch=0, error="UNRELEASED_INSTANCE_ID"),
    ]
    assert [row[0] for row in found("STATIC_MEMBER_CONFLICT", calls)] == ["warning"]
    again = [calls[1]] * 3
    assert [row[0] for row in found("STATIC_MEMBER_CONFLICT", [calls[0], *again])] == ["error"]


def test_a_member_id_that_is_used_or_the_last_thing_in_the_capture():
    given = member("JoinGroup", 1, name="", error="MEMBER_ID_REQUIRED", response={"memberId": "a-1"})
    assert found("MEMBER_ID_UNUSED", [given]) == []
    assert found("MEMBER_ID_UNUSED", [given, member("JoinGroup", 2, name="a-1")]) == []


def test_errors_of_an_ordinary_rebalance():
    assert found("GROUP_SYNC_FAILED", [joined(1), member("SyncGroup", 2, error="REBALANCE_IN_PROGRESS")]) == []


def heartbeat(at, assigned=None, owned=None, epoch=1):
    def topics(partitions):
        return None if partitions is None else [{"topicId": "T", "partitions": partitions}]

    assignment = None if assigned is None else {"topicPartitions": topics(assigned)}
    response = {"memberId": "a", "memberEpoch": epoch, "errorCode": 0, "assignment": assignment}
    request = {"memberEpoch": epoch, "topicPartitions": topics(owned)}
    return member("ConsumerGroupHeartbeat", at, response=response, **request)


def test_partitions_that_are_kept_until_the_end_or_released_at_once():
    first_ones = [heartbeat(0, [0, 1, 2]), heartbeat(1, owned=[0, 1, 2]), heartbeat(2, [0])]
    ((_, _, text, _),) = found("LATE_RELEASE", [*first_ones, *(heartbeat(at) for at in range(3, 9))])
    assert text == (
        "a did not release T-1, T-2 for 6.0 s after the coordinator took them away (member epoch 1), "
        "and still has them after 6.0 s"
    )
    assert found("LATE_RELEASE", [*first_ones, heartbeat(3, owned=[0]), heartbeat(20)]) == []
    assert found("LATE_RELEASE", [*first_ones, heartbeat(3, epoch=-1)]) == []
