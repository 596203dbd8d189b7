"""Batches that are too large for their topic, or nearly so."""

from kit.calls import MadeCall, found

CONFIG = {"name": "max.message.bytes", "value": "4096"}
TOPICS = [{"name": "a", "configs": [CONFIG]}]
CREATED = MadeCall("CreateTopics", {"topics": []}, {"topics": TOPICS})
REFUSED = MadeCall(
    "Produce",
    {"acks": -1, "topicData": [{"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 5000}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 10}]}]},
    at=1,
    errors=["MESSAGE_TOO_LARGE"],
)


def batch(number, size, partition=0):
    return number, {"topic": "a", "partition": partition, "size": size, "records": 1}


def accepted(at=2):
    part = {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 900}]}
    result = {"name": "a", "partitionResponses": [{"index": 0, "errorCode": 0}]}
    return MadeCall("Produce", {"acks": -1, "topicData": [part]}, {"responses": [result]}, at=at)


def test_request_logs_show_sizes():
    ((_, _, text, _),) = found("MESSAGE_TOO_LARGE", [CREATED, REFUSED])
    assert text == "1 batch refused, of 5000 bytes; max.message.bytes of the topic is 4096"


def test_the_largest_accepted_batch_stands_in_for_an_unknown_limit():
    ((_, _, text, _),) = found("MESSAGE_TOO_LARGE", [REFUSED, accepted()], batches=[batch(0, 5000), batch(1, 900)])
    assert text == "1 batch refused, of 5000 bytes with 1 record; the largest accepted batch has 900 bytes"


def near(*before, size=950):
    """Return the texts about a batch of a size after these calls."""
    rows = found("RECORDS_NEAR_LIMIT", [*before, accepted(at=9)], batches=[batch(len(before), size)])
    return [text for _, _, text, _ in rows]


def config(value, **more):
    return [{"name": "max.message.bytes", "value": value} | more]


def test_the_limit_that_was_set_or_reported_last_counts():
    made = MadeCall("CreateTopics", {"topics": [{"name": "a", "configs": config("1000")}]}, {"topics": []}, at=1)
    resource = {"resourceType": 2, "resourceName": "a", "configs": config("5000", configOperation=0)}
    altered = MadeCall("IncrementalAlterConfigs", {"resources": [resource]}, {"responses": []}, at=2)
    result = {"resourceType": 2, "resourceName": "a", "configs": config("2000")}
    described = MadeCall("DescribeConfigs", {"resources": []}, {"results": [result]}, at=3)
    assert near(made) == ["the largest batch has 950 bytes; max.message.bytes is 1000"]
    assert near(made, size=800) == []
    assert near(made, altered) == []
    assert near(made, altered, size=4900) == ["the largest batch has 4900 bytes; max.message.bytes is 5000"]
    assert near(altered, described, size=1900) == ["the largest batch has 1900 bytes; max.message.bytes is 2000"]
    assert near(size=1_000_000) == ["the largest batch has 1000000 bytes; the default of max.message.bytes is 1048588"]


def test_a_topic_that_was_not_made_has_no_limit():
    request = {"topics": [{"name": "a", "configs": config("1000")}]}
    refused = MadeCall(
        "CreateTopics", request, {"topics": [{"name": "a", "errorCode": 36}]}, errors=["TOPIC_ALREADY_EXISTS"]
    )
    assert near(refused) == []
