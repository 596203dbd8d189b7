"""Files that become shorter while they are read: an error with the offset, whoever reads them."""

import os
import subprocess
import sys

import pytest
from kit.commands import ROOT
from kit.logs import batch, record

from kwire_cli.errors import InputError
from kwire_cli.records.reading import Reader, source_of
from kwire_cli.stores import opening

SEGMENT = next((ROOT / "samples" / "segments" / "txn-out-0").glob("*.log"))
CAPTURE = ROOT / "samples" / "captures" / "midstream.pcap"
SHORTER = "it became shorter while it was read: it had {} bytes and ends at byte {} now"


def in_bulk(source, monkeypatch):
    from kwire_cli.records import bulk_batches

    monkeypatch.setattr(bulk_batches, "CHUNK", 8192)
    return bulk_batches.heads(source)


@pytest.mark.parametrize("way", ["items", "plain", "bulk"])
@pytest.mark.parametrize("keep", [0, 4096, 70_001])
def test_a_segment_that_becomes_shorter_is_an_error_with_its_offset(tmp_path, monkeypatch, way, keep):
    monkeypatch.setattr(opening, "BLOCK", 4096)
    monkeypatch.setattr(opening, "KEPT", 4096)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(SEGMENT.read_bytes() * 500)
    text = SHORTER.format(path.stat().st_size, keep)
    source = source_of(path)
    reader = Reader(source)
    if way == "bulk":
        steps = in_bulk(source, monkeypatch)
    else:
        steps = reader.items() if way == "items" else reader.plain(source.layouts[2])
    next(steps)
    os.truncate(path, keep)
    with pytest.raises(InputError) as error:
        [*steps, *reader.items()]
    assert str(error.value) == f"{path}: {text}"


@pytest.mark.parametrize("command", ["dump", "decode"])
def test_a_command_says_it_of_a_file_that_becomes_shorter(tmp_path, command):
    path = tmp_path / f"{0:020}.log"
    data = CAPTURE.read_bytes()
    made = batch(0, [record(None, bytes(20_000))]) * 1000 if command == "dump" else data[:24] + data[24:] * 600
    path.write_bytes(made)
    started = [sys.executable, "-m", "kwire_cli", command, "--format", "jsonl", str(path)]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.readline()  # it waits for the pipe to be read
        os.truncate(path, 8192)
        _, err = process.communicate()
    assert process.returncode == (2 if command == "dump" else 0)  # what a capture has before its end counts
    assert SHORTER.format(len(made), 8192).encode() in err or command == "decode"
    assert b"it became shorter while it was read" in err
