"""`kwire scan` in an embedded Spark: its output, and reports that say what the commands for one machine
say.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kit.captures import write_hostile_capture
from kit.commands import ACTS, ROOT, hold_page, kwire, seen, shell, shop
from kit.lakes import content
from kit.views import page

from kwire_cli.pipeline.lake import chosen
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.model import Reading, Wanted

GOLDEN = Path(__file__).parent / "golden" / "scan.txt"
SEGMENTS = "samples/segments"
CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def printed(command):
    """What a command prints, without what depends on the machine."""
    return re.sub(r"(?:, [\d.]+ MB/s)|(?:, |(?<=kwire: ))[\d.]+ s$", "", shell(command), flags=re.MULTILINE).replace(
        f"{ROOT}/", ""
    )


def test_commands_print_what_the_golden_file_says(updating):
    text = GOLDEN.read_text("utf-8")
    head, *blocks = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
    commands = [block.split("\n", 1)[0] for block in blocks]
    now = [f"{command}\n{printed(command[2:])}\n" for command in commands]
    if updating:
        GOLDEN.write_text(head + "".join(now), "utf-8")
        return
    for block, expected in zip(now, blocks, strict=True):
        assert block == expected


def test_the_page_shows_what_scan_prints(updating, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")

    def output(command):
        return "".join(line for line in printed(command).splitlines(keepends=True) if not line.startswith("[stderr]"))

    hold_page(ROOT / "docs" / "pipeline.md", updating, run=output, only="kwire scan ")


def test_commands_show_what_scan_prints(updating, tmp_path, monkeypatch):
    monkeypatch.chdir(shop(tmp_path))

    def output(command):
        return "".join(line for line in seen(command).splitlines(keepends=True) if not line.startswith("[stderr]"))

    hold_page(ROOT / "docs" / "commands.md", updating, run=output, only="kwire scan ")


def test_every_option_is_on_the_page():
    page = (ROOT / "docs" / "pipeline.md").read_text("utf-8").split("\n## kwire scan")[1]
    options = set(re.findall(r"--[a-z-]+", kwire("scan", "--help-all").out)) - {
        "--help",
        "--help-all",
        "--color",
        "--sort",
        "--wide",
    }
    assert [option for option in sorted(options) if option not in page] == []


def test_a_file_that_can_not_be_read_is_a_fault(tmp_path):
    whole = (ROOT / CAPTURE).read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "none.pcap").write_bytes(b"no capture")
    done = kwire("scan", tmp_path, "--report", "overhead", "--format", "json")
    assert done.code == 0
    assert json.loads(done.out)["facts"]["messages"] > 0
    assert "none.pcap: " in done.err
    done = kwire("scan", tmp_path, "--report", "overhead", "--fail-fast")
    assert (done.code, done.out) == (2, "")


def test_nothing_that_can_be_read_is_an_error(tmp_path):
    for number in range(7):
        (tmp_path / f"none{number}.pcap").write_bytes(b"no capture at all")
    for asked in (("--report", "overhead"), ("-o", tmp_path / "lake", "--tables", "frames")):
        done = kwire("scan", tmp_path, *asked)
        assert done.code == 2
        assert "could be read" in done.err


def test_another_default_file_system(tmp_path):
    """Where Spark's default file system is on other machines, files of this one are read and written all the same: of
    its own session, as Spark reads it once.
    """
    asked = ["scan", f"{SEGMENTS}/orders-zstd-0", "-o", str(tmp_path / "lake")]
    command = [sys.executable, "-m", "kwire_cli", *asked, "--conf", "spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    export([f"{SEGMENTS}/orders-zstd-0"], tmp_path / "one", Wanted(chosen(None), Reading()))
    assert content(tmp_path / "lake") == content(tmp_path / "one")


BAR = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A)|\r")
"""Control sequences of a bar of progress: hide the cursor, and go back to the beginning of the line."""


def test_no_name_in_a_capture_acts_on_a_terminal(tmp_path):
    variables = {"NO_COLOR": "1", "COLUMNS": "400"}
    path = write_hostile_capture(tmp_path / "[red]\x1b[2J.pcap")
    done = kwire("scan", path, "--report", "overhead", "--by", "client", terminal=True, variables=variables)
    assert done.code == 0
    assert "[red]" in done.out
    assert not ACTS.search(done.raw)
    assert not ACTS.search(BAR.sub("", done.err).encode())


def test_a_report_is_a_page():
    blocks = page("scan", "--report", "overhead", "--by", "client", CAPTURE).data["page"]["blocks"]
    assert "bars" in {block["type"] for block in blocks}
    of_client = next(block for block in blocks if block["type"] == "table")
    answer = json.loads(kwire("scan", "--report", "overhead", "--by", "client", CAPTURE, "--format", "json").out)
    assert [row[0] for row in of_client["rows"][:-1]] == [row["client"] for row in answer["tables"]["byClient"]]


def test_a_table_of_a_report_is_parquet(tmp_path):
    file = tmp_path / "rows.parquet"
    by_client = ("scan", "--report", "overhead", "--by", "client")
    assert kwire(*by_client, "--table", "byClient", CAPTURE, "-o", file).code == 0
    assert pq.read_table(file).column("client").to_pylist()[0] == "kp-consumer"
    assert kwire(*by_client, CAPTURE, "-f", "parquet", terminal=True).code == 2
