import json
import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.captures import spoken_capture
from kit.commands import kwire as kwire_command
from kit.logs import document
from kit.traffic import SECOND, Wire
from kit.views import keyed_answer

import kwire_cli
from kwire_cli.analysis.stats import OTHERS, Group, Histogram, Stats, bound_of, step_of
from kwire_cli.answer import Chart, Table
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.source.request_log.reading import RequestLog
from kwire_cli.structs.network import PCAP_NANO
from kwire_cli.view.answers import answer_document
from kwire_cli.view.terminal import answer_text

CATALOG = kwire_cli.catalog()
OWN = Path(__file__).parents[3] / "shared" / "real" / "own" / "captures"

POINTS = ("Count", "P50Seconds", "P95Seconds", "P99Seconds", "MaxSeconds")
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


@given(st.lists(st.floats(-1e5, 1e5).filter(lambda value: abs(value) > 1e-6), min_size=1, max_size=50))
def test_negative_latencies_stay_negative(latencies):
    histogram = Histogram()
    for half in latencies[::2], latencies[1::2]:
        own = Histogram()
        for latency in half:
            own.add(latency)
        histogram.merge(own)
    ranked = sorted(latencies)
    for share in SHARES:
        exact = ranked[max(math.ceil(share * len(ranked)), 1) - 1]
        assert exact <= histogram.percentile(share) + 1e-9 * abs(exact)
        assert histogram.percentile(share) <= exact + 0.011 * abs(exact)
    assert histogram.percentile(1.0) == max(latencies) == histogram.largest


def test_a_broker_keeps_the_node_id_that_only_one_capture_names():
    stats = Stats({"broker": {}})
    for node in (2, None):
        stats.add_group("request", Group(requests=1), [("broker", "b:9092")], node)
    assert stats.groups["broker"]["b:9092"].node == 2


def test_buckets_do_not_grow_with_latencies():
    histogram = Histogram()
    for number in range(100_000):
        histogram.add(0.001 + number % 1000 / 1e6)
    assert histogram.count == 100_000
    assert len(histogram.buckets) <= 97


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=50))
def test_estimates_are_as_exact_as_percentiles_down_to_nanoseconds(nanoseconds):
    histogram = Histogram()
    for latency in nanoseconds:
        histogram.add(latency / 1e9)
    count, *estimates, most = histogram.points()
    assert (count, most) == (len(nanoseconds), max(nanoseconds) / 1e9)
    assert estimates == sorted(estimates)
    for share, estimate in zip((0.5, 0.95, 0.99), estimates, strict=True):
        assert estimate <= most
        assert estimate == pytest.approx(histogram.percentile(share), rel=0.001, abs=1e-9)


def spoken(tmp_path, *latencies):
    """A capture with nanoseconds in which Metadata requests are answered after these nanoseconds."""
    said, times = [], []
    for number, latency in enumerate(latencies, 1):
        said += [(0, Wire.request("Metadata", 9, number)), (1, Wire.response("Metadata", 9, number))]
        times += [number * SECOND, number * SECOND + latency]
    path = tmp_path / "nanoseconds.pcap"
    path.write_bytes(spoken_capture(*said, times=times, magic=PCAP_NANO))
    return path


def test_latencies_below_a_microsecond_are_shown(tmp_path):
    path = spoken(tmp_path, 400, 450, 499)
    (row,) = json.loads(kwire_command("stats", path, "--by", "api", "-f", "json").out)["tables"]["api"]
    assert [row[f"latency{point}"] for point in POINTS] == [3, 4.52e-07, 4.99e-07, 4.99e-07, 4.99e-07]
    (row, *_) = json.loads(kwire_command("stats", path, "--every", "1m", "-f", "json").out)["tables"]["overTime"]
    assert (row["latencyP99OverTime"], row["latencyMaxSeconds"]) == ([4.99e-07], 4.99e-07)
    heading, cells = kwire_command("stats", path, "--by", "api", "-f", "table").out.splitlines()[2:]
    assert "p50 µs  p95 µs  p99 µs  max µs" in heading
    assert cells.split()[-5:-1] == ["0.45", "0.50", "0.50", "0.50"]


def test_the_largest_latency_is_the_one_of_its_frame(tmp_path):
    path = spoken(tmp_path, 1_234_567, 9_876_543)
    (row,) = json.loads(kwire_command("stats", path, "--by", "api", "-f", "json").out)["tables"]["api"]
    assert [row[f"latency{point}"] for point in POINTS] == [2, 0.001241, 0.009876543, 0.009876543, 0.009876543]
    frames = [json.loads(line) for line in kwire_command("decode", path, "-f", "jsonl").out.splitlines()]
    assert row["latencyMaxSeconds"] == max(frame.get("latency", 0) for frame in frames)


def test_strange_latencies_are_counted():
    histogram = Histogram()
    for latency in (0.0, -1.0, 1e-12):
        histogram.add(latency)
    assert histogram.percentile(0.5) <= 1e-9
    assert Histogram().percentile(0.5) is None


@pytest.fixture
def stats(wire):
    def exchange(api, version, correlation, question, answer):
        return [
            (0, wire.request(api, version, correlation, "me", **question)),
            (1, wire.response(api, version, correlation, **answer)),
        ]

    topic = {"errorCode": 3, "name": "orders", "partitions": []}
    said = exchange(
        "Metadata", 3, 1, {"topics": [{"name": "orders"}]}, {"throttleTimeMs": 5, "clusterId": None, "topics": [topic]}
    )
    said += exchange("Metadata", 3, 2, {"topics": []}, {"clusterId": None})
    said += exchange("Fetch", 4, 3, {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1}, {})
    found = Stats()
    for line in wire.lines(*said) + wire.lines((0, b"SSH-2.0-x\r\n")):
        found.add(line)
    return found


def test_groups_by_api_client_and_topic(stats):
    shown = keyed_answer(stats.answer())
    assert shown["frames"] == {"request": 3, "response": 3, "not-kafka": 1}
    assert set(shown["api"]) == {"Metadata 3", "Fetch 4"}
    metadata = shown["api"]["Metadata 3"]
    assert (metadata["requests"], metadata["responses"], metadata["throttled"]) == (2, 2, 1)
    assert [metadata[f"latency{point}"] for point in POINTS] == [2, 0.001, 0.001, 0.001, 0.001]
    assert [metadata[f"wait{point}"] for point in POINTS] == [None] * 5
    assert metadata["errors"] == {"UNKNOWN_TOPIC_OR_PARTITION": 1}
    assert shown["client"]["me"]["requests"] == 3
    assert shown["topic"]["orders"]["requests"] == shown["topic"]["orders"]["responses"] == 1


def test_answers_that_wait_on_purpose_are_apart(stats):
    shown = keyed_answer(stats.answer())
    fetch, client = shown["api"]["Fetch 4"], shown["client"]["me"]
    assert (fetch["latencyCount"], fetch["waitCount"]) == (None, 1)
    assert (client["latencyCount"], client["waitCount"]) == (2, 1)


def test_an_unknown_api_is_counted_by_its_key(wire):
    strange = bytearray(wire.request("Heartbeat", 0, 2, groupId="g", memberId="m", generationId=1))
    strange[4:6] = (9999).to_bytes(2, "big")
    found = Stats()
    for line in wire.lines((0, wire.request("Metadata", 1, 1, topics=[]) + bytes(strange))):
        found.add(line)
    assert set(keyed_answer(found.answer())["api"]) == {"Metadata 1", "9999 0"}


def test_requests_that_name_several_groups_count_for_each_in_captures_and_logs(wire):
    bodies = {
        ("ConsumerGroupDescribe", 69): {"groupIds": ["a", "b"], "includeAuthorizedOperations": False},
        ("ShareGroupDescribe", 77): {"groupIds": ["a"], "includeAuthorizedOperations": False},
        ("StreamsGroupDescribe", 89): {"groupIds": ["b"], "includeAuthorizedOperations": False},
        ("DescribeShareGroupOffsets", 90): {"groups": [{"groupId": "a", "topics": []}]},
        ("DescribeGroups", 15): {"groups": ["b"], "includeAuthorizedOperations": False},
    }
    version = {"DescribeGroups": 5, "DescribeShareGroupOffsets": 0, "StreamsGroupDescribe": 0}
    requests = [
        wire.request(api, version.get(api, 1), number, **body) for number, ((api, _), body) in enumerate(bodies.items())
    ]
    found = Stats({"group": {}})
    for line in wire.lines((0, b"".join(requests))):
        found.add(line)
    logged = Stats({"group": {}})
    for (api, key), body in bodies.items():
        logged.add(Reader(CATALOG).exchange(document(key, version.get(api, 1), request=body), 1, None))
    for stats in (found, logged):
        assert {name: group.requests for name, group in stats.groups["group"].items()} == {"a": 3, "b": 3}


ID = "lLV6r4uOTnKlQwXY7rCQ6g"
LOGGED = (
    document(1, 13, request={"topics": [{"topicId": ID}]}, response={"errorCode": 0}, totalTimeMs=500.25),
    document(
        3,
        12,
        response={"topics": [{"errorCode": 3, "name": "orders", "topicId": ID}]},
        throttleTimeMs=3,
        messageConversionsTime=0.125,
    ),
    document(0, 9, client="d", request={"topicData": [{"name": "orders"}]}) | {"response": None},
    document(9999, 1, client="d"),
)


def counted(documents):
    found, reader = Stats(), Reader(CATALOG)
    for number, each in enumerate(documents):
        found.add(reader.exchange(each, number, None))
    return found


def test_a_response_to_nothing_seen_that_is_unlike_any_is_a_gap_as_in_decode(wire):
    unlike_any = wire.raw((2).to_bytes(4, "big") + bytes([1, 2, 3]))
    found = Stats()
    for line in wire.lines((0, wire.request("Metadata", 3, 1, "me", topics=[])), (1, unlike_any)):
        found.add(line)
    document = keyed_answer(found.answer())
    assert document["frames"] == {"request": 1, "gap": 1}
    assert document["anomalies"] == {"NOT_RECOGNISED": 1}
    assert {name: api["responses"] for name, api in document["api"].items()} == {"Metadata 3": 0}


def test_a_row_names_a_few_errors_and_json_all():
    found = Stats()
    group = found._group("client", "me")
    group.errors.update(dict.fromkeys(range(1000, 2000), 1) | {"NOT_COORDINATOR": 7})
    (row,) = (text for text in answer_text(found.answer()).splitlines() if text.startswith("me "))
    assert row.endswith("  7 NOT_COORDINATOR, 1 1000, 1 1001, 1 1002, 1 1003 (996 more)")
    assert len(keyed_answer(found.answer())["client"]["me"]["errors"]) == 1001


def test_exchanges_of_a_request_log_have_no_bytes():
    shown = keyed_answer(counted(LOGGED).answer())
    assert shown["frames"] == {"request": 4, "response": 3}
    assert {*shown["api"]} == {"Fetch 13", "Metadata 12", "Produce 9", "9999 1"}
    assert shown["api"]["Fetch 13"]["requestBytes"] is None
    assert shown["api"]["Fetch 13"]["waitMaxSeconds"] == 0.50025
    metadata = shown["api"]["Metadata 12"]
    assert (metadata["throttled"], metadata["throttleSeconds"], metadata["errors"]) == (
        1,
        0.003,
        {"UNKNOWN_TOPIC_OR_PARTITION": 1},
    )
    assert metadata["stagesSeconds"] == {
        "requestQueue": 0.0005,
        "local": 0.0015,
        "remote": 0.0,
        "throttle": 0.003,
        "responseQueue": 0.00025,
        "send": 0.00025,
        "messageConversions": 0.000125,
    }
    assert (shown["topic"]["orders"]["requests"], shown["broker"]["10.0.0.2:9092"]["requests"]) == (3, 4)


@given(st.permutations(range(4)), st.integers(0, 4))
def test_parts_add_up_in_any_order(order, cut):
    documents = [LOGGED[at] for at in order]
    first, second = counted(documents[:cut]), counted(documents[cut:])
    second.merge(first)
    documents = [answer_document(stats.answer()) for stats in (second, counted(LOGGED))]
    assert json.dumps(documents[0], sort_keys=True) == json.dumps(documents[1], sort_keys=True)


def test_captures_add_up(stats):
    twice = Stats()
    twice.merge(stats)
    twice.merge(stats)
    one, two = keyed_answer(stats.answer()), keyed_answer(twice.answer())
    assert (two["frames"]["request"], two["api"]["Fetch 4"]["requestBytes"]) == (
        6,
        2 * one["api"]["Fetch 4"]["requestBytes"],
    )
    before, after = one["api"]["Metadata 3"], two["api"]["Metadata 3"]
    assert [after[f"latency{point}"] for point in POINTS] == [4, *(before[f"latency{point}"] for point in POINTS[1:])]


@pytest.mark.parametrize(
    ("ms", "bound"),
    [(0.4, 0.5), (0.5, 0.5), (0.51, 1), (1, 1), (1.2, 2), (3, 5), (7, 10), (10, 10), (11, 20), (4999, 5000)],
)
def test_latencies_are_parted_at_1_2_and_5(ms, bound):
    assert bound_of(step_of(ms)) == pytest.approx(bound)


def test_statistics_of_nothing_have_no_charts():
    assert not any(isinstance(block, Chart) for block in Stats().answer().blocks)
    assert answer_text(Stats().answer()) == ""


@pytest.mark.shared
@pytest.mark.parametrize("name", ["client-franz-go", "java44-txn", "old39-sarama-0.8.2.0"])
def test_a_log_and_a_capture_of_the_same_traffic_count_the_same(name):
    of_log, of_capture = Stats(), Stats()
    for exchange in RequestLog(OWN / name / "broker-request-log.jsonl.gz", CATALOG):
        of_log.add(exchange)
    for line in traffic(CATALOG, Capture(OWN / name / "capture.pcapng")):
        of_capture.add(line)
    for kind in ("api", "client"):
        logged, captured = (
            {key: (group.requests, group.errors) for key, group in each.groups[kind].items()}
            for each in (of_log, of_capture)
        )
        assert logged == captured


def test_columns_of_each_group_have_names_of_their_own(wire):
    stats = Stats({"software": {}, "client": {}})
    body = {"clientSoftwareName": "kwire", "clientSoftwareVersion": "1"}
    for line in wire.lines(
        (0, wire.request("ApiVersions", 3, 1, "me", **body)), (0, wire.request("Fetch", 4, 2, "me"))
    ):
        stats.add(line)
    tables = [block for block in stats.answer().blocks if isinstance(block, Table)]
    assert [len(table.rows) for table in tables] == [1, 1]
    for table in tables:
        names = [column.name for column in table.columns]
        assert len(names) == len({*names})
        assert all(len(row) == len(names) for row in table.rows)


def test_groups_are_bounded():
    stats = Stats(most=2)
    for number in range(6):
        for line in Wire.lines((0, Wire.request("Metadata", 4, client=f"client-{number}"))):
            stats.add(line)
    assert {name: group.requests for name, group in stats.groups["client"].items()} == {
        "client-0": 1,
        "client-1": 1,
        OTHERS: 4,
    }
    total = Stats(most=2)
    total.merge(stats)
    total.merge(stats)
    assert sum(group.requests for group in total.groups["client"].values()) == 12
