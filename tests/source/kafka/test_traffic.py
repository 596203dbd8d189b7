import io
import json

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, End, Endpoint, Gap, Start
from kwire_cli.spec.kafka import WAITING

PLACE = ("frame", "time", "src", "dst", "stream", "packet", "kind", "size")
"""Keys that every line begins with."""
HERE, THERE = Endpoint(bytes([127, 0, 0, 1]), 50012), Endpoint(bytes(15) + b"\1", 9092)


def exchange(wire, correlation=1, topic="orders"):
    request = wire.request("Metadata", 1, correlation, "me", topics=[{"name": topic}])
    answer = wire.response("Metadata", 1, correlation, topics=[{"errorCode": 3, "name": topic, "partitions": []}])
    return request, answer


def events(said, *, opened=True):
    yield Start(3, HERE, THERE, opened, 0, 1)
    for packet, (side, what, time) in enumerate(said, 2):
        yield (
            Gap(3, side, what, "lost", 0, time, packet) if isinstance(what, int) else Data(3, side, what, time, packet)
        )
    yield End(3, "fin", None, 0)


def test_keys_of_a_request_and_its_response(wire):
    request, answer = exchange(wire)
    start = 1_795_255_200_123_456_789
    one, two = (
        line.to_json() for line in traffic(wire.catalog, events([(0, request, start), (1, answer, start + 2_500_000)]))
    )
    message = ["apiKey", "api", "apiVersion", "header", "body", "anomalies"]
    assert list(one) == [*PLACE, *message, "topics"]
    assert list(two) == [*PLACE, *message, "requestFrame", "latency", "topics"]
    assert one["time"] == "2026-11-21T10:00:00.123456Z"
    assert (one["src"], one["dst"], one["stream"], one["packet"]) == ("127.0.0.1:50012", "[::1]:9092", 3, 2)
    assert (one["frame"], one["kind"], one["size"], one["topics"]) == (1, "request", len(request), ["orders"])
    assert one["header"] == {"headerVersion": 1, "correlationId": 1, "clientId": "me"}
    assert (two["src"], two["dst"]) == ("[::1]:9092", "127.0.0.1:50012")
    assert (two["frame"], two["requestFrame"], two["latency"]) == (2, 1, 0.0025)
    assert (two["api"], two["apiVersion"]) == ("Metadata", 1)
    json.dumps([one, two], allow_nan=False)


def test_frames_that_lack_bytes_are_shown_as_far_as_they_are_there(wire):
    request, answer = exchange(wire)
    said = [(0, request[:20], 1), (0, len(request) - 20, 1), (1, answer, 2)]
    cut, lost, whole = traffic(wire.catalog, events(said))
    assert cut.frame.notes[0].code == "TRUNCATED"
    assert f"have 20 of {len(request)} bytes" in cut.frame.notes[0].detail
    assert cut.frame.header.value["clientId"] == "me"
    assert "TRUNCATED" in [anomaly["code"] for anomaly in cut.to_json()["anomalies"]]
    place = (2, "1970-01-01T00:00:00.000000Z", str(HERE), str(THERE), 3, 3, "gap", len(request) - 20)
    assert lost.to_json() == {**dict(zip(PLACE, place, strict=True)), "code": "LOST"}
    assert whole.request is cut


def test_other_protocols_have_their_name(wire):
    (line,) = traffic(wire.catalog, events([(0, b"GET / HTTP/1.1\r\n\r\n", 5)]))
    assert list(line.to_json()) == [*PLACE, "protocol"]
    assert (line.kind, line.to_json()["protocol"], line.to_json()["size"]) == ("not-kafka", "http", 18)


def test_frames_are_numbered_over_all_connections(wire):
    request, answer = exchange(wire)
    other = [event._replace(connection=4) for event in events([(0, request, 1), (1, answer, 2)])]
    mixed = [event for both in zip(events([(0, request, 1), (1, answer, 2)]), other, strict=True) for event in both]
    lines = list(traffic(wire.catalog, mixed))
    assert [(line.number, line.stream) for line in lines] == [(1, 3), (2, 4), (3, 3), (4, 4)]
    assert [line.request.number for line in lines[2:]] == [1, 2]


def test_no_time_no_latency(wire):
    request, answer = exchange(wire)
    one, two = traffic(wire.catalog, events([(0, request, None), (1, answer, 5)]))
    assert (one.time, two.latency) == (None, None)
    assert "latency" not in two.to_json()


@pytest.mark.parametrize(
    ("time", "text"),
    [(None, None), (0, "1970-01-01T00:00:00.000000Z"), (1_999, "1970-01-01T00:00:00.000001Z"), (1 << 80, None)],
)
def test_times(time, text):
    assert time_text(time) == text


def test_connections_that_do_not_end_are_ended(wire):
    request, _ = exchange(wire)
    said = list(events([(0, request + request[:10], 1)]))[:-1]
    assert [line.kind for line in traffic(wire.catalog, said)] == ["request", "request"]


def test_read_frames_takes_captures_by_path_bytes_and_file():
    path = ROOT / "samples" / "captures" / "not-kafka.pcapng"
    data = path.read_bytes()
    expected = [(frame.kind, frame.api_key, frame.data) for frame in kwire.read_frames(path)]
    assert expected
    for source in (str(path), data, memoryview(data), io.BytesIO(data)):
        assert [(frame.kind, frame.api_key, frame.data) for frame in kwire.read_frames(source)] == expected


def test_requests_behind_one_that_waits_are_held():
    """A broker takes the requests of a connection one after the other: what was sent before the answer to a Fetch came
    waited for it.
    """
    capture = Capture(ROOT / "samples" / "incidents" / "killed-member.pcap")
    lines = [line for line in traffic(kwire.catalog(), capture) if line.kind == "response" and line.request]
    held = [line for line in lines if line.delayed and line.api != "Fetch" and line.api not in WAITING]
    slow = max(held, key=lambda line: line.latency)
    assert (slow.api, round(slow.latency)) == ("ListOffsets", 9)
    assert all(line.delayed for line in lines if line.api in WAITING)
    until = {}
    for line in lines:
        behind = line.request.seen.time < until.get(line.stream, 0)
        assert line.delayed == (behind or line.api in WAITING)
        if line.api in WAITING:
            until[line.stream] = line.seen.time
