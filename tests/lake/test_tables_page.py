"""docs/tables.md lists the tables and columns that a lake has."""

import re

import pytest
from kit.commands import ROOT
from kit.lakes import run

from kwire_cli.lake.query import Lake
from kwire_cli.lake.tables import SHAPES

PAGE = (ROOT / "docs" / "tables.md").read_text("utf-8")
COMMON = {"unit", "run", "capture_point", "day"}
"""Columns that all tables have, and the section on frames describes."""
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| .+ \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    run([ROOT / "samples" / name for name in ("captures", "segments", "logs", "request-logs")], folder, "all")
    with Lake(folder, *(f"select * from {name}" for name in (*SHAPES, "bodies_fetch_request"))) as tables:
        yield tables


def section(name):
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", SHAPES)
def test_columns_and_types(lake, name):
    described = lake.arrow(f"select column_name, column_type from (describe {name})").read_all().to_pylist()
    columns = [(row["column_name"], row["column_type"]) for row in described]
    if name not in {"frames", "inputs"}:
        columns = [(column, kind) for column, kind in columns if column not in COMMON]
    assert [(column, kind) for column, kind, _ in ROW.findall(section(name))] == columns


@pytest.mark.parametrize("name", SHAPES)
def test_columns_that_are_never_null(lake, name):
    never = [column for column, _, null in ROW.findall(section(name)) if null == "no"]
    counted = ", ".join(f'count(*) filter ("{column}" is null) as "{column}"' for column in never)
    (nulls,) = lake.arrow(f"select {counted} from {name}").read_all().to_pylist()
    assert {column: count for column, count in nulls.items() if count} == {}


def test_tables_of_bodies(lake):
    described = (
        lake.arrow("select column_name, column_type from (describe bodies_fetch_request)").read_all().to_pylist()
    )
    found = [(row["column_name"], row["column_type"].split("(")[0]) for row in described]
    assert [(column, kind) for column, kind, _ in ROW.findall(section("bodies"))] == found[:-2]


def test_every_table_has_a_section():
    assert [*SHAPES, "bodies"] == re.findall(r"^## ([a-z_]+)$", PAGE, re.MULTILINE)
