"""The metadata log is known by its records wherever it lies, and what is secret in it stays so."""

import json
import shutil

import pytest
from command_line import ROOT, kwire
from record_sets import SEGMENTS, batch, record

from kwire_cli.records.opening import source_of
from kwire_cli.records.recognised import is_metadata_log, with_topic

METADATA = sorted(path for path in (ROOT / "samples").glob("*/__cluster_metadata-*/*") if path.suffix in {".log", ".checkpoint"})
OTHERS = sorted(path for path in SEGMENTS.glob("*/*.log") if not path.parent.name.startswith("__cluster_metadata"))
SCRAM = ROOT.parent / "shared/real/own/segments/k44-clean/__cluster_metadata-0"


def test_the_log_is_known_and_no_other_one_is():
    assert METADATA
    assert [is_metadata_log(source_of(path)) for path in METADATA] == [True] * len(METADATA)
    assert [path for path in OTHERS if is_metadata_log(source_of(path))] == []


def test_a_topic_of_kafkas_own_stays():
    source = source_of(METADATA[0], topic="__consumer_offsets")
    assert with_topic(source) is source
    assert with_topic(source_of(METADATA[0], topic="orders")).topic == "__cluster_metadata"


@pytest.mark.parametrize("value", [None, b"", b"\x01", b"\x01\x0b\x00", b"\x01\x7f\x00\x00", b"plain"])
def test_records_of_others_are_none(value):
    assert not is_metadata_log(source_of(batch(0, [record(None, value)])))


def test_a_file_elsewhere_is_read_as_what_it_is(tmp_path):
    file = tmp_path / "controller-1" / "x.log"
    file.parent.mkdir()
    shutil.copy(METADATA[0], file)
    done = kwire("dump", "--deep", file, "--format", "jsonl")
    own = kwire("dump", "--deep", METADATA[0], "--format", "jsonl")
    assert done.out == own.out
    assert "its records are those of __cluster_metadata" in done.err
    assert own.err == ""
    as_said = [json.loads(line) for line in kwire("dump", "--deep", file, "--as-topic", "orders", "--format", "jsonl").out.splitlines()]
    assert not any("decoded" in each for line in as_said for each in line.get("records", ()))
    assert "decoded" in own.out


@pytest.mark.shared
def test_what_is_secret_in_it_is_hidden(tmp_path):
    shown = "AQsABmFsaWNl"
    for path in sorted(SCRAM.glob("*.log")):
        file = tmp_path / path.name.replace("0", "x", 1)
        shutil.copy(path, file)
        for command in (["dump", "--deep"], ["explain"]):
            assert shown not in kwire(*command, file, "--format", "jsonl" if command[0] == "dump" else "json").out
        assert "storedKey" not in (out := kwire("dump", "--deep", file, "--format", "jsonl").out) or "<redacted" in out
