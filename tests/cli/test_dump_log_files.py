"""`kwire dump` of the files of a log directory that hold no batches, and `kwire dump --verify`."""

import csv
import io
import json
import os
import shutil

import pytest
from hypothesis import given, strategies as st
from kit.commands import ROOT, examples, json_of, kwire, lines_of, refusal_of
from kit.logs import batch, record

from kwire_cli.source.logs.contents import READABLE, read_contents, read_log_file
from kwire_cli.source.logs.files import walk
from kwire_cli.source.logs.model import entry_json
from kwire_cli.view import logs as view
from kwire_cli.view.lines import plain

LOGS = ROOT / "samples" / "logs"
FILES = [file for file in walk(LOGS) if file.kind in READABLE]
LOG = f"{0:020}.log"


def name(file):
    return str(file.path.relative_to(LOGS))


@pytest.mark.parametrize("file", FILES, ids=name)
def test_each_format_says_what_the_file_does(file):
    contents = read_log_file(file.path)
    rows = list(contents.lines())
    assert lines_of("dump", file.path) == rows
    assert json_of("dump", file.path) == contents.to_json()
    heading, *cells = csv.reader(io.StringIO(kwire("dump", "--format", "csv", file.path).out))
    assert tuple(heading) == (*view.columns(contents), "gap")
    assert [row[0] for row in cells] == [str(row.get("at", row.get("position"))) for row in rows]
    for form in ("table", "tree", "hex"):
        assert len(kwire("dump", "--format", form, file.path).out.splitlines()) == 1 + len(rows)
    assert {tuple(entry_json(entry)) for entry in contents.entries} <= {view.columns(contents)}


def test_folders_show_all_files_when_asked():
    done = kwire("dump", "--all", LOGS)
    files = dict.fromkeys(json.loads(line)["file"] for line in done.out.splitlines())
    said = {str(file.path) for file in walk(LOGS) if file.kind in READABLE and list(read_log_file(file.path).lines())}
    assert said < set(files)
    assert {path for path in files if path not in said} == {
        str(file.path) for file in walk(LOGS) if file.kind == "log" and file.path.stat().st_size
    }
    assert all(".log" in json.loads(line)["file"] for line in kwire("dump", LOGS).out.splitlines())


def test_a_folder_without_segments_has_other_files(tmp_path):
    shutil.copy(LOGS / "cleaner-offset-checkpoint", tmp_path)
    assert "--all" in refusal_of("dump", tmp_path)
    assert kwire("dump", "--all", tmp_path).code == 0
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    assert kwire("dump", "--all", tmp_path).code == 2


def test_what_is_odd(tmp_path):
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n3\n0 0\nx\n2 5\n")
    for form in ("jsonl", "csv"):
        done = kwire("dump", "--format", form, path)
        assert done.code == 0
        assert [line.split(": ", 2)[2].split(" at ")[0] for line in done.err.splitlines()] == [
            "INVALID_TEXT",
            "ROW_COUNT_MISMATCH",
        ]
    for form in ("tree", "table", "hex"):
        assert "! ROW_COUNT_MISMATCH count at byte 2" in kwire("dump", "--format", form, path).out
    assert kwire("dump", "--strict", path).code == 1


def test_limits_count_entries():
    snapshot, index = LOGS / "txn-out-1" / f"{10:020}.snapshot", LOGS / "txn-out-1" / f"{0:020}.txnindex"
    for form in ("jsonl", "csv", "table"):
        done = kwire("dump", "--format", form, "--top", 4, snapshot, index)
        expected = [form == "jsonl", form != "jsonl"]
        assert [text in done.out for text in ("1795259731120", "2026-11-21T11:15:31.120Z")] == expected
    assert len(kwire("dump", "--top", 4, snapshot, index).out.splitlines()) == 4
    documents = kwire("dump", "--format", "json", "--top", 3, snapshot, index).out
    assert documents.count('"at"') == 3


def test_choices_leave_them_out():
    done = kwire("dump", "--offsets", "1-2", LOGS / "cleaner-offset-checkpoint")
    assert (done.code, done.out, "left out" in done.err) == (0, "", True)


def test_unreadable(tmp_path):
    lock = tmp_path / ".lock"
    lock.write_bytes(b"")
    assert kwire("dump", lock).code == 2
    assert "has no entries that kwire reads" in refusal_of("dump", LOGS / "meta.properties")


@examples(120)
@given(st.sampled_from(FILES), st.data())
def test_damage_is_shown_and_never_an_error(file, data):
    raw = bytearray(file.path.read_bytes()[:400])
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    contents = read_contents(raw, file.name)
    rows = list(contents.lines())
    for lines in (
        view.table_lines(contents, rows, None),
        view.table_lines(contents, rows, 60),
    ):
        assert all(plain(line).isprintable() for line in lines)
    assert all(len(view.csv_cells(contents, row)) == len(view.csv_columns(contents)) for row in rows)


def test_names_that_are_no_text(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff-0")
    folder.mkdir()
    (folder / LOG).write_bytes(batch(5, [record()]) + batch(0, [record()]))
    for form in ("jsonl", "json", "csv", "table"):
        done = kwire("dump", "--verify", "--format", form, folder)
        assert (done.code, "\\xff-0/" in done.out) == (1, True)


def test_no_path_is_no_standard_input():
    for stdin in (None, b""):
        assert kwire("dump", "--verify", stdin=stdin).code == 2


def test_an_empty_log_is_told_from_a_healthy_one(tmp_path):
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"")
    for path in (tmp_path, folder, folder / f"{0:020}.log"):
        assert "0 batches in 1 file" in refusal_of("dump", "--verify", path)
        done = kwire("dump", path)
        assert (done.code, done.out, done.err) == (0, "", "kwire: 0 batches in 1 file\n")


@pytest.mark.parametrize("options", [("--verify",), ("--state",), (), ("--all",)])
def test_a_folder_without_logs_is_no_healthy_one(tmp_path, options):
    (tmp_path / "kafka-0" / "data").mkdir(parents=True)
    assert "found 0 files in 3 folders" in refusal_of("dump", *options, tmp_path)
    (tmp_path / "kafka-0" / "data" / "notes.txt").write_text("x")
    done = kwire("dump", *options, tmp_path)
    if options != ("--all",):
        assert done.code == 2
        assert "found 1 file in 3 folders, such as notes.txt" in done.err


def test_links_to_folders_are_followed_once(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("orders-0", "orders-1"):
        (logs / name).symlink_to(LOGS / "txn-out-1")
    (logs / "loop").symlink_to(logs)
    done = kwire("dump", logs)
    assert done.out == kwire("dump", LOGS / "txn-out-1").out.replace(str(LOGS / "txn-out-1"), str(logs / "orders-0"))
    assert kwire("dump", "--verify", logs).out == kwire("dump", "--verify", LOGS / "txn-out-1").out
    assert not done.err


@pytest.mark.parametrize(
    ("command", "form"),
    [
        *((command, form) for command in ("dump", "decode") for form in ("jsonl", "tree")),
        ("dump", "csv"),
        ("dump", "table"),
    ],
)
@pytest.mark.parametrize("file", {file.kind: file for file in FILES}.values(), ids=lambda file: file.kind.value)
def test_a_file_without_entries_says_so(command, form, file, tmp_path):
    path = tmp_path / file.path.name
    path.write_bytes(b"")
    done = kwire(command, "--format", form, path)
    assert (done.out + done.err).strip()
    contents = read_contents(b"", file.name)
    silent = form in {"jsonl", "csv"} and not contents.anomalies and not [*contents.lines()]
    assert (f"kwire: {path}: 0 entries in 0 bytes" in done.err) == silent
