"""A lake that Spark's tasks write is the one that a single process writes."""

import shutil

import pytest
from kit.captures import SAMPLES
from kit.commands import kwire
from kit.lakes import content, rotated_points

from kwire_cli.lake import chosen, report_names
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.query import Lake
from kwire_cli.spark import tables as tables_on_spark

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture
def both(spark, tmp_path):
    """Writes inputs to a lake both ways; returns what Spark's run did, and both lakes."""
    from kwire_cli.lake.export import Cut, write_tables
    from kwire_cli.lake.inputs import named_files
    from kwire_cli.spark.export import SparkTasks

    def both(*inputs, tables="all", cut=None, **settings):
        wanted, settings["cut"] = Wanted(chosen(tables), Reading()), Cut(**(cut or {}))
        paths = [str(path) for path in inputs]
        done = write_tables(SparkTasks(spark), named_files(paths), tmp_path / "tasks", wanted, **settings)
        export(paths, tmp_path / "one", wanted)
        return done, tmp_path / "tasks", tmp_path / "one"

    return both


def test_every_kind_of_input(both, tmp_path, monkeypatch):
    """Connections go on from window to window. Files are looked at in tasks."""
    monkeypatch.setattr("kwire_cli.lake.export.FEW_FILES", 2)
    inputs = rotated_points(tmp_path / "in"), *(SAMPLES / name for name in ("tls", "segments", "logs", "request-logs"))
    done, tasks, one = both(*inputs, tables=None, cut={"part": 20_000, "parts": 5})
    assert content(tasks) == content(one)
    assert done.read > 50
    assert not [*tasks.glob("_*")]


def test_a_second_run_reads_what_is_new(spark, tmp_path):
    from kwire_cli.lake.export import write_tables
    from kwire_cli.lake.inputs import named_files
    from kwire_cli.spark.export import SparkTasks

    inputs, lake, wanted = tmp_path / "in", tmp_path / "lake", Wanted(chosen(None), Reading())
    shutil.copytree(SAMPLES / "captures", inputs / "captures")
    assert write_tables(SparkTasks(spark), named_files([str(inputs)]), lake, wanted).read > 2
    shutil.copytree(SAMPLES / "segments" / "orders-zstd-0", inputs / "orders-0")
    (inputs / "more").mkdir()
    shutil.copy(SAMPLES / "captures" / "ipv6.pcap", inputs / "more")
    done = write_tables(SparkTasks(spark), named_files([str(inputs)]), lake, wanted)
    assert done.known > 2
    assert done.read == 1 + len([*(inputs / "orders-0").iterdir()])
    export([str(inputs)], tmp_path / "one", wanted)
    assert content(lake) == content(tmp_path / "one")


def test_spark_reads_what_it_wrote(spark, both):
    _, tasks, one = both(SAMPLES / "captures", tables=None)
    with Lake(one, "select size from frames") as tables:
        (wanted,) = tables.arrow("select count(*) as n, sum(size)::bigint as size from frames").read_all().to_pylist()
    frames = tables_on_spark(spark, str(tasks))["frames"]
    assert [row.asDict() for row in frames.selectExpr("count(*) as n", "sum(size) as size").collect()] == [wanted]
    types = dict(frames.dtypes)
    assert (types["time"], types["topics"], types["day"]) == ("timestamp", "array<string>", "date")


ASKED = ("--master", "local[2]", "--format", "csv")


def test_the_command(tmp_path):
    lake = tmp_path / "lake"
    asked = ("export", SAMPLES / "captures", "-o", lake, "--tables", "frames,names", *ASKED)
    done = kwire(*asked)
    assert done.code == 0, done.err
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["table", "frames", "names"]
    assert "5 input files" in done.err
    assert "5 input files unchanged" in kwire(*asked).err
    assert {path.name for path in lake.iterdir()} == {"carried", "frames", "names", "inputs"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--conf", "spark.driver.memory=4g"), "--conf is for Spark: add --master URL"),
        (("--master", "local[1]", "--conf", "driver.memory=4g"), "--conf takes a setting of Spark, such as"),
        (("--master", "local[1]", "--jobs", "2"), "--jobs is for processes of this machine: leave out --master"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, options, why):
    done = kwire("export", SAMPLES / "captures", "-o", tmp_path / "lake", *options)
    assert (done.code, why in done.err) == (2, True)
    assert not (tmp_path / "lake").exists()


def test_nothing_that_can_be_read_is_an_error(tmp_path):
    for number in range(7):
        (tmp_path / f"none{number}.pcap").write_bytes(b"no capture at all")
    done = kwire("export", tmp_path, "-o", tmp_path / "lake", "--tables", "frames", *ASKED)
    assert (done.code, "could be read" in done.err) == (2, True)


def test_results_of_many_tasks_come_in_the_order_of_works(spark):
    from kwire_cli.spark import export as on_spark

    assert [number for some in on_spark.folded(spark, 30, list) for number in some] == [*range(30)]
    assert on_spark.folded(spark, 0, list) == []


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "lake"
    inputs = [SAMPLES / name for name in ("captures", "request-logs", "incidents/permissions.pcap")]
    export([str(path) for path in inputs], folder, Wanted(chosen(None), Reading()))
    return folder


@pytest.mark.parametrize("report", report_names())
def test_spark_and_duckdb_give_the_same_answer(lake, report):
    """With --master, the same query over the same files; folders of capture points and days as text and dates."""
    asked = ("query", lake, report, "--format", "jsonl")
    done, here = kwire(*asked, "--master", "local[2]"), kwire(*asked)
    assert (done.code, done.out, done.err) == (0, here.out, here.err)
    assert done.out if report != "check" else done.err == "kwire: no rows\n"


def test_spark_says_what_is_wrong_with_a_query(lake):
    done = kwire("query", lake, "select * from framez", "--master", "local[2]")
    assert done.code == 2
    assert "framez" in done.err
    assert (
        kwire("query", lake, "select count(*) as n from index", "--master", "local[2]").out
        == '{"table":"rows","n":0}\n'
    )
