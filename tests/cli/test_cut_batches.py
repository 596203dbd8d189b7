"""Cut segments in every format of dump: the header and the records that are there are shown."""

import base64

import pytest
from kit.commands import ROOT, json_of, kwire

SEGMENTS = ROOT / "samples" / "segments"
FORMATS = ("tree", "hex", "json", "jsonl", "table", "csv")


def cut_file(tmp_path, folder, size):
    (file,) = (SEGMENTS / folder).glob("*.log")
    path = tmp_path / folder
    path.mkdir()
    (path / file.name).write_bytes(file.read_bytes()[:size])
    return path / file.name


@pytest.mark.parametrize("fmt", FORMATS)
def test_records_of_a_cut_batch_are_in_every_format(tmp_path, fmt):
    path = cut_file(tmp_path, "compacted-txn-0", 155)
    first, *_ = json_of("dump", "--deep", path)["batch"]["records"]
    done = kwire("dump", "--deep", "--full", "-f", fmt, path)
    assert done.code == 0
    assert "TRUNCATED" in done.out
    text = base64.b64decode(first["value"]).decode()
    assert (text if fmt not in {"json", "jsonl"} else first["value"]) in done.out or fmt == "hex"
    assert kwire("dump", "--strict", "-f", fmt, path).code == 1


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("size", [17, 30, 61, 62])
def test_a_cut_header_is_in_every_format(tmp_path, fmt, size):
    path = cut_file(tmp_path, "orders-zstd-0", size)
    for deep in ((), ("--deep",)):
        done = kwire("dump", *deep, "-f", fmt, path)
        assert (done.code, "TRUNCATED" in done.out) == (0, True)
        if fmt in {"tree", "json", "jsonl"}:
            assert "magic" in done.out or size >= 61
