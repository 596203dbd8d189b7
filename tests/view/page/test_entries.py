"""The fields on a page against the spans that they are made of: every leaf, every byte, every path."""

import base64
import json

import pytest
from kit.commands import ROOT, kwire
from kit.traffic import Wire
from kit.views import bytes_of, column, data_of, entries, rows_of

import kwire_cli

FRAMES = sorted((ROOT / "samples" / "frames").glob("*.hex"))
SEGMENTS = sorted((ROOT / "samples" / "segments").glob("*/*.log"))
CAPTURES = sorted((ROOT / "samples" / "captures").glob("*.pcap*"))


def leaves(entry, buffer=0):
    """The innermost rows that are fields, in the order of the bytes: what is within a field counts instead of it."""
    rows = [row for row in rows_of(entry) if row["kind"] and row["buffer"] == buffer]
    owner = [None] * entry["buffers"][buffer]["size"]
    at = entry["buffers"][buffer]["at"]
    for row in rows:
        start, _, end = row["place"]
        owner[start - at : end - at] = [row] * (end - start)
    return owner


@pytest.mark.parametrize("file", FRAMES, ids=lambda file: file.stem)
def test_each_leaf_of_a_frame_is_a_row_with_its_place_and_path(file):
    frames = list(kwire_cli.read_frames(file))
    for frame, entry in zip(frames, entries("decode", file, "--show-secrets"), strict=True):
        rows = {(row["path"], row["place"]) for row in rows_of(entry)}
        places = {row["place"] for row in rows_of(entry)}
        for name, part in frame.parts:
            prefix = {"size": "size.", "header": "header.", "body": ""}[name]
            for span in part.spans:
                assert (span.start, span.value, span.end) in places
                if span.kind not in {"count", "presence", "tag-count", "tag-header", "gap"}:
                    assert (prefix + span.path, (span.start, span.value, span.end)) in rows
        assert bytes_of(entry["buffers"][0]) == bytes(frame.data[frame.start : frame.stop])


@pytest.mark.parametrize("file", [*FRAMES, *CAPTURES, *SEGMENTS], ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_byte_has_a_field_and_all_rows_lie_within_what_they_are_in(file):
    found = entries("dump" if file in SEGMENTS else "decode", file)
    assert found
    for entry in found:
        for number, buffer in enumerate(entry["buffers"]):
            assert None not in leaves(entry, number)
            assert len(bytes_of(buffer)) == buffer["size"]
        around = []
        for row in rows_of(entry):
            del around[row["depth"] :]
            if around and around[-1]["buffer"] == row["buffer"]:
                assert around[-1]["place"][0] <= row["place"][0] <= row["place"][2] <= around[-1]["place"][2]
            around.append(row)


def test_what_is_in_fields_of_kafkas_own_records_stands_below_them_at_its_bytes():
    rows = [row for entry in entries("dump", "samples/segments/__consumer_offsets-0") for row in rows_of(entry)]
    group = next(row for row in rows if row["path"] == "records[0].key.group")
    assert group["text"] == '"txn-group"'
    assert any(row["text"].startswith("OffsetCommitValue") for row in rows)
    assert any(row["name"].startswith("(control)") and "COMMIT" in row["text"] for row in rows)


def test_a_payload_of_one_field_is_that_field_once():
    generation = bytes.fromhex("00000007")
    metadata = base64.b64encode(bytes(6) + len(generation).to_bytes(4, "big") + generation).decode()
    protocols = [{"name": "cooperative-sticky", "metadata": metadata}]
    frame = Wire.request("JoinGroup", 2, protocolType="consumer", protocols=protocols)
    (entry,) = entries("decode", frame.hex())
    rows = [row for row in rows_of(entry) if row["path"].endswith("userData.generation")]
    assert [(row["path"], row["text"]) for row in rows] == [("protocols[0].metadata.userData.generation", "7")]


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["pcapng", "log"])
def test_pages_of_what_real_clients_and_brokers_wrote_have_every_byte(kind):
    files = sorted(file for file in (ROOT.parent / "shared" / "real").rglob(f"*.{kind}") if file.stat().st_size)
    for file in files[:: 1 + len(files) // 8]:
        topic = ["--as-topic", file.name.split("__0")[0].rpartition("-")[0] or "t"] if kind == "log" else []
        for entry in entries("decode" if kind == "pcapng" else "dump", file, "--top", "60", *topic):
            for number in range(len(entry["buffers"])):
                assert None not in leaves(entry, number) or "leftOut" in entry


def test_gaps_of_a_segment_are_anomalies_with_their_bytes():
    data = data_of("dump", "samples/segments/garbage-0", "--format", "html")
    odd = [entry for kind, entry in zip(column(data, "kind"), data["entries"], strict=True) if kind == "gap"]
    assert odd
    assert all(len(entry["anomalies"]) == 1 for entry in odd)


def test_a_row_says_what_the_json_lines_of_its_request_and_response_do():
    file = "samples/captures/kafka-python-4.4.0.pcapng"
    lines = {}
    for text in kwire("decode", file, "--format", "jsonl").out.splitlines():
        line = json.loads(text)
        lines[line["frame"]] = line
    data = data_of("decode", file, "--format", "html")
    names = ("request", "response", "request_size", "response_size", "api", "api_version", "latency_us", "errors")
    rows = [*zip(*(column(data, name) for name in names), strict=True)]
    assert sorted(filter(None, [frame for row in rows for frame in row[:2]])) == sorted(lines)
    for request, response, request_size, response_size, api, version, latency, errors in rows:
        for frame, size in ((request, request_size), (response, response_size)):
            if frame is not None:
                line = lines[frame]
                assert (line["api"], line["apiVersion"], line["size"]) == (api, version, size)
        if request is not None and response is not None:
            assert lines[response]["requestFrame"] == request
            assert round(lines[response]["latency"] * 1e6) == latency
        assert not errors or response is not None


@pytest.mark.parametrize(("folder", "name", "count"), [("v1-kp-gzip-0", "crc", 10), ("orders-zstd-0", "value", 32)])
def test_what_is_compressed_is_a_buffer_of_its_own(folder, name, count):
    entry = entries("dump", f"samples/segments/{folder}")[0]
    assert [buffer["name"] for buffer in entry["buffers"]] == ["batch at 0", "decompressed records of the batch at 0"]
    assert sum(row["buffer"] == 1 and row["name"] == name for row in rows_of(entry)) == count
    assert None not in leaves(entry, 1)
