"""A lake that comes from somewhere else: what its folders are called is never SQL."""

import shutil
from pathlib import Path

import duckdb
import pytest
from kit.lakes import rows_of, run

from kwire_cli.lake.query import Lake, tables_in
from kwire_cli.lake.sql_text import quote_name, quote_text

CAPTURE = Path(__file__).resolve().parents[3] / "samples" / "captures" / "ipv6.pcap"


@pytest.mark.parametrize("top", ["lake", "it's [a] lake"])
def test_names_of_folders_are_no_sql(tmp_path, monkeypatch, top):
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / top
    run([CAPTURE], lake, "frames")
    (file,) = (lake / "frames").rglob("*.parquet")
    hostile = "bodies_x\" as select 1; copy (select 1) to 'made.csv'; create view \"z"
    partition = f"frames/capture_point='; copy (select 1) to 'made.csv'; --/{file.parent.name}"
    for folder in (hostile, partition, "bodies_X", "other"):
        (lake / folder).mkdir(parents=True)
        shutil.copy(file, lake / folder)
    assert [*tables_in(lake)] == ["frames", "inputs"]
    with Lake(lake) as tables:
        assert hostile not in tables.tables
    assert rows_of(lake, "select count(*), count(distinct capture_point) from frames") == [(2 * 148, 2)]
    assert {path.name for path in tmp_path.iterdir()} == {top}


@pytest.mark.parametrize("name", ["frames", 'a"b', "a'b", 'a"; drop table t; --', "a''", "\\'", "é\n"])
def test_quoted_names_and_texts_mean_what_they_are(name):
    with duckdb.connect() as connection:
        connection.execute(f"create table {quote_name(name)} as select {quote_text(name)} as {quote_name(name)}")
        found = connection.execute(f"select * from {quote_name(name)}")
        assert [each[0] for each in found.description] == [name]
        assert found.fetchall() == [(name,)]
