"""Rules about batches: too small, too large, near the limit, compressed in vain."""

from functools import partial

import pytest
from kit.calls import diagnose_deformed, exchanges, found_in, log_batch, log_items, rows, subjects
from kit.commands import ROOT

from kwire_cli.analysis.diagnosis.batches import LEAST_BATCHES, Batches

INCIDENTS = ROOT / "samples" / "incidents"
found = partial(found_in, Batches)


def test_a_batch_over_the_limit_has_its_size_and_the_limit():
    [row] = [row for row in rows(subjects(INCIDENTS / "over-the-limit.pcap")) if row["code"] == "MESSAGE_TOO_LARGE"]
    assert row["text"] == "1 batch refused, of 6099 bytes with 1 record; max.message.bytes of the topic is 4096"


def lonely(number, gap, compression="none", value="v"):
    """Return a log with so many batches of one record each, milliseconds apart."""
    return log_items(
        "a-0", *(log_batch(at, value, time=1_000_000 + gap * at, compression=compression) for at in range(number))
    )


def test_records_that_come_together_could_be_one_batch():
    assert found(lonely(LEAST_BATCHES, 1)) == [("warning", "SMALL_BATCHES", "topic a")]
    assert found(lonely(LEAST_BATCHES - 1, 1)) == []
    assert found(lonely(LEAST_BATCHES, 500)) == []  # no linger would help
    assert found(log_items("a-0", *(log_batch(2 * at, "v", "w") for at in range(LEAST_BATCHES)))) == []
    [row] = [row for row in rows(lonely(100, 1)) if row["code"] == "SMALL_BATCHES"]
    assert "linger.ms=5 would have made 20 of them" in row["text"]


def test_compression_that_does_not_pay():
    assert ("info", "COMPRESSION_NOT_PAYING", "topic a") in found(lonely(10, 500, "gzip"))
    assert found(lonely(10, 500, "gzip", "v" * 500)) == []
    assert found(lonely(7, 500, "gzip")) == []


def test_batches_near_the_limit():
    created = {"topics": [{"name": "a", "configs": [{"name": "max.message.bytes", "value": "1000"}]}]}
    topic = exchanges(("CreateTopics", 7, {"topics": []}, created, 0))
    assert found([*topic, *log_items("a-0", log_batch(0, "v" * 850))]) == [("info", "RECORDS_NEAR_LIMIT", "topic a")]
    assert found([*topic, *log_items("a-0", log_batch(0, "v" * 700))]) == []
    assert found(log_items("a-0", log_batch(0, "v" * 850))) == []
    described = {"results": [{"resourceType": 2, "resourceName": "a", "configs": created["topics"][0]["configs"]}]}
    known = exchanges(("DescribeConfigs", 4, {"resources": []}, described, 0))
    assert found([*known, *log_items("a-0", log_batch(0, "v" * 850))]) == [("info", "RECORDS_NEAR_LIMIT", "topic a")]


def test_the_limit_is_known_from_the_request_to_make_the_topic():
    """The answer to CreateTopics 4, as librdkafka sends it, has no configs."""
    (row,) = rows(subjects(INCIDENTS / "near-limit.pcap"))
    assert row["text"] == "the largest batch has 9672 bytes; max.message.bytes is 10000"
    assert [place["what"] for place in row["evidence"]] == ["Produce request"]


def test_the_limit_that_was_set_last_counts():
    config = {"name": "max.message.bytes", "value": "1000"}
    made = ("CreateTopics", 4, {"topics": [{"name": "a", "configs": [config]}]}, {"topics": [{"errorCode": 0}]}, 1)
    changed = {"resourceType": 2, "resourceName": "a", "configs": [{**config, "value": "5000", "configOperation": 0}]}
    alters = ("IncrementalAlterConfigs", 1, {"resources": [changed]}, {"responses": []}, 2)
    near = log_items("a-0", log_batch(0, "v" * 850))
    assert found([*exchanges(made), *near]) == [("info", "RECORDS_NEAR_LIMIT", "topic a")]
    assert found([*exchanges(made, alters), *near]) == found([*exchanges(alters, made), *near])
    assert found([*exchanges(made, alters), *log_items("a-0", log_batch(0, "v" * 4600))]) == [
        ("info", "RECORDS_NEAR_LIMIT", "topic a")
    ]
    refused = (*made[:3], {"topics": [{"errorCode": 36}]}, 1)
    assert found([*exchanges(refused), *near]) == []


REFUSED = ("Produce", 9, {"acks": -1, "topicData": [
    {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 5000}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 10}]}]}, 1)  # fmt: skip
CREATED = ("CreateTopics", 7, {"topics": []}, {"topics": [
    {"name": "a", "configs": [{"name": "max.message.bytes", "value": "4096"}]}]}, 0)  # fmt: skip
DESCRIBED = ("DescribeConfigs", 4, {"resources": []}, {"results": [{"resourceType": 2, "resourceName": "a", "configs": [
    {"name": "max.message.bytes", "value": "4096"}]}]}, 0)  # fmt: skip


def test_request_logs_show_sizes():
    [row] = [row for row in rows(exchanges(CREATED, REFUSED)) if row["code"] == "MESSAGE_TOO_LARGE"]
    assert row["text"] == "1 batch refused, of 5000 bytes; max.message.bytes of the topic is 4096"


MADE = ("CreateTopics", 4, {"topics": [{"name": "a", "configs": [{"name": "max.message.bytes", "value": "4096"}]}]},
    {"topics": [{"errorCode": 0}]}, 0)  # fmt: skip
ALTERED = ("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": 2, "resourceName": "a", "configs": [
    {"name": "max.message.bytes", "value": "4096", "configOperation": 0}]}]}, {"responses": []}, 0)  # fmt: skip


@pytest.mark.parametrize("body", [REFUSED, CREATED, DESCRIBED, MADE, ALTERED])
def test_bodies_of_any_shape_are_taken(body):
    diagnose_deformed(body, after=exchanges(REFUSED))
