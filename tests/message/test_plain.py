"""Frames read without ado against the general way, over all captures of the samples."""

from pathlib import Path

import pytest

import kwire_cli as kwire
from kwire_cli.engine.python_source import MalformedError
from kwire_cli.engine.reader import OFTEN
from kwire_cli.message import known_layout
from kwire_cli.message.frames import Hints, read
from kwire_cli.message.known_layout import Headers, Layouts
from kwire_cli.message.roles import RAW, error_codes, role_values, roles, top_value, topics_in
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

CATALOG = kwire.catalog()
CAPTURES = sorted((Path(__file__).resolve().parents[2] / "samples" / "captures").glob("*.pcap*"))


def generally(line):
    hints = Hints(kind=line.kind)
    if line.kind == "response":
        hints = (
            Hints(CATALOG.api_by_key(line.seen.head.api_key), line.seen.head.version, "response")
            if line.seen.head
            else Hints(kind="response")
        )
    return read(CATALOG, line.seen.data, hints, number=line.number, start=0, stop=len(line.seen.data), prefixed=True)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_lines_of_captures_are_what_the_general_way_makes_of_them(path):
    plain = 0
    for line in traffic(CATALOG, Capture(path)):
        if not line.is_frame or line.seen.missing:
            continue
        frame = generally(line)
        for records in ("base64", "size"):
            shown = line.to_json(records=records)
            assert {key: shown[key] for key in frame.to_json(records=records)} == frame.to_json(records=records)
        assert line.anomalies == [anomaly.code for anomaly in frame.anomalies]
        assert (line.api_key, line.api, line.api_version) == (frame.api_key, frame.api, frame.api_version)
        assert line.correlation_id == (frame.header.value.get("correlationId") if frame.header else None)
        if line.message:
            plain += 1
            found = roles(frame.body.spec, frame.body.entry)
            values = role_values(found, frame.body.raw)
            assert line.message == frame.body.message
            assert line.own_topics == topics_in(values)
            assert line.error_codes == (error_codes(values) if line.kind == "response" else [])
            for name in found.top:
                assert line.field(name) == top_value(found, frame.body.raw, name)
    assert plain or path.name.startswith(("not-kafka", "sasl"))


def test_what_is_odd_is_left_to_the_general_way(wire):
    layouts = Layouts(CATALOG)
    assert layouts.get("request", 11, 5) is None  # JoinGroup contains another message
    assert layouts.get("request", 3, 99) is None
    assert layouts.get("response", 9999, 0) is None
    layout = layouts.get("request", 12, 3)
    request = wire.request("Heartbeat", 3, 7, "me", groupId="g", memberId="m")
    headers = Headers(CATALOG)
    plain = headers.plain(layout, request, 7)
    assert plain.header == {"headerVersion": 1, "correlationId": 7, "clientId": "me"}
    assert plain.body()["groupId"] == "g"
    for damaged in (request[:-1], request + b"\0", request.replace(b"\0\1g", b"\0\1\xff")):
        with pytest.raises(MalformedError):
            headers.plain(layout, damaged, 7).body()
    assert headers.plain(layout, request[:15], 7) is None


def test_connections_of_a_client_share_its_header(wire, monkeypatch):
    layout = Layouts(CATALOG).get("request", 12, 4)
    request = wire.request("Heartbeat", 4, 1, "me", groupId="g", memberId="m")
    first = Headers(CATALOG).plain(layout, request, 1)
    monkeypatch.setattr(known_layout, "decode_header", lambda *_, **__: pytest.fail("decoded again"))
    again = Headers(CATALOG)
    assert not again.names("me")
    assert again.plain(layout, request, 2).header == first.header | {"correlationId": 2}
    assert again.names("me")
    longer = wire.request("Heartbeat", 4, 1, "me2", groupId="g", memberId="m")
    with pytest.raises(pytest.fail.Exception):
        again.plain(layout, longer, 3)


@pytest.mark.parametrize("records", ["base64", "size", RAW])
def test_the_first_bodies_of_a_layout_say_what_later_ones_do(wire, records):
    layout = Layouts(CATALOG).get("request", 0, 8)
    topics = [{"name": "t", "partitionData": [{"index": 1, "records": "AQID"}]}]
    request = wire.request("Produce", 8, 1, "me", acks=1, timeoutMs=5, topicData=topics)
    headers = Headers(CATALOG)
    documents = [headers.plain(layout, request, 1).body(records) for _ in range(OFTEN + 2)]
    assert layout.readers.read is not layout.readers._first
    assert all(document == documents[-1] for document in documents)
    assert documents[0]["topicData"][0]["name"] == "t"
