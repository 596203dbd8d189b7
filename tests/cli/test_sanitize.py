"""What `kwire sanitize` says; what it does is tested in tests/sanitize, and docs/secrets.md in tests/test_pages.py."""

import gzip
import stat

import pytest
from kit.commands import ROOT, kwire, refusal_of

SAMPLE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"


def test_a_packed_capture_comes_out_unpacked(tmp_path):
    packed, out, plain = tmp_path / "in.pcapng.gz", tmp_path / "out", tmp_path / "plain"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert kwire("sanitize", packed, out, "--secret", "k").code == 0
    assert kwire("sanitize", SAMPLE, plain, "--secret", "k").code == 0
    assert out.read_bytes() == plain.read_bytes()


def test_a_capture_that_is_cut_says_so_and_is_done_as_far_as_it_goes(tmp_path):
    cut, out = tmp_path / "in.pcapng", tmp_path / "out"
    cut.write_bytes(SAMPLE.read_bytes()[:-10])
    done = kwire("sanitize", cut, out)
    assert done.code == 0
    assert "ends in the middle" in done.err
    assert kwire("decode", out).code == 0


def test_nothing_is_left_of_what_went_wrong(tmp_path):
    out = tmp_path / "out"
    broken = tmp_path / "in.pcap"
    broken.write_bytes(b"\x1f\x8b" + bytes(100))
    assert kwire("sanitize", broken, out).code == 2
    assert list(tmp_path.iterdir()) == [broken]
    assert kwire("sanitize", SAMPLE, tmp_path / "no" / "folder").code == 2


def test_the_output_has_the_permissions_of_any_new_file(tmp_path):
    new, out = tmp_path / "new", tmp_path / "out"
    new.touch()
    assert kwire("sanitize", SAMPLE, out).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE(new.stat().st_mode)


FOLDER = ROOT / "samples" / "logs" / "trimmed-0"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_file_does_not_become_a_folder_nor_a_folder_a_file(force, tmp_path):
    taken = tmp_path / "taken"
    taken.write_bytes(b"mine")
    assert (
        f"{taken}: is a file, and {FOLDER} is a folder: name a folder" in kwire("sanitize", FOLDER, taken, *force).err
    )
    assert f"{tmp_path}: is a folder, and {SAMPLE} is a file: name a file" in refusal_of(
        "sanitize", SAMPLE, tmp_path, *force
    )
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"mine"]


@pytest.mark.parametrize("strange", ["notes.txt", "00000000000000000099.log", "deep/below/secret.log"])
def test_a_folder_that_holds_other_files_is_not_written_into(strange, tmp_path):
    out = tmp_path / "out"
    assert kwire("sanitize", FOLDER, out, "--secret", "k").code == 0
    assert kwire("sanitize", FOLDER, out, "--secret", "k", "--force").code == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = out / strange
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(b"mine")
    assert f"holds other files, which are not sanitized: {strange};" in refusal_of(
        "sanitize", FOLDER, out, "--secret", "k", "--force"
    )
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before | {other: b"mine"}
