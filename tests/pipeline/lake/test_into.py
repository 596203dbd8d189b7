"""A lake that Spark's tasks write is the one that a single process writes."""

import shutil

import pyarrow.parquet as pq
import pytest
from kit.captures import SAMPLES
from kit.commands import ROOT, kwire
from kit.lakes import content, rotated_points

from kwire_cli.pipeline.lake import chosen, report_names
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.lake.query import Lake
from kwire_cli.pipeline.model import Reading, Wanted

pytestmark = pytest.mark.spark

OWN = ROOT.parent / "shared" / "real" / "own"


@pytest.fixture
def both(spark, tmp_path):
    """Writes inputs to a lake both ways; returns what Spark's run did, and both lakes."""
    from kwire_cli.pipeline.into import Cut, scan_into

    def both(*inputs, tables="all", cut=None, **settings):
        wanted, settings["cut"] = Wanted(chosen(tables), Reading()), Cut(**(cut or {}))
        paths = [str(path) for path in inputs]
        done = scan_into(spark, paths, tmp_path / "tasks", wanted, **settings)
        export(paths, tmp_path / "one", wanted)
        return done, tmp_path / "tasks", tmp_path / "one"

    return both


def test_every_kind_of_input(both, tmp_path, monkeypatch):
    """Connections go on from window to window. Files are looked at in tasks."""
    monkeypatch.setattr("kwire_cli.pipeline.lake.in_tasks.FEW_FILES", 2)
    inputs = rotated_points(tmp_path / "in"), *(SAMPLES / name for name in ("tls", "segments", "logs", "request-logs"))
    done, tasks, one = both(*inputs, cut={"part": 20_000, "parts": 5})
    assert content(tasks) == content(one)
    assert done.read > 50
    assert not [*tasks.glob("_*")]


def test_a_second_run_reads_what_is_new(spark, tmp_path):
    from kwire_cli.pipeline.into import scan_into

    inputs, lake, wanted = tmp_path / "in", tmp_path / "lake", Wanted(chosen(None), Reading())
    shutil.copytree(SAMPLES / "captures", inputs / "captures")
    assert scan_into(spark, [str(inputs)], lake, wanted).read > 2
    shutil.copytree(SAMPLES / "segments" / "orders-zstd-0", inputs / "orders-0")
    (inputs / "more").mkdir()
    shutil.copy(SAMPLES / "captures" / "ipv6.pcap", inputs / "more")
    done = scan_into(spark, [str(inputs)], lake, wanted)
    assert done.known > 2
    assert done.read == 1 + len([*(inputs / "orders-0").iterdir()])
    export([str(inputs)], tmp_path / "one", wanted)
    assert content(lake) == content(tmp_path / "one")


def test_spark_reads_what_it_wrote(spark, both):
    _, tasks, one = both(SAMPLES / "captures", tables=None)
    with Lake(one) as tables:
        (wanted,) = tables.arrow("select count(*) as n, sum(size)::bigint as size from frames").read_all().to_pylist()
    found = spark.read.parquet(str(tasks / "frames")).selectExpr("count(*) as n", "sum(size) as size").collect()
    assert [row.asDict() for row in found] == [wanted]
    types = dict(spark.read.parquet(str(tasks / "frames")).dtypes)
    assert (types["time"], types["topics"], types["day"]) == ("timestamp", "array<string>", "date")


def test_the_command(tmp_path):
    lake = tmp_path / "lake"
    asked = ("scan", ROOT / "samples" / "captures", "-o", lake, "--tables", "frames,names")
    done = kwire(*asked, "--format", "csv")
    assert done.code == 0, done.err
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["table", "frames", "names"]
    assert "5 input files" in done.err
    assert "5 input files unchanged" in kwire(*asked).err
    assert {path.name for path in lake.iterdir()} == {"frames", "names", "inputs"}
    (file,) = lake.glob("inputs/*")
    assert pq.read_table(file)["fields"].to_pylist() == [None] * 5


def test_columns(tmp_path):
    asked = ("scan", ROOT / "samples" / "captures" / "ipv6.pcap", "-o", tmp_path, "--fields", "time,api")
    done = kwire(*asked)
    assert (done.code, "--fields names columns of one table" in done.err) == (2, True)
    assert kwire(*asked, "--tables", "frames").code == 0
    (file,) = tmp_path.glob("frames/*/*/*")
    assert pq.ParquetFile(file).schema_arrow.names == ["time", "api"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "lake"
    inputs = [*(SAMPLES / name for name in ("captures", "request-logs")), *(SAMPLES / "incidents").glob("*.pcap")]
    export([str(path) for path in inputs], folder, Wanted(chosen(None), Reading()))
    return folder


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("report", report_names())
def test_spark_and_duckdb_give_the_same_answer(lake, report):
    """With --master, the same query over the same files; folders of capture points and days as text and dates."""
    asked = ("query", lake, "--report", report, "--format", "jsonl")
    done = kwire(*asked, "--master", "local[2]")
    assert (done.code, done.err) == (0, "")
    assert done.out == kwire(*asked).out
    assert done.out


@pytest.mark.usefixtures("spark")
def test_spark_says_what_is_wrong_with_a_query(lake):
    done = kwire("query", lake, "select * from framez", "--master", "local[2]")
    assert done.code == 2
    assert "framez" in done.err
    assert (
        kwire("query", lake, "select count(*) as n from index", "--master", "local[2]").out
        == '{"table":"rows","n":0}\n'
    )
