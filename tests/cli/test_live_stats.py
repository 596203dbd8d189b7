"""`kwire stats --every` over a pipe: a real process reads a real pipe while it is written."""

import csv
import json
import signal
import subprocess
import sys

import pytest
from kit import traffic as make
from kit.commands import ROOT, json_of, kwire

from kwire_cli.source.packets.files import packets

CAPTURE = ROOT / "samples" / "incidents" / "rebalancing.pcap"
PACKETS = list(packets(str(CAPTURE)))
HEADER = len(make.pcap_file([]))
EVERY = 2_000_000_000
PATIENCE = 60


def running(*arguments, stdin=subprocess.PIPE):
    command = [sys.executable, "-m", "kwire_cli", "stats", "--every", "2s", *arguments, "-"]
    return subprocess.Popen(command, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def part(some):
    return make.pcap_file(some, link=PACKETS[0].link)


def intervals_of_the_file(*options):
    document = json_of("stats", CAPTURE, "--every", "2s", *options)
    return [row for row in document["tables"]["intervals"] if row["requests"]]


def test_rows_of_an_interval_come_when_it_is_over():
    first = PACKETS[0].time // EVERY
    soon = [each for each in PACKETS if each.time // EVERY < first + 3]
    rows = intervals_of_the_file()
    with running("-f", "jsonl") as process:
        process.stdin.write(part(soon))
        process.stdin.flush()
        live = [json.loads(process.stdout.readline()) for _ in range(2)]  # and the pipe is still open
        process.stdin.write(part(PACKETS[len(soon) :])[HEADER:])
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    *more, facts = [json.loads(line) for line in out.splitlines()]
    assert [row.pop("table") for row in (*live, *more)] == ["intervals"] * len(rows)
    assert [*live, *more] == rows
    assert facts == {"table": "facts", "frames": {"request": 166, "response": 166}, "anomalies": {}}


def test_an_interval_is_over_if_nothing_comes():
    with running("-f", "jsonl") as process:
        process.stdin.write(part(PACKETS[:40]))
        process.stdin.flush()
        row = json.loads(process.stdout.readline())
        assert (row["table"], row["requests"] > 0) == ("intervals", True)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["table"] == "facts"


@pytest.mark.slow
def test_all_formats_have_the_rows_of_a_file():
    by = ("--by", "client", "--by", "group")
    rows = intervals_of_the_file(*by)
    shown = {}
    for fmt in (("jsonl",), ("csv", "--table", "intervals"), ("table",)):
        with running("-f", *fmt, *by) as process:
            out, err = process.communicate(part(PACKETS), timeout=PATIENCE)
        assert process.returncode == 0, err
        shown[fmt[0]] = out.decode()
    key = ("start", "by", "name")
    live = [json.loads(line) for line in shown["jsonl"].splitlines()[:-1]]
    assert sorted(live, key=lambda row: [str(row[name]) for name in key]) == [
        {"table": "intervals"} | row for row in sorted(rows, key=lambda row: [str(row[name]) for name in key])
    ]
    assert [row["requests"] for row in csv.DictReader(shown["csv"].splitlines())] == [
        str(row["requests"]) for row in live
    ]
    heading, *lines = shown["table"].splitlines()
    assert heading.split()[0] == "start"
    assert len(lines) == len(live) + 2
    assert lines[-1].startswith("frames  166 request, 166 response")


@pytest.mark.slow
def test_a_filter_leaves_frames_out():
    with running("-f", "jsonl", "--filter", "api == Heartbeat") as process:
        out, _ = process.communicate(part(PACKETS), timeout=PATIENCE)
    live = [json.loads(line) for line in out.splitlines()[:-1]]
    assert sum(row["requests"] for row in live) == sum(
        row["requests"] for row in intervals_of_the_file("--filter", "api == Heartbeat")
    )


def test_a_request_log_in_a_pipe_is_counted_at_its_end():
    log = ROOT / "samples" / "request-logs" / "kafka-request.log"
    with running("-f", "jsonl") as process:
        out, _ = process.communicate(log.read_bytes(), timeout=PATIENCE)
    assert out.decode() == kwire("stats", log, "--every", "2s", "-f", "jsonl").out


def test_bytes_that_are_no_capture_are_refused():
    with running() as process:
        _, err = process.communicate(b"nothing", timeout=PATIENCE)
    assert (process.returncode, b"kwire: " in err) == (2, True)
