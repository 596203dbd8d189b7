"""The view `consumer_lag`, and tables of bodies that a lake lacks."""

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


def test_tables_of_bodies_that_a_lake_lacks_are_empty_and_the_note_says_so(tmp_path):
    lake = tmp_path / "lake"
    export([str(LAG)], lake, Wanted(chosen(None), Reading()))
    done = kwire("query", lake, "select count(*) as n from consumer_lag", "-f", "csv")
    assert done.out.split() == ["n", "0"]
    assert "this lake has no bodies_fetch_response" in done.err
    described = json_of("query", lake, "describe bodies_offset_commit_request")["tables"]["rows"]
    assert [row["column_name"] for row in described][-3:] == ["body", "capture_point", "day"]
