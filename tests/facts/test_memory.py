"""Tables in memory: what is filled for which queries, and what is forgotten."""

import gc
from datetime import UTC, datetime, timedelta

import pytest
from kit.traffic import Wire

import kwire_cli
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction

CATALOG = kwire_cli.catalog()
SAID = ((0, Wire.request("Metadata", 4, client="shop", topics=None)), (1, Wire.response("Metadata", 4)))


def filled(query):
    tables = Tables(Redaction(CATALOG), [query])
    for line in Wire.lines(*SAID):
        tables.add(line)
    tables.finish()
    return tables


@pytest.mark.parametrize(
    ("query", "is_filled"),
    [
        ("select api from frames", False),
        ("select count(*) as n from frames -- and no client_id", False),
        ("select api, client_id from frames", True),
        ("select * from frames", True),
        ("select f.* from frames f", True),
        ('SELECT * FROM "frames"', True),
        ("select client from calls", True),
    ],
)
def test_columns_of_frames_are_filled_if_a_query_or_a_view_names_them(query, is_filled):
    tables = filled(query)
    columns = tables.connection.execute("select * from frames").description
    tables.close()
    assert ("client_id" in {column[0] for column in columns}) == is_filled


def test_frames_are_forgotten_and_views_made_anew():
    query = "select kind, time from messages order by time"
    tables = filled(query)
    first, second = tables.rows(query)
    tables.forget(second["time"])
    for line in Wire.lines(*SAID):
        tables.add(line)
    tables.finish()
    assert tables.rows(query) == [first, second, second]
    tables.forget(datetime.max.replace(tzinfo=UTC) - timedelta(days=1))
    assert tables.rows(query) == []
    tables.close()


def test_temporary_files_go_with_the_tables(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    closed, dropped = filled("select api from frames"), filled("select api from frames")
    assert len([*tmp_path.iterdir()]) == 2
    closed.close()
    del dropped  # as where reading an input ends with an error
    gc.collect()
    assert [*tmp_path.iterdir()] == []
