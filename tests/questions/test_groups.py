"""Findings about groups: what is one, what is none, and that parts and hostile bodies make no difference."""

import pytest
from kit.calls import (
    CATALOG,
    ORDERS_0,
    ORDERS_1,
    asked,
    beat,
    call,
    generation,
    join,
    leave,
    logged,
    sample_findings,
    sync,
)

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.rule_files import rules

OF_GROUPS = (
    "GROUP_REBALANCE_LOOP", "REBALANCE", "IDLE_MEMBER", "SHARE_RECORDS_DELIVERED_AGAIN",
    "GROUP_JOIN_REFUSED", "STREAMS_GROUP_NOT_READY",
)  # fmt: skip
RULES = [rule for rule in rules() if rule.code in OF_GROUPS]


def findings_of(*exchanges):
    diagnosis = asked(Diagnosis(Redaction(CATALOG), RULES), exchanges)
    return {finding.rule.code: finding for finding in diagnosis.findings()}


def test_a_group_that_forms_and_ends_has_no_finding():
    beats = [beat(second, "a", 1) for second in range(2, 30)]
    assert findings_of(*generation(1, 1, a=ORDERS_0), *beats, leave(30, "a")) == {}


def test_members_that_come_and_go_once_are_no_more_than_information():
    calls = [
        *generation(1, 1, a=ORDERS_0),
        *generation(5, 2, a=ORDERS_0, b=ORDERS_1),
        leave(9, "b"),
        beat(9.5, "a", 2, 27),
    ]
    findings = findings_of(*calls, *generation(9.6, 3, a=ORDERS_0))
    assert {code: finding.severity for code, finding in findings.items()} == {"REBALANCE": "info"}
    assert findings["REBALANCE"].command == "groups --group g"


def test_a_single_member_that_vanishes_is_a_warning():
    calls = [*generation(1, 1, a=ORDERS_0, b=ORDERS_1), *(beat(second, "a", 1) for second in range(2, 14))]
    findings = findings_of(*calls, beat(14, "a", 1, 27), *generation(14.1, 2, a=ORDERS_0))
    assert findings["REBALANCE"].severity == "warning"
    assert "removed without leaving" in findings["REBALANCE"].text
    assert "GROUP_REBALANCE_LOOP" not in findings


@pytest.mark.parametrize(
    ("answered", "text"),
    [(0, "x vanished without leaving 2 times"), (25, "x was silent for longer than its session 2 times")],
)
def test_a_member_that_calls_again_was_only_silent(answered, text):
    calls = []
    for number in range(3):
        second, name = 1 + 30 * number, f"m{number}"
        calls += [
            join(second, name, number + 1, members=[name], client="x"),
            sync(second + 0.1, name, number + 1, ORDERS_0, client="x"),
            beat(second + (20 if answered else 1), name, number + 1, answered, client="x"),
        ]
    assert text in findings_of(*calls)["GROUP_REBALANCE_LOOP"].text


def test_an_acknowledgement_after_the_lock_is_in_the_finding_about_the_records():
    def fetch(second, count, error=0):
        acquired = [{"firstOffset": 0, "lastOffset": 0, "deliveryCount": count}]
        part = {"partitionIndex": 0, "errorCode": 0, "acknowledgeErrorCode": error, "acquiredRecords": acquired}
        answer = {"errorCode": 0, "responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [part]}]}
        return call("ShareFetch", second, {"memberId": "m", "shareSessionEpoch": 1}, answer, client="a")

    finding = findings_of(fetch(1, 1), fetch(9, 2, 121))["SHARE_RECORDS_DELIVERED_AGAIN"]
    assert finding.text.endswith("; 1 request got INVALID_RECORD_STATE: the lock on the records had ended")
    assert "share.record.lock.duration.ms" in finding.advice


def test_a_client_that_is_started_anew_again_and_again_is_a_warning():
    calls = [*generation(1, 1, a=ORDERS_0)]
    for number in range(4):
        second = 10 + 20 * number
        options = {"client": "x", "port": 50100 + number}
        members = ["a", f"x{number}"]
        calls += [
            join(second, f"x{number}", 2 * number + 2, leader="a", **options),
            join(second, "a", 2 * number + 2, members=members, reason="group is already rebalancing"),
            sync(second + 1, "a", 2 * number + 2, ORDERS_0),
            sync(second + 1, f"x{number}", 2 * number + 2, ORDERS_1, **options),
            leave(second + 5, f"x{number}", **options),
            beat(second + 6, "a", 2 * number + 2, 27),
            *generation(second + 6.1, 2 * number + 3, a=ORDERS_0),
        ]
    loop = findings_of(*calls)["GROUP_REBALANCE_LOOP"]
    assert (loop.severity, loop.weight) == ("warning", 3)
    assert "x left and was started anew 3 times" in loop.text


def test_a_group_of_one_that_restarts_forms_again_and_again():
    calls = []
    for number in range(4):
        options = {"client": "x", "port": 50100 + number}
        second, name = 1 + 10 * number, f"x{number}"
        joined = join(second, name, 2 * number + 1, members=[name], reason="rebalance failed", **options)
        calls += [
            joined,
            sync(second + 0.1, name, 2 * number + 1, ORDERS_0, **options),
            leave(second + 5, name, **options),
        ]
    loop = findings_of(*calls)["GROUP_REBALANCE_LOOP"]
    assert loop.text == "formed 4 times in 35.0 s: x left and was started anew 3 times"


def test_workers_of_connect_that_join_by_themselves_are_no_loop_and_get_no_advice_for_consumers():
    (row,) = sample_findings("incidents/connect-workers.pcapng.gz", *OF_GROUPS)
    assert (row["severity"], row["code"]) == ("info", "REBALANCE")
    assert row["text"] == "8 rebalances; the longest took 2.9 s: connect-worker joins again by itself"
    assert "consumer" not in row["meaning"] + row["advice"]


def test_a_client_that_is_not_let_in_is_an_error_unless_it_comes_in_later():
    refused = call("JoinGroup", 1, {"memberId": "", "protocols": []}, {"errorCode": 23, "memberId": ""}, client="a")
    assert (
        findings_of(refused)["GROUP_JOIN_REFUSED"].text == "a is refused with INCONSISTENT_GROUP_PROTOCOL at JoinGroup"
    )
    assert "GROUP_JOIN_REFUSED" not in findings_of(refused, *generation(2, 1, a=ORDERS_0))


def test_the_message_of_the_coordinator_says_why_it_does_not_let_a_client_in():
    answer = {"errorCode": 112, "errorMessage": "Supported assignors: uniform, range."}
    finding = findings_of(call("ConsumerGroupHeartbeat", 1, {"memberId": "m", "memberEpoch": 0}, answer, client="a"))[
        "GROUP_JOIN_REFUSED"
    ]
    assert finding.text.endswith("at ConsumerGroupHeartbeat; the broker says: Supported assignors: uniform, range.")
    assert finding.advice.startswith("Leave group.remote.assignor empty")


def test_a_member_without_partitions_is_idle_after_a_while():
    calls = [*generation(1, 1, a=ORDERS_0, b="")]
    assert "IDLE_MEMBER" not in findings_of(*calls, beat(5, "b", 1))
    finding = findings_of(*calls, beat(30, "b", 1))["IDLE_MEMBER"]
    assert (
        finding.text == "1 member without a partition for up to 29.0 s: b; beside 1 other with 1 partition (orders-0)"
    )


def test_a_share_group_without_any_partition_is_a_warning():
    answer = {"errorCode": 0, "memberId": "m", "memberEpoch": 2}
    nothing = answer | {"assignment": {"topicPartitions": []}}
    first = call("ShareGroupHeartbeat", 0, {"memberId": "m"}, nothing, client="a")
    beats = [first]
    for second in range(5, 30, 5):
        request = {"memberId": "m", "memberEpoch": 2}
        beats.append(call("ShareGroupHeartbeat", second, request, answer | {"assignment": None}, client="a"))
    finding = findings_of(*beats)["IDLE_MEMBER"]
    assert finding.severity == "warning"
    assert finding.text == "1 member without a partition for up to 25.0 s: a; nobody in the group has any"
    assert "__share_group_state" in finding.advice


def test_a_streams_group_that_gets_tasks_is_ready():
    def heartbeat(second, tasks):
        body = {"errorCode": 0, "memberId": "s", "memberEpoch": second, "activeTasks": tasks}
        status = {} if tasks else {"status": [{"statusCode": 1}]}
        return call("StreamsGroupHeartbeat", second, {"memberId": "s", "memberEpoch": second - 1}, body | status)

    waiting, ready = heartbeat(1, []), heartbeat(2, [{"subtopologyId": "0", "partitions": [0]}])
    assert findings_of(waiting)["STREAMS_GROUP_NOT_READY"].text == "the coordinator says MISSING_SOURCE_TOPICS"
    assert "STREAMS_GROUP_NOT_READY" not in findings_of(waiting, ready)


def test_other_statuses_of_a_streams_group_say_nothing_about_topics():
    """A new group waits for its members: group.streams.initial.rebalance.delay.ms."""
    body = {"errorCode": 0, "memberId": "s", "memberEpoch": 1, "activeTasks": [], "status": [{"statusCode": 5}]}
    assert findings_of(call("StreamsGroupHeartbeat", 1, {"memberId": "s", "memberEpoch": 0}, body)) == {}


def test_hostile_bodies_find_nothing():
    keys = ("memberId", "members", "generationId", "memberEpoch", "topicPartitions", "assignment", "status", "topics")
    apis = ("JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat", "ConsumerGroupHeartbeat") * 2
    calls = []
    for value in (None, 1, "x", [], {}, [None], [{"memberId": []}], True):
        body = dict.fromkeys(keys, value)
        calls += [call(api, second, body, body if second % 2 else None) for second, api in enumerate(apis)]
    assert not [finding for finding in findings_of(*calls).values() if finding.severity == "error"]


def test_a_log_without_the_cause_of_a_rebalance_says_so():
    """The leader joined again, as it saw other topics: the record has the same member and another generation."""
    member = {"memberId": "a", "clientId": "a", "clientHost": "/10.0.0.1", "sessionTimeout": 45000}
    member |= {"rebalanceTimeout": 300000, "groupInstanceId": None, "assignment": "", "subscription": ""}
    body = {"protocolType": "consumer", "protocol": "range", "leader": "a", "members": [member]}
    body["currentStateTimestamp"] = -1
    records = [
        logged("__consumer_offsets", second, second, 2, "GroupMetadata", {"group": "g"}, body | {"generation": second})
        for second in (1, 2)
    ]
    assert findings_of(*records)["REBALANCE"].text == "1 rebalance: the cause is not in the input"


def test_records_of_a_share_group_that_are_given_up():
    (row,) = sample_findings("incidents/share-archived.pcap", "SHARE_RECORDS_GIVEN_UP")
    assert row["text"] == (
        "orders-0 offset 0, orders-0 offset 3, orders-1 offset 0 and 1 more: 4 records not delivered again after 3 "
        "deliveries without being accepted"
    )
    (row,) = sample_findings("incidents/share-rejected.pcap", "SHARE_RECORDS_GIVEN_UP")
    assert row["text"].endswith(": share-1 rejected 4 records")
