"""Names of files that are not UTF-8: the files are read, and their names are shown with escapes."""

import json
import os
import shutil
from pathlib import Path

import pytest
from command_line import ROOT, kwire

NAME = os.fsdecode(b"caf\xe9.pcap")
SHOWN = "caf\\xe9.pcap"
COMMANDS = (
    ("summary",),
    ("decode",),
    ("decode", "--pairs"),
    ("stats",),
    ("diagnose",),
    ("groups",),
    ("sequence",),
    ("clients",),
    ("overhead",),
)


@pytest.fixture
def folder(tmp_path):
    captures = tmp_path / "captures"
    captures.mkdir()
    shutil.copy(ROOT / "samples" / "captures" / "midstream.pcap", captures / NAME)
    shutil.copy(ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng", captures)
    return captures


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", ["json", "table"])
def test_a_folder_with_such_a_name_is_read(words, form, folder):
    done = kwire(*words, folder, "--format", form if words[0] != "decode" or form == "table" else "jsonl")
    assert done.code == 0, done.err
    assert done.out
    for text in (done.out, done.err):
        assert "\\udc" not in text
        assert not any("\ud800" <= letter <= "\udfff" for letter in text)


def test_its_name_is_shown_with_escapes(folder):
    lines = [json.loads(line) for line in kwire("decode", folder).out.splitlines()]
    assert {Path(line["file"]).name for line in lines} == {SHOWN, "kafka-python-4.4.0.pcapng"}
