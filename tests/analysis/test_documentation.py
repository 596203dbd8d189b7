"""docs/stats.md on clients names every verdict and fault; docs/tables.md has the columns of replayed tables."""

import re

from kit.commands import ROOT

from kwire_cli.analysis.clients import VERDICTS
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.analysis.rows import columns_of
from kwire_cli.facts.bodies import duckdb_type
from kwire_cli.facts.buffers import PLACE

PAGE = ROOT / "docs" / "stats.md"


def test_every_verdict_and_fault_is_named():
    text = PAGE.read_text("utf-8")
    source = "".join(file.read_text("utf-8") for file in (ROOT / "kwire_cli/source/request_log").glob("*.py"))
    faults = re.findall(r'LineFault\([^,]*,\s*"([A-Z_]+)"', source)
    assert len({*faults}) == 4
    assert [name for name in (*VERDICTS, *faults) if f"`{name}`" not in text] == []


def type_name(kind):
    """Return the name of a type on the page."""
    if kind == PLACE:
        return "place"
    if kind == [PLACE]:
        return "place[]"
    return duckdb_type(kind).replace('"', "")


def test_the_page_has_the_columns_of_replayed_tables(updating):
    """A line after the text of each table."""
    page = ROOT / "docs" / "tables.md"
    text = page.read_text("utf-8")
    now = text
    tables = {}
    for replayed in REPLAYED:
        tables |= replayed.rows
    for table, row in tables.items():
        texts = [f"`{name}` {type_name(kind.type)}: {meaning}" for name, kind, meaning in columns_of(row)]
        line = f"  Columns: {'; '.join(texts)}."
        now, found = re.subn(
            rf"(?ms)(^- `{table}`: .*?\n)  Columns:.*?$", lambda m, line=line: m[1] + line, now, count=1
        )
        assert found
    if updating:
        page.write_text(now, "utf-8")
    else:
        assert now == text
