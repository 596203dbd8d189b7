"""Damage in logs: real segments, damaged by hand."""

import json
import shutil

import pytest
from kit.commands import ROOT, kwire

SEGMENTS = ROOT / "samples" / "segments"


def findings(path):
    rows = json.loads(kwire("diagnose", path, "--format", "json").out)["tables"]["findings"]
    return [row for row in rows if row["code"] in {"CORRUPT_LOG", "LOG_CUT_SHORT"}]


@pytest.mark.parametrize(
    ("name", "code", "text", "offset"),
    [
        ("bitflip-0", "CORRUPT_LOG", "1 batch with a wrong checksum", 41),
        ("garbage-0", "CORRUPT_LOG", "1.02 kB at 1 place that are no batch", 7940),
        ("cutheader-0", "LOG_CUT_SHORT", "11 bytes at the end of 1 file are less than a batch", 7940),
    ],
)
def test_damage_is_the_first_finding(name, code, text, offset):
    (row,) = findings(SEGMENTS / name)
    assert (row["code"], row["subject"], row["text"]) == (code, f"partition {name}", text)
    assert row["evidence"][0]["offset"] == offset


def test_intact_logs_have_none():
    assert findings(ROOT / "samples" / "logs") == []


def test_damage_of_many_files_is_told_by_partition(tmp_path):
    segment = (SEGMENTS / "bitflip-0" / "00000000000000000000.log").read_bytes()
    for partition in ("orders-0", "orders-1"):
        (tmp_path / partition).mkdir()
        (tmp_path / partition / "00000000000000000000.log").write_bytes(segment)
        (tmp_path / partition / "00000000000000001000.log").write_bytes(segment + b"junk" * 40 + segment[:70])
    rows = findings(tmp_path)
    assert [row["subject"] for row in rows if row["code"] == "CORRUPT_LOG"] == [
        "partition orders-0", "partition orders-1",
    ]  # fmt: skip
    assert rows[0]["text"].startswith("2 batches with a wrong checksum; ")


def test_problems_that_are_not_kept_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.transactions.logs.MOST_EVENTS", 1)
    for partition in ("orders-0", "orders-1"):
        shutil.copytree(SEGMENTS / "bitflip-0", tmp_path / partition)
    found = json.loads(kwire("diagnose", tmp_path, "--format", "json").out)
    assert [row["subject"] for row in found["tables"]["findings"] if row["code"] == "CORRUPT_LOG"] == [
        "partition orders-0"
    ]
    assert "1 event was dropped, because there were too many" in found["notes"]
