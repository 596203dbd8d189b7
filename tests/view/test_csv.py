import csv
import io
import re

import pytest
from hypothesis import given, strategies as st
from kit.captures import hostile_capture
from kit.commands import kwire
from kit.logs import batch, record

from kwire_cli.view.tables import RUNS, csv_row

FIRST = "=+-@\t\r"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def cells(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def runs(cell):
    """Whether a spreadsheet would take a cell for a formula."""
    return cell[:1] in {*FIRST} and not all(NUMBER.fullmatch(part) for part in cell.split(";"))


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "--1", "-1\n=2", "=", "+1;=2", "-1;"],
)
def test_a_cell_that_runs_has_an_apostrophe(text):
    assert cells(csv_row([text, 1])) == [[f"'{text}", "1"]]


@pytest.mark.parametrize(
    "value", [-1, -1.5, "-1", "+1", "-1.5e-3", "-.5", [-1, 2], "a=1", "1-1", "'=1", "", "é=", None, True]
)
def test_numbers_and_all_other_text_stay(value):
    texts = {None: "", True: "true", (-1, 2): "-1;2"}
    key = tuple(value) if isinstance(value, list) else value
    assert cells(csv_row([0, value])) == [["0", texts.get(key, str(value))]]


TEXTS = st.text() | st.text(st.sampled_from(FIRST + "1;.e'"), max_size=6)


@given(st.lists(st.none() | st.integers() | TEXTS, min_size=2))
def test_no_row_has_a_cell_that_runs_and_nothing_else_changes(values):
    texts = ["" if value is None else str(value) for value in values]
    [shown] = cells(csv_row(values))
    assert not any(map(runs, shown))
    assert shown == [f"'{text}" if runs(text) else text for text in texts]
    assert [bool(re.search(RUNS, text)) for text in texts] == [runs(text) for text in texts]


NAME = "=1+1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Inputs in which every text is a formula, under names that are formulas."""
    top = tmp_path_factory.mktemp("formulas")
    (top / "capture.pcap").write_bytes(hostile_capture(NAME))
    (top / f"{NAME}-0").mkdir()
    data = batch(
        0, [record(NAME.encode(), NAME.encode(), number, 0, [(NAME, NAME.encode())] * 2) for number in range(2)]
    )
    (top / f"{NAME}-0" / "00000000000000000000.log").write_bytes(data + b"=" * 9)
    return top


@pytest.mark.parametrize(
    ("words", "name"),
    [(["decode"], "capture.pcap"), (["dump", "--deep"], "=1+1-0"), (["clients"], "capture.pcap")],
    ids=["decode", "dump", "clients"],
)
def test_no_command_writes_a_cell_that_runs(folder, monkeypatch, words, name):
    monkeypatch.chdir(folder)
    shown = [cell for row in cells(kwire(*words, "--format", "csv", name).out) for cell in row]
    assert not any(map(runs, shown))
    assert any(cell[:1] == "'" and runs(cell[1:]) for cell in shown)


def test_columns_of_durations_say_their_unit_and_times_are_iso():
    made = ("--fields", "time,latency,throttle,topic")
    rows = cells(kwire("decode", "--format", "csv", *made, "-", stdin=hostile_capture("t")).out)
    assert rows[0] == ["time", "latency_us", "throttle_ms", "topics"]
    data = batch(0, [record(b"k", b"v", 0, 5)], maxTimestamp=1_760_000_000_005)
    [heading, row] = cells(kwire("dump", "--deep", "--format", "csv", "-", stdin=data).out)
    assert row[heading.index("timestamp")] == "2025-10-09T08:53:20.005Z"
    [heading, row] = cells(kwire("dump", "--format", "csv", "-", stdin=data).out)
    assert row[heading.index("maxTimestamp")] == "2025-10-09T08:53:20.005Z"
    assert row[heading.index("deleteHorizon")] == ""
