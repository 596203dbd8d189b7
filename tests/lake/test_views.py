"""The views `consumer_lag` and `frames_named`, and tables of bodies that a lake lacks."""

import pytest
from kit.captures import SAMPLES
from kit.commands import json_of, kwire

import kwire_cli
from kwire_cli.lake import chosen
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted

LAG = SAMPLES / "incidents" / "lag.pcap"
QUERY = "select time, topic, partition, committed_offset, lag from consumer_lag where lag is not null order by time"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "lake"
    export([str(LAG)], folder, Wanted(chosen("all"), Reading()))
    return folder


def test_lag_is_what_the_diagnosis_compares(lake):
    rows = json_of("query", lake, QUERY)["tables"]["rows"]
    with kwire_cli.tables(LAG) as tables:
        expected = tables.sql(
            "select time, topic, partition, position, lag from lag_samples where group_id is not null order by time"
        ).fetchall()
    assert [tuple(row.values())[1:] for row in rows] == [row[1:] for row in expected]
    assert [row["time"] for row in rows] == [f"{row[0]:%Y-%m-%dT%H:%M:%S.%fZ}" for row in expected]
    assert (rows[0]["lag"], rows[-1]["lag"]) == (16, 313)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_gives_the_same_rows(lake):
    assert json_of("query", lake, QUERY, "--master", "local[2]") == json_of("query", lake, QUERY)


def test_the_lag_before_the_first_fetch_is_not_known(tmp_path):
    commits = tmp_path / "commits.pcapng"
    assert kwire("decode", LAG, "--filter", "api in (OffsetCommit, FindCoordinator)", "-o", commits).code == 0
    export([str(commits)], tmp_path / "lake", Wanted(chosen("all"), Reading()))
    query = "select count(*) as n, count(lag) as known, count(high_watermark) as ends from consumer_lag"
    [row] = json_of("query", tmp_path / "lake", query)["tables"]["rows"]
    assert row == {"n": 11, "known": 0, "ends": 0}


@pytest.fixture(scope="module")
def lake_of_two_runs(tmp_path_factory):
    """A run reads fetches with ids of topics, the next run of the capture point reads their names."""
    folder = tmp_path_factory.mktemp("point")
    lake = folder / "lake"
    for name, api in (("a.pcap", "Fetch"), ("b.pcap", "Metadata")):
        source = SAMPLES / "incidents" / "rebalancing-consumer.pcap"
        (folder / "point").mkdir(exist_ok=True)
        assert kwire("decode", source, "--filter", f"api == {api}", "-o", folder / "point" / name).code == 0
        export([str(folder / "point")], lake, Wanted(chosen(None), Reading()))
    return lake


VIEWED = ("frames", "frames_named")
NAMED = "select api, topics, broker, count(*) as n from {} group by api, topics, broker order by n, api nulls first"


def test_names_that_a_later_run_learns(lake_of_two_runs):
    rows = json_of("query", lake_of_two_runs, NAMED.format("frames"))["tables"]["rows"]
    assert {tuple(row["topics"]) for row in rows if row["api"] == "Fetch"} == {("v_C-9PI2RgmmrLsX6NvNrw",)}
    named = json_of("query", lake_of_two_runs, NAMED.format("frames_named"))["tables"]["rows"]
    assert {(*row["topics"], row["broker"]) for row in named if row["api"] == "Fetch"} == {("payments", 1)}
    assert sum(row["n"] for row in named) == sum(row["n"] for row in rows)
    columns = [kwire("query", lake_of_two_runs, f"select * from {name} limit 0", "-f", "csv").out for name in VIEWED]
    assert columns[0] == columns[1]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_names_the_same(lake_of_two_runs):
    query = NAMED.format("frames_named")
    assert json_of("query", lake_of_two_runs, query, "--master", "local[2]") == json_of(
        "query", lake_of_two_runs, query
    )


def test_tables_of_bodies_that_a_lake_lacks_are_empty_and_the_note_says_so(tmp_path):
    lake = tmp_path / "lake"
    export([str(LAG)], lake, Wanted(chosen(None), Reading()))
    done = kwire("query", lake, "select count(*) as n from consumer_lag", "-f", "csv")
    assert done.out.split() == ["n", "0"]
    assert "this lake has no bodies_fetch_response" in done.err
    described = json_of("query", lake, "describe bodies_offset_commit_request")["tables"]["rows"]
    assert [row["column_name"] for row in described][-3:] == ["body", "capture_point", "day"]
