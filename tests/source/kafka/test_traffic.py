import io

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, End, Endpoint, Start
from kwire_cli.spec.kafka import WAITING

HERE, THERE = Endpoint(bytes([127, 0, 0, 1]), 50012), Endpoint(bytes(15) + b"\1", 9092)


def exchange(wire, correlation=1, topic="orders"):
    request = wire.request("Metadata", 1, correlation, "me", topics=[{"name": topic}])
    answer = wire.response("Metadata", 1, correlation, topics=[{"errorCode": 3, "name": topic, "partitions": []}])
    return request, answer


def events(said):
    yield Start(3, HERE, THERE, True, 0, 1)
    for packet, (side, data, time) in enumerate(said, 2):
        yield Data(3, side, data, time, packet)
    yield End(3, "fin", None, 0)


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
    held = [line for line in lines if line.seen.delayed and line.api != "Fetch" and line.api not in WAITING]
    slow = max(held, key=lambda line: line.latency)
    assert (slow.api, round(slow.latency)) == ("ListOffsets", 9)
    assert all(line.seen.delayed for line in lines if line.api in WAITING)
    until = {}
    for line in lines:
        behind = line.request.seen.time < until.get(line.stream, 0)
        assert line.seen.delayed == (behind or line.api in WAITING)
        if line.api in WAITING:
            until[line.stream] = line.seen.time
