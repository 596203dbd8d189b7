import math

import pytest
from hypothesis import given, strategies as st

from kwire_cli.source.kafka.stats import Histogram, Stats

SHARES = (0.0001, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0)


@given(st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=200))
def test_percentiles_are_at_most_a_little_off(latencies):
    histogram = Histogram()
    for latency in latencies:
        histogram.add(latency)
    ranked = sorted(latencies)
    for share in SHARES:
        exact = ranked[max(math.ceil(share * len(ranked)), 1) - 1]
        assert exact <= histogram.percentile(share) * (1 + 1e-9)
        assert histogram.percentile(share) <= exact * 1.011
    assert histogram.percentile(1.0) == max(latencies)


def test_buckets_do_not_grow_with_latencies():
    histogram = Histogram()
    for number in range(100_000):
        histogram.add(0.001 + number % 1000 / 1e6)
    assert histogram.count == 100_000
    assert len(histogram.buckets) <= 97


def test_strange_latencies_are_counted():
    histogram = Histogram()
    for latency in (0.0, -1.0, 1e-12):
        histogram.add(latency)
    assert histogram.percentile(0.5) <= 1e-9
    assert Histogram().percentile(0.5) is None


@pytest.fixture
def stats(wire):
    def exchange(api, version, correlation, question, answer):
        return [(0, wire.request(api, version, correlation, "me", **question)), (1, wire.response(api, version, correlation, **answer))]

    topic = {"errorCode": 3, "name": "orders", "partitions": []}
    said = exchange("Metadata", 3, 1, {"topics": [{"name": "orders"}]}, {"throttleTimeMs": 5, "clusterId": None, "topics": [topic]})
    said += exchange("Metadata", 3, 2, {"topics": []}, {"clusterId": None})
    said += exchange("Fetch", 4, 3, {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1}, {})
    found = Stats()
    for line in wire.lines(*said) + wire.lines((0, b"SSH-2.0-x\r\n")):
        found.add(line)
    return found


def test_groups_by_api_client_and_topic(stats):
    shown = stats.to_json()
    assert shown["kinds"] == {"request": 3, "response": 3, "not-kafka": 1}
    assert set(shown["api"]) == {"Metadata 3", "Fetch 4"}
    metadata = shown["api"]["Metadata 3"]
    assert (metadata["requests"], metadata["responses"], metadata["throttled"]) == (2, 2, 1)
    assert metadata["latencyMs"] == {"count": 2, "p50": 1.0, "p95": 1.0, "p99": 1.0, "max": 1.0}
    assert metadata["errors"] == {"UNKNOWN_TOPIC_OR_PARTITION": 1}
    assert shown["client"]["me"]["requests"] == 3
    assert shown["topic"]["orders"]["requests"] == shown["topic"]["orders"]["responses"] == 1


def test_answers_that_wait_on_purpose_are_apart(stats):
    fetch = stats.to_json()["api"]["Fetch 4"]
    assert fetch["waitMs"]["count"] == 1
    assert "latencyMs" not in fetch
    client = stats.to_json()["client"]["me"]
    assert (client["latencyMs"]["count"], client["waitMs"]["count"]) == (2, 1)


def test_an_unknown_api_is_counted_by_its_key(wire):
    strange = bytearray(wire.request("Heartbeat", 0, 2, groupId="g", memberId="m", generationId=1))
    strange[4:6] = (9999).to_bytes(2, "big")
    found = Stats()
    for line in wire.lines((0, wire.request("Metadata", 1, 1, topics=[]) + bytes(strange))):
        found.add(line)
    assert set(found.to_json()["api"]) == {"Metadata 1", "9999 0"}
