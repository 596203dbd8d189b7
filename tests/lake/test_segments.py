"""The rows of log directories in the tables of a lake, whatever the parts, and faults where a file is not whole."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from kit.logs import SEGMENTS, batch, record

import kwire_cli as kwire
from kwire_cli.lake import logs
from kwire_cli.lake.inputs import Input, listed, named_files
from kwire_cli.lake.model import Reading
from kwire_cli.lake.segments import as_time
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import walk
from kwire_cli.spec.catalog import catalog

TABLES = ("batches", "records", "index", "faults")
SAMPLES = SEGMENTS.parent
LOGS, CAPTURE = SAMPLES / "logs", SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"


def files(*paths):
    """The inputs that a run lists."""
    listing = listed(named_files([*map(str, paths)]))
    return [Input(**row) for row in listing.to_pylist() if row["kind"] in {"segment", "index"}]


def all_rows(inputs, tables, **reading):
    """The rows of files, with their tables."""
    for file in inputs:
        for table, some in logs.log_rows(file, tables, Reading(**reading)):
            yield from ((table, row) for row in some.to_pylist())


def rows_of(inputs, table, **reading):
    return [row for _, row in all_rows(inputs, (table,), **reading)]


def rows(*paths, table="records", **reading):
    return rows_of(files(*paths), table, **reading)


def test_records_are_those_of_read_records():
    found = rows(SEGMENTS, show_secrets=True)
    expected = []
    for path in sorted(SEGMENTS.glob("*/*")):
        for item in kwire.read_records(path):
            if hasattr(item, "records"):
                expected += [
                    (str(path), path.parent.name.rpartition("-")[0], 0, item.position, row.offset, row.value)
                    for row in item.records()
                ]
    names = ("file", "topic", "partition", "position", "offset", "value")
    assert sorted(tuple(row[name] for name in names) for row in found) == sorted(expected)


@pytest.mark.parametrize("table", TABLES)
def test_parts_make_no_difference(table, monkeypatch):
    expected = rows(SEGMENTS, LOGS, table=table)
    assert expected
    for size in (60, 700) if table == "records" else (700,):
        monkeypatch.setattr(logs, "SPLIT_SIZE", size)
        assert rows(SEGMENTS, LOGS, table=table) == expected


def test_tables_together_have_the_rows_of_each_alone():
    inputs = files(SEGMENTS, LOGS)
    found = {table: [] for table in TABLES}
    for table, row in all_rows(inputs, TABLES):
        found[table].append(row)
    for table in TABLES:
        assert sorted(map(repr, found[table])) == sorted(map(repr, rows_of(inputs, table)))


def snake(name):
    return re.sub("([A-Z])", lambda match: f"_{match[1].lower()}", name)


ENTRIES = {"index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint", "replication-offset-checkpoint"}
ENTRIES |= {f"{what}-checkpoint" for what in ("recovery-point-offset", "log-start-offset", "cleaner-offset")}


def test_the_index_is_what_dump_says_of_each_file():
    expected = []
    for file in walk(LOGS):
        if file.kind.value in ENTRIES:
            for number, entry in enumerate(read_log_file(file.path).to_json()["entries"]):
                said = {snake(name): value for name, value in entry.items()}
                expected.append({"file": str(file.path), "kind": file.kind.value, "entry": number} | said)
    found = [{name: value for name, value in row.items() if value is not None} for row in rows(LOGS, table="index")]
    for row in found:
        if "timestamp" in row:
            assert row.pop("time") == datetime.fromtimestamp(row["timestamp"] / 1000, UTC)
        if not row["kind"].endswith("offset-checkpoint"):
            assert f"{row.pop('topic')}-{row.pop('partition')}" == Path(row["file"]).parent.name
    assert found == expected
    assert {row["kind"] for row in found} == ENTRIES


def test_faults_of_indexes(tmp_path):
    folder = tmp_path / "t-1"
    folder.mkdir()
    index = folder / "00000000000000000007.index"
    index.write_bytes(b"".join(number.to_bytes(4, "big") for number in (5, 70, 3, 90, 6, 40)) + bytes(16) + b"\1\2\3")
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 x\n")
    (folder / "00000000000000000007.timeindex").symlink_to("nowhere")
    found = rows(tmp_path, table="faults")
    assert {row["topic"] for row in found} == {"t"}
    assert {row["partition"] for row in found} == {1}
    told = [(Path(row["file"]).name, row["code"], row["path"], row["offset"]) for row in found]
    assert sorted(told) == sorted(
        [
            *((index.name, note.code, note.path, note.offset) for note in read_log_file(index).anomalies),
            (index.with_suffix(".timeindex").name, "UNREADABLE", "", 0),
            ("leader-epoch-checkpoint", "INVALID_TEXT", "line 4", 8),
            ("leader-epoch-checkpoint", "ROW_COUNT_MISMATCH", "count", 2),
        ]
    )
    assert {code for _, code, *_ in told} >= {"ENTRY_ORDER", "TRUNCATED"}
    assert len([row for row in rows(tmp_path, table="index") if row["kind"] == "index"]) == len(
        read_log_file(index).entries
    )


def test_records_are_read_by_definitions_of_ones_own(tmp_path):
    folder, mine = SEGMENTS / "__consumer_offsets-0", tmp_path / "OffsetCommitValue.json"
    definition = (SAMPLES.parent / "specs" / mine.name).read_text("utf-8")
    mine.write_text(definition.replace('"metadata"', '"remark"'), "utf-8")
    usual = [row["payload"] for row in rows(folder)]
    found = [row["payload"] for row in rows(folder, catalog=catalog((str(tmp_path), "4.4")))]
    assert found == [text.replace('"metadata"', '"remark"') for text in usual]
    assert found != usual


def test_an_unreadable_file_is_a_fault_and_no_error(tmp_path):
    folder = tmp_path / "t-3"
    shutil.copytree(SEGMENTS / "orders-zstd-0", folder)
    inputs = files(tmp_path)
    next(folder.iterdir()).unlink()
    assert rows_of(inputs, "records") == rows_of(inputs, "batches") == []
    (fault,) = rows_of(inputs, "faults")
    assert (fault["code"], fault["topic"], fault["partition"]) == ("UNREADABLE", "t", 3)
    assert "No such file" in fault["detail"]


def test_a_file_that_was_cut_since_is_read_as_it_is(tmp_path, monkeypatch):
    file = tmp_path / "00000000000000000000.log"
    one = batch(0, [record(b"k", b"v")])
    file.write_bytes(one * 3)
    monkeypatch.setattr(logs, "SPLIT_SIZE", len(one))
    inputs = files(file)
    assert len(rows_of(inputs, "records")) == 3
    file.write_bytes(one)
    assert len(rows_of(inputs, "records")) == 1


def test_a_file_that_has_grown_since_is_read_as_far_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(b"".join(batch(offset, [record(b"k", b"v")]) for offset in range(6)))
    monkeypatch.setattr(logs, "SPLIT_SIZE", file.stat().st_size // 3)
    inputs = files(file)
    with file.open("ab") as grown:
        grown.write(b"".join(batch(offset, [record(b"k", b"v")]) for offset in range(6, 20)))
    assert [row["offset"] for row in rows_of(inputs, "records")] == [*range(6)]


def test_secrets_are_hidden_unless_they_are_asked_for(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    scram = {
        "name": "u",
        "mechanism": 1,
        "salt": "AAAA",
        "storedKey": "c3RvcmVk",
        "serverKey": "AAAA",
        "iterations": 4096,
    }
    value = b"\1\x0b\0" + kwire.encode(scram, message="UserScramCredentialRecord", version=0)
    (folder / "00000000000000000000.log").write_bytes(batch(0, [record(None, value)]))
    (hidden,), (shown,) = rows(tmp_path), rows(tmp_path, show_secrets=True)
    assert hidden["value"] == b"<redacted %d bytes>" % len(value)
    assert "c3RvcmVk" not in hidden["payload"]
    assert shown["value"] == value
    assert "c3RvcmVk" in shown["payload"]


def test_an_empty_file_has_no_rows(tmp_path):
    for kind in ("log", "index"):
        (tmp_path / f"00000000000000000000.{kind}").write_bytes(b"")
    for table in TABLES:
        assert rows(tmp_path, table=table) == []


def test_times_that_are_none_are_null():
    found = as_time(pa.array([-1, 0, 1_760_000_000_123, 2**62, None], pa.int64()))
    assert pc.is_null(found).to_pylist() == [True, False, False, True, True]
    assert found[2].as_py() == datetime(2025, 10, 9, 8, 53, 20, 123000, UTC)
