"""The documentation has every column, and its examples are filters."""

import re
from pathlib import Path

import pytest

from kwire_cli.filter import COLUMNS, compile_filter
from kwire_cli.spec.catalog import catalog

PAGE = Path(__file__).resolve().parents[2] / "docs" / "filter.md"
TABLE = re.compile(r"(?<=<!-- columns -->\n).*(?=<!-- /columns -->)", re.DOTALL)


def table():
    rows = ["| Column | Also | Values | |", "| --- | --- | --- | --- |"]
    for column in COLUMNS:
        values = f"{column.type}, many" if column.many else column.type
        rows.append(
            f"| `{column.name}` | {', '.join(f'`{alias}`' for alias in column.aliases)} | {values} | {column.meaning} |"
        )
    return "".join(f"{row}\n" for row in rows)


def test_the_table_of_columns(updating):
    text = PAGE.read_text("utf-8")
    if updating:
        PAGE.write_text(TABLE.sub(lambda _: table(), text), "utf-8")
    found = TABLE.search(PAGE.read_text("utf-8"))
    assert found
    assert found[0] == table()


@pytest.mark.parametrize(
    "text", re.findall(r"^\| `([^`]+)`.*? \|", PAGE.read_text("utf-8").split("## Expressions")[0], re.MULTILINE)
)
def test_the_examples_are_filters(text):
    definitions = catalog()
    codes, keys = {row.name: row.code for row in definitions.errors}, {api.name: api.key for api in definitions.apis}
    compile_filter(text, error_codes=codes, api_keys=keys)
