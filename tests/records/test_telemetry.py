import gzip
import sys

import pytest
from records import real_records

import kwire_cli as kwire
from kwire_cli.records.payload_fields import payloads_of
from kwire_cli.records.telemetry import otlp, telemetry

CATALOG = kwire.catalog()
METRICS = "opentelemetry.proto.metrics.v1.metrics_pb2"
# resource_metrics { scope_metrics { metrics { name: "m" gauge { data_points { as_double: 1.0 } } } } }
MESSAGE = bytes.fromhex("0a14 1212 1210 0a016d 2a0b 0a09 21000000000000f03f")
SHOWN = {
    "resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": [{"asDouble": 1.0}]}}]}]}]
}


@pytest.fixture
def without_otlp(monkeypatch):
    monkeypatch.setitem(sys.modules, METRICS, None)
    monkeypatch.setitem(sys.modules, "google.protobuf.json_format", None)


def test_metrics_as_json():
    pytest.importorskip(METRICS)
    found = telemetry("metrics", 1, gzip.compress(MESSAGE))
    assert found.to_json() == {"path": "metrics", "type": "MetricsData", "version": 1, "data": SHOWN}
    assert found.anomalies == []


@pytest.mark.usefixtures("without_otlp")
def test_without_the_extra_it_says_what_to_install():
    found = telemetry("metrics", 1, gzip.compress(MESSAGE))
    assert found.json_data()["size"] == len(MESSAGE)
    assert "kwire[schemas]" in found.json_data()["missing"]
    assert found.anomalies == []


def test_what_is_no_otlp_is_kept():  # INVALID_PROTOBUF
    pytest.importorskip(METRICS)
    shown, wrong = otlp(b"\xff\xff")
    assert shown == {"size": 2, "bytes": "//8="}
    assert wrong
    assert [note.code for note in telemetry("metrics", 0, b"\xff\xff").anomalies] == ["INVALID_PROTOBUF"]


@pytest.mark.parametrize(("codec", "code"), [(1, "DECOMPRESSION_FAILED"), (9, "UNKNOWN_COMPRESSION"), (None, None)])
@pytest.mark.usefixtures("without_otlp")
def test_what_can_not_be_decompressed(codec, code):
    found = telemetry("metrics", codec, b"abc")
    assert [note.code for note in found.anomalies] == ([code] if code else [])
    assert found.to_json()


@pytest.mark.usefixtures("without_otlp")
def test_a_bomb_stops_at_a_limit():
    found = telemetry("metrics", 1, gzip.compress(bytes(100_000_000)))
    assert [note.code for note in found.anomalies] == ["DECOMPRESSION_LIMIT"]
    assert found.json_data()["size"] <= 16 << 20


@pytest.mark.slow  # all real captures
@pytest.mark.shared
def test_real_metrics():
    pytest.importorskip(METRICS)
    frames = [
        frame for path in real_records.captures() for frame in kwire.read_frames(path) if frame.api == "PushTelemetry"
    ]
    found = [
        payload
        for frame in frames
        if frame.kind == "request"
        for payload in payloads_of(CATALOG, frame.body.spec, 0, frame.body.tree)
    ]
    assert len(found) == 12
    for payload in found:
        assert payload.anomalies == []
        metrics = [
            m
            for row in payload.json_data()["resourceMetrics"]
            for scope in row["scopeMetrics"]
            for m in scope["metrics"]
        ]
        assert metrics
        assert all(metric["name"].startswith("org.apache.kafka.") for metric in metrics)
