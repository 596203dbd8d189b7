"""Clients that may not do what they ask for."""

from kit.calls import INCIDENTS, MadeCall, found, texts


def refused(api, request, response, error):
    (row,) = found("AUTHORIZATION_FAILED", [MadeCall(api, request, response, errors=[error])])
    return row[2]


def test_missing_permissions():
    assert texts(INCIDENTS / "permissions.pcap") == [
        (
            "AUTHORIZATION_FAILED",
            "client checkout",
            "3 responses with TOPIC_AUTHORIZATION_FAILED for topic orders: Metadata, in 305 ms",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client reports",
            "2 responses with GROUP_AUTHORIZATION_FAILED for group billing: FindCoordinator, in 58 ms",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client deploy",
            "1 response with TOPIC_AUTHORIZATION_FAILED for topic invoices: CreateTopics",
        ),
        (
            "AUTHORIZATION_FAILED",
            "client payments",
            "1 response with TRANSACTIONAL_ID_AUTHORIZATION_FAILED for transactional id payments: FindCoordinator",
        ),
    ]


def test_the_resource_is_that_of_the_error_or_of_its_request():
    topic = {"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 29}]}
    assert refused("OffsetCommit", {}, {"topics": [topic]}, "TOPIC_AUTHORIZATION_FAILED") == (
        "1 response with TOPIC_AUTHORIZATION_FAILED for topic orders: OffsetCommit"
    )
    assert refused("JoinGroup", {"groupId": "billing"}, {"errorCode": 30}, "GROUP_AUTHORIZATION_FAILED") == (
        "1 response with GROUP_AUTHORIZATION_FAILED for group billing: JoinGroup"
    )
    assert refused("FindCoordinator", {"key": "billing"}, {"errorCode": 30}, "GROUP_AUTHORIZATION_FAILED") == (
        "1 response with GROUP_AUTHORIZATION_FAILED for group billing: FindCoordinator"
    )
    config = {"errorCode": 29, "resourceType": 2, "resourceName": "orders"}
    assert refused("DescribeConfigs", {}, {"results": [config]}, "TOPIC_AUTHORIZATION_FAILED") == (
        "1 response with TOPIC_AUTHORIZATION_FAILED for topic orders: DescribeConfigs"
    )
    assert refused("CreatePartitions", {}, {"results": [{"name": "orders", "errorCode": 31}]},
                   "CLUSTER_AUTHORIZATION_FAILED") == (
        "1 response with CLUSTER_AUTHORIZATION_FAILED for cluster: CreatePartitions"
    )  # fmt: skip
