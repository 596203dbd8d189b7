"""The quick ways of printing a line of a capture against the plain ones."""

import json

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.message.roles import RecordsAs
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.view.batch_json import field_text
from kwire_cli.view.json import dumps, line_dumps, many_dumps

CATALOG = kwire.catalog()
CAPTURES = sorted((ROOT / "samples" / "captures").glob("*.pcap*"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_lines_are_printed_the_same_quickly(path):
    items = field_text(RecordsAs(CATALOG))
    # Twice: the second time every message has a shape, and a text is made for it.
    for line in (line for _ in range(2) for line in traffic(CATALOG, Capture(path))):
        document = line.to_json()
        assert (
            json.loads(many_dumps(document))
            == json.loads(dumps(document, indent=False))
            == json.loads(dumps(document, indent=True))
        )
        if line.message:
            for records in ("base64", "size", "decoded"):
                shown = line_dumps(line, records, None, items)
                assert shown.count(b"\n") == 1
                assert repr(json.loads(shown)) == repr(json.loads(many_dumps(line.to_json(records=records))))


def test_short_latencies_are_shown_as_decimals(wire):
    request, answer = wire.request("Heartbeat", 3, 1, "me", groupId="g", memberId="m"), wire.response("Heartbeat", 3, 1)
    for nanoseconds in (0, 1, 999, 46_000, 99_999, 100_000, 12_345_678, 3_000_000_000, -46_000):
        asked, answered = wire.lines((0, request), (1, answer))
        answered.seen.time = asked.seen.time + nanoseconds
        shown = line_dumps(answered, "base64")
        assert json.loads(shown)["latency"] == nanoseconds / 1e9 == answered.to_json()["latency"]
        assert nanoseconds < 0 or b"e-" not in shown


def test_lines_hold_whatever_their_messages_say(wire):
    names = ("plain", 'a"b\\c', "tab\there", "ümlaut", "a\x00b\x7f", "%d %s", "\u2028")
    said = []
    for number, name in enumerate(name for name in names for _ in range(8)):
        padded = name + "x" * (12 - len(name.encode()))
        body = {"groupId": padded, "memberId": padded, "generationId": -number, "groupInstanceId": None}
        said.append((0, wire.request("Heartbeat", 3, number, name, **body)))
    for line in wire.lines(*said):
        assert line.message == "HeartbeatRequest"
        assert repr(json.loads(line_dumps(line, "base64"))) == repr(line.to_json())
