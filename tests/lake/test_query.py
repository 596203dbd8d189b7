"""A lake that comes from somewhere else: what its folders are called is never SQL."""

import shutil
from pathlib import Path

import duckdb
import pytest
from kit.lakes import rows_of, run

from kwire_cli.errors import InputError
from kwire_cli.lake.snapshot import snapshot
from kwire_cli.lake.sql_text import quote_name, quote_text

CAPTURE = Path(__file__).resolve().parents[2] / "samples" / "captures" / "ipv6.pcap"


@pytest.mark.parametrize("top", ["lake", "it's [a] lake", "day=2020-01-01/capture_point=x/[1]/a*?"])
def test_names_of_folders_are_no_sql(tmp_path, monkeypatch, top):
    """DuckDB would take parts of the path for columns and for globs."""
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / top
    run([CAPTURE], lake, "frames")
    hostile = "bodies_x\" as select 1; copy (select 1) to 'made.csv'; create view \"z"
    for folder in (hostile, "bodies_X", "other"):
        shutil.copytree(lake / "frames", lake / folder)
    assert [*snapshot(lake).tables] == ["frames"]
    query = "select day::varchar, count(*) from frames where api <> 'y' group by all"
    assert rows_of(lake, query) == [("2026-11-21", 148)]
    assert {path.name for path in tmp_path.iterdir()} == {top.split("/")[0]}


@pytest.mark.parametrize(
    "query",
    [
        "select * from '/etc/passwd'",
        "select * from read_csv('/etc/hostname')",
        "copy (select 1) to 'made.csv'",
        "attach 'made.db'",
        "install httpfs",
        "set enable_external_access = true",
    ],
)
def test_a_query_sees_the_lake_and_nothing_else(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    run([CAPTURE], tmp_path / "lake", "frames")
    with pytest.raises(InputError, match="DuckDB"):
        rows_of(tmp_path / "lake", query)
    assert {path.name for path in tmp_path.iterdir()} == {"lake"}


@pytest.mark.parametrize("name", ["frames", 'a"b', "a'b", 'a"; drop table t; --', "a''", "\\'", "é\n"])
def test_quoted_names_and_texts_mean_what_they_are(name):
    with duckdb.connect() as connection:
        connection.execute(f"create table {quote_name(name)} as select {quote_text(name)} as {quote_name(name)}")
        found = connection.execute(f"select * from {quote_name(name)}")
        assert [each[0] for each in found.description] == [name]
        assert found.fetchall() == [(name,)]
