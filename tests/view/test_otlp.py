"""Exchanges as OpenTelemetry spans: read by the protobuf classes of OTLP, and the same for the same capture."""

import base64
import json

import pytest
from command_line import ROOT, hold_page, kwire

CAPTURE = ROOT / "samples/incidents/rebalancing.pcap"


def spans(*arguments):
    done = kwire("decode", *arguments, "-f", "otlp")
    assert done.code == 0, done.err
    for line in done.out.splitlines():
        [resource] = json.loads(line)["resourceSpans"]
        [scope] = resource["scopeSpans"]
        [span] = scope["spans"]
        yield span, {fact["key"]: next(iter(fact["value"].values())) for fact in span["attributes"]}


def test_each_answered_request_is_a_span():
    frames = [json.loads(line) for line in kwire("decode", CAPTURE, "-f", "jsonl").out.splitlines()]
    answers = [frame for frame in frames if "requestFrame" in frame]
    found = [*spans(CAPTURE)]
    assert len(found) == len(answers) == 166
    for (span, facts), frame in zip(found, answers, strict=True):
        took = int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        assert took == pytest.approx(frame["latency"] * 1e9, abs=1000)
        assert facts["messaging.operation.name"] == frame["api"]
        assert f"{facts['server.address']}:{facts['server.port']}" == frame["src"]
        assert f"{facts['client.address']}:{facts['client.port']}" == frame["dst"]
        assert (facts["kwire.request.frame"], facts["kwire.response.frame"]) == (
            str(frame["requestFrame"]),
            str(frame["frame"]),
        )
        topics = frame.get("topics", [])
        assert facts.get("messaging.destination.name") == (topics[0] if len(topics) == 1 else None)
    assert len({span["spanId"] for span, _ in found}) == 166


def test_errors_groups_and_kinds_are_said():
    [(span, facts)] = spans(CAPTURE, "--frames", "32")
    assert span["status"] == {"code": 2, "message": "MEMBER_ID_REQUIRED"}
    assert (facts["error.type"], facts["messaging.consumer.group.name"]) == ("MEMBER_ID_REQUIRED", "payment-workers")
    [(span, facts)] = spans(CAPTURE, "--frames", "36")
    assert (span["name"], facts["messaging.operation.type"]) == ("Produce payments", "send")
    assert "status" not in span


def test_ids_are_those_of_the_capture(tmp_path):
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(CAPTURE.read_bytes())
    ids = [(span["traceId"], span["spanId"]) for span, _ in spans(CAPTURE)]
    assert [(span["traceId"], span["spanId"]) for span, _ in spans(copy)] == ids
    (other := tmp_path / "other").mkdir()
    (other / "copy.pcap").write_bytes(CAPTURE.read_bytes())
    assert len({span["spanId"] for span, _ in spans(copy, other / "copy.pcap")}) == 332


def test_the_classes_of_otlp_read_it():
    service = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    for line in kwire("decode", CAPTURE, "--filter", "error or topic == payments", "-f", "otlp").out.splitlines():
        document = json.loads(line)
        span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        for name, size in (("traceId", 16), ("spanId", 8)):
            octets = bytes.fromhex(span[name])  # OTLP has ids in hex, where protobuf's own JSON has base64
            assert len(octets) == size
            span[name] = base64.b64encode(octets).decode()
        read = json_format.ParseDict(document, service.TracesData())
        parsed = read.resource_spans[0].scope_spans[0].spans[0]
        assert parsed.kind == service.Span.SPAN_KIND_CLIENT
        assert parsed.start_time_unix_nano <= parsed.end_time_unix_nano
        assert "messaging.system" in {fact.key for fact in parsed.attributes}


def test_only_captures_have_spans():
    for path in ("frames/metadata-v13-response.hex", "segments/orders-zstd-0/00000000000000000000.log"):
        done = kwire("decode", ROOT / "samples" / path, "-f", "otlp")
        assert done.code == 2
        assert "--format otlp is for packet captures" in done.err


def test_the_page_shows_what_the_command_prints(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "otlp.md", updating)
