"""Topics that do not exist, and clients that ask for Metadata too often."""

import pytest
from kit.calls import MadeCall, findings, first

from kwire_cli.analysis.diagnosis.metadata import UnknownTopics


def metadata(at, *topics, who="mailer"):
    body = {"topics": [{"name": name, "errorCode": code, "partitions": []} for name, code in topics]}
    errors = ["UNKNOWN_TOPIC_OR_PARTITION"] if any(code == 3 for _, code in topics) else []
    return MadeCall("Metadata", {}, body, at=at, errors=errors, who=who)


def test_a_misspelt_topic_is_the_cause():
    code, severity, subject, text, frames = first("incidents/any.pcap")
    assert (code, severity, subject) == ("UNKNOWN_TOPIC_LOOP", "warning", "client mailer")
    assert text == "4 answers (Metadata) in 314 ms: UNKNOWN_TOPIC_OR_PARTITION for order; is orders meant?"
    assert frames == [64, 70, 72, 74]


def test_a_new_topic_is_unknown_for_a_moment():
    calls = [metadata(0.2 * step, ("orders", 3)) for step in range(5)]
    assert findings(UnknownTopics, [*calls, metadata(2, ("orders", 0))]) == []


def test_a_topic_that_came_late():
    calls = [metadata(step, ("orders", 3)) for step in range(10)]
    (row,) = findings(UnknownTopics, [*calls, metadata(12, ("orders", 0))])
    assert row[3] == "10 answers (Metadata) in 9.0 s: UNKNOWN_TOPIC_OR_PARTITION for orders; later answers know it"


def test_a_topic_that_was_deleted():
    calls = [metadata(0, ("orders", 0)), *(metadata(step, ("orders", 3)) for step in range(1, 40))]
    (row,) = findings(UnknownTopics, calls)
    assert row[:2] == ("UNKNOWN_TOPIC_LOOP", "error")
    assert row[3].endswith("for orders; earlier answers knew it")


def test_a_topic_id_of_before():
    part = {"partitionIndex": 0, "errorCode": 100}
    body = {"responses": [{"topicId": "rriynntMRfOguoLK_3h2wg", "partitions": [part]}]}
    calls = [MadeCall("Fetch", {}, body, at=step, errors=["UNKNOWN_TOPIC_ID"]) for step in range(4)]
    (row,) = findings(UnknownTopics, calls)
    assert row[3] == "4 answers (Fetch) in 3.0 s: UNKNOWN_TOPIC_ID for rriynntMRfOguoLK_3h2wg"


@pytest.mark.parametrize(
    ("pause", "count", "expected"), [(0.1, 100, ["METADATA_STORM"]), (1.0, 100, []), (0.01, 100, []), (0.3, 25, [])]
)
def test_storms(pause, count, expected):
    told = findings(UnknownTopics, [metadata(pause * step, ("orders", 0)) for step in range(count)])
    assert [code for code, *_ in told] == expected


def test_a_health_check_that_lists_topics_all_the_time():
    """A producer beside it asks when it starts, and is no storm."""
    code, severity, subject, text, frames = first("incidents/metadata-storm.pcap")
    assert (code, severity, subject) == ("METADATA_STORM", "warning", "client health-check")
    assert text == "43 Metadata requests in 6.1 s (7.0 a second); the largest answer has 244 bytes"
    assert frames[:4] == [6, 7, 13, 14]


def test_clients_are_told_apart():
    calls = [metadata(0.1 * step, ("orders", 0), who=f"job-{step}") for step in range(100)]
    assert findings(UnknownTopics, calls) == []
