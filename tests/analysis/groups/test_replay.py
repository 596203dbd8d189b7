"""Timelines of groups: of calls made by hand where no capture has the case, and of records of coordinators."""

from dataclasses import replace

import pytest
from kit.calls import (
    CATALOG,
    INCIDENTS,
    NOTHING,
    ORDERS_0,
    ORDERS_1,
    asked,
    beat,
    call,
    generation,
    join,
    leave,
    logged,
    logged_pair,
    modern,
    subjects,
    sync,
)
from kit.commands import slow
from kit.logs import framed, keyed
from kit.messages import ID, body_of

from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.groups.groups import EVENTS, Groups
from kwire_cli.analysis.groups.replay import REPLAYED, GroupReplay
from kwire_cli.message.redaction import Redaction
from kwire_cli.view.terminal import answer_text


def groups_of(subjects):
    return asked(Groups(Redaction(CATALOG)), subjects)


class KeptTimelines(GroupReplay):
    def timelines(self):
        self.kept = super().timelines()
        return self.kept


def timeline_of(*subjects):
    replay = KeptTimelines()
    replayed = replace(REPLAYED, begin=lambda: replay)
    asked(TableFold(Redaction(CATALOG), {"any": "select * from rebalances"}, [replayed]), subjects).finish()
    (timeline,) = replay.kept
    return timeline


def assigned(timeline):
    return [event for event in timeline.events if event.kind == "assignment"]


def kinds(timeline, *wanted):
    return [(event.kind, event.member) for event in timeline.events if event.kind in wanted]


def test_a_member_that_is_silent_for_its_session_timeout_was_removed():
    timeline = timeline_of(
        *generation(1, 1, a=ORDERS_0, b=ORDERS_1),
        beat(2, "a", 1),
        beat(2, "b", 1),
        beat(12.5, "a", 1, error=27),
        join(12.6, "a", 2, members=["a"], reason="group is already rebalancing"),
        sync(12.7, "a", 2, ORDERS_0),
    )
    (trigger,) = timeline.rebalances[-1].all_triggers
    assert (trigger.cause, trigger.member) == ("session", "b")
    assert "session.timeout.ms is 10.0 s" in trigger.text
    assert timeline.rebalances[-1].moved == {("orders", 1)}
    assert timeline.members["b"].ending.startswith("removed without leaving")


def test_a_member_that_heartbeats_and_does_not_rejoin_exceeds_its_poll_interval():
    timeline = timeline_of(
        *generation(1, 1, a=ORDERS_0, b=ORDERS_1),
        beat(3, "a", 1, error=27),
        *generation(3.1, 2, a=ORDERS_0),
        beat(3.5, "b", 1, error=27),
    )
    assert [trigger.cause for trigger in timeline.rebalances[-1].all_triggers] == ["poll"]


def test_a_member_that_joins_by_itself_is_the_trigger():
    timeline = timeline_of(
        *generation(1, 1, a=ORDERS_0),
        join(5, "a", 2, members=["a"], reason="cached metadata has changed"),
        sync(5.1, "a", 2, ORDERS_0),
    )
    (rebalance,) = timeline.rebalances[1:]
    assert rebalance.all_triggers[0].text == "joins again: cached metadata has changed"
    assert rebalance.is_unchanged
    assert ("rejoin", "a") in kinds(timeline, "rejoin")


def test_cooperative_members_keep_their_partitions():
    more = {"assignor": "cooperative-sticky"}
    timeline = timeline_of(*generation(1, 1, 3, more, a=ORDERS_0), *generation(10, 2, 3, more, a=ORDERS_0))
    assert timeline.rebalances[-1].away == {}
    assert timeline.members["a"].without_s == pytest.approx(3.0, abs=0.01)


# ConsumerProtocolSubscription 1 for orders: a member that owns orders-0, and one that owns nothing (KIP-429).
OWNS_0 = "AAEAAAABAAZvcmRlcnP/////AAAAAQAGb3JkZXJzAAAAAQAAAAA="
OWNS_NOTHING = "AAEAAAABAAZvcmRlcnP/////AAAAAA=="


def says(name, metadata):
    return {"protocols": [{"name": name, "metadata": metadata}]}


@pytest.mark.parametrize(("metadata", "away"), [(OWNS_0, {}), (OWNS_NOTHING, {"a": 3.0})])
def test_a_member_that_says_what_it_owns_has_it_meanwhile_whatever_the_assignor(metadata, away):
    more = {"assignor": "stream"}
    timeline = timeline_of(
        *generation(1, 1, 1, more, a=ORDERS_0),
        *generation(10, 2, 3, more | says("stream", metadata), a=ORDERS_0),
    )
    rebalance = timeline.rebalances[-1]
    assert rebalance.away == pytest.approx(away, abs=0.01)
    assert rebalance.stopped_s == pytest.approx(sum(away.values()), abs=0.01)
    assert timeline.members["a"].without_s == pytest.approx(1 + sum(away.values()), abs=0.01)


def test_a_member_that_waits_over_two_rebalances_is_without_partitions_in_between():
    more = {"assignor": "cooperative-sticky"}
    timeline = timeline_of(
        *generation(1, 1, 1, more, a=ORDERS_0, b=NOTHING),
        *generation(5, 2, 1, more, a=ORDERS_0, b=ORDERS_1),
    )
    assert timeline.members["a"].without_s == pytest.approx(1.0, abs=0.01)
    assert timeline.members["b"].without_s == pytest.approx(5.0, abs=0.01)


def test_a_group_that_forms_again_takes_as_long_as_its_joins_and_was_empty_in_between():
    timeline = timeline_of(
        *generation(1, 1, 0.5, a=ORDERS_0),
        leave(5, "a"),
        *generation(60, 3, 0.5, b=ORDERS_0),
    )
    first, second = timeline.rebalances
    assert (second.is_forming, second.generation_before, second.generation) == (True, 2, 3)
    assert second.seconds == pytest.approx(first.seconds) == pytest.approx(0.5, abs=0.01)
    (empty,) = [event for event in timeline.events if event.kind == "empty"]
    assert (empty.generation, empty.detail) == (2, "the group is empty")
    assert empty.time == pytest.approx(timeline.members["a"].ended)


def test_a_rebalance_that_begins_again_before_it_is_over_is_one():
    refused = call("SyncGroup", 5, {"memberId": "a", "generationId": 2}, {"errorCode": 27}, client="a")
    timeline = timeline_of(
        *generation(1, 1, 0.5, a=ORDERS_0),
        join(4, "a", 2, members=["a"]),
        refused,
        *generation(7, 3, 1, a=ORDERS_0, b=ORDERS_1),
    )
    rebalance = timeline.rebalances[-1]
    assert len(timeline.rebalances) == 2
    assert (rebalance.generation_before, rebalance.generation) == (1, 3)
    assert rebalance.seconds == rebalance.away["a"] == pytest.approx(4.0, abs=0.01)
    assert rebalance.moved == {("orders", 1)}


def test_nobody_has_partitions_from_the_last_join_to_the_first_assignment():
    calls = [
        beat(1, "a", 1),
        join(2, "b", 2, leader="a"),
        join(5, "a", 2, members=["a", "b"]),
        sync(9, "a", 2, ORDERS_0),
        sync(9.5, "b", 2, ORDERS_1),
    ]
    (rebalance,) = timeline_of(*calls).rebalances
    assert rebalance.stopped_s == rebalance.away["a"] == pytest.approx(4.0, abs=0.01)
    assert rebalance.moved is None
    text = answer_text(groups_of(calls).answer(), 200)
    assert "rebalanced in 7.5 s: 2 members, nobody had partitions for 4.0 s" in text


def test_some_member_has_partitions_while_one_keeps_them_or_has_not_left():
    def second_generation(*calls, **more):
        return timeline_of(
            *generation(1, 1, 1, a=ORDERS_0, b=ORDERS_1),
            join(5, "a", 2, members=["a", "b"] if more else ["a"]),
            *calls,
            sync(9, "a", 2, ORDERS_0),
        ).rebalances[-1]

    keeps = says("range", OWNS_0)
    assert second_generation(join(5, "b", 2, leader="a", **keeps), sync(9, "b", 2, ORDERS_1), b=True).stopped_s == 0.0
    assert second_generation(leave(8, "b")).stopped_s == pytest.approx(1.0, abs=0.01)


def test_members_that_the_group_had_before_the_capture_join_again():
    timeline = timeline_of(join(2, "a", 7, members=["a"]), sync(5, "a", 7, ORDERS_0))
    (rebalance,) = timeline.rebalances
    assert (rebalance.is_forming, rebalance.generation_before, rebalance.moved, rebalance.all_triggers) == (
        False,
        None,
        None,
        [],
    )
    assert kinds(timeline, "join", "rejoin") == [("rejoin", "a")]
    new = call(
        "JoinGroup",
        2,
        {"memberId": ""},
        {"errorCode": 0, "generationId": 7, "memberId": "a", "leader": "a"},
        client="a",
    )
    assert timeline_of(new, sync(5, "a", 7, ORDERS_0)).rebalances[0].is_forming


def test_who_was_only_refused_is_no_member_and_speaks_for_no_protocol():
    refused = call(
        "ConsumerGroupHeartbeat", 5, {"memberId": "id-2", "memberEpoch": 1}, {"errorCode": 69, "memberEpoch": 0}
    )
    joined = [join(3, "id-1", 1, members=["id-1"], client="a"), sync(4, "id-1", 1, ORDERS_0, client="a")]
    timeline = timeline_of(*joined, refused)
    assert {name: member.is_let_in for name, member in timeline.members.items()} == {"id-1": True, "id-2": False}
    alone = timeline_of(refused)
    assert (timeline.protocol, alone.protocol, alone.members["id-2"].is_let_in) == ("classic", "consumer", False)


def test_workers_of_connect_keep_what_they_do_not_have_to_give_up():
    timeline = timeline_of(*subjects(INCIDENTS / "connect-workers.pcapng.gz"))
    assert (timeline.protocol_type, timeline.unit) == ("connect", "task")
    source = {("src", -1), ("src", 0), ("src", 1)}
    sink = {("snk", -1), ("snk", 0), ("snk", 1)}
    worker, other = "connect-worker", "connect-worker-b"
    rows = [(timeline.members[row.member].label, {*row.assigned}) for row in assigned(timeline)]
    assert rows[4:] == [
        (worker, source | sink),
        (other, set()),
        (worker, source),
        (other, sink),
        (worker, source),
        (worker, source),
        (worker, source),
    ]
    assert all(rebalance.away == {} for rebalance in timeline.rebalances)


def test_a_member_whose_calls_are_not_in_the_input_is_not_said_to_have_vanished():
    timeline = timeline_of(*subjects(INCIDENTS / "connect-workers.pcapng.gz"))
    (removed,) = [event for event in timeline.events if event.kind == "removed"]
    assert removed.client == "connect-worker-b"
    assert removed.reason == "is not in the group any more; its calls are not in the input"
    assert removed.seconds is None


def test_what_the_client_says_comes_before_what_is_inferred():
    timeline = timeline_of(*generation(1, 1, a=ORDERS_0), leave(2, "a", "consumer poll timeout has expired."))
    reason = "max.poll.interval.ms exceeded (the client says: consumer poll timeout has expired.)"
    assert [event.reason for event in timeline.events if event.kind == "leave"] == [reason]


def test_a_static_member_replaces_the_one_with_its_instance():
    static = {"groupInstanceId": "i"}
    joined = [*generation(1, 1, 0.1, static, a=ORDERS_0), join(9, "b", 1, members=["b"], **static)]
    timeline = timeline_of(*joined, sync(9.1, "b", 1, ORDERS_0))
    assert timeline.members["a"].ending == "replaced by b"
    assert [event.detail for event in timeline.events if event.kind == "join"] == ["", "replaces a as i"]


def test_a_client_that_comes_back_on_its_connection_soon_has_subscribed_anew():
    timeline = timeline_of(
        join(1, "a", 1, members=["a"], client="x"),
        sync(1.1, "a", 1, ORDERS_0, client="x"),
        leave(5, "a", client="x"),
        join(6, "b", 3, members=["b"], client="x"),
    )
    assert "without a restart" in timeline.members["a"].ending
    assert [event.detail for event in timeline.events if event.kind == "join"][-1] == "comes back 1.0 s after it left"


def test_a_client_that_comes_back_on_another_connection_was_started_anew():
    timeline = timeline_of(
        join(1, "a", 1, members=["a", "z"], client="x"),
        sync(1.1, "a", 1, ORDERS_0, client="x"),
        leave(5, "a", client="x"),
        join(6, "b", 3, members=["b", "z"], client="x", port=50099),
        sync(6.1, "b", 3, ORDERS_0, client="x", port=50099),
    )
    assert [trigger.cause for trigger in timeline.rebalances[-1].all_triggers] == ["closed", "restart"]


def test_a_fenced_member_that_joins_again_says_why():
    timeline = timeline_of(
        *generation(1, 1, a=ORDERS_0),
        beat(30, "a", 1, error=25),
        join(31, "b", 3, members=["b"], client="a"),
        sync(31.1, "b", 3, ORDERS_0, client="a"),
    )
    assert timeline.rebalances[-1].all_triggers[0].text == "joins anew, as it was fenced: UNKNOWN_MEMBER_ID"
    (fenced,) = [event for event in timeline.events if event.kind == "fenced"]
    assert fenced.seconds == pytest.approx(28.9, abs=0.01)


def test_an_epoch_that_nobody_raised_is_that_of_a_member_who_vanished():
    timeline = timeline_of(
        modern(1, "a", 0, 1, given=[0]),
        modern(2, "b", 0, 2, given=[1]),
        modern(2.5, "a", 1, 2),
        modern(3, "b", 2, 2),
        *(modern(second, "a", 2, 2) for second in range(4, 9)),
        modern(9, "a", 2, 3, given=[0, 1]),
    )
    (removed,) = [event for event in timeline.events if event.kind == "removed"]
    assert (removed.member, removed.seconds) == ("b", pytest.approx(6.0, abs=0.01))
    assert timeline.rebalances[-1].all_triggers[0].cause == "session"
    assert (timeline.first_generation, timeline.last_generation) == (1, 3)


def test_a_new_subscription_is_a_trigger():
    timeline = timeline_of(
        modern(1, "a", 0, 1, given=[0], request={"subscribedTopicNames": ["orders"]}),
        modern(5, "a", 1, 2, given=[0, 1], request={"subscribedTopicNames": ["orders", "payments"]}),
    )
    assert timeline.rebalances[-1].all_triggers[0].text == "subscribes to orders, payments, before to orders"


def test_streams_groups_have_tasks_and_say_what_is_missing():
    timeline = timeline_of(
        call(
            "StreamsGroupHeartbeat",
            1,
            {"memberId": "s", "memberEpoch": 0},
            {"errorCode": 0, "memberId": "s", "memberEpoch": 1, "status": [{"statusCode": 1, "statusDetail": "x"}]},
        ),
        call(
            "StreamsGroupHeartbeat",
            2,
            {"memberId": "s", "memberEpoch": 1, "activeTasks": []},
            {
                "errorCode": 0,
                "memberId": "s",
                "memberEpoch": 2,
                "status": [{"statusCode": 3}],
                "activeTasks": [{"subtopologyId": "0", "partitions": [0, 1]}],
            },
        ),
    )
    assert timeline.protocol == "streams"
    assert assigned(timeline)[-1].assigned == {("0", 0), ("0", 1)}
    states = [event.reason for event in timeline.events if event.kind == "status"]
    assert states == ["MISSING_SOURCE_TOPICS", "MISSING_INTERNAL_TOPICS"]


def test_records_given_back_are_told():
    row = {"partitionIndex": 0}
    acquired = row | {"acquiredRecords": [{"firstOffset": 5, "lastOffset": 6, "deliveryCount": 3}]}
    given = row | {"acknowledgementBatches": [{"firstOffset": 1, "lastOffset": 2, "acknowledgeTypes": [2, 3]}]}
    timeline = timeline_of(
        call(
            "ShareFetch",
            1,
            {"memberId": "s", "topics": [{"topicId": "t", "partitions": [given]}]},
            {"responses": [{"topicId": "t", "partitions": [acquired]}]},
        )
    )
    assert [(event.kind, event.partitions) for event in timeline.events] == [
        ("redelivery", 3),
        ("release", 1),
        ("reject", 1),
    ]


TOPIC = "__consumer_offsets"
ABOUT = {
    "instanceId": None,
    "rackId": None,
    "clientId": "c",
    "clientHost": "/10.0.0.1",
    "subscribedTopicNames": ["orders"],
    "subscribedTopicRegex": None,
    "rebalanceTimeoutMs": 300_000,
    "serverAssignor": None,
}


def member(second, name, value):
    key = {"groupId": "g", "memberId": name}
    return logged(TOPIC, second, second, 5, "ConsumerGroupMemberMetadata", key, value)


def current(second, name, epoch, partitions):
    key = {"groupId": "g", "memberId": name}
    value = {
        "memberEpoch": epoch,
        "previousMemberEpoch": epoch - 1,
        "state": 0,
        "assignedPartitions": [{"topicId": "A" * 21 + "Q", "partitions": partitions}],
        "partitionsPendingRevocation": [],
    }
    return logged(TOPIC, second, second, 8, "ConsumerGroupCurrentMemberAssignment", key, value)


def test_records_of_a_consumer_group_tell_members_epochs_and_assignments():
    epoch = logged(TOPIC, 3, 3, 3, "ConsumerGroupMetadata", {"groupId": "g"}, {"epoch": 1})
    timeline = timeline_of(member(1, "a", ABOUT), epoch, current(4, "a", 1, [0, 1]), member(9, "a", None))
    assert kinds(timeline, "join", "assignment", "leave") == [("join", "a"), ("assignment", "a"), ("leave", "a")]
    assert (timeline.members["a"].host, timeline.members["a"].rebalance_timeout_s) == ("10.0.0.1", 300)
    assert assigned(timeline)[0].place.offset == 4


def test_the_metadata_log_names_the_topics_of_records():
    topic = logged_pair(
        "__cluster_metadata", 0, 0, framed("TopicRecord", {"name": "orders", "topicId": "A" * 21 + "Q"})
    )
    timeline = timeline_of(topic, member(1, "a", ABOUT), current(4, "a", 1, [0]))
    assert assigned(timeline)[0].assigned == {("orders", 0)}


def test_records_of_a_consumer_group_are_read_as_kafka_3_7_wrote_them():
    records = []
    for number, name in ((5, "MemberMetadata"), (8, "CurrentMemberAssignment")):
        key, _ = keyed(number, f"ConsumerGroup{name}", {"groupId": "g", "memberId": "a"}, None)
        pair = key, b"\0\0" + body_of(f"ConsumerGroup{name}Value")
        records.append(logged_pair(TOPIC, number, number, pair))
    timeline = timeline_of(*records)
    assert kinds(timeline, "join", "assignment") == [("join", "a"), ("assignment", "a")]
    assert assigned(timeline)[0].assigned == {(ID, 0)}


def test_the_record_of_a_deleted_group_is_told_in_one_sentence():
    value = {"protocolType": "consumer", "generation": 2, "protocol": None, "leader": None, "members": []}
    value["currentStateTimestamp"] = -1
    records = [
        logged(TOPIC, second, second, 2, "GroupMetadata", {"group": "g"}, body)
        for second, body in ((1, value), (2, None))
    ]
    last = answer_text(groups_of(records).answer(), 80).splitlines()[-1]
    assert last.split(maxsplit=2)[1:] == ["2", "the group is deleted"]


def test_what_calls_and_records_tell_counts_once():
    calls = [modern(0, "a", 0, 1, given=[]), modern(5, "a", 1, 2, given=[0]), modern(9, "a", 2, 2)]
    records = [member(1, "a", ABOUT), current(1, "a", 1, []), current(4, "a", 2, [0])]
    alone, both = timeline_of(*calls), timeline_of(*records, *calls)
    assert timeline_of(*records).members["a"].without_s > 0
    assert both.members["a"].without_s == alone.members["a"].without_s > 0
    assert len(assigned(both)) == len(assigned(alone))


@pytest.mark.parametrize(
    "value",
    [
        *(slow(value) for value in (1, {}, [None], [[1]], -1, True, "x", [])),
        None,
        [{"memberId": 5}],
    ],
)
def test_bodies_of_wrong_types_are_no_trouble(value):
    fields = (
        "memberId", "members", "protocols", "assignment", "assignments", "generationId", "memberEpoch", "reason",
        "topics", "topicPartitions", "subscribedTopicNames", "status", "activeTasks", "groupInstanceId", "responses",
        "leader", "rebalanceTimeoutMs", "heartbeatIntervalMs", "errorCode", "protocolType", "protocolName", "metadata",
    )  # fmt: skip
    body = dict.fromkeys(fields, value)
    nested = body | {"topicPartitions": [body], "members": [body], "assignments": [body], "protocols": [body]}
    nested |= {"topics": [{"topicId": value, "partitions": [body | {"acknowledgementBatches": [body]}]}]}
    nested |= {"responses": [{"topicId": value, "partitions": [body | {"acquiredRecords": [body]}]}]}
    groups = groups_of(())
    second = 0.0
    for api in ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "ConsumerGroupHeartbeat",
                "ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge", "StreamsGroupHeartbeat"):  # fmt: skip
        for request in (body, nested):
            for response in (None, body, nested | {"assignment": body}, nested | {"errorCode": 25}):
                second += 1
                groups.add(call(api, second, request, response))
    groups.add(call("JoinGroup", 500, {"groupId": value}, {}))
    assert groups.answer().tables


def test_a_heartbeat_without_a_member_is_that_of_the_member_on_its_connection():
    timeline = timeline_of(
        join(1, "a", 1, members=["a"]), sync(1.1, "a", 1, ORDERS_0), beat(9, "", 1, error=25, client="a")
    )
    assert kinds(timeline, "fenced") == [("fenced", "a")]


def test_calls_without_a_time_have_an_order():
    calls = [join(1, "a", 1, members=["a"]), sync(2, "a", 1, ORDERS_0), beat(30, "a", 1, error=27)]
    calls += [join(31, "a", 2, members=["a"]), sync(32, "a", 2, ORDERS_0), leave(33, "a")]
    groups = groups_of(replace(exchange, time=None) for exchange in calls)
    rows = [dict(zip([column.name for column in EVENTS], row, strict=True)) for row in groups.answer().tables[1].rows]
    assert [row["event"] for row in rows if row["event"] not in {"assignment", "rejoin", "rebalancing"}] == [
        "join",
        "rebalance",
        "rebalance",
        "leave",
    ]
    assert {row["time"] for row in rows} == {row["seconds"] for row in rows} == {None}


def test_without_times_a_member_that_comes_back_has_no_cause_and_no_duration():
    calls = [join(1, "a", 1, members=["a"]), sync(2, "a", 1, ORDERS_0), leave(33, "a", client="a")]
    calls += [join(34, "b", 3, members=["b"], client="a"), sync(35, "b", 3, ORDERS_0, client="a")]
    timeline = timeline_of(*(replace(exchange, time=None) for exchange in calls))
    assert timeline.members["a"].ending == "left and came back, without a restart"
    assert [event.detail for event in timeline.events if event.kind == "join"][-1] == "comes back after it left"
    assert [trigger.cause for trigger in timeline.rebalances[-1].all_triggers] == ["join", "unknown"]


def test_a_group_that_cannot_be_kept_is_counted(monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.groups.replay.MOST_MOVES", 1)
    groups = groups_of([beat(1, "a", 1), beat(2, "a", 1, error=25), call("Heartbeat", 3, {"groupId": "h"}, {})])
    assert groups.answer().notes == ["2 events were dropped, because there were too many"]
