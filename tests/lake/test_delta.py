"""The log of a lake: what runs that die, run at once or meet a full disk leave, tables that grow, and hostile logs."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from kit.commands import ROOT
from kit.lakes import content, rows_of, run

from kwire_cli.errors import InputError
from kwire_cli.lake import delta, files
from kwire_cli.lake.tables import INPUTS

CAPTURES = ROOT / "samples" / "captures"
SEGMENTS = ROOT / "samples" / "segments"
CAPTURE = CAPTURES / "ipv6.pcap"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "lake"
    run([CAPTURE], folder)
    return folder


@pytest.fixture
def lake(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "lake")
    return tmp_path / "lake"


STEPS = ("add_files", "replace_inputs", "remove_runs")


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_dies_changes_nothing_or_everything(lake, whole, monkeypatch, step):
    """Readers see each row once, whatever is done, and the next run needs no repair."""
    original = getattr(delta, step)

    def dying(*args):
        if step == "add_files":
            original(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(delta, step, dying)
        with pytest.raises(KeyboardInterrupt):
            run([CAPTURE], lake, again=True)
    assert content(lake) == content(whole)
    run([CAPTURE], lake, again=True)
    assert content(lake) == content(whole)
    assert not [*lake.glob("_run-*")]


def test_replaced_files_are_removed_from_the_log(lake, whole):
    before = {name: DeltaTable(str(lake / name)).file_uris() for name in delta.tables_of(lake)}
    run([CAPTURE], lake, again=True)
    for name, paths in before.items():
        after = DeltaTable(str(lake / name)).file_uris()
        assert len(after) == len(paths)
        assert {*after}.isdisjoint(paths)
    assert content(lake) == content(whole)


@pytest.mark.slow
def test_runs_that_are_killed_at_any_moment(tmp_path):
    """Twenty of them, at moments from the beginning of a run to its end; then one is left alone."""
    dice, lake, inputs = random.Random(1), tmp_path / "lake", [CAPTURE, SEGMENTS / "garbage-0"]
    run(inputs, tmp_path / "whole")
    wanted = content(tmp_path / "whole")
    with runs_of(inputs, lake) as killed_after:
        whole = killed_after(None)
        shutil.rmtree(lake)
        killed = 0
        for _ in range(20):
            killed += killed_after(dice.uniform(0, 1.1 * whole)) is None
            if delta.exists(lake) and delta.inputs_of(lake).rows.num_rows:
                assert content(lake) == wanted
        assert killed
        assert killed_after(None)
    assert content(lake) == wanted


FORKS = """
import os, signal, sys, time
from kit.lakes import run
import kwire_cli.lake.export

lake, *inputs = sys.argv[1:]
for line in sys.stdin:
    began = time.monotonic()
    child = os.fork()
    if not child:
        run(inputs, lake, again=True)
        os._exit(0)
    if line.strip():
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, time.monotonic() - began, flush=True)
"""
"""A process that loads kwire once, and forks for each run."""


@contextmanager
def runs_of(inputs, lake):
    """Give a function that starts a run and kills it after some seconds. It returns how long the run took, or None if
    the run was killed before its end.
    """
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    command = [sys.executable, "-c", FORKS, str(lake), *map(str, inputs)]
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as forking:

        def killed_after(seconds):
            forking.stdin.write(f"{'' if seconds is None else seconds}\n")
            forking.stdin.flush()
            code, took = forking.stdout.readline().split()
            assert int(code) in {0, -signal.SIGKILL}
            return None if int(code) else float(took)

        yield killed_after


@pytest.mark.slow
def test_two_runs_at_once_both_count(tmp_path):
    """The first one waits in the middle until the second one is done."""
    into, reads, done = tmp_path / "lake", threading.Event(), threading.Event()
    add_files = delta.add_files

    def wait(*args):
        if threading.current_thread().name.startswith("first"):
            reads.set()
            assert done.wait(60)
        return add_files(*args)

    with ThreadPoolExecutor(1, "first") as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(delta, "add_files", wait)
        first = pool.submit(run, [CAPTURE, SEGMENTS / "orders-zstd-0"], into)
        try:
            assert reads.wait(60)
            run([SEGMENTS / "garbage-0"], into)
        finally:
            done.set()
        first.result()
    run([CAPTURE, SEGMENTS / "orders-zstd-0", SEGMENTS / "garbage-0"], tmp_path / "whole")
    assert content(into) == content(tmp_path / "whole")


@pytest.mark.slow
def test_two_runs_of_the_same_inputs_count_once(tmp_path):
    """The second one to end reads anew what has changed meanwhile: nothing."""
    into, wait = tmp_path / "lake", threading.Barrier(2, timeout=60)
    add_files, waited = delta.add_files, set()

    def together(*args):
        if (own := threading.get_ident()) not in waited:
            waited.add(own)
            wait.wait()
        return add_files(*args)

    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(delta, "add_files", together)
        runs = [pool.submit(run, [CAPTURE, SEGMENTS / "garbage-0"], into) for _ in range(2)]
        for each in runs:
            each.result()
    run([CAPTURE, SEGMENTS / "garbage-0"], tmp_path / "whole")
    assert content(into) == content(tmp_path / "whole")


@pytest.mark.slow
def test_runs_that_begin_a_lake_at_once(tmp_path):
    """One of them has the unit that all have read, and the others are told so; what one alone has read is kept."""
    for number in range(4):
        folder, barrier = tmp_path / str(number), threading.Barrier(4, timeout=60)

        def replace(run, folder=folder, barrier=barrier):
            units = [{"unit": unit, "run": run, "kind": "file"} for unit in ("of all", f"of {run}")]
            barrier.wait()
            return delta.replace_inputs(folder, delta.NO_INPUTS, pa.Table.from_pylist(units, schema=INPUTS))

        with ThreadPoolExecutor(4) as pool:
            lost = [*pool.map(replace, "abcd")]
        assert sorted(map(len, lost)) == [0, 1, 1, 1]
        units = delta.inputs_of(folder).rows["unit"].to_pylist()
        assert sorted(units) == ["of a", "of all", "of b", "of c", "of d"]


@pytest.mark.slow
def test_many_writers_and_a_reader(tmp_path):
    """Processes that export other files into one lake; a reader finds frames and their costs equal at any moment."""
    lake = tmp_path / "lake"
    points = []
    for number in range(3):
        points.append(tmp_path / f"point-{number}")
        points[-1].mkdir()
        shutil.copy(CAPTURE, points[-1])
    command = [sys.executable, "-m", "kwire_cli", "export", "-o", str(lake), "--force"]
    running = [
        subprocess.Popen([*command, str(point)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for point in [*points, points[0]]
    ]
    checks = 0
    query = """
        select coalesce((select sum(size) from frames), 0)::bigint,
            coalesce((select sum(prefix_bytes + value_bytes) from costs), 0)::bigint
    """
    while any(process.poll() is None for process in running):
        if delta.exists(lake):
            ((frames, costs),) = rows_of(lake, query)
            assert frames == costs
            checks += 1
        time.sleep(0.2)
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), errors
    assert checks
    assert rows_of(lake, "select count(*), count(distinct capture_point) from frames") == [(3 * 148, 3)]


def test_a_full_disk_is_an_error_and_readers_see_what_was(lake, whole, monkeypatch):
    class Full(files._Output):
        def write_table(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_Output", Full)
    with pytest.raises(InputError, match="cannot be written to: No space left on device"):
        run([CAPTURE], lake, again=True)
    assert content(lake) == content(whole)


# Tables that grow.


@pytest.mark.slow
def test_a_field_that_comes_later_is_in_all_rows(tmp_path):
    """With the definitions of another release: rows of before have null in its place. delta-rs cannot write below a
    path such as this one in every way.
    """
    lake = tmp_path / "it's [a] lake"
    run([CAPTURES / "midstream.pcap"], lake, "bodies")
    add_column(lake / "bodies_fetch_request")
    (count,) = rows_of(lake, "select count(*) from bodies_fetch_request")[0]
    run([CAPTURE], lake, "bodies")
    found = rows_of(lake, "select count(*), count(body.zone) from bodies_fetch_request")
    assert found[0][0] > count
    assert found[0][1] == 0


def add_column(folder):
    """Widen a table by a field of its bodies, as a newer kwire would."""
    table = DeltaTable(str(folder))
    schema = pa.schema(table.schema().to_arrow())
    body = pa.struct([*schema.field("body").type, pa.field("zone", pa.string())])
    wider = pa.schema([pa.field("body", body) if each.name == "body" else each for each in schema])
    delta.again(lambda: delta._add(folder.parent, folder.name, [], wider))


def test_a_lake_without_a_column_has_null_in_its_place(lake):
    """As if an older kwire had written it."""
    for path in (lake / "frames").glob("day=*/*.parquet"):
        rows = pa.parquet.read_table(path, partitioning=None)
        pa.parquet.write_table(rows.drop_columns(["delayed", "guess"]), path)
    assert rows_of(lake, "select count(*), count(delayed), count(api) > 0 from frames") == [(148, 0, True)]


@pytest.mark.slow
def test_a_column_of_another_type_goes_to_another_table(tmp_path):
    """A field that became something else cannot be in one column: nothing is lost, and the run says where rows are."""
    lake = tmp_path / "lake"
    run([CAPTURES / "midstream.pcap"], lake, "bodies")
    log = min((lake / "bodies_fetch_request" / "_delta_log").glob("*.json"))
    was, becomes = (r"\"isolationLevel\",\"type\":\"" + kind for kind in ("byte", "string"))
    assert was in log.read_text()
    log.write_text(log.read_text().replace(was, becomes))
    notes = []
    run([CAPTURE], lake, "bodies", note=notes.append)
    assert any("bodies_fetch_request_2" in note for note in notes)
    assert rows_of(lake, "select count(*) > 0 from bodies_fetch_request_2") == [(True,)]


# Hostile logs.


HOSTILE = {
    "above": "../secret.parquet",
    "escaped above": "%2E%2E/secret.parquet",
    "absolute": "{folder}/secret.parquet",
    "a file URL": "file://{folder}/secret.parquet",
    "another store": "s3://bucket/secret.parquet",
    "a glob": "*.parquet",
    "another folder": "day=2026-11-21/../../../secret.parquet",
    "no parquet": "secret.txt",
    "hidden": ".secret.parquet",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_log_that_names_other_files_is_refused(lake, tmp_path, name):
    (file,) = (lake / "frames").glob("day=*/*.parquet")
    shutil.copy(file, tmp_path / "secret.parquet")
    log = lake / "frames" / "_delta_log" / "00000000000000000001.json"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    for entry in entries:
        if "add" in entry:
            entry["add"]["path"] = HOSTILE[name].format(folder=tmp_path)
    log.write_text("\n".join(map(json.dumps, entries)))
    before = {*tmp_path.rglob("*")}
    for act in (lambda: rows_of(lake, "select * from frames"), lambda: run([CAPTURE], lake, again=True)):
        with pytest.raises(InputError, match="the log"):
            act()
    assert {path for path in tmp_path.rglob("*") if path.name == "secret.parquet"} <= before


def test_links_are_not_followed(lake, tmp_path):
    (file,) = (lake / "frames").glob("day=*/*.parquet")
    file.rename(tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(InputError, match="the log names a link"):
        rows_of(lake, "select * from frames")


@pytest.mark.parametrize(
    "damage",
    ["", "{", '{"metaData":{"minReaderVersion":99}}', '{"protocol":{"minReaderVersion":99,"minWriterVersion":99}}'],
)
def test_a_damaged_log_is_one_line(lake, damage):
    (lake / "frames" / "_delta_log" / "00000000000000000000.json").write_text(damage)
    with pytest.raises(InputError, match="frames: the log of the table: ") as error:
        rows_of(lake, "select * from frames")
    assert "\n" not in str(error.value)


def test_a_table_whose_files_are_gone_says_so(lake):
    for file in (lake / "frames").glob("day=*/*.parquet"):
        file.unlink()
    with pytest.raises(InputError, match="DuckDB: "):
        rows_of(lake, "select count(*) from frames")
    assert rows_of(lake, "select count(*) > 0 from costs") == [(True,)]


def test_folders_of_dead_runs_go_by_their_age(lake):
    """A younger one may be of a run on another machine."""
    dead, young = lake / "_run-dead", lake / "_run-young"
    for folder in (dead, young):
        folder.mkdir()
    old = time.time() - 2 * 24 * 3600
    os.utime(dead, (old, old))
    run([CAPTURE], lake, again=True)
    assert [path.name for path in lake.glob("_run-*")] == ["_run-young"]


def test_names_of_clients_are_not_in_the_log(lake):
    """Else they could not be erased."""
    clients = {
        client for (client,) in rows_of(lake, "select distinct client_id from frames where client_id is not null")
    }
    assert clients
    for log in lake.rglob("_delta_log/*.json"):
        assert not any(f'"{client}"' in log.read_text() for client in clients)
