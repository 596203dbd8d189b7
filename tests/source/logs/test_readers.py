import struct

import crc32c
import pytest

from kwire_cli.engine.codes import LOG_FILES
from kwire_cli.records.producers import SnapshotEntry
from kwire_cli.source.logs.contents import (
    LeaderEpoch,
    PartitionOffset,
    leader_epochs,
    offset_checkpoint,
)
from kwire_cli.source.logs.indexes import (
    AbortedTransaction,
    OffsetEntry,
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from kwire_cli.source.logs.model import entry_json


def offsets(*rows):
    return b"".join(struct.pack(">ii", *row) for row in rows)


def times(*rows):
    return b"".join(struct.pack(">qi", *row) for row in rows)


def aborted(*rows):
    return b"".join(struct.pack(">hqqqq", *row) for row in rows)


def snapshot(*rows, version=1, crc=None, count=None):
    body = struct.pack(">i", len(rows) if count is None else count) + b"".join(
        struct.pack(">qhiqiqiq", *row) for row in rows
    )
    return struct.pack(">hI", version, crc32c.crc32c(body) if crc is None else crc) + body


def codes(contents):
    return [(note.code, note.path, note.offset) for note in contents.anomalies]


def pieces(contents):
    return [(piece.kind, piece.position, piece.size) for piece in contents.pieces]


def test_an_offset_index():
    read = offset_index(offsets((4, 100), (9, 4200)) + bytes(24), 1000)
    assert list(read.entries) == [OffsetEntry(0, 1004, 100), OffsetEntry(8, 1009, 4200)]
    assert read.entries[-1] == OffsetEntry(8, 1009, 4200)
    assert read.entries[:1] == [OffsetEntry(0, 1004, 100)]
    assert pieces(read) == [("entries", 0, 16), ("padding", 16, 24)]
    assert codes(read) == []
    assert list(read.lines()) == [
        {"at": 0, "offset": 1004, "position": 100},
        {"at": 8, "offset": 1009, "position": 4200},
        {"position": 16, "size": 24, "gap": "PADDING"},
    ]


ODD_INDEXES = [
    (offset_index, offsets((4, 100), (3, 200)), [("ENTRY_ORDER", "[1].offset", 8)]),
    (offset_index, offsets((4, 100), (4, 200)), [("ENTRY_ORDER", "[1].offset", 8)]),
    (offset_index, offsets((4, 100), (5, 100)), [("ENTRY_ORDER", "[1].position", 8)]),
    (offset_index, offsets((-4, 100), (5, -1)), [("ENTRY_OUT_OF_RANGE", "[0]", 0), ("ENTRY_OUT_OF_RANGE", "[1]", 8)]),
    (offset_index, offsets((4, 100), (0, 0), (5, 200)), [("ENTRY_ORDER", "[1].offset", 8)]),
    (offset_index, offsets((4, 100)) + b"\0\0\1", [("TRUNCATED", "[1]", 8)]),
    (time_index, times((4, 1), (5, 1), (6, 2)), []),
    (time_index, times((4, 1), (4, 2)), [("ENTRY_ORDER", "[1].timestamp", 12)]),
    (time_index, times((4, 2), (5, 1)), [("ENTRY_ORDER", "[1].offset", 12)]),
    (time_index, times((-4, 2)), [("ENTRY_OUT_OF_RANGE", "[0]", 0)]),
    (transaction_index, aborted((1, 7, 1, 2, 3)), [("UNKNOWN_VERSION", "[0].version", 0)]),
    (transaction_index, aborted((0, 7, 3, 2, 3)), [("ENTRY_OUT_OF_RANGE", "[0]", 0)]),
    (transaction_index, aborted((0, 7, 1, 5, 5), (0, 8, 2, 4, 5)), [("ENTRY_ORDER", "[1].lastOffset", 34)]),
    (transaction_index, aborted((0, 7, 1, 5, 5)) + bytes(7), [("TRUNCATED", "[1]", 34)]),
]


@pytest.mark.parametrize(("reader", "data", "found"), ODD_INDEXES)
def test_an_odd_index(reader, data, found):
    read = reader(data, 0)
    assert codes(read) == found
    assert sum(piece.size for piece in read.pieces) == len(data)


def test_faults_without_end_are_not_all_listed():
    read = offset_index(offsets(*[(1, 1)] * 500), 0)
    assert len(read.anomalies) == 101
    assert read.anomalies[-1].detail.endswith("more of this file are not listed")


def test_a_transaction_index():
    read = transaction_index(aborted((0, 1, 4, 6, 7), (0, 2, 5, 9, 9)), 0)
    assert list(read.entries) == [AbortedTransaction(0, 0, 1, 4, 6, 7), AbortedTransaction(34, 0, 2, 5, 9, 9)]
    shown = {"at": 0, "version": 0, "producerId": 1, "firstOffset": 4, "lastOffset": 6, "lastStableOffset": 7}
    assert entry_json(read.entries[0]) == shown
    assert codes(read) == []


ROW = (7, 1, 41, 99, 3, 1700000000000, -1, -1)


def test_a_producer_snapshot():
    read = producer_snapshot(snapshot(ROW, (8, 0, -1, -1, 0, 5, 2, 60)), 100)
    assert list(read.entries) == [SnapshotEntry(10, *ROW), SnapshotEntry(56, 8, 0, -1, -1, 0, 5, 2, 60)]
    names = ("producerId", "epoch", "lastSequence", "lastOffset", "offsetDelta", "timestamp")
    names += ("coordinatorEpoch", "currentTxnFirstOffset")
    assert entry_json(read.entries[0]) == {"at": 10} | dict(zip(names, ROW, strict=True))
    assert codes(read) == []
    assert pieces(read) == [("head", 0, 10), ("entries", 10, 92)]
    assert {key: read.head[key] for key in ("endOffset", "version", "crcValid", "producerEntries")} == {
        "endOffset": 100,
        "version": 1,
        "crcValid": True,
        "producerEntries": 2,
    }


ODD_SNAPSHOTS = [
    (snapshot(ROW, crc=1), [("CRC_MISMATCH", "crc", 2)], 1),
    (snapshot(ROW, version=2), [("UNKNOWN_VERSION", "version", 0)], 1),
    (snapshot(ROW, ROW), [("ENTRY_DUPLICATE", "[1].producerId", 56)], 2),
    (snapshot((7, 1, 41, 100, 3, 5, -1, -1)), [("ENTRY_OUT_OF_RANGE", "[0]", 10)], 1),
    (snapshot(ROW, count=2), [("TRUNCATED", "producerEntries", 56)], 1),
    (snapshot(ROW, count=0), [("TRAILING_BYTES", "", 10)], 0),
    (snapshot(ROW, count=-1), [("COUNT_MISMATCH", "producerEntries", 6)], 0),
    (b"\0\1\0", [("TRUNCATED", "", 0)], 0),
    (snapshot()[:-1], [("CRC_MISMATCH", "crc", 2), ("TRUNCATED", "", 6)], 0),
    (b"", [("TRUNCATED", "", 0)], 0),
]


@pytest.mark.parametrize(("data", "found", "entries"), ODD_SNAPSHOTS)
def test_an_odd_producer_snapshot(data, found, entries):
    read = producer_snapshot(data, 100)
    assert codes(read) == found
    assert len(read.entries) == entries
    assert sum(piece.size for piece in read.pieces) == len(data)


def test_leader_epochs():
    read = leader_epochs(b"0\n2\n0 0\n3 1000\n")
    assert list(read.entries) == [LeaderEpoch(4, 0, 0), LeaderEpoch(8, 3, 1000)]
    assert read.to_json() == {
        "type": "leader-epoch-checkpoint",
        "size": 15,
        "version": 0,
        "count": 2,
        "entries": [{"at": 4, "epoch": 0, "startOffset": 0}, {"at": 8, "epoch": 3, "startOffset": 1000}],
        "gaps": [],
        "anomalies": [],
    }


def test_offsets_of_partitions():
    read = offset_checkpoint(b"0\r\n1\r\nmy.topic 4 77")
    assert list(read.entries) == [PartitionOffset(6, "my.topic", 4, 77)]
    assert codes(read) == []


ODD_CHECKPOINTS = [
    (b"0\n2\n0 0\n", [("ROW_COUNT_MISMATCH", "count", 2)]),
    (b"1\n1\n0 0\n", [("UNKNOWN_VERSION", "version", 0)]),
    (b"0\n2\n3 0\n2 5\n", [("ENTRY_ORDER", "[1]", 8)]),
    (b"0\n2\n3 6\n4 5\n", [("ENTRY_ORDER", "[1]", 8)]),
    (b"0\n1\n0\n", [("INVALID_TEXT", "line 3", 4), ("ROW_COUNT_MISMATCH", "count", 2)]),
    (b"0\n1\n0 x\n", [("INVALID_TEXT", "line 3", 4), ("ROW_COUNT_MISMATCH", "count", 2)]),
    (b"0\n1\n2147483648 1\n", [("INVALID_TEXT", "line 3", 4), ("ROW_COUNT_MISMATCH", "count", 2)]),
    (b"x\n1\n0 0\n", [("INVALID_TEXT", "line 1", 0)]),
    (b"0\n", [("TRUNCATED", "count", 2)]),
    (b"\xff\n\xfe\n", [("INVALID_TEXT", "line 1", 0), ("INVALID_TEXT", "line 2", 2)]),
]


@pytest.mark.parametrize(("data", "found"), ODD_CHECKPOINTS)
def test_an_odd_checkpoint(data, found):
    read = leader_epochs(data)
    assert codes(read) == found
    assert sum(piece.size for piece in read.pieces) == len(data)


def test_a_partition_twice():
    assert codes(offset_checkpoint(b"0\n2\nt 0 1\nt 0 2\n")) == [("ENTRY_DUPLICATE", "[1]", 10)]


def test_every_code_is_provoked_here():
    odd = [found for *_, found in ODD_INDEXES + ODD_CHECKPOINTS] + [found for _, found, _ in ODD_SNAPSHOTS]
    assert {code for found in odd for code, *_ in found} >= set(LOG_FILES)
