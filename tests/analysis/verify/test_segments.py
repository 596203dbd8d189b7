"""Offsets, indexes, times, leader epochs and files of a partition written by hand."""

import base64
import re

import pytest
from kit.commands import ROOT
from kit.logs import batch, record

import kwire_cli as kwire
from kwire_cli.analysis.verify import verify_part
from kwire_cli.errors import InputError
from kwire_cli.view.answers import answer_document


def three(folder, **options):
    """Three batches of two records, and where they begin."""
    parts = [folder.batch(base, 2, time=folder.time + base, **options) for base in (0, 2, 4)]
    return parts, [0, len(parts[0]), 2 * len(parts[0])]


def test_offsets(folder):
    (one, two, _), _ = three(folder)
    assert folder.put(0, "log", one, two).codes() == []
    assert folder.put(0, "log", two, one).codes() == ["OFFSET_ORDER"]
    assert folder.put(0, "log", one, one).codes() == ["OFFSET_ORDER"]
    assert folder.put(0, "log", one).put(2, "log", two).codes() == []
    assert folder.put(0, "log", one, two).put(2, "log").codes() == ["OFFSET_OUT_OF_SEGMENT"]
    assert folder.put(0, "log").put(2, "log", one).codes() == ["OFFSET_OUT_OF_SEGMENT"]


def test_more_offsets_than_an_index_can_count(folder):
    folder.put(0, "log", folder.batch((1 << 31) - 1))
    assert folder.codes() == []
    folder.put(0, "log", folder.batch((1 << 31) - 1, 2))
    assert folder.codes() == ["OFFSET_OUT_OF_SEGMENT"]


def test_missing_offsets_are_a_fault_only_where_nothing_is_compacted(tmp_path, folder_at, folder):
    parts = [folder.batch(0), folder.batch(5)]
    assert folder.put(0, "log", *parts).codes() == []
    path = tmp_path / "__cluster_metadata-0"
    path.mkdir()
    assert folder_at(path).put(0, "log", *parts).codes() == ["OFFSET_GAP"]


OFFSET_ROWS = {
    "right": (lambda at: [(1, at[0]), (3, at[1]), (5, at[2])], []),
    "sparse": (lambda at: [(5, at[2])], []),
    "several batches appended together": (lambda at: [(5, at[1])], []),
    "in the middle of a batch": (lambda at: [(3, at[1] + 1)], ["INDEX_POSITION"]),
    "beyond the log": (lambda at: [(3, at[2] + 9999)], ["INDEX_POSITION"]),
    "of an earlier batch": (lambda at: [(1, at[1])], ["INDEX_OFFSET"]),
    "not the last of a batch": (lambda at: [(2, at[1])], ["INDEX_OFFSET"]),
    "beyond the offsets": (lambda at: [(6, at[2])], ["INDEX_OFFSET"]),
    "out of order": (lambda at: [(3, at[1]), (1, at[2])], ["ENTRY_ORDER"]),
}


@pytest.mark.parametrize(("rows", "found"), OFFSET_ROWS.values(), ids=OFFSET_ROWS)
def test_an_offset_index(folder, rows, found):
    parts, at = three(folder)
    assert folder.put(0, "log", *parts).offsets(0, *rows(at)).codes() == found


TIME_ROWS = {
    "right": ([(0, 1), (2, 3), (4, 5)], []),
    "the first offset of a batch": ([(2, 2)], []),
    "another time": ([(1, 3)], ["TIME_INDEX_TIMESTAMP"]),
    "beyond the log": ([(4, 6)], ["TIME_INDEX_OFFSET"]),
    "out of order": ([(2, 3), (0, 1)], ["ENTRY_ORDER"]),
}


@pytest.mark.parametrize(("rows", "found"), TIME_ROWS.values(), ids=TIME_ROWS)
def test_a_time_index(folder, rows, found):
    parts, _ = three(folder)
    assert (
        folder.put(0, "log", *parts).times(0, *[(folder.time + time, offset) for time, offset in rows]).codes() == found
    )


def test_times_that_fall(folder):
    parts = [folder.batch(0, time=folder.time + 9), folder.batch(1, time=folder.time)]
    folder.put(0, "log", *parts)
    assert folder.times(0, (folder.time + 9, 0)).codes() == []
    assert folder.times(0, (folder.time, 1)).codes() == ["TIME_INDEX_TIMESTAMP"]


def test_an_index_entry_for_offsets_that_are_gone(folder):
    first, last = folder.batch(0), folder.batch(5)
    folder.put(0, "log", first, last)
    assert folder.offsets(0, (3, 0)).codes() == ["INDEX_OFFSET"]
    assert folder.offsets(0).times(0, (folder.time, 3)).codes() == ["TIME_INDEX_OFFSET"]


def test_a_batch_that_compaction_thinned_may_be_indexed_by_any_of_its_offsets(folder):
    parts = [folder.batch(0), folder.batch(1, 9, kept=2)]
    assert folder.put(0, "log", *parts).offsets(0, (4, len(parts[0]))).codes() == []


def test_damage_in_the_middle_is_named_once(folder):
    parts, at = three(folder)
    parts[1] = parts[1][:-1] + b"\xff"
    folder.put(0, "log", *parts).offsets(0, (3, at[1]), (5, at[2])).times(0, (folder.time + 2, 3), (folder.time + 4, 5))
    (fault,) = folder.faults()
    assert (fault.code, fault.offset) == ("CRC_MISMATCH", 2)
    parts[1] = b"\xff" * len(parts[1])
    folder.put(0, "log", *parts)
    (fault,) = folder.faults()
    assert (fault.code, fault.position, fault.offset) == ("CORRUPT", at[1], 2)


def test_a_cut_end(folder):
    parts, at = three(folder)
    folder.put(0, "log", *parts[:2], parts[2][:30]).offsets(0, (5, at[2])).times(0, (folder.time + 4, 5))
    (fault,) = folder.faults()
    assert (fault.code, fault.position, fault.offset) == ("TRUNCATED", at[2], 4)


def test_zeros_at_the_end(folder):
    parts, _ = three(folder)
    folder.put(0, "log", *parts, bytes(5000))
    assert folder.codes() == []
    folder.put(6, "log")
    assert folder.codes() == ["PADDING"]


def test_leader_epochs(folder):
    parts = [folder.batch(0, leader=1), folder.batch(1, leader=3)]
    assert folder.put(0, "log", *parts).codes() == []
    folder.put(0, "log", folder.batch(0, leader=3), folder.batch(1, leader=1))
    assert folder.codes() == ["LEADER_EPOCH_ORDER"]
    (folder.path / "leader-epoch-checkpoint").write_text("x")
    assert folder.codes() == ["INVALID_TEXT", "TRUNCATED", "LEADER_EPOCH_ORDER"]


def test_an_index_without_its_log(folder):
    folder.put(0, "log").put(7, "index").put(7, "timeindex")
    assert folder.codes() == ["ORPHANED_FILE", "ORPHANED_FILE"]


def test_segments_that_are_not_in_use_are_not_read(folder):
    unused = folder.path / f"{0:020}.log.deleted"
    folder.put(4, "log", folder.batch(4)).put(0, "log.deleted", b"x").put(3, "log.cleaned", b"x")
    (folder.path / "notes.log").write_bytes(b"not Kafka's")
    assert answer_document(kwire.verify(folder.path))["facts"] == {"files": 1, "batches": 1, "faults": 0, "notInUse": 2}
    with pytest.raises(InputError, match="not in use"):
        codes_of(unused)


def test_a_snapshot_of_kraft(folder):
    parts, _ = three(folder)
    path = folder.path / f"{6:020}-{1:010}.checkpoint"
    path.write_bytes(b"".join(parts))
    assert folder.codes() == []
    path.write_bytes(parts[0] + parts[2])
    assert folder.codes() == ["OFFSET_ORDER"]
    path.write_bytes(b"".join(parts)[:-1] + b"\xff")
    assert folder.codes() == ["CRC_MISMATCH"]
    path.write_bytes(b"".join(parts)[:-1])
    assert folder.codes() == ["TRUNCATED"]


def test_payloads_of_kafkas_own_topics_are_read(folder_at, tmp_path):
    key, value = b"\0\1\0\1g\0\1a\0\0\0\0", b"\0\3" + bytes(8) + b"\xff" * 4 + bytes(2) + bytes(8)
    newer = record(b"\0\x63", b"\0\0", 2)  # of a type that only a newer Kafka may know
    parts = batch(0, [record(key, value, 0), record(key, value + b"xx", 1), newer])
    for name, expected in (("__consumer_offsets-0", ["TRAILING_BYTES"]), ("orders-0", [])):
        (tmp_path / name).mkdir()
        folder = folder_at(tmp_path / name).put(0, "log", parts)
        assert folder.codes() == expected
        faults = folder.faults(deep=True)
        assert [fault.code for fault in faults] == expected
        assert [(parts[fault.position :][:2], fault.text.partition(":")[0]) for fault in faults] == [
            (b"xx", "records[1].value") for _ in expected
        ]


def codes_of(path, **how):
    return [row[0] for row in kwire.verify(path, **how)["faults"].rows]


def test_a_whole_log_directory(tmp_path, folder):
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\nt 0 5\n")
    folder.put(0, "log", b"nonsense")
    assert codes_of(tmp_path) == ["ROW_COUNT_MISMATCH", "TRUNCATED"]


def test_one_file(folder, tmp_path):
    parts, _ = three(folder)
    folder.put(0, "log", parts[0]).put(2, "log", *parts[1:]).offsets(2, (3, 7)).put(9, "log", b"nonsense").offsets(
        0, (3, 1), (2, 2)
    )
    assert [fault.code for fault in verify_part(folder.path / f"{2:020}.log")] == ["INDEX_POSITION"]
    assert [fault.code for fault in verify_part(folder.path / f"{9:020}.log")] == ["TRUNCATED"]
    assert [fault.code for fault in verify_part(folder.path / f"{0:020}.index")] == ["ENTRY_ORDER"]
    with pytest.raises(InputError):
        list(verify_part(tmp_path / "none"))


def test_the_page_has_each_code():
    sources = [
        *(ROOT / "kwire_cli" / "analysis" / "verify").glob("*.py"),
        ROOT / "kwire_cli" / "records" / "producers.py",
    ]
    codes = {code for path in sources for code in re.findall(r'(?:Fault|Problem)\("([A-Z_]+)"', path.read_text())}
    page = (ROOT / "docs" / "dump.md").read_text().partition("### Faults that it finds")[2].partition("###")[0]
    named = {*re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE)}
    assert codes - {"UNREADABLE"} == named - {"CRC_MISMATCH", "TRUNCATED", "CORRUPT", "PADDING"}


@pytest.mark.parametrize("deep", [False, True])
def test_a_payload_that_no_layout_reads_is_a_fault(tmp_path, deep):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    member = {"memberId": "m", "clientId": "c", "clientHost": "h", "rebalanceTimeout": 1, "sessionTimeout": 1}
    group = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m"}
    for subscription, codes in (
        (b"\0\1\0\0\0\0\xff\xff\xff\xff\0\0\0\0", []),
        (b"\0\1\0\0\0\x09", ["COUNT_MISMATCH", "PAYLOAD_TRUNCATED"]),
    ):
        parts = {"subscription": subscription, "assignment": b""}
        members = [member | {name: base64.b64encode(data).decode() for name, data in parts.items()}]
        value = kwire.encode(group | {"members": members}, message="GroupMetadataValue", version=1)
        key = b"\0\2\0\1g"
        (folder / f"{0:020}.log").write_bytes(batch(0, [record(key, b"\0\1" + value)]))
        assert codes_of(folder, deep=deep) == codes
