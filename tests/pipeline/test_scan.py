"""`kwire scan` in an embedded Spark: its output, its files, and reports that say what the commands for one machine
say.
"""

import base64
import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from acting import ACTS
from command_line import ROOT, hold_page, kwire, seen, shell, shop
from hostile_capture import hostile_capture
from json_schemas import hold, validator

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


def test_the_page_shows_what_the_command_prints(updating):
    page = ROOT / "docs" / "pipeline.md"
    text = page.read_text("utf-8")
    [(whole, command, shown)] = [
        match.group(0, 1, 2) for match in re.finditer(r"```console\n\$ (kwire scan .*)\n((?:.*\n)*?)```\n", text)
    ]
    now = "".join(line for line in printed(command).splitlines(keepends=True) if not line.startswith("[stderr]"))
    if updating:
        page.write_text(text.replace(whole, f"```console\n$ {command}\n{now}```\n"), "utf-8")
    else:
        assert now == shown


@pytest.mark.parametrize(("page", "run"), [("commands", seen), ("cookbook", shell)])
def test_pages_show_what_scan_prints(page, run, updating, tmp_path, monkeypatch):
    monkeypatch.chdir(shop(tmp_path) if run is seen else ROOT)

    def output(command):
        return "".join(line for line in run(command).splitlines(keepends=True) if not line.startswith("[stderr]"))

    hold_page(ROOT / "docs" / f"{page}.md", updating, run=output, only="kwire scan ")


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


def lines_of(*arguments):
    done = kwire("scan", *arguments, "--format", "jsonl")
    assert done.code == 0, done.err
    if "--table" in arguments:
        hold(validator("scan"), done.out)
    return [json.loads(line) for line in done.out.splitlines()]


def test_batches_are_those_of_dump():
    dumped = [json.loads(line) for line in kwire("dump", SEGMENTS, "--format", "jsonl").out.splitlines()]
    expected = [
        (each["position"], each["size"], each["baseOffset"], each["crcValid"]) for each in dumped if "gap" not in each
    ]
    rows = lines_of(SEGMENTS, "--table", "batches")
    assert sorted((row["position"], row["size"], row["base_offset"], row["crc_valid"]) for row in rows) == sorted(
        expected
    )
    assert rows == lines_of(SEGMENTS, "--table", "batches", "--split-size", "700")


def test_records_are_decoded_as_dump_decodes_them():
    folder = "samples/schemas"
    formats = ("--schemas", f"{folder}/_schemas-0", "--key", "text", "--redact", "value.paid.*")
    dumped = kwire("dump", "--deep", f"{folder}/avro-orders-0", *formats, "--format", "jsonl").out
    rows = lines_of(f"{folder}/avro-orders-0", "--table", "records", *formats, "--fields", "value,payload")
    expected = [(record["value"], record["decoded"]) for record in json.loads(dumped)["records"]]
    values = [base64.b64decode(row["value"]).decode() for row in rows]
    assert [*zip(values, (json.loads(row["payload"])["decoded"] for row in rows), strict=True)] == expected
    assert "<redacted 42 bytes>" in dumped
    refused = kwire("scan", f"{folder}/avro-orders-0", "--report", "stats", *formats)
    assert (refused.code, "--key is for records, and a report shows none" in refused.err) == (2, True)


@pytest.mark.parametrize("fmt", ["parquet", "csv", "json"])
def test_files_hold_all_rows(fmt, tmp_path):
    out = tmp_path / "out"
    query = (
        "--sql",
        "select topic, partition, offset, value, headers, time from records",
        "--partition-by",
        "topic",
        "--show-secrets",
    )
    done = kwire("scan", SEGMENTS, *query, "--out", out, "--out-format", fmt)
    assert done.code == 0, done.err
    files = sorted(out.glob(f"topic=*/*.{fmt}"))
    assert {file.parent.name for file in files} == {f"topic={path.name[:-2]}" for path in (ROOT / SEGMENTS).iterdir()}
    expected = sorted(
        (row["topic"], row["offset"], row["value"], row["time"])
        for row in lines_of(SEGMENTS, *query[:2], "--show-secrets")
    )
    assert done.err.startswith(f"kwire: {len(expected)} rows")
    found = []
    for file in files:
        topic = file.parent.name[6:]
        if fmt == "parquet":
            import pyarrow.parquet as pq

            found += [(topic, row["offset"], row["value"], None) for row in pq.ParquetFile(file).read().to_pylist()]
        elif fmt == "csv":
            found += [
                (topic, int(row["offset"]), row["value"], row["time"])
                for row in csv.DictReader(file.read_text("utf-8").splitlines(keepends=True))
            ]
        else:
            found += [
                (topic, row["offset"], row["value"], row["time"])
                for row in map(json.loads, file.read_text("utf-8").splitlines())
            ]
    assert len(found) == len(expected)
    if fmt == "json":
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
    again = kwire("scan", SEGMENTS, *query, "--out", out, "--out-format", fmt)
    assert again.code == 2
    assert "ALREADY_EXISTS" in again.err
    assert kwire("scan", SEGMENTS, *query, "--out", out, "--out-format", fmt, "--force").code == 0


@pytest.mark.parametrize("fmt", ["json", "csv"])
def test_reports_say_what_the_commands_for_one_machine_say(fmt):
    same = [
        (("--report", "clients", CAPTURE), ("clients", CAPTURE)),
        (
            ("--report", "upgrade", "--to", "4.4", "samples/request-logs"),
            ("clients", "--to", "4.4", "samples/request-logs/kafka-request.log"),
        ),
        (("--report", "verify", SEGMENTS, "samples/logs"), ("dump", "--verify", SEGMENTS, "samples/logs")),
        (("--report", "verify", "--deep", SEGMENTS), ("dump", "--verify", "--deep", SEGMENTS)),
    ]
    for scanned, other in same:
        one, two = kwire("scan", *scanned, "--format", fmt), kwire(*other, "--format", fmt)
        assert (one.code, one.out) == (two.code, two.out)
    if fmt == "json":
        for path in (CAPTURE, "samples/captures/midstream.pcap", "samples/request-logs/kafka-request.log"):
            one, two = (
                kwire("scan", "--report", "stats", path, "--format", fmt),
                kwire("decode", "--stats", path, "--format", fmt),
            )
            assert one.out == two.out


def test_a_file_that_can_not_be_read_is_a_fault(tmp_path):
    whole = (ROOT / CAPTURE).read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "none.pcap").write_bytes(b"no capture")
    rows = lines_of(tmp_path, "--sql", "select file, code from faults where packet is null or code = 'TRUNCATED'")
    assert {Path(row["file"]).name for row in rows} == {"cut.pcapng", "none.pcap"}
    done = kwire("scan", tmp_path, "--report", "stats", "--format", "json")
    assert done.code == 0
    assert json.loads(done.out)["facts"]["frames"]["request"] > 0
    assert "none.pcap: " in done.err
    done = kwire("scan", tmp_path, "--report", "stats", "--fail-fast")
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    "asked",
    [("--table", "frames"), ("--table", "packets"), ("--table", "costs"), ("--sql", "select count(*) from frames")],
)
def test_nothing_that_can_be_read_is_an_error(asked, tmp_path):
    for number in range(7):
        (tmp_path / f"none{number}.pcap").write_bytes(b"no capture at all")
    done = kwire("scan", tmp_path, *asked)
    assert done.code == 2
    assert "nothing could be read of the inputs: " in done.err
    assert done.err.count(f"{tmp_path}/none") == 5
    assert "and 2 more" in done.err
    assert kwire("scan", tmp_path, CAPTURE, *asked, "--limit", "1").code == 0
    (tmp_path / "none0.pcap").write_bytes((ROOT / "samples" / "captures" / "ipv6.pcap").read_bytes())
    assert kwire("scan", tmp_path, *asked).code == 0


def test_another_default_file_system(tmp_path):
    """Where Spark's default file system is on other machines, files of this one are read all the same: of its own
    session, as Spark reads it once.
    """
    import pyarrow.parquet as pq

    query = "select count(*) as n, max(time) as t from records where offset > 1"
    command = [
        sys.executable,
        "-m",
        "kwire_cli",
        "scan",
        f"{SEGMENTS}/orders-zstd-0",
        "--sql",
        query,
        "--conf",
        "spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:9",
    ]
    out = tmp_path / "out"
    done = subprocess.run([*command, "--out", out.as_uri()], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    [row] = [row for file in out.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert [row["n"]] == [line["n"] for line in lines_of(f"{SEGMENTS}/orders-zstd-0", "--sql", query)]


def test_only_what_a_query_needs_is_made(spark):
    from kwire_cli.pipeline.named import MAKERS, needed

    schemas = {name: maker.schema for name, maker in MAKERS.items()}
    query = (
        "select count(*), max(b.size) from records r join batches b using (file, position) where r.offset "
        "> 5 and b.topic in ('a', 'b')"
    )
    found = needed(spark, query, schemas)
    assert set(found) == {"records", "batches"}
    assert found["records"].columns == ("file", "position", "offset")
    assert found["batches"].columns == ("file", "topic", "position", "size")
    assert any(each.value == 5 for each in found["records"].filters)
    assert any(set(each.value) == {"a", "b"} for each in found["batches"].filters)
    inner = needed(
        spark, "select topic from batches where size > (select avg(size) from batches where topic = 'x')", schemas
    )
    assert inner["batches"].filters == ()
    assert inner["batches"].columns == ("topic", "size")


def test_a_query_that_is_none_is_one_line(capfd):
    done = kwire("scan", SEGMENTS, "--sql", "select nothing from batches")
    assert (done.code, done.out) == (2, "")
    assert "`nothing` cannot be resolved" in done.err
    assert done.err.count("\n") == 1
    assert capfd.readouterr() == ("", "")


BAR = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A)|\r")
"""Control sequences of a bar of progress: hide the cursor, and go back to the beginning of the line."""


@pytest.mark.parametrize(
    "asked",
    [("--report", "stats"), ("--table", "frames"), ("--table", "frames", "--format", "jsonl"), ("--report", "clients")],
)
def test_no_name_in_a_capture_acts_on_a_terminal(asked, tmp_path):
    variables = {"NO_COLOR": "1", "COLUMNS": "400"}
    path = hostile_capture(tmp_path / "[red]\x1b[2J.pcap")
    done = kwire("scan", path, *asked, terminal=True, variables=variables)
    assert done.code == 0
    assert "[red]" in done.out
    assert not ACTS.search(done.raw)
    assert not ACTS.search(BAR.sub("", done.err).encode())


def test_no_cell_of_csv_runs_in_a_spreadsheet(tmp_path):
    query = (
        "--sql",
        (
            "select '=1+1' as a, '-1' as b, -2 as c, '-1;@2' as d, array('=1') as e, '\t' as f, "
            "binary('\u07e6') as g limit 1"
        ),
    )
    safe, raw = (
        ["'=1+1", "-1", "-2", "'-1;@2", '["=1"]', "'\t", "36Y="],
        ["=1+1", "-1", "-2", "-1;@2", '["=1"]', "\t", "36Y="],
    )
    for number, (options, expected) in enumerate((((), safe), (("--raw-csv",), raw))):
        done = kwire("scan", CAPTURE, *query, *options, "--format", "csv")
        assert list(csv.reader(done.out.splitlines()))[1] == expected
        out = tmp_path / str(number)
        done = kwire("scan", CAPTURE, *query, *options, "--out", out, "--out-format", "csv")
        assert done.code == 0, done.err
        [row] = [
            row for file in out.glob("*.csv") for row in list(csv.reader(file.read_text("utf-8").splitlines()))[1:]
        ]
        assert row == expected


def test_the_payload_of_packets_is_asked_for_by_name_and_with_secrets():
    path = "samples/captures/kafka-python-4.4.0.pcapng"
    usual = kwire("scan", "--table", "packets", "--limit", 1, "--format", "jsonl", path)
    assert "payload" not in usual.out
    hold(validator("scan"), usual.out)
    refused = kwire("scan", "--table", "packets", "--fields", "packet,payload", path)
    assert refused.code == 2
    assert "--show-secrets" in refused.err
    shown = kwire(
        "scan",
        "--table",
        "packets",
        "--fields",
        "packet,payload",
        "--show-secrets",
        "--limit",
        1,
        "--format",
        "jsonl",
        path,
    )
    assert "payload" in shown.out
