"""The JSON Schemas of frames and batches in docs/ describe what kwire prints."""

import json
import random
import tempfile

import pytest
from hypothesis import given, strategies as st
from jsonschema import ValidationError
from kit.captures import SAMPLES, spoken_capture
from kit.commands import ROOT, examples, kwire
from kit.traffic import Wire
from kit.views import documents, hold, validator

CAPTURE = "samples/incidents/rebalancing.pcap"
CAPTURES = sorted(str(path.relative_to(ROOT)) for path in (SAMPLES / "captures").iterdir())
SMALL = [path for path in sorted(SAMPLES.glob("*/*.pcap*")) if path.stat().st_size < 20_000]
PRINTED = [
    *(("frames", ["decode", path]) for path in CAPTURES),
    ("frames", ["decode", "samples/incidents/sasl.pcap"]),
    ("frames", ["decode", "--records", "size", CAPTURE]),
    ("frames", ["decode", "--lossless", "samples/frames/produce-v13-request.hex"]),
    ("frames", ["decode", "samples/frames/metadata-v13-response.hex"]),
    ("frames", ["decode", CAPTURE, "samples/incidents/sasl.pcap"]),
    ("batches", ["dump", "samples/segments/orders-zstd-0", "samples/segments/garbage-0", "samples/segments/bitflip-0"]),
    ("batches", ["dump", "--deep", "samples/segments/__consumer_offsets-0", "samples/segments/__cluster_metadata-0"]),
]


@pytest.mark.parametrize(("name", "arguments"), PRINTED, ids=" ".join)
@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_frames_and_batches_are_valid(name, arguments, fmt, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold(validator(name), kwire(*arguments, "-f", fmt).out)


def test_a_gap_that_answers_a_request_of_an_unknown_api_is_valid(tmp_path):
    path, unknown = tmp_path / "unknown.pcap", bytes.fromhex("7ffe0000000000070001630000")
    path.write_bytes(spoken_capture((0, Wire.raw(unknown)), (1, Wire.raw(bytes.fromhex("00000007000000")))))
    printed = kwire("decode", path).out
    gap = [*documents(printed)][-1]
    assert (gap["kind"], gap["requestFrame"], gap["latency"]) == ("gap", 1, 1.0)
    hold(validator("frames"), printed)


def test_a_redacted_header_is_valid():
    printed = kwire("decode", stdin=b"00000008 0024 0002 0a0b0c0d").out  # SaslAuthenticate, cut in its header
    assert "redacted" in next(documents(printed))["header"]["correlationId"]
    hold(validator("frames"), printed)


@examples(12)
@given(st.sampled_from(SMALL), st.integers(0, 2**32).map(random.Random))
def test_lines_of_damaged_captures_are_valid(path, dice):
    damaged = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 12)):
        damaged[dice.randrange(60, len(damaged))] = dice.choice([0, 255, dice.randrange(256)])
    schema = validator("frames")
    with tempfile.NamedTemporaryFile(suffix=path.suffix) as file:
        file.write(damaged)
        file.flush()
        for line in documents(kwire("decode", file.name).out):
            schema.validate(line)


@pytest.mark.parametrize(
    ("name", "arguments", "wrong"),
    [
        ("frames", ["decode", CAPTURE], {"other": 1}),
        ("frames", ["decode", CAPTURE], {"frame": "1"}),
        ("frames", ["decode", CAPTURE], {"time": "2026-11-21"}),
        ("frames", ["decode", CAPTURE], {"latency": "1 ms"}),
        ("batches", ["dump", "samples/segments/orders-zstd-0"], {"other": 1}),
        ("batches", ["dump", "samples/segments/orders-zstd-0"], {"crcValid": "yes"}),
    ],
)
def test_lines_of_another_shape_are_invalid(name, arguments, wrong, monkeypatch):
    monkeypatch.chdir(ROOT)
    schema = validator(name)
    line = json.loads(kwire(*arguments, "-f", "jsonl").out.splitlines()[0])
    schema.validate(line)
    with pytest.raises(ValidationError):
        schema.validate(line | wrong)
