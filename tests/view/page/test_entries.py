"""The fields on a page against the spans that they are made of: every leaf, every byte, every path."""

import pytest
from kit.commands import ROOT
from kit.views import bytes_of, entries, rows_of

import kwire_cli

FRAMES = sorted((ROOT / "samples" / "frames").glob("*.hex"))
SEGMENTS_OF, LOG = ROOT / "samples" / "segments", "00000000000000000000.log"
SEGMENTS = sorted(SEGMENTS_OF.glob("*/*.log"))
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
    for frame, entry in zip(frames, entries(file, show_secrets=True), strict=True):
        rows = {(row["path"], row["place"]) for row in rows_of(entry)}
        places = {row["place"] for row in rows_of(entry)}
        for name, part in frame.parts:
            prefix = {"size": "size.", "header": "header.", "body": ""}[name]
            for span in part.spans:
                assert (span.start, span.value, span.end) in places
                if span.kind not in {"count", "presence", "tag-count", "tag-header", "gap"}:
                    assert (prefix + span.path, (span.start, span.value, span.end)) in rows
        assert bytes_of(entry["buffers"][0]) == bytes(frame.data[frame.start : frame.stop])


@pytest.mark.usefixtures("few_rules")
@pytest.mark.parametrize("file", [*FRAMES, *CAPTURES, *SEGMENTS], ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_byte_has_a_field_and_all_rows_lie_within_what_they_are_in(file):
    found = entries(file)
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
    rows = [row for entry in entries(SEGMENTS_OF / "__consumer_offsets-0" / LOG) for row in rows_of(entry)]
    group = next(row for row in rows if row["path"] == "records[0].key.group")
    assert group["text"] == '"txn-group"'
    assert any(row["text"].startswith("OffsetCommitValue") for row in rows)
    assert any(row["name"].startswith("(control)") and "COMMIT" in row["text"] for row in rows)


@pytest.mark.parametrize(("folder", "name", "count"), [("v1-kp-gzip-0", "crc", 10), ("orders-zstd-0", "value", 32)])
def test_what_is_compressed_is_a_buffer_of_its_own(folder, name, count):
    entry = entries(SEGMENTS_OF / folder / LOG)[0]
    assert [buffer["name"] for buffer in entry["buffers"]] == ["batch at 0", "decompressed records of the batch at 0"]
    assert sum(row["buffer"] == 1 and row["name"] == name for row in rows_of(entry)) == count
    assert None not in leaves(entry, 1)


def test_gaps_of_a_segment_are_anomalies_with_their_bytes():
    gaps = [entry for entry in entries(SEGMENTS_OF / "garbage-0" / LOG) if "gap" in entry["buffers"][0]["name"]]
    assert gaps
    assert all(len(entry["anomalies"]) == 1 for entry in gaps)
