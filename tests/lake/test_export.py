"""`kwire export`: files that every reader of Parquet takes, runs that count as a whole or not at all, and what is read
again.
"""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kit.commands import ROOT
from kit.lakes import content, rows_of, run
from kit.logs import committed

from kwire_cli.errors import InputError
from kwire_cli.lake import CHOICES, chosen, files
from kwire_cli.lake.query import Lake
from kwire_cli.lake.tables import SHAPES, whole_schema
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
    frames = rows_of(lake, f"select capture_point, day, sum(size)::bigint from frames where source = 'capture' {by}")
    assert costs == frames
    assert frames


def test_request_logs_are_frames_too(lake):
    (count,) = rows_of(lake, "select count(*) from frames where source = 'request-log' and kind = 'response'")[0]
    assert count > 10
    assert rows_of(lake, "select count(*) from frames where source = 'request-log' and latency_us < 0") == [(0,)]


@pytest.mark.slow  # loads two more libraries of tables
def test_columns_are_those_of_the_tables(lake):
    """Every file of a table has all columns but the day, which its folder has; and every reader takes every file."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for name in {*SHAPES} - {"inputs"}:
        for path in sorted((lake / name).glob("day=*/*.parquet")):
            table = pq.read_table(path, partitioning=None)
            assert table.schema == pa.schema([each for each in whole_schema(name) if each.name != "day"]), name
            heights = len(pandas.read_parquet(path, partitioning=None)), polars.read_parquet(path).height
            assert {*heights} == {table.num_rows}


def test_names_are_in_the_frames(lake):
    """Topic ids of Fetch have their names, brokers their node ids."""
    topics = {topic for (topic,) in rows_of(lake, "select distinct unnest(topics) from frames where api = 'Fetch'")}
    known = dict(rows_of(lake, "select key, name from names where kind = 'topic'"))
    assert topics.isdisjoint(known)
    assert rows_of(lake, "select count(*) from frames where broker is not null")[0][0] > 100


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


def test_a_table_that_is_no_parquet_is_refused(tmp_path, lake):
    shutil.copytree(lake, tmp_path / "lake")
    for file in (tmp_path / "lake" / "frames").rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="DuckDB"):
        rows_of(tmp_path / "lake", "select count(*) from frames")


@pytest.mark.slow
def test_rows_wait_in_a_file(tmp_path, monkeypatch):
    """However few bytes may wait, the tables are the same."""
    monkeypatch.setattr(files, "MOST_BYTES", 4096)
    monkeypatch.setattr("kwire_cli.facts.columnar.spool.SPOOLED", 4096)
    monkeypatch.setattr(files, "ROW_GROUP", 64)
    run([SEGMENTS, LOGS], tmp_path / "small", "all")
    monkeypatch.undo()
    run([SEGMENTS, LOGS], tmp_path / "whole", "all")
    assert content(tmp_path / "small") == content(tmp_path / "whole")


@pytest.mark.slow
def test_several_processes_write_the_same(tmp_path, monkeypatch, lake):
    """Units in processes of their own, which tell what they could not read."""
    for name in ("export.MUCH", "processes.FEW_BYTES"):
        monkeypatch.setattr(f"kwire_cli.lake.{name}", 1)
    told = []
    done = run([CAPTURES, SEGMENTS, LOGS], tmp_path / "many", "all", processes=2, tell=lambda *each: told.append(each))
    assert content(tmp_path / "many") == content(lake)
    assert "connections" in {what for what, *_ in told}
    assert all(0 < at <= size for _, at, size, _ in told)
    assert done.faults == run([CAPTURES, SEGMENTS, LOGS], tmp_path / "one", "batches,faults").faults > 0


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
    query = "select * exclude (run, capture_point) from faults"
    assert rows_of(tmp_path / "one", query) == rows_of(tmp_path / "both", query)


def test_tables_are_chosen(tmp_path):
    run([CAPTURES], tmp_path / "lake", "frames, names")
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"carried", "frames", "inputs", "names"}
    with pytest.raises(InputError, match="did you mean frames"):
        chosen("frame")
    assert chosen("all") == frozenset(CHOICES)


def test_an_empty_table_can_be_asked(tmp_path):
    run([next(CAPTURES.glob("*.pcapng"))], tmp_path / "lake", "frames")
    assert rows_of(tmp_path / "lake", "select count(*) from records where day is null and capture_point = ''") == [(0,)]


@pytest.mark.parametrize("query", ["select * from framez", "selec 1", "select cast('x' as int)"])
def test_wrong_queries_say_why(lake, query):
    with pytest.raises(InputError, match=r"^DuckDB: "):
        rows_of(lake, query)


def test_columns_of_one_name_are_all_there(lake):
    with Lake(lake, "select * from inputs") as tables:
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
    with pytest.raises(InputError, match="this is no lake: kwire export"):
        Lake(tmp_path, "select 1")
    (tmp_path / "file.pcap").touch()
    with pytest.raises(InputError, match="this is no lake: kwire export"):
        Lake(tmp_path / "file.pcap", "select 1")
    with pytest.raises(InputError, match="no such folder"):
        Lake(tmp_path / "nothing", "select 1")


@pytest.mark.slow
@pytest.mark.shared
def test_costs_of_real_captures_add_up(tmp_path):
    run(sorted(OWN.glob("captures/*/*.pcap*"))[::3], tmp_path / "lake", "frames,costs")
    sums = rows_of(
        tmp_path / "lake",
        "select (select sum(prefix_bytes + value_bytes) from costs)::bigint, "
        "(select sum(size) from frames where source = 'capture')::bigint",
    )
    assert sums[0][0] == sums[0][1] > 200_000


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_plain_files(tmp_path, form):
    """They have the rows of the lake, without its units and runs, and are written into a new folder only."""
    path = next(CAPTURES.glob("*.pcapng"))
    run([path], tmp_path / "lake", "frames,costs")
    run([path], tmp_path / form, "frames,costs", form=form)
    (wanted,) = rows_of(tmp_path / "lake", "select count(*) from frames")[0]
    (file,) = (tmp_path / form).rglob(f"frames/day=*/*.{form}")
    columns = [each.name for each in whole_schema("frames") if each.name not in {"unit", "run", "day"}]
    if form in {"parquet", "arrow"}:
        with pa.memory_map(str(file)) as source:
            table = pq.read_table(source) if form == "parquet" else pa.ipc.open_file(source).read_all()
        assert (table.num_rows, table.schema.names) == (wanted, columns)
    else:
        lines = file.read_text("utf-8").splitlines()
        assert len(lines) == wanted + (form == "csv")
        first = lines[0].split(",") if form == "csv" else [*json.loads(lines[0])]
        assert {*first} <= {*columns}
    with pytest.raises(InputError, match=f"this has files already, and {form} is written into a new folder only"):
        run([path], tmp_path / form, "frames", form=form)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_texts_that_cannot_be_written_are_errors(tmp_path, monkeypatch, form):
    monkeypatch.setattr(files, "quote_text", lambda _: "'/dev/full'")
    with pytest.raises(InputError, match=r"cannot be written to: "):
        run([CAPTURES / "ipv6.pcap"], tmp_path / "tables", form=form)
