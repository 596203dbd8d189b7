"""`kwire_cli.open`: what inputs hold, one by one, as objects and as columns."""

import json
from datetime import UTC, datetime
from itertools import islice

import pytest
from kit.commands import ROOT, kwire as run
from kit.secrets import body_of, capture, framed, shows

import kwire_cli as kwire

CAPTURE = ROOT / "samples/incidents/rebalancing.pcap"
LOG = ROOT / "samples/request-logs/kafka-request.log"


def test_subjects_of_a_capture_are_the_lines_of_decode():
    printed = [json.loads(line) for line in run("decode", CAPTURE, "-f", "jsonl").out.splitlines()]
    subjects = kwire.open(CAPTURE)
    assert [json.loads(json.dumps(subject.to_json())) for subject in subjects] == printed
    for subject, document in zip(subjects, printed, strict=True):  # read anew
        for name in ("frame", "kind", "src", "dst", "stream", "api", "apiVersion"):
            assert subject[name] == document[name]
        assert subject["time"] == datetime.fromisoformat(document["time"])
        assert subject["topics"] == document.get("topics", [])
        assert subject["latency_us"] == (("latency" in document and round(document["latency"] * 1e6)) or None)
        assert subject.frame.body.to_json(records="decoded") == document["body"]


def test_nothing_is_read_before_it_is_asked_for():
    subjects = kwire.open(CAPTURE)
    assert [subject["frame"] for subject in islice(subjects, 2)] == [1, 2]
    assert repr(subjects).startswith("<kwire subjects of ")
    first = next(iter(subjects))
    assert repr(first) == "<request ApiVersions v4 00:16:09.408562 127.0.0.1:50268 > 127.0.0.1:29092>"


def test_a_filter_chooses_frames_and_batches():
    chosen = [subject["frame"] for subject in kwire.open(CAPTURE, filter="latency > 100ms")]
    lines = run("decode", CAPTURE, "--filter", "latency > 100ms", "-f", "jsonl").out.splitlines()
    assert chosen == [json.loads(line)["frame"] for line in lines]
    logs = ROOT / "samples/segments/garbage-0"
    chosen = [subject.batch.head.base_offset for subject in kwire.open(logs, filter="baseOffset > 50")]
    assert chosen
    assert min(chosen) > 50
    with pytest.raises(kwire.InputError, match="this is a request log"):
        next(iter(kwire.open(LOG, filter="error")))
    with pytest.raises(kwire.KwireError):
        kwire.open(CAPTURE, filter="latency >")
    with pytest.raises(kwire.InputError, match="no input"):
        kwire.open()


def test_request_logs_and_log_directories_have_subjects_too():
    request, response = islice(kwire.open(LOG), 2)
    assert [half["kind"] for half in (request, response)] == ["request", "response"]
    assert (request["api"], request["line"], request["file"]) == ("BrokerHeartbeat", 1, str(LOG))
    assert (request["latency"], response["latency"] > 0) == (None, True)
    assert request["src"] == response["dst"]
    with pytest.raises(kwire.InputError, match="no JSON of its own"):
        request.to_json()
    with pytest.raises(KeyError):
        request["nosuch"]
    batch = next(iter(kwire.open(ROOT / "samples/segments/orders-zstd-0")))
    assert (batch["kind"], batch["topics"], batch["api"], batch.frame) == ("batch", ["orders-zstd"], None, None)
    assert batch["time"] == datetime.fromtimestamp(1795259733.031, UTC)
    assert batch.to_json()["records"][0]["offset"] == 0


def test_secrets_are_redacted_unless_they_are_asked_for(tmp_path):
    file = tmp_path / "secret.pcap"
    file.write_bytes(capture([(0, framed(36, 2, body_of("SaslAuthenticateRequest", "authBytes", 2)))]))
    texts = [f"{subject.to_json()}{subject!r}{subject._repr_html_()}{subject.frame and subject.frame.to_json()}"
             for subject in kwire.open(file)]  # fmt: skip
    assert texts
    assert not any(map(shows, texts))
    assert any(shows(str(subject.to_json())) for subject in kwire.open(file, show_secrets=True))


def test_records_are_decoded_by_the_formats_that_are_given():
    pytest.importorskip("fastavro")
    folder = ROOT / "samples/schemas"
    formats = kwire.serdes(folder / "_schemas-0", key="text", redact=["value.id"])
    [subject] = kwire.open(folder / "avro-orders-0", serdes=formats)
    decoded = [record.get("decoded") for record in subject.to_json()["records"]]
    assert [each and each["key"]["data"] for each in decoded] == ["order-0", "order-1", "order-2", "order-3"]
    assert decoded[0]["value"]["data"]["id"].startswith("<redacted ")
    assert decoded[2]["value"]["error"] == "the value ends early, after 149 bytes"
    with pytest.raises(kwire.InputError, match="did you mean avro"):
        kwire.serdes(value="avor")
    assert "decoded" not in next(iter(kwire.open(folder / "avro-orders-0"))).to_json()["records"][0]
