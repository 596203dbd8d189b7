"""Real captures as wholes. What is lost, cut and damaged is in test_damage.py."""

from collections import Counter

import pytest
from kit.commands import ROOT

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Gap

SHARED = ROOT.parent / "shared"
OTHERS = sorted(SHARED.glob("real/captures/**/*.pcap*"))
CATALOG = kwire_cli.catalog()


def read(name):
    capture = Capture(str(ROOT / "samples" / "captures" / name))
    return list(traffic(CATALOG, capture))


@pytest.mark.parametrize(
    ("name", "requests", "responses"),
    [
        ("kafka-python-4.4.0.pcapng", 26, 26),
        ("sarama-0.8.2.0-3.9.2.pcapng", 9, 9),
        ("midstream.pcap", 115, 115),
        ("ipv6.pcap", 74, 74),
    ],
)
def test_every_frame_of_a_sample_is_paired_and_decoded(name, requests, responses):
    lines = read(name)
    assert Counter(line.kind for line in lines) == {"request": requests, "response": responses}
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        assert not line.frame.anomalies
        assert not line.frame.guess
        if line.kind == "response":
            assert line.request.seen.head == line.seen.head
            assert line.latency > 0


def check_every_byte(path):
    """The bytes of a capture's streams, and those of its lines: counted by stream and sender."""
    payload, shown = Counter(), Counter()
    capture = Capture(str(path))

    def counted():
        for event in capture:
            if isinstance(event, Data):
                payload[event.connection, event.direction] += len(event.data)
            elif isinstance(event, Gap):
                payload[event.connection, event.direction] += event.size
            yield event

    for line in traffic(CATALOG, counted()):
        shown[line.stream, line.seen.side] += line.seen.size
    assert +shown == +payload


@pytest.mark.shared
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_others_captured_is_decoded_without_an_anomaly(path):
    check_every_byte(path)
    for line in traffic(CATALOG, Capture(str(path))):
        assert line.kind in {"request", "response"}
        assert not line.frame.anomalies
        assert line.kind == "request" or line.request
