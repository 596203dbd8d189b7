"""Labels of calls: what matters of real and of made-up bodies, and nothing breaks them."""

import pytest
from kit.calls import WRONG, fake_call

from kwire_cli.analysis import call_labels
from kwire_cli.analysis.call_labels import LONGEST, groups_of, request_label, response_label, transactions_of

FIELDS = [
    *("groupId", "groups", "groupIds", "groupsNames", "keyType", "key", "coordinatorKeys", "coordinators"),
    *("transactionalId", "transactionalIds", "transactions", "topics", "topicData", "topicNames", "responses"),
    *("generationId", "memberId", "leader", "members", "memberEpoch", "assignment", "producerId", "producerEpoch"),
    *("nodeId", "host", "port", "brokers", "committed", "mechanism", "mechanisms", "errorCode"),
    *("clientSoftwareName", "clientSoftwareVersion"),
]
APIS = sorted({*call_labels._REQUESTS, *call_labels._RESPONSES, "Fetch", "api 999"})


@pytest.mark.parametrize(
    ("api", "body", "label"),
    [
        ("Metadata", {}, "Metadata v12"),
        ("Metadata", {"topics": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, "Metadata v12 a, b, +1"),
        ("DeleteTopics", {"topicNames": ["a"]}, "DeleteTopics v12 a"),
        ("JoinGroup", {"groupId": "billing"}, "JoinGroup v12 billing"),
        ("SyncGroup", {"groupId": "billing", "generationId": 3}, "SyncGroup v12 billing, generation 3"),
        ("FindCoordinator", {"keyType": 0, "coordinatorKeys": ["billing"]}, "FindCoordinator v12 billing"),
        ("OffsetFetch", {"groups": [{"groupId": "a"}, {"groupId": "b"}]}, "OffsetFetch v12 a, b"),
        ("EndTxn", {"transactionalId": "tx", "committed": False}, "EndTxn v12 tx, abort"),
        ("EndTxn", {"transactionalId": "tx", "committed": True}, "EndTxn v12 tx, commit"),
        ("ConsumerGroupHeartbeat", {"groupId": "g", "memberEpoch": 0}, "ConsumerGroupHeartbeat v12 g, joins"),
        ("ConsumerGroupHeartbeat", {"groupId": "g", "memberEpoch": -1}, "ConsumerGroupHeartbeat v12 g, leaves"),
        ("SaslHandshake", {"mechanism": "PLAIN"}, "SaslHandshake v12 PLAIN"),
        ("LeaveGroup", {"groupId": "g", "members": [{"reason": "closed"}]}, 'LeaveGroup v12 g, "closed"'),
        ("ApiVersions", {"clientSoftwareName": "java", "clientSoftwareVersion": "4"}, "ApiVersions v12 java 4"),
    ],
)
def test_a_request_says_what_it_is_about(api, body, label):
    assert request_label(fake_call(api, request=body)) == label


@pytest.mark.parametrize(
    ("api", "body", "more", "label"),
    [
        ("Heartbeat", {}, {}, "Heartbeat v12"),
        ("Heartbeat", {}, {"errors": ["REBALANCE_IN_PROGRESS", "999"]}, "Heartbeat v12 -> REBALANCE_IN_PROGRESS, 999"),
        ("JoinGroup", {"generationId": 3, "memberId": "b", "leader": "a"}, {}, "JoinGroup v12 -> generation 3"),
        (
            "JoinGroup",
            {"generationId": 3, "memberId": "a", "leader": "a", "members": [{}, {}]},
            {},
            "JoinGroup v12 -> generation 3, leader of 2",
        ),
        ("InitProducerId", {"producerId": 7, "producerEpoch": 0}, {}, "InitProducerId v12 -> producer 7, epoch 0"),
        ("Produce", {}, {"throttle_ms": 250}, "Produce v12 -> throttled 250 ms"),
        (
            "Produce",
            {"responses": [{"partitionResponses": [{"baseOffset": 41}]}]},
            {},
            "Produce v12 -> offset 41",
        ),
        ("FindCoordinator", {"nodeId": 1, "host": "b", "port": 9}, {}, "FindCoordinator v12 -> node 1 b:9"),
        ("SaslHandshake", {"errorCode": 33, "mechanisms": ["PLAIN"]}, {}, "SaslHandshake v12 -> has PLAIN"),
        (
            "ConsumerGroupHeartbeat",
            {"memberEpoch": 2, "assignment": {"topicPartitions": [{"partitions": [0, 1]}]}},
            {},
            "ConsumerGroupHeartbeat v12 -> epoch 2, assigned 2 partitions",
        ),
    ],
)
def test_a_response_says_what_came_of_it(api, body, more, label):
    assert response_label(fake_call(api, response=body, **more)) == label


@pytest.mark.parametrize(
    ("api", "body", "groups", "transactions"),
    [
        ("JoinGroup", {"groupId": "g"}, ["g"], []),
        ("DescribeGroups", {"groups": ["a", "b"]}, ["a", "b"], []),
        ("OffsetFetch", {"groups": [{"groupId": "a"}]}, ["a"], []),
        ("DeleteGroups", {"groupsNames": ["a"]}, ["a"], []),
        ("ConsumerGroupDescribe", {"groupIds": ["a"]}, ["a"], []),
        ("FindCoordinator", {"key": "g"}, ["g"], []),
        ("FindCoordinator", {"keyType": 1, "coordinatorKeys": ["t"]}, [], ["t"]),
        ("TxnOffsetCommit", {"groupId": "g", "transactionalId": "t"}, ["g"], ["t"]),
        ("AddPartitionsToTxn", {"transactions": [{"transactionalId": "t"}]}, [], ["t"]),
        ("DescribeTransactions", {"transactionalIds": ["t"]}, [], ["t"]),
    ],
)
def test_requests_name_their_groups_and_transactions(api, body, groups, transactions):
    call = fake_call(api, request=body)
    assert ([*groups_of(call)], [*transactions_of(call)]) == (groups, transactions)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("api", APIS)
def test_bodies_may_hold_anything(api, value):
    body = dict.fromkeys(FIELDS, value)
    call = fake_call(api, request=body, response=body)
    for text in (request_label(call), response_label(call), *groups_of(call), *transactions_of(call)):
        assert isinstance(text, str)
    nested = {name: [dict.fromkeys(FIELDS, value)] for name in FIELDS}
    call = fake_call(api, request=nested, response=nested)
    assert len(request_label(call)) < 12 * LONGEST
    assert len(response_label(call)) < 12 * LONGEST
