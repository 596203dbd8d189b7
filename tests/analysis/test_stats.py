"""Statistics: what counts for which group, percentiles, charts, and that they say what the summary says."""

import math
import random
from pathlib import Path

import pytest
from kit.calls import subjects
from kit.captures import SAMPLES, spoken_capture
from kit.commands import json_of, slow
from kit.logs import document
from kit.traffic import SECOND
from kit.views import keyed_answer

import kwire_cli
from kwire_cli.analysis.stats import Stats, bound_of
from kwire_cli.answer import Chart, Table
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.source.request_log.reading import RequestLog
from kwire_cli.view.terminal import answer_text

CATALOG = kwire_cli.catalog()
OWN = Path(__file__).parents[3] / "shared" / "real" / "own" / "captures"

POINTS = ("Count", "P50Seconds", "P95Seconds", "P99Seconds", "MaxSeconds")


def stats_of(subjects, *kinds):
    """Return the answer about subjects."""
    found = Stats(Redaction(CATALOG), *([kinds] if kinds else []))
    for subject in subjects:
        found.add(subject)
    return found.answer()


def logged(documents):
    reader = Reader(CATALOG)
    return [reader.exchange(each, number, None) for number, each in enumerate(documents)]


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
    return keyed_answer(stats_of(wire.lines(*said) + wire.lines((0, b"SSH-2.0-x\r\n"))))


def test_groups_by_api_client_and_topic(stats):
    shown = stats
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
    fetch, client = stats["api"]["Fetch 4"], stats["client"]["me"]
    assert (fetch["latencyCount"], fetch["waitCount"]) == (None, 1)
    assert (client["latencyCount"], client["waitCount"]) == (2, 1)


def test_an_unknown_api_is_counted_by_its_key(wire):
    strange = bytearray(wire.request("Heartbeat", 0, 2, groupId="g", memberId="m", generationId=1))
    strange[4:6] = (9999).to_bytes(2, "big")
    found = stats_of(wire.lines((0, wire.request("Metadata", 1, 1, topics=[]) + bytes(strange))))
    assert set(keyed_answer(found)["api"]) == {"Metadata 1", "9999 0"}


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
    exchanges = logged(document(key, version.get(api, 1), request=body) for (api, key), body in bodies.items())
    for found in (wire.lines((0, b"".join(requests))), exchanges):
        groups = keyed_answer(stats_of(found, "group"))["group"]
        assert {name: group["requests"] for name, group in groups.items()} == {"a": 3, "b": 3}


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


def test_a_response_to_nothing_seen_that_is_unlike_any_is_a_gap_as_in_decode(wire):
    unlike_any = wire.raw((2).to_bytes(4, "big") + bytes([1, 2, 3]))
    lines = wire.lines((0, wire.request("Metadata", 3, 1, "me", topics=[])), (1, unlike_any))
    document = keyed_answer(stats_of(lines))
    assert document["frames"] == {"request": 1, "gap": 1}
    assert document["anomalies"] == {"NOT_RECOGNISED": 1}
    assert {name: api["responses"] for name, api in document["api"].items()} == {"Metadata 3": 0}


def test_a_row_names_a_few_errors_and_json_all():
    errors = [code for code in range(1000, 1020) for _ in range(1 + (code == 1007))]
    topics = [{"errorCode": code, "name": "t", "partitions": []} for code in errors]
    answer = stats_of(logged([document(response={"topics": [topic]}) for topic in topics]), "client")
    (row,) = (text for text in answer_text(answer).splitlines() if text.startswith("c "))
    assert row.endswith("  2 1007, 1 1000, 1 1001, 1 1002, 1 1003 (15 more)")
    assert len(keyed_answer(answer)["client"]["c"]["errors"]) == 20


def test_exchanges_of_a_request_log_have_no_bytes():
    shown = keyed_answer(stats_of(logged(LOGGED)))
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


def test_a_topic_is_counted_under_its_name_if_any_line_names_its_id():
    assert {*keyed_answer(stats_of(logged(LOGGED)))["topic"]} == {"orders"}


def bars_of(*latencies):
    """Return the bars of latencies, in microseconds."""
    answer = stats_of(logged([document(totalTimeMs=us / 1000) for us in latencies]), "api")
    [chart] = (block for block in answer.blocks if isinstance(block, Chart) and block.kind == "histogram")
    return chart.series


def test_latencies_are_parted_at_1_2_and_5():
    counts = {"0.001": 2, "0.5": 2, "1": 2, "2": 2, "5": 1, "10": 2, "20": 1, "5000": 1}
    shown = bars_of(0, 1, 400, 500, 501, 1000, 1200, 2000, 3000, 7000, 10_000, 11_000, 4_999_000)
    assert [(name, count) for name, count in shown if count] == [(f"≤ {ms} ms", n) for ms, n in counts.items()]


def test_steps_without_latencies_have_bars_too():
    assert bars_of(300, 4000, 4500) == [("≤ 0.5 ms", 1), ("≤ 1 ms", 0), ("≤ 2 ms", 0), ("≤ 5 ms", 2)]
    assert [bound_of(step) for step in (0, 2, 3, 7)] == [0.001, 0.005, 0.01, 0.2]


def test_statistics_of_nothing_have_no_charts():
    assert not any(isinstance(block, Chart) for block in stats_of([]).blocks)
    assert answer_text(stats_of([])) == ""


@pytest.mark.shared
@pytest.mark.parametrize("name", [slow("client-franz-go"), "java44-txn", slow("old39-sarama-0.8.2.0")])
def test_a_log_and_a_capture_of_the_same_traffic_count_the_same(name):
    logged, captured = (
        keyed_answer(stats_of(given))
        for given in (
            RequestLog(OWN / name / "broker-request-log.jsonl.gz", CATALOG),
            traffic(CATALOG, Capture(OWN / name / "capture.pcapng")),
        )
    )
    for kind in ("api", "client"):
        of_log, of_capture = (
            {name: (row["requests"], row["errors"]) for name, row in found[kind].items()}
            for found in (logged, captured)
        )
        assert of_log == of_capture


def test_columns_of_each_group_have_names_of_their_own(wire):
    body = {"clientSoftwareName": "kwire", "clientSoftwareVersion": "1"}
    said = (0, wire.request("ApiVersions", 3, 1, "me", **body)), (0, wire.request("Fetch", 4, 2, "me"))
    answer = stats_of(wire.lines(*said), "software", "client")
    tables = [block for block in answer.blocks if isinstance(block, Table)]
    assert [len(table.rows) for table in tables] == [1, 1]
    for table in tables:
        names = [column.name for column in table.columns]
        assert len(names) == len({*names})
        assert all(len(row) == len(names) for row in table.rows)


# Percentiles, and the numbers of the summary.


@pytest.mark.parametrize("count", [1, 20, 21])
def test_percentiles_are_latencies_that_this_share_of_all_do_not_exceed(count):
    chance = random.Random(count)
    latencies = [chance.randrange(1, 10**7) for _ in range(count)]
    [row] = keyed_answer(stats_of(logged(document(totalTimeMs=us / 1000) for us in latencies), "api"))["api"].values()
    ranked = sorted(latencies)
    exact = [ranked[math.ceil(share * count / 100) - 1] / 1e6 for share in (50, 95, 99, 100)]
    assert [row[f"latency{point}"] for point in POINTS] == [count, *exact]


def test_latencies_are_negative_where_the_clock_was_set_back(tmp_path, wire):
    said = [
        part
        for number in range(1, 4)
        for part in ((0, wire.request("Heartbeat", 4, number)), (1, wire.response("Heartbeat", 4, number)))
    ]
    path = tmp_path / "back.pcap"
    times = [1_700_000_000 * SECOND - each * 1_000_000 for each in (0, 5, 10, 12, 20, 20)]
    path.write_bytes(spoken_capture(*said, times=times))
    [row] = json_of("stats", path, "--by", "api")["tables"]["api"]
    assert [row[f"latency{point}"] for point in POINTS] == [3, -0.002, 0.0, 0.0, 0.0]


@pytest.mark.usefixtures("few_rules")
@pytest.mark.parametrize("name", ["incidents/rebalancing.pcap", "request-logs/kafka-request.log"])
def test_numbers_are_those_of_the_summary(name):
    summary = json_of("summary", SAMPLES / name)
    stats = json_of("stats", SAMPLES / name)["tables"]
    [total] = json_of("stats", SAMPLES / name, "--every", "1h")["tables"]["overTime"]
    facts = summary["facts"]
    assert [total[f"latency{point}Seconds"] for point in ("P50", "P99")] == [
        facts["latencyP50Seconds"], facts["latencyP99Seconds"]
    ]  # fmt: skip
    by_api = {}
    for row in stats["api"]:
        api = row["api"].rpartition(" ")[0]
        by_api[api] = by_api.get(api, 0) + row["requests"]
    assert by_api == {row["api"]: row["requests"] for row in summary["tables"]["apis"]}
    for table, key, name_of in (("broker", "broker", "broker"), ("client", "client", "clientId")):
        own = {row[key]: (row["requests"], row["errors"]) for row in stats[table]}
        assert own == {row[name_of]: (row["requests"], row["errors"]) for row in summary["tables"][f"{table}s"]}


def test_an_exchange_that_a_proxy_passes_on_counts_once():
    path = SAMPLES / "incidents" / "mangling-proxy.pcap"
    lines = [subject for subject in subjects(path, connections=False) if subject.kind == "request"]
    rows = json_of("stats", path, "--by", "client")["tables"]["client"]
    assert 0 < sum(row["requests"] for row in rows) < len(lines)
