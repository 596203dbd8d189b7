"""--strict fails on every input that ends early, and --exit-code on every choice that matches nothing."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.captures import hostile_capture
from kit.commands import kwire, lines_of
from kit.logs import batch, committed, record

CAPTURES = sorted(Path("samples/captures").glob("*.pcap*"))
BATCHES = b"".join(batch(base, [record(b"k", b"v")]) for base in range(5))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_a_capture_file_that_is_cut_is_no_success(path, tmp_path):
    data = path.read_bytes()
    whole = kwire("decode", "--strict", path)
    for cut in (len(data) // 3, len(data) // 2 + 1, len(data) - 3):
        (tmp_path / "cut").write_bytes(data[:cut])
        for more in ((), ("--filter", "api == Metadata"), ("--format", "table")):
            assert kwire("decode", "--strict", *more, tmp_path / "cut").code == 1
        assert kwire("decode", tmp_path / "cut").code == 0
    assert whole.code == (1 if any(word in whole.out for word in ('"anomalies":[{', '"gap"')) else 0)


WAYS = [(), ("--deep",), ("--offsets", "0-9"), ("--filter", "value == v"), ("--format", "table")]


@given(st.integers(1, len(BATCHES) - 1), st.sampled_from(WAYS))
def test_a_segment_that_is_cut_is_no_success(cut, more):
    done = kwire("dump", "--strict", *more, "-", stdin=BATCHES[:cut])
    assert (done.code == 0) is (cut % (len(BATCHES) // 5) == 0)
    assert kwire("dump", "--strict", *more, "-", stdin=BATCHES).code == 0


@pytest.mark.parametrize("fmt", ["tree", "table", "json", "jsonl", "csv", "hex"])
def test_a_damaged_payload_is_no_success(fmt, tmp_path):
    """That of a type that only a newer Kafka knows is one."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    log = folder / "00000000000000000000.log"
    for data, code in ((committed(0, b"xx"), 1), (batch(records=[record(b"\x7f\xff", b"\0\0")]), 0)):
        log.write_bytes(data)
        assert kwire("dump", "--strict", "--deep", "--format", fmt, folder).code == code
        assert kwire("dump", "--strict", "--format", fmt, folder).code == 0
        assert bool(kwire("dump", "--filter", "anomaly == TRAILING_BYTES", folder).out) is bool(code)
        assert ("! TRAILING_BYTES" in kwire("dump", "--deep", "--format", "tree", folder).out) is bool(code)


def test_cut_hex_is_no_success():
    for path in map(
        Path, ("samples/frames/sasl-authenticate-request.hex", "samples/frames/create-topics-v7-request.hex")
    ):
        digits = "".join(line.split("#")[0].strip() for line in path.read_text().splitlines()).replace(" ", "")
        assert kwire("decode", "--strict", digits).code == 0
        for cut in range(len(digits) - 2, len(digits) // 2, -6):
            assert kwire("decode", "--strict", digits[: cut // 2 * 2]).code in {1, 2}


NOTHING = [
    ("--filter", "size > 1GB"),
    ("--frames", "1000-2000"),
    ("--filter", "stream == 99"),
    ("--filter", 'clientId == "nobody"'),
]


@pytest.mark.parametrize("choice", NOTHING, ids=" ".join)
def test_a_choice_of_frames_that_matches_nothing(choice):
    data = hostile_capture("t")
    assert kwire("decode", *choice, "-", stdin=data).code == 0
    assert kwire("decode", "--exit-code", *choice, "-", stdin=data).code == 1
    assert kwire("decode", "--exit-code", "--filter", "api == Metadata", "-", stdin=data).code == 0
    assert kwire("decode", "--exit-code", "-", stdin=data).code == 0


@pytest.mark.parametrize(
    "choice", [("--filter", "value ~ nothing"), ("--filter", "key == x"), ("--offsets", "90-")], ids=" ".join
)
def test_a_choice_of_batches_that_matches_nothing(choice):
    for fmt in ("jsonl", "table"):
        assert kwire("dump", "--format", fmt, *choice, "-", stdin=BATCHES).code == 0
        assert kwire("dump", "--format", fmt, "--exit-code", *choice, "-", stdin=BATCHES).code == 1
        assert kwire("dump", "--format", fmt, "--exit-code", "--filter", "key == k", "-", stdin=BATCHES).code == 0
        assert kwire("dump", "--format", fmt, "--exit-code", "-", stdin=BATCHES).code == 0


def test_a_choice_of_topics_that_matches_nothing():
    assert kwire("dump", "--exit-code", "--topic", "orders-zstd", "samples/segments").code == 0
    assert kwire("dump", "--exit-code", "--topic", "nobodys", "samples/segments").code == 1
    assert kwire("dump", "--topic", "nobodys", "samples/segments").code == 0


def test_anomalies_are_seen_in_the_default_view(tmp_path):
    capture = tmp_path / "a.pcap"
    capture.write_bytes(hostile_capture("t"))
    shown = kwire("decode", capture, "-f", "table")
    codes = [line["all_anomalies"] for line in lines_of("decode", capture, "--fields", "anomaly")]
    rows = shown.out.splitlines()[1:]
    assert any(codes)
    for row, names in zip(rows, codes, strict=True):
        assert all(name in row for name in names)
    count = sum(map(bool, codes))
    assert f"{count} frame{'s' * (count > 1)} ha" in shown.err.splitlines()[-1]
    assert kwire("decode", capture, "--fields", "anomalie").err.endswith(
        "did you mean anomalies or anomaly or all_anomalies?\n"
    )


def test_anomalies_of_batches_and_records_are_seen_in_tables(tmp_path):
    log = tmp_path / "a.log"
    good = batch(1, [record(b"k", b"v")])
    log.write_bytes(batch(records=[record(b"k", b"v")], codec=1, packed=b"no gzip") + good[:-2] + b"w" + good[-1:])
    for words, code in (((), "CRC_MISMATCH"), (("--deep",), "DECOMPRESSION_FAILED")):
        shown = kwire("dump", *words, "-f", "table", log)
        assert code in shown.out
        assert code in shown.err
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(committed(0, b"xx"))
    shown = kwire("dump", "--deep", "-f", "table", folder)
    assert shown.out.splitlines()[-1].endswith("TRAILING_BYTES")
    assert shown.err == "1 batch has anomalies: TRAILING_BYTES 1\n"
