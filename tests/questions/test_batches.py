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


def limit(*before):
    """Return the limit in the text about a batch that is refused after these calls."""
    ((_, _, text, _),) = found("MESSAGE_TOO_LARGE", [*before, REFUSED], batches=[batch(len(before), 5000)])
    return text.partition("max.message.bytes of the topic is ")[2]


def config(value, **more):
    return [{"name": "max.message.bytes", "value": value} | more]


def test_the_limit_that_was_set_or_reported_last_counts():
    made = MadeCall("CreateTopics", {"topics": [{"name": "a", "configs": config("1000")}]}, {"topics": []}, at=1)
    resource = {"resourceType": 2, "resourceName": "a", "configs": config("5000", configOperation=0)}
    altered = MadeCall("IncrementalAlterConfigs", {"resources": [resource]}, {"responses": []}, at=2)
    result = {"resourceType": 2, "resourceName": "a", "configs": config("2000")}
    described = MadeCall("DescribeConfigs", {"resources": []}, {"results": [result]}, at=3)
    assert limit(made) == "1000"
    assert limit(made, altered) == "5000"
    assert limit(altered, described) == "2000"
    assert limit() == ""


def test_a_topic_that_was_not_made_has_no_limit():
    request = {"topics": [{"name": "a", "configs": config("1000")}]}
    refused = MadeCall(
        "CreateTopics", request, {"topics": [{"name": "a", "errorCode": 36}]}, errors=["TOPIC_ALREADY_EXISTS"]
    )
    assert limit(refused) == ""
