"""`kwire scan --format html`: a page says what the table does."""

import json

import pyarrow.parquet as pq
import pytest
from command_line import ROOT, kwire
from pages import page

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]
CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_report_and_a_table_are_pages():
    blocks = page("scan", "--report", "stats", CAPTURE).data["page"]["blocks"]
    assert "histogram" in {block["type"] for block in blocks}
    of_api = next(block for block in blocks if block["type"] == "table")
    rows = json.loads(kwire("scan", "--report", "stats", CAPTURE, "--format", "json").out)["tables"]["api"]
    assert [row[:2] for row in of_api["rows"]] == [
        [row["api"], [row["requests"], str(row["requests"])]] for row in rows
    ]
    asked = ("--table", "batches", "--fields", "topic,size", "samples/segments/orders-zstd-0")
    [table] = page("scan", *asked).data["page"]["blocks"]
    lines = [json.loads(line) for line in kwire("scan", *asked, "--format", "jsonl").out.splitlines()]
    assert table["columns"] == ["topic", "size"]
    assert table["rows"] == [[row["topic"], [row["size"], str(row["size"])]] for row in lines]


def test_rows_and_tables_of_reports_are_parquet(tmp_path):
    file = tmp_path / "rows.parquet"
    assert kwire("scan", "--table", "batches", "samples/segments", "--limit", "2", "-o", file).code == 0
    assert pq.read_table(file).num_rows == 2
    assert kwire("scan", "--report", "stats", "--table", "client", CAPTURE, "-o", file).code == 0
    assert pq.read_table(file).column("client").to_pylist()[0] == "kp-consumer"
    assert kwire("scan", "--report", "stats", CAPTURE, "-f", "parquet", terminal=True).code == 2


def test_files_are_not_pages():
    done = kwire("scan", "--table", "batches", "samples/segments", "--out", "nowhere", "--format", "html")
    assert done.code == 2
    assert "--out" in done.err
