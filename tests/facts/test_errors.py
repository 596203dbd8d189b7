"""Errors in the bodies of responses, each with what it is about."""

import kwire_cli
from kwire_cli.facts.errors import ERRORS, error_rows

CATALOG = kwire_cli.catalog()
NAMES = [name for name, _ in ERRORS[2:]]
TOPIC_ID = "Wg6nBlB7TIOaMoA5IIT1cA"


def errors_in(message, body):
    """Return the errors in a body, as dicts of what is known."""
    rows = error_rows(CATALOG.message(message), body, {TOPIC_ID: "orders"}.get, CATALOG)
    return [
        {name: value for name, value in zip(NAMES, row, strict=True) if value is not None}
        for row in sorted(rows, key=repr)
    ]


def test_a_partition_is_named_with_the_leader_that_it_has_instead():
    part = {"partitionIndex": 2, "errorCode": 6, "currentLeader": {"leaderId": 3, "leaderEpoch": 1}}
    body = {
        "errorCode": 0,
        "responses": [{"topicId": TOPIC_ID, "partitions": [part, {"partitionIndex": 0, "errorCode": 0}]}],
    }
    assert errors_in("FetchResponse", body) == [
        {
            "topic": "orders", "partition": 2, "code": 6, "error": "NOT_LEADER_OR_FOLLOWER", "is_retriable": True,
            "current_leader": 3,
        }
    ]  # fmt: skip


def test_an_error_of_the_whole_response_is_about_no_topic():
    assert errors_in("FetchResponse", {"errorCode": 71, "responses": []}) == [
        {"code": 71, "error": "INVALID_FETCH_SESSION_EPOCH", "is_retriable": True}
    ]


def test_an_error_of_a_topic_and_one_without_a_name():
    topics = [{"name": "a", "errorCode": 17, "partitions": []}, {"name": "b", "errorCode": 9999, "partitions": []}]
    assert errors_in("MetadataResponse", {"topics": topics}) == [
        {"topic": "a", "code": 17, "error": "INVALID_TOPIC_EXCEPTION", "is_retriable": False},
        {"topic": "b", "code": 9999, "error": "9999", "is_retriable": False},
    ]


def test_transactions_that_a_broker_asks_about_together():
    results = [{"name": "a", "resultsByPartition": [{"partitionIndex": 1, "partitionErrorCode": 90}]}]
    body = {"errorCode": 0, "resultsByTransaction": [{"transactionalId": "t", "topicResults": results}]}
    assert errors_in("AddPartitionsToTxnResponse", body) == [
        {
            "topic": "a", "partition": 1, "code": 90, "error": "PRODUCER_FENCED", "is_retriable": False,
            "transactional_id": "t",
        }
    ]  # fmt: skip


def test_a_group_and_the_text_of_the_broker():
    coordinator = {"key": "billing", "errorCode": 30, "errorMessage": "no ACL"}
    assert errors_in("FindCoordinatorResponse", {"coordinators": [coordinator]}) == [
        {
            "code": 30, "error": "GROUP_AUTHORIZATION_FAILED", "is_retriable": False, "name": "billing",
            "message": "no ACL",
        }
    ]  # fmt: skip


def test_values_that_no_definition_has_are_passed_over():
    for wrong in (None, "x", 1 << 70, [None, 3]):
        assert errors_in("MetadataResponse", {"topics": wrong, "errorCode": wrong}) == []
