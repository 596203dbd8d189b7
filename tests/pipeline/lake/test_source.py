"""The data source has every table of a lake, needs no context of Spark, and its tables can be created by SQL."""

import ast
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("numba")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from kwire_cli import pipeline
from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake import chosen
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.lake.query import Lake
from kwire_cli.pipeline.lake.unit_tables import PointPart
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.source import NAMES, KwireSource
from kwire_cli.source.files import Naming

pytestmark = pytest.mark.numba

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "samples"
CAPTURES = SAMPLES / "captures"
ALL = [SAMPLES / name for name in ("captures", "segments", "logs", "request-logs")]
SOME = (*(name for name in NAMES if name != "packets"), "bodies_metadata_response", "bodies_fetch_request")


def options(*paths, table, **more):
    return {"paths": json.dumps([*map(str, paths)]), "table": table, **more}


def read(*paths, table, **more):
    """The rows of a table, by parts that go to other processes."""
    source = KwireSource(options(*paths, table=table, **more))
    reader = pickle.loads(pickle.dumps(source.reader(source.schema())))
    parts = [pickle.loads(pickle.dumps(part)) for part in reader.partitions()]
    return [row for part in parts for rows in reader.read(part) for row in rows.to_pylist()]


def same(rows):
    return sorted(map(repr, rows))


def lake_of(folder, *paths, reading=None):
    """The rows of all tables in a lake, with the columns of the data source."""
    export([*map(str, paths)], folder, Wanted(chosen("all"), reading or Reading()))
    out = {}
    with Lake(folder) as lake:
        for table in lake.tables:
            if table != "inputs":
                names = ", ".join(f'"{name}"' for name in KwireSource({"table": table}).schema().names)
                out[table] = lake.arrow(f"select {names} from {table}").read_all().to_pylist()
    return out


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("lake"), *ALL)


@pytest.fixture
def mixed(tmp_path):
    """Two capture points with captures that cannot be read, or not to their end, and logs beside them."""
    folder = tmp_path / "in"
    shutil.copytree(CAPTURES, folder / "one")
    shutil.copytree(SAMPLES / "logs" / "txn-out-1", folder / "one" / "txn-out-1")
    (folder / "two").mkdir()
    whole = (CAPTURES / "ipv6.pcap").read_bytes()
    (folder / "two" / "cut.pcap").write_bytes(whole[: len(whole) - 7])
    (folder / "two" / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    (folder / "three").mkdir()
    (folder / "three" / "empty.pcap").write_bytes(b"")
    return folder


def test_every_table_is_that_of_a_lake(lake):
    assert len(lake) > 20
    for table, rows in lake.items():
        assert same(read(*ALL, table=table)) == same(rows), table
        assert rows, table


@pytest.mark.parametrize("table", ["frames", "faults"])
def test_parts_make_no_difference(lake, table):
    assert same(read(*ALL, table=table, splitSize="1")) == same(lake[table])


def test_frames_wait_in_a_file(lake, monkeypatch):
    monkeypatch.setattr("kwire_cli.pipeline.lake.captures.SPOOLED", 4096)
    assert same(read(*ALL, table="frames")) == same(lake["frames"])


def test_several_capture_points_and_faults(mixed, tmp_path):
    for table, rows in lake_of(tmp_path / "lake", mixed).items():
        assert same(read(mixed, table=table)) == same(rows), table
    codes = {(Path(row["file"]).name, row["code"]) for row in read(mixed, table="faults")}
    assert codes >= {("cut.pcap", "TRUNCATED"), ("broken.pcap", "UNREADABLE"), ("empty.pcap", "UNREADABLE")}


def test_capture_points_are_named_as_it_is_asked_for(mixed, tmp_path):
    lake = lake_of(tmp_path / "lake", mixed, reading=Reading(naming=Naming("{parent}")))
    assert same(read(mixed, table="frames", capturePoint="{parent}")) == same(lake["frames"])
    assert {row["capture_point"] for row in read(mixed, table="costs", mergePoints="true")} == {"merged"}


def test_a_part_has_its_own_capture_point_only(mixed):
    source = KwireSource(options(mixed, table="frames"))
    parts = [part.value for part in source.reader(source.schema()).partitions()]
    points = {part.point: part.plan for part in parts if isinstance(part, PointPart)}
    assert {Path(name).name: len(plan.points) for name, plan in points.items()} == {"one": 1, "two": 1, "three": 0}
    for name, plan in points.items():
        assert {str(Path(file).parent) for file in plan.files} <= {name}
        assert {part.point for part in plan.parts} <= {0}


def test_only_the_columns_that_are_asked_for(lake):
    source = KwireSource(options(CAPTURES, table="frames"))
    schema = source.schema()
    chosen_ones = type(schema)([schema["day"], schema["api"], schema["capture_point"]])
    reader = source.reader(chosen_ones)
    (part,) = reader.partitions()
    rows = [row for some in reader.read(part) for row in some.to_pylist()]
    of_captures = [row for row in lake["frames"] if row["stream"] is not None]
    assert same(rows) == same({name: row[name] for name in chosen_ones.names} for row in of_captures)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken.pcap", "broken.pcap: the file ends in the middle of the file's header: 4 of at least 24 bytes"),
        ("*.pcap", "broken.pcap: .* of at least 24 bytes; 1 more file cannot be read"),
        ("none", "none: there is no such file or folder"),
    ],
)
def test_inputs_that_cannot_be_read_are_an_error(tmp_path, name, why):
    (tmp_path / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    (tmp_path / "empty.pcap").write_bytes(b"")
    with pytest.raises(InputError, match=why) as error:
        read(tmp_path / name, table="frames")
    assert "\n" not in str(error.value)
    assert len(read(tmp_path, table="faults")) == 2


# By Spark.


@pytest.mark.spark
def test_spark_reads_every_table(spark, lake):
    for table in SOME:
        found = spark.read.format("kwire").option("table", table).load([*map(str, ALL)])
        assert same(found.toArrow().to_pylist()) == same(lake[table]), table


@pytest.mark.spark
def test_queries_of_the_same_dataframe_are_all_right(spark, lake):
    frames = spark.read.format("kwire").option("table", "frames").load([*map(str, ALL)])
    rows = lake["frames"]
    fetches = sum(row["api"] == "Fetch" for row in rows)
    for _ in range(2):
        assert frames.where("api = 'Fetch'").count() == fetches
        assert frames.count() == len(rows)
        assert frames.where("api = 'Fetch' and kind = 'gap'").count() == 0
        assert frames.select("size").where("api is null").count() == sum(row["api"] is None for row in rows)


@pytest.fixture
def sql(spark):
    """Runs statements; removes the table `made` in the end."""
    yield lambda query: [tuple(row) for row in spark.sql(query).collect()]
    spark.sql("drop table if exists made")


@pytest.mark.spark
def test_tables_are_created_by_sql(sql, lake, tmp_path, monkeypatch):
    counted = "select count(*), count(distinct api) from made"
    expected = [(len(lake["frames"]), len({row["api"] for row in lake["frames"]} - {None}))]
    paths = json.dumps([*map(str, ALL)])
    sql(f"create table made using kwire options (paths '{paths}', table 'frames')")
    for _ in range(2):
        assert sql(counted) == expected
    sql("drop table made")
    folder = tmp_path / "a folder"
    shutil.copytree(SAMPLES / "segments", folder)
    count = len(read(folder, table="batches"))
    for place in (f"options (table 'batches', path '{folder}')", f"options (table 'batches') location '{folder}'"):
        sql(f"create table made using kwire {place}")
        assert sql("select count(*) from made") == [(count,)]
        assert sql(f"select count(*) from made with (path = '{folder}/orders-zstd-0')")[0][0] < count
        sql("drop table made")
    assert len([*folder.iterdir()]) == len([*(SAMPLES / "segments").iterdir()])
    assert "kwire" not in json.dumps(KwireSource({"table": "batches"}).schema().jsonValue())
    monkeypatch.chdir(folder)
    sql("create temporary view made_view using kwire options (table 'batches', path 'orders-zstd-0')")
    sql("drop view made_view")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("create table made using kwire options (path '/x', table 'frame')", "no table 'frame'; did you mean frames"),
        ("create table made using kwire options (path '/x', tables 'frames')", "no option tables; did you mean table"),
        ("create table made using kwire options (table 'frames')", "no input: give captures"),
        ("create table made (api string) using kwire options (path '/x')", "CREATE TABLE, which takes no list of"),
        ("create table made using kwire options (path '/no/such', table 'names')", "/no/such: there is no such file"),
    ],
)
def test_errors_of_sql_are_one_line(sql, query, why):
    def ask():
        sql(query)
        sql("select * from made")

    with pytest.raises(Exception, match=why) as error:
        ask()
    (line,) = [line for line in str(error.value).splitlines() if "InputError" in line]
    assert why in line
    assert 'File "' not in str(error.value)


# Without a context.


def test_the_data_source_has_no_context():
    """Neither a broadcast nor an accumulator: Spark Connect has none."""
    package = Path(pipeline.__file__).parent
    for path in (package / "source.py", package / "segments.py", *(package / "lake").glob("*.py")):
        words = {
            getattr(node, "attr", getattr(node, "id", None))
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute | ast.Name)
        }
        assert words.isdisjoint({"sparkContext", "SparkContext", "broadcast", "accumulator", "_jvm", "_jsc"}), path


def test_workers_need_no_duckdb():
    code = "import sys, kwire_cli.pipeline.source; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_session_without_a_context_is_registered():
    class Sources:
        def register(self, source):
            self.source = source

    class Session:
        dataSource = Sources()  # noqa: N815 - PySpark's name

    pipeline.register(Session)
    assert Session.dataSource.source is KwireSource


CONNECT = """
import sys
from pyspark.sql import SparkSession
from kwire_cli.pipeline import register

spark = SparkSession.builder.remote("local[1]").getOrCreate()
register(spark)
frames = spark.read.format("kwire").option("table", "frames").load(sys.argv[1])
print("frames:", frames.where("api = 'Fetch'").count(), frames.count())
spark.stop()
"""


@pytest.mark.spark
def test_spark_connect(lake):
    """In a process of its own: a process has one kind of session."""
    for package in ("grpc", "grpc_status"):
        pytest.importorskip(package)
    variables = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-W", "ignore", "-c", CONNECT, str(CAPTURES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=variables)
    rows = [row for row in lake["frames"] if row["stream"] is not None]
    wanted = f"frames: {sum(row['api'] == 'Fetch' for row in rows)} {len(rows)}"
    assert wanted in done.stdout.splitlines(), done.stderr[-2000:]
