"""`kwire decode --pairs`: requests with their responses, also requests that have none."""

import json

import pytest
from kit.captures import spoken_capture
from kit.commands import ROOT, kwire, lines_of
from kit.traffic import MILLISECOND, Wire
from kit.views import validator

from kwire_cli.cli.capture_inputs import Choice, Pair
from kwire_cli.cli.options import FrameChoosing

SARAMA = ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"


def to_broker(correlation, api="Heartbeat", **body):
    return 0, Wire.request(api, 3 if api == "Produce" else 0, correlation, "app", **body)


def to_client(correlation, **body):
    return 1, Wire.response("Heartbeat", 0, correlation, **body)


SAID = (
    to_broker(1),
    to_broker(2, "Produce", acks=0, timeoutMs=1, topicData=[]),
    to_broker(3),
    to_client(3),
    to_broker(4),
    to_broker(5),
    to_client(4, errorCode=27),
)
"""Frames 1 and 6 have no response, frame 2 wants none."""
GIVEN_UP = "given up: too many pending"
PAIRS = [(2, None), (3, 4), (5, 7), (1, None), (6, None)]


def written(folder, *said):
    path = folder / "pairs.pcap"
    path.write_bytes(spoken_capture(*said, times=[number * MILLISECOND for number in range(1, len(said) + 1)]))
    return path


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """A capture of `SAID`."""
    return written(tmp_path_factory.mktemp("pairs"), *SAID)


def documents(capture, *words):
    return lines_of("decode", capture, "--pairs", *words)


def numbers(pairs):
    return [tuple(pair[half] and pair[half]["frame"] for half in ("request", "response")) for pair in pairs]


def test_requests_without_response_come_last_and_those_that_want_none_at_once(capture):
    pairs = documents(capture)
    assert numbers(pairs) == PAIRS
    frames = validator("frames")
    for half in (half for pair in pairs for half in pair.values() if half):
        frames.validate(half)
    done = kwire("decode", capture, "--pairs", "--format", "json")
    assert '"response": null' in done.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--frames", "1"), [(1, None)]),
        (("--frames", "3"), [(3, 4)]),
        (("--frames", "4"), [(3, 4)]),
        (("--frames", "3-4"), [(3, 4)]),
        (("--frames", "2-3"), [(2, None), (3, 4)]),
        (("--frames", "5-6"), [(5, 7), (6, None)]),
        (("--filter", "frame == 5"), [(5, 7)]),
        (("--filter", "error"), [(5, 7)]),
        (("--filter", "api == Produce"), [(2, None)]),
        (("--filter", "kind == request", "--top", "4"), PAIRS[:4]),
        (("--top", "0"), []),
        (("--filter", "stream == 0"), PAIRS),
        (("--sort", "latency"), [(5, 7), (3, 4), (2, None), (1, None), (6, None)]),
        (("--sort", "latency", "--top", "1"), [(5, 7)]),
    ],
)
def test_a_pair_is_shown_once_if_one_half_is_chosen(capture, words, expected):
    assert numbers(documents(capture, *words)) == expected


@pytest.mark.parametrize(
    ("fmt", "unwanted", "missing"),
    [
        ("table", "no response (acks=0)", "no response"),
        ("tree", "no response (acks=0)", "no response"),
        ("hex", "no response (acks=0)", "no response"),
    ],
)
def test_formats_with_room_say_why_there_is_no_response(capture, fmt, unwanted, missing):
    out = kwire("decode", capture, "--pairs", "--format", fmt).out
    assert out.count(unwanted) == 1
    assert out.count(missing) == 3
    alone = kwire("decode", capture, "--format", fmt).out
    assert unwanted not in alone


@pytest.mark.parametrize("fields", [(), ("--fields", "frame,kind")])
def test_rows_without_response_stand_alone(capture, fields):
    rows = kwire("decode", capture, "--pairs", "--format", "csv", *fields).out.splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == [number for pair in PAIRS for number in pair if number]


@pytest.fixture
def late(tmp_path):
    """A capture of 20 requests, and then of their responses."""
    return written(tmp_path, *(to_broker(number) for number in range(20)), *(to_client(number) for number in range(20)))


def test_an_exchange_is_shown_once_however_many_are_pending(late, monkeypatch):
    monkeypatch.setattr("kwire_cli.cli.pairing.MOST_PENDING", 4)
    assert numbers(documents(late)) == [(number, 20 + number) for number in range(1, 21)]


def test_a_request_that_was_given_up_and_its_response_say_so(late, monkeypatch):
    monkeypatch.setattr("kwire_cli.source.kafka.pending.MAX_PENDING", 12)
    monkeypatch.setattr("kwire_cli.cli.pairing.MOST_PENDING", 15)
    pairs = documents(late)
    given_up, late_ones = [(number, None) for number in range(1, 9)], [(None, number) for number in range(21, 29)]
    assert [pair for pair in numbers(pairs) if None in pair] == given_up + late_ones
    assert [pair for pair in numbers(pairs) if None not in pair] == [(number, 20 + number) for number in range(9, 21)]
    for pair in pairs:
        expected = {(True, True): None, (True, False): GIVEN_UP, (False, True): f"request {GIVEN_UP}"}
        assert pair.get("remark") == expected[pair["request"] is not None, pair["response"] is not None]
    out = kwire("decode", late, "--pairs", "--format", "table").out
    assert (out.count(GIVEN_UP), out.count(f"request {GIVEN_UP}"), out.count("no response")) == (16, 8, 0)


def test_all_frames_of_a_capture_are_in_its_pairs():
    done = kwire("decode", SARAMA, "--format", "jsonl", "--fields", "frame")
    frames = {json.loads(line)["frame"] for line in done.out.splitlines()}
    halves = [number for pair in numbers(documents(SARAMA)) for number in pair if number]
    assert len(halves) == len(set(halves))
    assert set(halves) == frames


def test_reading_ends_when_all_that_is_wanted_is_there():
    lines = Wire.lines(*SAID)
    rest = iter(lines)
    choice = Choice(FrameChoosing(frames="3"), Wire.catalog)
    assert [*choice.pairs_among(rest)] == [Pair(lines[2], lines[3])]
    assert [line.number for line in rest] == [5, 6, 7]


def test_strict_looks_at_both_halves_of_a_pair(tmp_path):
    request = Wire.request("Heartbeat", 0, 1, "app", groupId="g") + b"\x00"
    path = written(tmp_path, (0, Wire.raw(request[4:])), (1, Wire.response("Heartbeat")))
    for frames in ("1", "2"):
        assert kwire("decode", path, "--pairs", "--frames", frames, "--strict").code == 1


def test_strict_looks_at_gaps_too():
    """They belong to no pair, and bytes were lost all the same."""
    lost = ROOT / "samples/incidents/lost-packets.pcap"
    assert kwire("decode", "--pairs", "--strict", lost).code == 1
    assert kwire("decode", "--pairs", "--strict", "--filter", "stream == 0", lost).code == 0
