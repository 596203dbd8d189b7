"""Compaction, retention and erasure of a lake: what stays is as it was, and what goes is gone from the disk too."""

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from kit.commands import ROOT, kwire, slow
from kit.lakes import content, rows_of, run

from kwire_cli.lake import delta, upkeep

CAPTURES = ROOT / "samples" / "captures"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A lake of several runs, whose tables have several files a day."""
    folder = tmp_path_factory.mktemp("runs")
    for number in range(3):
        point = folder / f"point-{number}"
        point.mkdir()
        shutil.copy(CAPTURES / "kafka-python-4.4.0.pcapng", point)
        run([point], folder / "lake", "all")
    return folder


@pytest.fixture
def lake(runs, tmp_path):
    shutil.copytree(runs / "lake", tmp_path / "lake")
    return tmp_path / "lake"


def files_of(lake, table):
    return DeltaTable(str(lake / table)).file_uris()


@pytest.mark.slow
def test_compaction_changes_no_row(lake):
    before = content(lake)
    assert len(files_of(lake, "frames")) == 3
    assert upkeep.compact_all(lake) > 0
    assert len(files_of(lake, "frames")) == 1
    assert content(lake) == before
    assert upkeep.compact_all(lake) == 0


@pytest.mark.slow
def test_rows_of_dead_runs_go_by_their_age(lake, monkeypatch):
    """A run that died before it was named in `inputs`; a young one may be about to name itself."""
    with monkeypatch.context() as patched:
        patched.setattr(delta, "replace_inputs", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run([CAPTURES / "midstream.pcap"], lake, "frames")
    before = content(lake)
    upkeep.compact(lake, "frames")
    assert count(lake, "frames") > len(rows_of(lake, "select 1 from frames"))
    monkeypatch.setattr(upkeep, "OLD_MS", -1000)
    run([CAPTURES / "sarama-0.8.2.0-3.9.2.pcapng"], lake, "frames")
    upkeep.compact(lake, "frames")
    assert count(lake, "frames") == len(rows_of(lake, "select 1 from frames"))
    assert content(lake).keys() == before.keys()


def count(lake, table):
    """All rows of the files of a table, whether they count or not."""
    actions = delta.opened(lake, table).get_add_actions(flatten=True)
    return sum(actions["num_records"].to_pylist())


def test_a_table_that_grew_is_compacted_by_the_next_run(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep, "MANY_SMALL", 3)
    (tmp_path / "other").mkdir()
    shutil.copy(CAPTURES / "ipv6.pcap", tmp_path / "other")
    run([tmp_path / "other"], lake, "frames")
    assert len(files_of(lake, "frames")) == 1
    assert rows_of(lake, "select count(*), count(distinct capture_point) from frames") == [(3 * 52 + 148, 4)]


def test_old_days_are_removed(runs, lake):
    day = datetime(2026, 11, 21, tzinfo=UTC)
    assert upkeep.remove_older(lake, 30, day) == 0
    assert upkeep.remove_older(lake, 30, day.replace(year=2027)) > 0
    assert rows_of(lake, "select count(*) from frames") == [(0,)]
    assert run([runs / "point-0"], lake, "all").read == 0


@pytest.mark.slow
def test_a_client_is_erased(lake):
    """From all tables, what is carried, the logs, and the disk."""
    ((client, frames),) = rows_of(
        lake, "select client_id, count(*) from frames where client_id is not null group by all order by 2, 1 limit 1"
    )
    before = rows_of(lake, f"select * from frames where client_id is distinct from '{client}' order by all")
    done = upkeep.delete(lake, f"client_id = '{client}'")
    assert (done.frames, done.points) == (frames, 3)
    assert rows_of(lake, "select * from frames order by all") == before
    joined = "select count(*) from bodies_fetch_response b anti join frames f using (capture_point, connection, frame)"
    assert rows_of(lake, joined) == [(0,)]
    for table in ("set_fields", "produce_batches", "errors"):
        assert rows_of(lake, joined.replace("bodies_fetch_response", table)) == [(0,)]
    joined = "select count(*) from connections c anti join frames f using (capture_point, connection)"
    assert rows_of(lake, f"{joined} where not is_unused") == [(0,)]
    assert rows_of(lake, f"select count(*) from names where key = '{client}'") == [(0,)]
    for path in lake.rglob("*"):
        if path.is_file() and path.parent.parent.name != "inputs":
            assert client.encode() not in path.read_bytes(), path
    assert upkeep.delete(lake, "client_id = 'nobody'") == upkeep.Deleted(0, 0)


@pytest.mark.slow
def test_files_that_no_table_has_stay_for_a_week(lake):
    young, old = (lake / "frames" / "day=2026-11-21" / f"{name}.parquet" for name in ("young", "old"))
    for path in (young, old):
        path.write_bytes(b"left by a run that died")
    past = time.time() - (upkeep.HOURS + 1) * 3600
    os.utime(old, (past, past))
    upkeep.compact_all(lake)
    assert (young.exists(), old.exists()) == (True, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        slow(("--compact",), "kwire: 10 files fewer"),
        (("--older-than", "1d"), "files removed"),
        slow(("--delete", "api = 'Fetch'"), "frames deleted; connections of 3 capture points go on anew"),
    ],
)
def test_the_commands(lake, options, said):
    done = kwire("query", lake, *options)
    assert (done.code, done.out) == (0, "")
    assert said.split()[-1] in done.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--older-than", "soon"), "--older-than takes a number of days"),
        (("--compact", "select 1"), "each stand alone"),
        (("--delete", "no such column"), "DuckDB: "),
        (("--delete", "true); drop table frames; --"), "DuckDB: "),
    ],
)
def test_wrong_upkeep_says_why_and_changes_no_file(lake, options, why):
    before = sorted(lake.rglob("*"))
    done = kwire("query", lake, *options)
    assert (done.code, why in done.err) == (2, True)
    assert sorted(lake.rglob("*")) == before


@pytest.mark.slow
def test_a_folder_is_followed(tmp_path):
    """Files that are at rest are read once, in the order in which they come; Ctrl-C ends it."""
    folder, lake = tmp_path / "in", tmp_path / "lake"
    folder.mkdir()
    command = [sys.executable, "-m", "kwire_cli", "export", str(folder), "-o", str(lake), "--every", "1s"]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for number, name in enumerate(("midstream.pcap", "kafka-python-4.4.0.pcapng"), 1):
        shutil.copy(CAPTURES / name, folder / f"{number}.pcap")
        assert any(line.startswith("kwire: 1 input file, ") for line in running.stderr)  # waits for it
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "kwire: " not in said
