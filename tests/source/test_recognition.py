"""What inputs are: every golden body and batch, every sample, in every form and by every way in, is the same kind
everywhere, and the right one.
"""

import base64
import gzip
import io
import json
from functools import cache

import pytest
from hypothesis import given, strategies as st
from kit import messages, secrets
from kit.captures import SAMPLES
from kit.commands import examples, kwire
from kit.logs import SEGMENTS, batch, message, record

import kwire_cli
from kwire_cli.records.reading import Reader, source_of
from kwire_cli.source.kinds import Kind
from kwire_cli.source.recognition import LEAST_BATCH, recognise, why_batches

CLIENTS = (None, b"", b"a", b"adminclient-1")


def frames_of(rows):
    """Golden bodies as frames, with and without size prefix, for several client ids and correlation ids."""
    for row in rows:
        kind = next((kind for kind in ("request", "response") if row.message.endswith(kind.title())), None)
        if kind is None or row.catalog.message(row.message).api_key is None:
            continue
        what = row.catalog.message(row.message).api_key, row.version, row.body
        for correlation in (0, 1, 0x01020304):
            frames = (
                [secrets.framed(*what, client, correlation) for client in CLIENTS]
                if kind == "request"
                else [secrets.answered(*what, correlation)]
            )
            for frame in frames:
                yield row, frame
                yield row, frame[4:]


def wrong_frames(rows):
    return [str(row) for row, data in frames_of(rows) if why_batches(data, row.catalog)]


def cut_at_each_byte(data, most=400):
    """A record set, and its first batch cut at each byte: of messages from their header on, of others from the magic
    byte on.
    """
    frame = Reader(source_of(data)).frame(0)
    end = min(frame.end, len(data))
    yield from (
        data[:cut] for cut in [*range(frame.layout.head.size if frame.layout.is_message else LEAST_BATCH, end)][:most]
    )
    yield data


def test_no_golden_frame_of_the_sample_is_a_batch():
    assert wrong_frames(messages.sample()) == []


@pytest.mark.slow
@pytest.mark.shared
def test_no_golden_frame_is_a_batch():
    # Twenty bytes without a size prefix, whose first eight are those of an offset.
    likelier_batches = {"BrokerRegistrationResponse-3-nulls-4.4.0", "StopReplicaResponse-2-nulls-3.9.2"}
    assert {*wrong_frames(messages.shared())} <= likelier_batches


@pytest.mark.slow  # 30,000 pieces of batches
@pytest.mark.shared
def test_golden_batches_cut_anywhere_are_batches():
    text = gzip.decompress((messages.SHARED / "golden" / "kafka-releases.batches.jsonl.gz").read_bytes())
    text += (messages.SHARED / "golden" / "kafka-trunk-2024-10.batches.jsonl").read_bytes()
    tried, missed = 0, []
    for row in map(json.loads, text.splitlines()):
        data = bytes.fromhex(row["hex"])
        for cut in cut_at_each_byte(data):
            tried += 1
            if not why_batches(cut):
                missed.append((row["name"], data[:4] != bytes(4), len(cut)))
    # Messages of format v0 alone, cut before the lengths of key and value: nearly all have offsets above 2^32, as no
    # log of that time had.
    assert tried > 30_000
    assert len(missed) <= 60
    assert all(name.startswith("v0-") for name, *_ in missed)
    assert sum(not large for _, large, _ in missed) <= 8


RECORDS = st.lists(st.builds(record, st.binary(max_size=20)), min_size=1, max_size=3)
BATCHES = st.builds(batch, st.integers(0, 2**32 - 1), RECORDS, st.integers(0, 4))
MESSAGES = st.builds(message, st.just("v1"), st.integers(0, 2**31), st.binary(max_size=9))


@given(st.one_of(BATCHES, MESSAGES))
@examples(40)
def test_a_batch_is_one_whole_cut_and_with_a_wrong_checksum(data):
    for cut in cut_at_each_byte(data):
        assert recognise(cut).kind is Kind.BATCHES
    assert recognise(data[:-1] + bytes([data[-1] ^ 1])).kind is Kind.BATCHES
    assert recognise(data * 3).kind is Kind.BATCHES


@given(st.one_of(BATCHES, MESSAGES), st.integers(2**48, 2**63 - 1) | st.integers(-(2**63), -1))
@examples(40)
def test_what_has_an_offset_or_a_size_that_no_batch_has_is_none_if_its_checksum_is_wrong_or_missing(data, offset):
    for cut in cut_at_each_byte(data[:-1]):
        assert not why_batches(offset.to_bytes(8, signed=True) + cut[8:])
        assert not why_batches(cut[:8] + (100 << 20).to_bytes(4) + cut[12:])


def secret_frames():
    for message_, path, version in secrets.NEWEST:
        key = secrets.CATALOG[message_].api_key
        if key is not None:
            frame = secrets.framed if message_.endswith("Request") else secrets.answered
            yield frame(key, version, secrets.body_of(message_, path, version))


def test_no_piece_of_a_frame_with_a_secret_is_a_batch():
    tried = 0
    for data in secret_frames():
        for start in range(len(data)):
            for size in (LEAST_BATCH, 18, 25, 40, len(data)):
                piece = (data + data)[start : start + size]
                tried += 1
                assert not (why_batches(piece) and secrets.shows(piece.hex())), piece.hex()
    assert tried > 5000


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("size", range(LEAST_BATCH, 70))
def test_no_secret_before_a_magic_byte_is_a_batch(magic, size):
    secret = secrets.SECRET.encode()
    for start in range(len(secret)):
        piece = bytearray((secret[start:] + bytes(70))[:size])
        piece[16] = magic
        assert not (why_batches(bytes(piece)) and secrets.shows(piece.hex()))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=LEAST_BATCH, max_size=90))
def test_no_printable_text_is_a_batch(text):
    assert not why_batches(text.encode())


@cache
def inputs():
    """Samples with the kind that each is."""
    kinds = [(path, Kind.BATCHES) for path in sorted(SEGMENTS.glob("*/*.log")) if path.parent.name != "garbage-0"]
    kinds += [(path, Kind.BATCHES) for path in sorted(SEGMENTS.glob("*/*.checkpoint"))]
    kinds += [(path, Kind.CAPTURE) for path in sorted(SAMPLES.glob("captures/*.pcap*"))]
    kinds += [(path, Kind.REQUEST_LOG) for path in sorted(SAMPLES.glob("request-logs/*.log"))]
    kinds += [(path, Kind.FRAMES) for path in sorted(SAMPLES.glob("frames/*.hex"))]
    return kinds


@pytest.mark.parametrize(("path", "kind"), [pytest.param(*each, id="/".join(each[0].parts[-2:])) for each in inputs()])
def test_samples_are_what_they_are_however_they_come(path, kind):
    data = path.read_bytes()
    assert recognise(path).kind is kind
    assert recognise(io.BytesIO(data)).kind is kind
    if kind is Kind.REQUEST_LOG:
        return
    assert recognise(data).kind is kind
    if kind is Kind.BATCHES:
        for text in (data.hex().encode(), data.hex(" ", 2).encode(), base64.b64encode(data)):
            assert recognise(text).kind is kind


@pytest.mark.parametrize("path", sorted((SAMPLES / "logs").glob("*/*")), ids=lambda path: "/".join(path.parts[-2:]))
def test_files_of_a_log_directory_are_told_by_their_names(path):
    batches = ".log" in path.suffixes or ".checkpoint" in path.suffixes
    assert recognise(path).kind is (Kind.BATCHES if batches else Kind.LOG_FILE)


def test_other_kinds(tmp_path):
    definition = SAMPLES / "definitions" / "after" / "LeaseRequest.json"
    assert recognise(definition).kind is Kind.DEFINITION
    assert recognise(SAMPLES / "json" / "heartbeat-v4.json").kind is Kind.JSON
    assert recognise(tmp_path).kind is Kind.FOLDER
    with pytest.raises(kwire_cli.InputError, match="no bytes were recognised"):
        recognise(b"no bytes of Kafka, but a sentence about it")
    for command in ("decode", "explain", "dump"):
        assert "this is a message definition; kwire lint checks it" in kwire(command, definition).err
        assert (
            "this is JSON without bytes in it; kwire encode makes bytes of the JSON that kwire decode prints"
            in kwire(command, SAMPLES / "json" / "heartbeat-v4.json").err
        )


SEGMENT = SEGMENTS / "orders-zstd-0" / "00000000000000000000.log"


def test_a_capture_that_is_written_as_text_is_a_capture(tmp_path):
    data = (SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng").read_bytes()
    said = kwire("decode", SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng").out
    for text in (data.hex(), base64.b64encode(data).decode(), repr(data)):
        file = tmp_path / "capture.txt"
        file.write_text(text)
        assert kwire("decode", file).out == said
        assert recognise(file).kind is recognise(text.encode()).kind is Kind.CAPTURE
        assert "this is a packet capture; kwire decode reads it" in kwire("dump", file).err
    assert kwire("decode", data.hex()).code == 0


def test_decode_says_that_it_shows_batches_as_dump_does():
    done = kwire("decode", "-v", SEGMENT)
    assert "shown as kwire dump --deep shows it" in done.err
    assert done.out == kwire("dump", "--deep", SEGMENT).out
    assert "not about record batches" in kwire("stats", SEGMENT).err
    index = SAMPLES / "logs" / "trimmed-0" / "00000000000000000030.index"
    assert kwire("decode", index).out == kwire("dump", "--all", index).out


def test_the_library_names_the_other_reader():
    frame = recognise(SAMPLES / "frames" / "api-versions-v5-request.hex").frames.chunks[0].data
    capture = SAMPLES / "captures" / "ipv6.pcap"
    for given_ in (frame, capture.read_bytes(), capture):
        with pytest.raises(kwire_cli.InputError, match=r"read_frames reads|packet capture"):
            kwire_cli.read_records(given_)
    with pytest.raises(kwire_cli.InputError, match="read_records"):
        kwire_cli.read_frames(SEGMENT.read_bytes())


LONG = ("0" * 600, "x/" * 4000, "z" * 5000)


@pytest.mark.parametrize("name", LONG, ids=len)
@pytest.mark.parametrize(
    "command", [["breaking"], ["decode"], ["dump", "--state"], ["encode"], ["lint"], ["sanitize", SEGMENT]]
)
def test_a_name_that_is_too_long_is_an_error_and_no_traceback(command, name):
    done = kwire(*command, name)
    assert done.code in {0, 1, 2}
    assert len(done.err) < 30_000


@pytest.mark.parametrize("form", ["kip98-draft", "kip82-draft"])
def test_a_named_format_decides_what_bytes_are(form):
    row = {"value": "eA=="}
    size = len(kwire_cli.write_records([{"records": [row]}], form))
    offset = (size - 4) << 32 | 5  # the first four bytes are the size of a frame
    data = kwire_cli.write_records([{"baseOffset": offset, "records": [row | {"offset": offset}]}], form)
    with pytest.raises(kwire_cli.InputError, match="requests and responses"):
        kwire_cli.read_records(data)
    (batch,) = kwire_cli.read_records(data, format=form)
    assert (batch.head.base_offset, [record.value for record in batch.records()]) == (offset, [b"x"])


def test_batches_among_frames_are_left_out_and_named():
    lines = (SAMPLES / "frames" / "api-versions-v5-request.hex").read_text().splitlines()
    frame = "".join(lines[1:]).replace(" ", "")
    first = batch(0, [record(b"k", b"v", 0)]).hex()
    text = f"DEBUG read {first}\nDEBUG sent {frame}\nDEBUG read {first}\n"
    found = recognise(text.encode())
    assert (found.kind, [chunk.line for chunk in found.text.chunks]) == (Kind.FRAMES, [2])
    assert found.text.notes[-1].endswith("are left out; give them alone: line 1, 3")
