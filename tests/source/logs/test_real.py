"""Every file beside the segments in the reference data, compared with what Kafka's own DumpLogSegments says of it."""

import re
from pathlib import Path

import pytest

from kwire_cli.source.logs.contents import READABLE, read_log_file
from kwire_cli.source.logs.files import walk
from kwire_cli.source.logs.model import Kind, entry_json

REAL = Path(__file__).resolve().parents[4] / "shared" / "real"
SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "logs"
COMPARED = {"k28-zk": 138, "k44-clean": 195, "k44-clients": 45, "k44-kraft-c1": 9}
"""How many files of each folder Kafka's tool has printed."""
PAIR = re.compile(r"(\w+): (OptionalLong\[-?\d+\]|Some\(-?\d+\)|\S+)")
ROWS = {
    Kind.INDEX: ("offset: ", ("offset", "position")),
    Kind.TIME_INDEX: ("timestamp: ", ("timestamp", "offset")),
    Kind.TRANSACTION_INDEX: ("version: ", ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")),
}


def printed(path):
    return path.with_name(path.name + ".dump.txt")


def number(text):
    return -1 if text in {"None", "OptionalLong.empty"} else int(re.search(r"-?\d+", text)[0])


def said_by_kafka(path, start):
    return [dict(PAIR.findall(line)) for line in printed(path).read_text().splitlines() if line.startswith(start)]


def check_table(file, read):
    start, names = ROWS[file.kind]
    want = [tuple(int(row[name]) for name in names) for row in said_by_kafka(file.path, start)]
    got = [tuple(entry_json(entry)[name] for name in names) for entry in read.entries]
    if not got and read.size and file.kind is not Kind.TRANSACTION_INDEX:
        # Of a file that is all zeros Kafka prints the first entry.
        assert want == [(file.name.base_offset, 0) if file.kind is Kind.INDEX else (0, file.name.base_offset)]
        return
    assert got == want


def check_snapshot(file, read):
    want = said_by_kafka(file.path, "producerId: ")
    assert len(want) == len(read.entries)
    for row, entry in zip(want, read.entries, strict=True):
        assert int(row["producerId"]) == entry.producer_id
        assert int(row["producerEpoch"]) == entry.epoch
        assert int(row["coordinatorEpoch"]) == entry.coordinator_epoch
        assert number(row["currentTxnFirstOffset"]) == entry.current_txn_first_offset
        if "lastTimestamp" in row:
            assert int(row["lastTimestamp"]) == entry.timestamp
        if "lastSequence" in row:
            last = (int(row["lastSequence"]), int(row["lastOffset"]), int(row["offsetDelta"]), int(row["timestamp"]))
            assert last == (entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
        else:
            assert entry.last_offset < 0
    assert read.head["crcValid"]


def check_cover(read):
    at = 0
    for piece in read.pieces:
        assert piece.position == at
        at += piece.size
    assert at == read.size
    assert [piece for piece in read.pieces if piece.kind == "gap"] == []
    assert read.anomalies == ()


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "files"), COMPARED.items())
def test_what_kafka_prints(folder, files):
    compared = 0
    for file in walk(REAL / "own" / "segments" / folder):
        if file.kind not in READABLE:
            continue
        read = read_log_file(file.path)
        check_cover(read)
        if printed(file.path).exists():
            compared += 1
            (check_snapshot if file.kind is Kind.PRODUCER_SNAPSHOT else check_table)(file, read)
    assert compared == files


@pytest.mark.shared
def test_what_others_made_is_read_to_the_last_byte():
    files = [file for file in walk_deep(REAL / "segments") if file.kind in READABLE]
    assert len(files) >= 11
    for file in files:
        check_cover(read_log_file(file.path))


def walk_deep(folder):
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        yield from walk(sub)


def test_the_samples_are_clean():
    files = [file for file in walk(SAMPLES) if file.kind in READABLE]
    assert {file.kind for file in files} == READABLE
    for file in files:
        check_cover(read_log_file(file.path))
