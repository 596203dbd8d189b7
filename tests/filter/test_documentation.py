"""The documentation has every column, and its examples are filters."""

import re

import pytest
from kit.commands import ROOT, hold_table

from kwire_cli.facts.columns import COLUMNS, FRAMES
from kwire_cli.filter.model import type_of
from kwire_cli.filter.rows import filter_of
from kwire_cli.spec.catalog import catalog

PAGE = ROOT / "docs" / "filter.md"


def test_the_table_of_columns(updating):
    rows = ["| Column | Also | Values | |", "| --- | --- | --- | --- |"]
    for column in COLUMNS:
        if column in FRAMES:
            continue
        values = f"{type_of(column)}, many" if column.is_list else type_of(column)
        others = ", ".join(f"`{name}`" for name in column.also)
        rows.append(f"| `{column.name}` | {others} | {values} | {column.meaning} |")
    hold_table(PAGE, "columns", rows, updating)


@pytest.mark.parametrize(
    "text", re.findall(r"^\| `([^`]+)`.*? \|", PAGE.read_text("utf-8").split("## Expressions")[0], re.MULTILINE)
)
def test_the_examples_are_filters(text):
    filter_of(catalog(), text)
