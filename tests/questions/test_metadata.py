"""Topics that do not exist, and clients that ask for Metadata too often."""

import pytest
from kit.calls import INCIDENTS, MadeCall, all_findings, found, sample_findings


def metadata(at, *topics, who="mailer"):
    body = {"topics": [{"name": name, "errorCode": code, "partitions": []} for name, code in topics]}
    errors = ["UNKNOWN_TOPIC_OR_PARTITION"] if any(code == 3 for _, code in topics) else []
    return MadeCall("Metadata", {}, body, at=at, errors=errors, who=who)


def test_a_misspelt_topic_is_the_cause():
    (row,) = sample_findings("incidents/any.pcap", "UNKNOWN_TOPIC_LOOP")
    assert (row["severity"], row["subject"]) == ("warning", "client mailer")
    assert row["text"] == "4 answers (Metadata) in 314 ms: UNKNOWN_TOPIC_OR_PARTITION for order; is orders meant?"
    assert [place["frame"] for place in row["evidence"]] == [64, 70, 72, 74]


def test_a_new_topic_is_unknown_for_a_moment():
    calls = [metadata(0.2 * step, ("orders", 3)) for step in range(5)]
    assert found("UNKNOWN_TOPIC_LOOP", [*calls, metadata(2, ("orders", 0))]) == []


def test_a_topic_that_came_late():
    calls = [metadata(step, ("orders", 3)) for step in range(10)]
    (row,) = found("UNKNOWN_TOPIC_LOOP", [*calls, metadata(12, ("orders", 0))])
    assert row[2] == "10 answers (Metadata) in 9.0 s: UNKNOWN_TOPIC_OR_PARTITION for orders; later answers know it"


def test_a_topic_that_was_deleted():
    """Names that differ a lot are not proposed."""
    calls = [metadata(0, ("orders", 0), ("order", 0), ("stock", 0))]
    calls += [metadata(step, ("orders", 3), ("stocks-of-2020", 3)) for step in range(1, 40)]
    rows = {row[2].partition(" for ")[2]: row[0] for row in found("UNKNOWN_TOPIC_LOOP", calls)}
    assert rows == {"orders; earlier answers knew it": "error", "stocks-of-2020": "error"}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("Fetch", {"responses": [{"topicId": "rriynntMRfOguoLK_3h2wg", "partitions": [{"errorCode": 100}]}]}),
        ("ListOffsets", {"topics": [{"name": "orders", "partitions": [{"errorCode": 3}, {"errorCode": 3}]}]}),
        ("DescribeTopicPartitions", {"topics": [{"name": "orders", "errorCode": 3}]}),
    ],
)
def test_other_apis_know_topics_too(api, body):
    (topic,) = body.get("topics") or body["responses"]
    error, name = ("UNKNOWN_TOPIC_ID", topic["topicId"]) if api == "Fetch" else ("UNKNOWN_TOPIC_OR_PARTITION", "orders")
    calls = [MadeCall(api, {}, body, at=step, errors=[error]) for step in range(4)]
    assert [row[2] for row in found("UNKNOWN_TOPIC_LOOP", calls)] == [f"4 answers ({api}) in 3.0 s: {error} for {name}"]


@pytest.mark.parametrize(("pause", "count", "expected"), [(0.1, 100, 1), (1.0, 100, 0), (0.01, 100, 0), (0.3, 25, 0)])
def test_storms(pause, count, expected):
    assert len(found("METADATA_STORM", [metadata(pause * step, ("orders", 0)) for step in range(count)])) == expected


def test_clients_are_counted_apart():
    calls = [metadata(0.1 * step, ("orders", 0), who=f"job-{step}") for step in range(100)]
    assert found("METADATA_STORM", calls) == []


def test_a_partition_that_the_topic_does_not_have():
    (row,) = all_findings(INCIDENTS / "unknown-partition.pcap")
    assert (row["code"], row["subject"]) == ("UNKNOWN_PARTITION", "client sync-job")
    assert row["text"] == (
        "partition 7 of orders, which has 2 partitions, in 6 requests (Fetch, ListOffsets); 6 refused"
    )
