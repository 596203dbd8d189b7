"""A compiled filter asks a row for no more than it needs."""

from filter.rows import APIS, FETCH, AnyField, Row, compiled

from kwire_cli.facts.columns import COLUMNS
from kwire_cli.filter.compile import compile_filter


def test_every_column_and_alias_is_one():
    for column in COLUMNS:
        for name in (column.name, *column.also):
            row = Row(FETCH.columns)
            compiled(f"has {name}").matches(row)
            assert row.asked == [column.name]


def test_a_row_is_asked_for_no_more_than_decides():
    row = Row(FETCH.columns, body={"errorCode": 7})
    assert not compiled("errorCode == 7 and api == Produce").matches(row)
    assert compiled("errorCode == 6 or api == Fetch").matches(row)
    assert row.asked == ["api_key", "api_key"]
    assert compiled("errorCode == 7 and x != 1 or api == Fetch").matches(row)
    assert "fields" not in row.asked


def test_codes_are_looked_up_when_the_filter_is_made():
    keys = dict(APIS)
    found = compile_filter("api in (fetch, Produce)", error_codes={}, api_keys=keys, fields=AnyField())
    keys.clear()
    assert all(found.matches(FETCH) for _ in range(3))
