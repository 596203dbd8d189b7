"""`kwire encode` takes exactly what `kwire decode` prints, and gives the same bytes."""

import json

import pytest
from kit.commands import ROOT, kwire, refusal_of
from kit.messages import sample

FRAMES = sorted((ROOT / "samples" / "frames").glob("*.hex"))
RESPONSES = {"api-versions-v5": 18, "create-topics-v7": 19, "fetch-v18": 1, "metadata-v0": 3, "metadata-v13": 3}

DECODE = ("decode", "--show-secrets", "--records", "base64")


@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_many_documents_in_one_text(fmt):
    rows = [row for row in sample() if row.kafka.startswith("4.4") and row.body]
    text = "".join(
        kwire(
            *DECODE, "-f", fmt, "-m", row.message, "--message-version", row.version, "--input", "raw", stdin=row.body
        ).out
        for row in rows
    )
    assert kwire("encode", stdin=text.encode()).out.split() == [row.body.hex() for row in rows]


@pytest.mark.parametrize("file", FRAMES, ids=lambda file: file.stem)
@pytest.mark.parametrize("lossless", [True, False])
def test_a_frame(file, lossless):
    said = file.stem.rsplit("-", 1)
    options = (
        ["--api", RESPONSES[said[0]], "--message-version", said[0].rsplit("v", 1)[1]] if said[1] == "response" else []
    )
    printed = kwire(*DECODE, "--format", "jsonl", *["--lossless"] * lossless, *options, file)
    assert printed.code == 0
    text = "".join(line for line in file.read_text().splitlines() if not line.startswith("#"))
    assert kwire("encode", stdin=printed.raw).out.strip() == "".join(text.split()).lower()


@pytest.mark.parametrize(
    "row", [row for row in sample() if any(size for _, size in row.records) and row.kafka.startswith("4.4")], ids=str
)
def test_records_by_their_size_show_every_size(row):
    body = ("-m", row.message, "--message-version", row.version, "--input", "raw")
    printed = kwire("decode", "--records", "size", *body, stdin=row.body).out
    sizes = [value for key, value in pairs(json.loads(printed)["body"]) if key.endswith("SizeInBytes")]
    # Null has no size: it stays null under the field's own name, as in a broker's request log.
    assert sizes == [size for _, size in row.records if size is not None]
    assert "ecords" in refusal_of("encode", stdin=printed.encode())


def pairs(value):
    if isinstance(value, dict):
        for key, part in value.items():
            yield key, part
            yield from pairs(part)
    elif isinstance(value, list):
        for part in value:
            yield from pairs(part)


@pytest.mark.parametrize(
    ("name", "options"),
    [("garbage-0", ["--without-gaps"]), ("bitflip-0", ["--new-checksums"]), ("cutheader-0", ["--without-gaps"])],
)
def test_what_can_be_read_of_a_damaged_segment_becomes_one_without_fault(name, options, tmp_path):
    printed = kwire("dump", "--deep", "--show-secrets", ROOT / "samples" / "segments" / name)
    file = tmp_path / name / "00000000000000000000.log"
    file.parent.mkdir()
    written = kwire("encode", "--as-records", "-f", "raw", *options, stdin=printed.raw)
    assert (written.code, written.err) == (0, "")
    file.write_bytes(written.raw)
    assert kwire("dump", "--verify", file).code == 0
    before, after = (
        [row for row in map(json.loads, text.splitlines()) if "gap" not in row]
        for text in (printed.out, kwire("dump", "--deep", file).out)
    )
    assert [(row["baseOffset"], row["lastOffset"], row["records"]) for row in after] == [
        (row["baseOffset"], row["lastOffset"], row["records"]) for row in before
    ]


def test_of_a_gap_alone_nothing_is_left():
    done = kwire("encode", "--as-records", "--without-gaps", '{"gap":"CORRUPT","size":4}')
    assert (done.code, done.out.strip(), done.err) == (0, "", "")
