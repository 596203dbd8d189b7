"""Times in files are microseconds in UTC, whatever table, way of writing and time zone of the session; printed ones are
the same.
"""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import ROOT, kwire

pytestmark = [pytest.mark.spark, pytest.mark.numba]

INPUTS = [str(ROOT / "samples" / name) for name in ("logs", "request-logs/kafka-request.log", "captures/ipv6.pcap")]
TIMES = {"batches": "max_time", "records": "time", "index": "time", "packets": "time", "frames": "time"}
QUERIED = {"records", "frames"}
"""Tables that are also written by queries: for those, Spark has times of all tables as one type (the test below)."""
UTC = pa.timestamp("us", "UTC")


@pytest.fixture(params=["America/St_Johns"])
def zone(spark, request):
    """The session's time zone, and its default for times in Parquet, which is Spark's own."""
    name, default = "spark.sql.session.timeZone", "spark.sql.parquet.outputTimestampType"
    spark.conf.set(name, request.param)
    spark.conf.unset(default)
    yield request.param
    spark.conf.set(name, "UTC")


def written(folder, column):
    """The times in files, of which each is written as microseconds since 1970 in UTC."""
    found = Counter()
    for file in folder.rglob("*.parquet"):
        read = pq.ParquetFile(file)
        names = [name for name in read.schema_arrow.names if pa.types.is_timestamp(read.schema_arrow.field(name).type)]
        assert column in names
        for name in names:
            assert read.schema_arrow.field(name).type == UTC
            assert read.schema.column(read.schema_arrow.names.index(name)).physical_type == "INT64"
        found.update(
            time and time.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for time in read.read([column]).column(column).to_pylist()
        )
    return found


def test_every_table_by_every_way(zone, tmp_path):  # noqa: ARG001 - it is the session's
    for table, column in TIMES.items():
        done = kwire("scan", *INPUTS, "--table", table, "--fields", column, "--format", "jsonl")
        assert done.code == 0, done.err
        expected = Counter(json.loads(line)[column] for line in done.out.splitlines())
        assert len(expected) > 1
        ways = {
            "table": ("--table", table, "--fields", f"{column},file"),
            "sql": ("--sql", f"select {column}, {column} as again from {table}"),
            "csv": ("--sql", f"select {column} from {table}", "--out-format", "csv"),
        }
        for name in ways if table in QUERIED else ["table"]:
            asked = ways[name]
            out = tmp_path / f"{table}-{name}"
            done = kwire("scan", *INPUTS, *asked, "--out", out, "--partition-by", "")
            assert done.code == 0, done.err
            if name == "csv":
                lines = [line for file in out.glob("*.csv") for line in file.read_text().splitlines()]
                assert Counter(line or None for line in lines if line not in {column, '""'}) == Counter(
                    {time: count for time, count in expected.items() if time}
                )
            else:
                assert written(out, column) == expected


def test_tables_without_times_have_none(spark):  # noqa: ARG001 - for its imports
    from kwire_cli.pipeline.named import MAKERS

    times = {
        name: {field.type for field in maker.schema if pa.types.is_timestamp(field.type)}
        for name, maker in MAKERS.items()
    }
    assert {name for name, types in times.items() if types} == {*TIMES}
    assert set().union(*times.values()) == {UTC}


def test_filters_by_time_mean_the_same_moment(zone):  # noqa: ARG001 - as above
    every = [
        json.loads(line)
        for line in kwire(
            "scan", INPUTS[2], "--table", "packets", "--fields", "time", "--format", "jsonl"
        ).out.splitlines()
    ]
    middle = sorted(row["time"] for row in every)[len(every) // 2]
    done = kwire(
        "scan",
        INPUTS[2],
        "--sql",
        f"select count(*) as n from packets where time >= timestamp'{middle}'",
        "--format",
        "jsonl",
    )
    assert json.loads(done.out)["n"] == sum(row["time"] >= middle for row in every)
