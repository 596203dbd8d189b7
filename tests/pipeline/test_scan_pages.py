"""`kwire scan --format html`: a page says what the table does."""

import pytest
from command_line import ROOT, kwire
from pages import page

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]
CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_report_and_a_table_are_pages():
    for arguments in (
        ("--report", "stats", CAPTURE),
        ("--table", "batches", "--columns", "position,size", "samples/segments/orders-zstd-0"),
    ):
        blocks = page("scan", *arguments).data["page"]["blocks"]
        shown = [word for block in blocks if block["type"] in {"lines", "table"} for word in words(block)]
        assert shown == kwire("scan", *arguments, "--format", "table").out.split()
        assert shown
        assert ("histogram" in {block["type"] for block in blocks}) == ("stats" in arguments)


def words(block):
    if block["type"] == "lines":
        return [word for line in block["lines"] for word in "".join(line[::2]).split()]
    cells = [cell[1] if isinstance(cell, list) else cell for row in block["rows"] for cell in row]
    return [word for text in (block["title"], *block["columns"], *cells) for word in text.split()]


def test_files_are_not_pages():
    done = kwire("scan", "--table", "batches", "samples/segments", "--out", "nowhere", "--format", "html")
    assert done.code == 2
    assert "--out" in done.err
