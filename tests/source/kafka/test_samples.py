"""Captures as wholes: real ones, and real ones whose packets were shuffled, repeated, lost, cut and damaged."""

import hashlib
import json
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import Phase, given, settings, strategies as st
from kit.commands import ROOT

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import Data, Gap
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Streams

SAMPLES = sorted((ROOT / "samples" / "captures").glob("*.pcap*"))
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


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_byte_of_a_sample_is_in_a_line(path):
    check_every_byte(path)


@pytest.mark.shared
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_others_captured_is_decoded_without_an_anomaly(path):
    check_every_byte(path)
    for line in traffic(CATALOG, Capture(str(path))):
        assert line.kind in {"request", "response"}
        assert not line.frame.anomalies
        assert line.kind == "request" or line.request


@pytest.mark.slow
@pytest.mark.shared
def test_what_brokers_logged_is_what_their_captures_show():
    kwire = f"{sys.executable} -m kwire_cli"
    done = subprocess.run(
        [sys.executable, str(SHARED / "checks" / "captures.py"), "--kwire", kwire],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


# Damaged

QUICK = (Phase.generate,)  # examples are whole captures: shrinking them takes minutes

PACKETS = [
    each
    for name in ("kafka-python-4.4.0.pcapng", "sarama-0.8.2.0-3.9.2.pcapng")
    for each in packets(str(ROOT / "samples" / "captures" / name))
]


def lines_of(segments):
    streams = Streams()

    def events():
        for segment in segments:
            yield from streams.feed(segment)
        yield from streams.close()

    return list(traffic(CATALOG, events()))


def content(line):
    """What a frame says, without where and when."""
    shown = line.to_json()
    kept = {
        key: value
        for key, value in shown.items()
        if key not in {"frame", "time", "packet", "stream", "requestFrame", "latency", "topics"}
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def segments_of(chosen):
    unpack = Segments()
    return list(unpack(chosen)) + list(unpack.close() or ())


ALL_SEGMENTS = segments_of(PACKETS)
WHOLE = Counter(content(line) for line in lines_of(ALL_SEGMENTS))


@st.composite
def rewritten(draw):
    """The segments in another order within windows of a few, some of them repeated, some lost or cut."""
    rng = draw(st.randoms(use_true_random=False))
    window, share = draw(st.integers(1, 8)), draw(st.floats(0, 0.3))
    out = []
    for at, segment in enumerate(ALL_SEGMENTS):
        what = rng.random()
        if what < share / 4:
            continue
        if what < share / 2 and segment.payload:
            keep = rng.randrange(len(segment.payload))
            out.append((at, segment._replace(payload=segment.payload[:keep], missing=len(segment.payload) - keep)))
            continue
        out.append((at + rng.random() * (window - 1), segment))
        if what > 1 - share:
            out.append((at + rng.random() * window, segment))
    return [segment for _, segment in sorted(out, key=lambda pair: pair[0])]


@settings(max_examples=12, phases=QUICK)  # as many in `make test`: fewer do not reach all lines
@given(rewritten())
def test_frames_that_remain_whole_are_decoded_the_same(segments):
    lines = lines_of(segments)
    for line in lines:
        line.to_json()
        if line.frame and line.frame.body and not line.frame.anomalies and (line.kind == "request" or line.request):
            assert content(line) in WHOLE
