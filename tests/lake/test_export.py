"""`kwire export`: files that every reader of Parquet takes, runs that count as a whole or not at all, and what is read
again.
"""

import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kit.commands import ROOT
from kit.lakes import content, rows_of, run
from kit.logs import committed

import kwire_cli as kwire
from kwire_cli.errors import InputError
from kwire_cli.lake import CHOICES, chosen, units, writing
from kwire_cli.lake.query import Lake
from kwire_cli.lake.tables import SCHEMA_KEY, SCHEMA_VERSION, SHAPES
from kwire_cli.records.kafka_topics import decode_record

CAPTURES = ROOT / "samples" / "captures"
SEGMENTS = ROOT / "samples" / "segments"
LOGS = ROOT / "samples" / "request-logs"
OWN = ROOT.parent / "shared" / "real" / "own"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "of samples"
    run([CAPTURES, SEGMENTS, LOGS], folder, "all")
    return folder


def test_frames_cost_what_they_are_long(lake):
    """The bytes of all paths add up to those of all frames, day by day."""
    by = "group by capture_point, day order by capture_point, day"
    costs = rows_of(lake, f"select capture_point, day, sum(prefix_bytes + value_bytes)::bigint from costs {by}")
    frames = rows_of(lake, f"select capture_point, day, sum(size)::bigint from frames where stream is not null {by}")
    assert costs == frames
    assert frames


def test_records_are_those_of_the_segments(lake):
    found = rows_of(lake, 'select file, "offset", key, value from records order by file, position, "offset"')
    wanted = []
    for path in sorted(SEGMENTS.glob("**/*.log")):
        for batch in kwire.read_records(path.read_bytes(), topic=path.parent.name.rpartition("-")[0]):
            if hasattr(batch, "records"):
                wanted += [(str(path), record.offset, record.key, record.value) for record in batch.records()]
    internal = {row[0] for row in found if "/__" in row[0]}
    assert sorted(map(repr, (row for row in found if row[0] not in internal and row[0].endswith(".log")))) == sorted(
        map(repr, (row for row in wanted if row[0] not in internal))
    )
    assert len(wanted) > 100


def test_request_logs_are_frames_too(lake):
    (count,) = rows_of(lake, "select count(*) from frames where stream is null and kind = 'response'")[0]
    assert count > 10
    assert rows_of(lake, "select count(*) from frames where stream is null and latency_us < 0") == [(0,)]


def test_names_are_in_the_frames(lake):
    """Topic ids of Fetch have their names, brokers their node ids."""
    topics = {topic for (topic,) in rows_of(lake, "select distinct unnest(topics) from frames where api = 'Fetch'")}
    known = dict(rows_of(lake, "select key, name from names where kind = 'topic'"))
    assert topics.isdisjoint(known)
    assert rows_of(lake, "select count(*) from frames where broker is not null")[0][0] > 100


def test_every_reader_takes_every_file(lake):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    files = sorted(lake.rglob("*.parquet"))
    for path in files:
        table = pq.read_table(path, partitioning=None)
        assert table.schema.metadata[SCHEMA_KEY] == str(SCHEMA_VERSION).encode()
        heights = len(pandas.read_parquet(path, partitioning=None)), polars.read_parquet(path).height
        assert set(heights) == {table.num_rows}
    assert {*SHAPES} - {"index"} < {path.relative_to(lake).parts[0] for path in files}


def test_columns_are_those_of_the_tables(lake):
    """All files of a table have the same columns."""
    for name, shape in SHAPES.items():
        for path in sorted((lake / name).rglob("*.parquet")):
            found = pq.read_schema(path)
            wanted = [each for each in shape.schema if each.name != "day"]
            assert [each.name for each in found] == [each.name for each in wanted], name


def test_a_capture_that_grew_is_read_as_it_is_now(tmp_path):
    """In one process, as workers of Spark are used again."""
    path, lake = tmp_path / "grows.pcap", tmp_path / "lake"
    data = (CAPTURES / "ipv6.pcap").read_bytes()
    for size in (40_000, len(data)):
        path.write_bytes(data[:size])
        run([path], lake, "frames,faults")
    assert rows_of(lake, "select count(*), (select count(*) from faults) from frames") == [(148, 0)]


def test_a_second_run_reads_what_is_new(tmp_path):
    inputs, lake = tmp_path / "in", tmp_path / "lake"
    shutil.copytree(SEGMENTS / "orders-zstd-0", inputs / "orders-0")
    for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap"):
        shutil.copy(CAPTURES / name, inputs)
    assert run([inputs], lake).read > 2
    before = content(lake)
    assert (done := run([inputs], lake)).read == 0
    assert done.known > 2
    assert content(lake) == before
    (new := inputs / "more").mkdir()
    shutil.copy(next(CAPTURES.glob("*.pcapng")), new)
    assert run([inputs], lake).read == 1
    whole = tmp_path / "whole"
    run([inputs], whole)
    assert content(lake) == content(whole)
    assert run([inputs], lake, again=True).read > 3
    assert content(lake) == content(whole)


def test_a_changed_input_is_replaced(tmp_path):
    inputs, lake = tmp_path / "in", tmp_path / "lake"
    inputs.mkdir()
    some, other = sorted(CAPTURES.glob("*.pcapng"))[:2]
    shutil.copy(some, inputs / "a.pcapng")
    run([inputs], lake)
    shutil.copy(other, inputs / "a.pcapng")
    assert run([inputs], lake).read == 1
    whole = tmp_path / "whole"
    run([inputs], whole)
    assert content(lake) == content(whole)


def test_small_partitions_share_files(tmp_path, monkeypatch):
    """A table has one file for those of a broker, not one for each; packs change alone when there are several."""
    inputs, lake, whole = tmp_path / "broker", tmp_path / "lake", tmp_path / "whole"
    for number in range(8):
        shutil.copytree(SEGMENTS / "orders-zstd-0", inputs / f"orders-{number}")
    run([inputs], lake)
    files = [path for path in lake.rglob("*.parquet") if path.relative_to(lake).parts[0] == "records"]
    assert len(files) == len({path.parent for path in files})
    assert rows_of(lake, "select count(distinct partition), count(distinct unit) from records, inputs") == [(8, 1)]

    size = sum(path.stat().st_size for path in (inputs / "orders-0").iterdir())
    monkeypatch.setattr(units, "SMALL", 2 * size)
    assert run([inputs], lake).read == rows_of(lake, "select count(*) from inputs")[0][0]  # there are several packs now
    units_there = rows_of(lake, "select unit, count(*) from inputs group by unit order by 1")
    assert len(units_there) > 1
    name = (inputs / "orders-3").name
    unit = rows_of(lake, f"select distinct unit from inputs where contains(path, '{name}/')")[0][0]
    shutil.copy(
        SEGMENTS / "v1-kp-gzip-0" / next((SEGMENTS / "v1-kp-gzip-0").glob("*.log")).name,
        inputs / name / "00000000000000009999.log",
    )
    assert run([inputs], lake).read == dict(units_there)[unit] + 1
    run([inputs], whole)
    assert content(lake) == content(whole)


def test_inputs_that_become_other_capture_points_count_once(tmp_path):
    inputs, lake = tmp_path / "in", tmp_path / "lake"
    inputs.mkdir()
    for name in ("ipv6.pcap", "midstream.pcap"):
        shutil.copy(CAPTURES / name, inputs)
    run([inputs], lake)
    shutil.copy(CAPTURES / "ipv6.pcap", inputs / "again.pcap")  # the same connections, so each file stands for itself
    assert run([inputs], lake).read == 3
    run([inputs], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")


def test_two_folders_with_the_same_addresses_give_both(tmp_path):
    some = CAPTURES / "ipv6.pcap"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(some, tmp_path / name)
    run([tmp_path / "one", tmp_path / "two"], tmp_path / "lake")
    counts = rows_of(tmp_path / "lake", "select capture_point, count(*) from frames group by all")
    assert len(counts) == 2
    assert len({count for _, count in counts}) == 1


@pytest.mark.slow
def test_killed_runs_leave_nothing_half(tmp_path):
    """Killed five times at any moment, then left alone."""
    dice, lake = random.Random(1), tmp_path / "lake"
    command = [sys.executable, "-m", "kwire_cli", "export", str(CAPTURES), str(SEGMENTS), "-o", str(lake)]
    for _ in range(5):
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.3, 2.5))
        running.send_signal(signal.SIGKILL)
        running.wait()
        if [*lake.glob("[a-z]*")]:
            assert set(content(lake)) >= {"frames", "inputs"}
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    whole = tmp_path / "whole"
    run([CAPTURES, SEGMENTS], whole)
    assert content(lake) == content(whole)
    assert not [*lake.glob("_run-*")]


def test_a_run_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(writing.Run, "commit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run([CAPTURES / "ipv6.pcap"], tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def refuse(place, _):
        raise InputError("cannot be written to: No space left on device", file=str(place))

    monkeypatch.setattr(writing, "write", refuse)
    with pytest.raises(InputError, match="No space left"):
        run([CAPTURES / "ipv6.pcap"], tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_texts_that_cannot_be_written_are_errors(tmp_path, monkeypatch, form):
    monkeypatch.setattr(writing, "quote_text", lambda _: "'/dev/full'")
    with pytest.raises(InputError, match=r"cannot be written to: .*No space left"):
        run([CAPTURES / "ipv6.pcap"], tmp_path / "lake", form=form)
    assert not (tmp_path / "lake").exists()


def test_a_run_beside_another_one_stays(tmp_path):
    """The folder of a process that is there is nobody's to remove."""
    other = tmp_path / "lake" / "_run-other"
    other.mkdir(parents=True)
    for owner in (f"{platform.node()} {os.getpid()}", "another-machine 1"):
        (other / writing.OWNER).write_text(owner, "utf-8")
        run([CAPTURES / "ipv6.pcap"], tmp_path / "lake", "frames")
        assert other.is_dir()
    (other / writing.OWNER).write_text(f"{platform.node()} {2**22 + 1}", "utf-8")
    run([CAPTURES / "ipv6.pcap"], tmp_path / "lake", "frames")
    assert not other.exists()


def test_a_run_of_another_user_stays(tmp_path, monkeypatch):
    """A process of another user may be there, but nobody else may send it signals."""

    def refuse(*_):
        raise PermissionError

    hidden = tmp_path / "_run-0"
    hidden.mkdir()
    (hidden / "_owner").write_text(f"{platform.node()} 1")
    monkeypatch.setattr(os, "kill", refuse)
    writing.recover(tmp_path)
    assert hidden.is_dir()


def test_a_run_that_begins_stays(tmp_path, monkeypatch):
    """Its folder has no owner yet when another run looks for what killed runs have left."""
    begun, others = threading.Event(), []

    def write(place, data):
        if place.name == "_owner":
            others.append(threading.Thread(target=writing.recover, args=(tmp_path,)))
            others[0].start()
            begun.wait(0.2)
        place.write_bytes(data)

    monkeypatch.setattr(writing, "write", write)
    with writing.Run(tmp_path) as other:
        others[0].join()
        assert (other.hidden / "_owner").is_file()


def test_a_lake_may_have_any_name(tmp_path):
    """DuckDB would take parts of its path for columns and for globs."""
    name = "day=2020-01-01/capture_point=x/api=y/[1]/back\\slash/a*?"
    folder = tmp_path / name / "lake"
    run([CAPTURES / "ipv6.pcap"], folder, "frames")
    shutil.copytree(folder, tmp_path / "abc" / "lake")
    query = "select capture_point, day::varchar, count(*) from frames where api <> 'y' group by all"
    assert rows_of(folder, query) == [(str(CAPTURES), "2026-11-21", 148)]
    assert len(rows_of(folder, "describe frames")) == len(SHAPES["frames"].schema) + 2
    for form in ("csv", "jsonl"):
        run([CAPTURES / "ipv6.pcap"], tmp_path / name / form, "frames", form=form)
        (file,) = (tmp_path / name / form / "frames").rglob(f"*.{form}")
        first = file.read_text().split("\n")[0]
        names = first.split(",") if form == "csv" else [*json.loads(first)]
        assert {*names} <= {*SHAPES["frames"].schema.names}


def test_a_name_in_a_folder_that_is_not_utf8_is_a_fault(tmp_path):
    name = os.fsdecode(b"\xff.pcap")
    captures = tmp_path / "captures"
    captures.mkdir()
    for other in ("a.pcap", name):
        shutil.copy(CAPTURES / "ipv6.pcap", captures / other)
    run([captures], tmp_path / "lake")
    assert rows_of(tmp_path / "lake", "select code, file from faults") == [("UNREADABLE", f"{captures}/\\xff.pcap")]
    assert rows_of(tmp_path / "lake", "select count(*) from frames") == [(148,)]


def test_a_folder_for_tables_whose_name_is_not_utf8_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"not in UTF-8.*rename"):
        run([CAPTURES / "ipv6.pcap"], tmp_path / os.fsdecode(b"\xff"))


def test_a_capture_point_too_long_for_a_folder_is_refused(tmp_path):
    """Nothing is left of the run: the next one can name its points."""
    folder = tmp_path / ("ü" * 40)
    folder.mkdir()
    shutil.copy(CAPTURES / "ipv6.pcap", folder)
    with pytest.raises(InputError, match="--capture-point"):
        run([folder], tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


def test_a_table_that_is_no_parquet_is_refused(tmp_path, lake):
    shutil.copytree(lake, tmp_path / "lake")
    for file in (tmp_path / "lake" / "frames").rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="DuckDB"):
        rows_of(tmp_path / "lake", "select count(*) from frames")


def test_two_runs_at_once_remember_what_both_have_read(tmp_path):
    """The first run waits in the middle until the second one is done."""
    into, reads, done = tmp_path / "lake", threading.Event(), threading.Event()

    def wait(*_):
        reads.set()
        done.wait()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(run, [CAPTURES / "ipv6.pcap", SEGMENTS / "orders-zstd-0"], into, tell=wait)
        try:
            assert reads.wait(60)
            assert not (into / "inputs").exists()
            run([SEGMENTS / "garbage-0"], into)
            assert (into / "inputs").exists()
        finally:
            done.set()
        first.result()
    run([CAPTURES / "ipv6.pcap", SEGMENTS / "orders-zstd-0", SEGMENTS / "garbage-0"], tmp_path / "whole")
    assert content(into) == content(tmp_path / "whole")


def test_rows_wait_in_a_file(tmp_path, monkeypatch, lake):
    """However few bytes may wait, the tables are the same."""
    monkeypatch.setattr(writing, "MOST_BYTES", 4096)
    monkeypatch.setattr("kwire_cli.facts.columnar.spool.SPOOLED", 4096)
    monkeypatch.setattr(writing, "ROW_GROUP", 64)
    run([CAPTURES, SEGMENTS, LOGS], tmp_path / "small", "all")
    assert content(tmp_path / "small") == content(lake)


@pytest.mark.slow
def test_several_processes_write_the_same(tmp_path, monkeypatch, lake):
    """Units in processes of their own, which tell what they could not read."""
    for module in ("export.MUCH", "processes.FEW_BYTES"):
        monkeypatch.setattr(f"kwire_cli.lake.{module}", 1)
    told = []
    done = run([CAPTURES, SEGMENTS, LOGS], tmp_path / "many", "all", processes=2, tell=lambda *each: told.append(each))
    assert content(tmp_path / "many") == content(lake)
    assert "connections" in {what for what, *_ in told}
    assert all(0 < at <= size for _, at, size, _ in told)
    assert done.faults == run([CAPTURES, SEGMENTS, LOGS], tmp_path / "one", "batches,faults").faults > 0


@pytest.mark.parametrize(("form", "suffix"), [("csv", "csv"), ("jsonl", "jsonl"), ("arrow", "arrow")])
def test_formats(tmp_path, form, suffix):
    path = next(CAPTURES.glob("*.pcapng"))
    run([path], tmp_path / "parquet", "frames,costs")
    run([path], tmp_path / form, "frames,costs", form=form)
    (count,) = rows_of(tmp_path / "parquet", "select count(*) from frames")[0]
    (file,) = (tmp_path / form / "frames").rglob(f"*.{suffix}")
    if form == "arrow":
        with pa.memory_map(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
        assert table.num_rows == count
        assert table.schema.names == [each.name for each in SHAPES["frames"].schema]
        return
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) == count + (form == "csv")
    if form == "jsonl":
        assert {json.loads(line)["api"] for line in lines} == {
            api for (api,) in rows_of(tmp_path / "parquet", "select distinct api from frames")
        }
    with pytest.raises(InputError, match=f"in {form}; query reads Parquet"):
        Lake(tmp_path / form)


def test_files_that_cannot_be_read_are_faults(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    shutil.copy(next(CAPTURES.glob("*.pcapng")), tmp_path / "in")
    whole = (CAPTURES / "ipv6.pcap").read_bytes()
    (tmp_path / "in" / "cut.pcap").write_bytes(whole[:-7])
    assert run([tmp_path / "in"], tmp_path / "lake").faults == 2
    faults = rows_of(tmp_path / "lake", "select code from faults where frame is null order by file")
    assert faults == [("UNREADABLE",), ("TRUNCATED",)]


def test_payloads_are_decoded_once(tmp_path, monkeypatch):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(committed(0, count=5) + committed(5, b"xx", count=5))
    decoded = []
    monkeypatch.setattr(
        "kwire_cli.records.batch.decode_record", lambda *args: decoded.append(args) or decode_record(*args)
    )
    run([folder], tmp_path / "both")
    assert len(decoded) == 10
    run([folder], tmp_path / "one", "faults")
    assert rows_of(tmp_path / "both", "select count(*), count(payload) from records") == [(10, 10)]
    query = "select code, path, topic from faults"
    assert rows_of(tmp_path / "both", query) == [("TRAILING_BYTES", "records[4].value", "__consumer_offsets")]
    query = 'select * exclude "capture_point" from faults'
    assert rows_of(tmp_path / "one", query) == rows_of(tmp_path / "both", query)


def test_tables_are_chosen(tmp_path):
    run([CAPTURES], tmp_path / "lake", "frames, names")
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"frames", "names", "inputs"}
    with pytest.raises(InputError, match="did you mean frames"):
        chosen("frame")
    assert chosen("all") == frozenset(CHOICES)


def test_a_table_whose_files_are_gone_is_empty(tmp_path, lake):
    """As after days that are too old were removed."""
    shutil.copytree(lake, tmp_path / "lake")
    for file in (tmp_path / "lake" / "frames").rglob("*.parquet"):
        file.unlink()
    assert rows_of(tmp_path / "lake", "select (select count(*) from frames), count(*) > 0 from records") == [(0, True)]
    (tmp_path / "other" / "index").mkdir(parents=True)
    with pytest.raises(InputError, match="there are no tables in this"):
        Lake(tmp_path / "other")


def test_an_empty_table_can_be_asked(tmp_path):
    run([next(CAPTURES.glob("*.pcapng"))], tmp_path / "lake", "frames")
    assert rows_of(tmp_path / "lake", "select count(*) from records where day is null and capture_point = ''") == [(0,)]


@pytest.mark.parametrize("query", ["select * from framez", "selec 1", "select cast('x' as int)"])
def test_wrong_queries_say_why(lake, query):
    with pytest.raises(InputError, match=r"^DuckDB: "):
        rows_of(lake, query)


def test_columns_of_one_name_are_all_there(lake):
    with Lake(lake) as tables:
        rows = tables.arrow(
            "select 1 as a, 2 as a_1, 3 as a, a.size, b.size from inputs a, inputs b limit 1"
        ).read_all()
    assert rows.column_names == ["a", "a_1", "a_2", "size", "size_1"]


def test_intervals_are_seconds(lake):
    times = "min(time), max(time), max(time) - min(time)"
    (first, last, took), *_ = rows_of(lake, f"select {times} from frames")
    assert took == pytest.approx((last - first).total_seconds())
    query = "select interval 1 month + interval 1 day + interval 1500 millisecond, null::interval"
    assert rows_of(lake, query) == [(31 * 86400 + 1.5, None)]


def test_no_lake(tmp_path):
    with pytest.raises(InputError, match="no tables in this"):
        Lake(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        Lake(tmp_path / "nothing")


@pytest.mark.slow
@pytest.mark.shared
def test_costs_of_real_captures_add_up(tmp_path):
    run([OWN], tmp_path / "lake", "frames,costs")
    sums = rows_of(
        tmp_path / "lake",
        "select (select sum(prefix_bytes + value_bytes) from costs)::bigint, "
        "(select sum(size) from frames where stream is not null)::bigint",
    )
    assert sums[0][0] == sums[0][1] > 1_000_000
