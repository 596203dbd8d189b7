"""What a compiled filter tells its caller: columns, paths, limits; and that it asks a row for no more than it needs."""

import pytest
from filter.rows import APIS, FETCH, Row, compiled

from kwire_cli.filter import COLUMNS, Name, compile_filter


def test_names():
    found = compiled("topic ~ x and (topics.partitions.errorCode or .host == a) and version == 3 and not has body.x")
    assert found.columns == {"topics", "apiVersion"}
    assert found.names == (Name("topics.partitions.errorCode", 16), Name(".host", 47), Name("body.x", 88))
    assert found.paths == {"topics.partitions.errorCode", "host", "body.x"}
    assert not compiled("size > 3").names


def test_every_column_and_alias_is_one():
    for column in COLUMNS:
        for name in (column.name, *column.aliases):
            found = compiled(f"has {name}")
            assert (found.columns, found.paths) == ({column.name}, frozenset())
            found.matches(FETCH)


@pytest.mark.parametrize(
    ("text", "column", "values"),
    [
        ("api == Fetch", "apiKey", {1}),
        ("api == 1 and errorCode", "apiKey", {1}),
        ("api in (Fetch, Produce) and size > 3 and api in (Fetch, Metadata)", "apiKey", {1}),
        ("api == Fetch or api == Produce", "apiKey", {0, 1}),
        ("api == Fetch or size > 3", "apiKey", None),
        ("not api == Fetch", "apiKey", None),
        ("api != Fetch", "apiKey", None),
        ("api > 3", "apiKey", None),
        ("api in (Fetch, null)", "apiKey", None),
        ("api == null", "api", {None}),
        ("kind == Request", "kind", {"request"}),
        ("stream in (1, 2) and kind == request", "stream", {1, 2}),
        ("clientId in (A, null)", "clientId", {"A", None}),
        ("port == 1", "port", None),
        ("src == a", "src", None),
        ("kind == request and kind == response", "kind", set()),
    ],
)
def test_limits(text, column, values):
    assert compiled(text).only(column) == values


def test_a_row_is_asked_for_no_more_than_decides():
    row = Row(FETCH.columns, body={"errorCode": 7})
    assert not compiled("errorCode == 7 and api == Produce").matches(row)
    assert compiled("errorCode == 6 or api == Fetch").matches(row)
    assert row.asked == ["apiKey", "apiKey"]
    assert compiled("errorCode == 7 and x != 1 or api == Fetch").matches(row)
    assert "fields" not in row.asked


def test_codes_are_looked_up_when_the_filter_is_made():
    keys = dict(APIS)
    found = compile_filter("api in (fetch, Produce)", error_codes={}, api_keys=keys)
    keys.clear()
    assert all(found.matches(FETCH) for _ in range(3))
