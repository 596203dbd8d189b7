"""Lines of a capture that are made again are those that were read."""

import base64
import gzip
from functools import partial
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of, write_hostile_capture
from kit.commands import ROOT
from kit.logs import batch, record
from kit.traffic import Wire
from kit.views import listing, matching, read

import kwire_cli
from kwire_cli.facts.columns import COLUMNS
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.tui.captures import NO_LINE
from kwire_cli.tui.listing import Search

CAPTURES = sorted(ROOT.glob("samples/captures/*.pcap*"))
LATER = "broker"
"""A column that may tell more once all of the capture is known."""


def lines(file, key_logs=()):
    capture = Capture(str(file), key_logs=key_logs)
    again = partial(Capture, str(file), key_logs=key_logs)
    return list(
        traffic(kwire_cli.catalog(), capture, waiting_since=capture.streams.waiting_since, again=again, names=Names())
    )


def response_of(found, number):
    response = found._responses[number]
    return None if response == NO_LINE else response


def same(file, *key_logs):
    found = read(file, tls_keylog=key_logs)
    expected = lines(file, key_logs)
    assert len(found) == len(expected)
    for number, line in enumerate(expected):
        again = found.line(number)
        assert again.to_json(records="decoded") == line.to_json(records="decoded")
        columns = [column for column in COLUMNS if column.name != LATER]
        assert {column.name: column.of_line(again) for column in columns} == {
            column.name: column.of_line(line) for column in columns
        }
        assert found.is_error(number) == bool(line.anomalies or line.errors)
        assert found.partner(number) == (line.request.number - 1 if line.request else response_of(found, number))
        assert not line.request or found.partner(line.request.number - 1) == number
    found.close()


@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: file.name)
def test_samples(file):
    same(file)


@pytest.mark.parametrize("key_logs", [(), (str(ROOT / "samples/tls/broker.keys"),)], ids=["without keys", "with keys"])
def test_tls(key_logs):
    same(ROOT / "samples/tls/broker.pcapng", *key_logs)


def test_tls_with_its_keys_in_it():
    same(ROOT / "samples/tls/cases.pcapng")


def test_a_hostile_capture(tmp_path):
    same(write_hostile_capture(tmp_path / "hostile.pcap"))


def test_a_packed_capture(tmp_path):
    file = tmp_path / "packed.pcapng.gz"
    file.write_bytes(gzip.compress(CAPTURES[1].read_bytes()))
    same(file)


def capture_of(path, said):
    talk = make.Talk()
    segments = [*talk.handshake(), *(talk.segment(side, data, missing=missing) for side, data, missing in said)]
    path.write_bytes(make.pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))
    return path


def test_lost_bytes(tmp_path):
    fetch = Wire.request(
        "Fetch",
        version=4,
        topics=[{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 9}]}],
    )
    same(capture_of(tmp_path / "lost.pcap", [(0, fetch[:-3], 3), (1, b"", 50), (0, fetch, 0)]))


def test_a_capture_that_is_cut(tmp_path):
    file = tmp_path / "cut.pcap"
    file.write_bytes((ROOT / "samples/captures/ipv6.pcap").read_bytes()[:40_000])
    same(file)
    found = read(file)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("after packet ")
    found.close()


def test_a_filter_finds_what_decode_finds():
    for file in CAPTURES:
        found = read(file)
        expected = [line.number - 1 for line in lines(file) if line.kind == "response" and line.seen.size > 60]
        assert matching(found, "kind == response and size > 60") == expected
        found.close()


def test_a_filter_goes_as_far_as_the_list():
    found = listing(CAPTURES[1])
    search = Search(found, "size > 0")
    steps = found.read()
    next(steps)
    for _ in range(3):
        for _ in search.steps():
            pass
        assert [*search.numbers] == [*range(len(found))]
        assert not search.is_behind
        next(steps, None)
    found.close()


@pytest.mark.slow
def test_memory_does_not_hold_the_frames(tmp_path):
    import tracemalloc

    records = base64.b64encode(batch(0, [record(None, bytes(60_000))])).decode()
    topic = {"name": "t", "partitionData": [{"index": 0, "records": records}]}
    big = Wire.request("Produce", version=3, acks=0, topicData=[topic])
    size = 1400
    many = [(0, big[at : at + size], 0) for _ in range(200) for at in range(0, len(big), size)]
    file = capture_of(Path(tmp_path) / "large.pcap", many)
    read(file).close()  # what is loaded once
    tracemalloc.start()
    found = read(file)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    many = len(found)
    found.close()
    assert many == 200
    assert file.stat().st_size > 12_000_000
    assert held < 6_000_000
