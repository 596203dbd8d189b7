"""Request logs as rows of `frames` and `faults`: what the reader of one machine finds, in whatever parts."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest
from command_line import ROOT, kwire
from log_lines import line

import kwire_cli
from kwire_cli.source.request_log.reading import RequestLog

LOG, CAPTURE = "samples/request-logs/kafka-request.log", "samples/captures/kafka-python-4.4.0.pcapng"
CATALOG = kwire_cli.catalog()
SCRAM = {
    "deletions": [],
    "upsertions": [{"name": "u", "mechanism": 1, "iterations": 4096, "salt": "c2FsdA==", "saltedPassword": "cGFzcw=="}],
}
HEADER = b'Completed request:{"requestHeader":{"requestApiKey":3,"requestApiVersion":12},"request":'
NESTED = HEADER + b'{"topics":' + b"[" * 1015 + b"]" * 1015 + b'},"response":{}}\n'
"""Deeper than JSON is written."""

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def rows(*arguments):
    done = kwire("scan", *arguments, "--format", "jsonl")
    assert done.code == 0, done.err
    return [json.loads(text) for text in done.out.splitlines()]


def test_frames_are_the_exchanges_whatever_the_parts():
    found = rows(LOG, "--table", "frames")
    assert found == rows(LOG, "--table", "frames", "--split-size", "2000")
    exchanges = [*RequestLog(ROOT / LOG, CATALOG)]
    assert [(row["frame"], row["kind"]) for row in found] == [
        (each.start, kind) for each in exchanges for kind in ("request", "response")
    ]
    for each, request, response in zip(exchanges, found[::2], found[1::2], strict=True):
        assert [request[name] for name in ("api", "api_version", "client_id", "software", "topics",
        "correlation_id")] == [
            each.api, each.api_version, each.client_id, each.software, each.topics, each.correlation_id,
        ]  # fmt: skip
        assert (request["src"], request["dst"]) == (response["dst"], response["src"]) == (each.client, each.broker)
        assert (response["request_frame"], request["request_frame"]) == (each.start, None)
        assert (response["latency_us"], response["errors"]) == (
            round(each.total_ms * 1000),
            [str(error) for error in each.errors],
        )
        times = [datetime.fromisoformat(row["time"]) for row in (request, response)]
        assert times[1] - times[0] == timedelta(microseconds=response["latency_us"])
        assert times[1] == datetime.fromisoformat(each.time).replace(tzinfo=UTC)
        assert (request["size"], response["size"], request["stream"]) == (None, None, None)


def test_queries_are_over_captures_and_logs_together():
    query = "select api, kind, count(*) as n, sum(size) as bytes from frames group by api, kind"
    apart = [{(row["api"], row["kind"]): row for row in rows(path, "--sql", query)} for path in (LOG, CAPTURE)]
    both = {(row["api"], row["kind"]): row for row in rows(LOG, CAPTURE, "--sql", query)}
    assert {key: row["n"] for key, row in both.items()} == {
        key: sum(some[key]["n"] for some in apart if key in some) for key in {*apart[0], *apart[1]}
    }
    assert {key: row["bytes"] for key, row in both.items() if row["bytes"]} == {
        key: row["bytes"] for key, row in apart[1].items()
    }


def test_odd_values_are_null_and_what_is_wrong_is_a_fault(tmp_path):
    log = tmp_path / "requests.log"
    odd = line(51, 99, request=SCRAM, response="", correlation=1 << 40, time="9999-12-31 10:00:00,123")
    codes = line(
        3,
        12,
        response={
            "throttleTimeMs": 1 << 40,
            "brokers": [],
            "errorCode": 1 << 40,
            "topics": [{"errorCode": 3, "name": "t"}],
        },
    )
    log.write_bytes(
        line(51, 0, request=SCRAM, response={"throttleTimeMs": 5, "results": []})
        + b"Completed request:{\n"
        + odd
        + codes
        + NESTED
    )
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(line() * 50)[:-30])
    query = "select * from frames where file like '%requests.log' order by frame, kind"
    _, answer, unknown, _, metadata, nested, _ = rows(tmp_path, "--sql", query)
    assert answer["throttle_ms"] == 5
    assert unknown["correlation_id"] is None
    assert (metadata["errors"], metadata["error_codes"], metadata["throttle_ms"]) == (
        [str(1 << 40), "UNKNOWN_TOPIC_OR_PARTITION"],
        [3],
        None,
    )
    assert nested["api"] == "Metadata"
    faults = {(row["file"].rpartition("/")[2], row["code"]): row for row in rows(tmp_path, "--table", "faults")}
    assert {*faults} - {("cut.log.gz", "DAMAGED_LINE")} == {
        ("requests.log", "DAMAGED_LINE"),
        ("cut.log.gz", "DAMAGED_FILE"),
    }
    assert faults["requests.log", "DAMAGED_LINE"]["position"] == log.read_bytes().index(b"Completed request:{\n")
    done = kwire("scan", tmp_path, "--table", "frames", "--fail-fast")
    assert done.code == 2
    assert "DAMAGED_" in done.err
