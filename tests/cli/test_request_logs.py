"""Request logs in commands: how they are packed, rotated, damaged, and read with captures."""

import gzip
import json
import re
import time

import pytest
import zstandard
from kit.commands import ROOT, json_of, kwire, lines_of, refusal_of, slow
from kit.logs import line

LOG = ROOT / "samples/request-logs/kafka-request.log"


@pytest.mark.parametrize("pack", [slow(gzip.compress), zstandard.compress])
def test_packed_logs_and_standard_input_give_the_same(tmp_path, pack):
    packed = tmp_path / "requests"
    packed.write_bytes(pack(LOG.read_bytes()))
    plain = json_of("stats", LOG)
    assert json_of("stats", packed) == plain
    assert json_of("stats", stdin=pack(LOG.read_bytes())) == plain
    assert kwire("clients", LOG).out == kwire("clients", "-", stdin=LOG.read_bytes()).out


@pytest.mark.slow
def test_times_without_a_zone_stay_so_in_every_report_on_every_machine(monkeypatch, tmp_path):
    zoned = tmp_path / "zoned.log"
    zoned.write_bytes(re.sub(rb"(?m)^\[([^\]]+)\]", rb"[\1Z]", LOG.read_bytes()))
    try:
        for command in ("sequence", "groups", "summary", "stats --every 10s", "clients"):
            printed = []
            for zone in ("UTC", "Asia/Tokyo"):
                monkeypatch.setenv("TZ", zone)
                time.tzset()
                printed.append(kwire(*command.split(), LOG, "--format", "json").out.replace(str(LOG), "the log"))
            assert printed[0] == printed[1], command
            times = re.findall(r'"(2026-11-21T[^"]*)"', printed[0])
            assert times, command
            assert not any(text.endswith("Z") for text in times), command
            assert "UTC" not in kwire(*command.split(), LOG, "--format", "table").out, command
            said = kwire(*command.split(), zoned, "--format", "json").out
            assert [f"{text}Z" for text in times] == re.findall(r'"(2026-11-21T[^"]*)"', said), command
    finally:
        monkeypatch.undo()
        time.tzset()


def test_rotated_logs_are_counted_together(tmp_path):
    lines = LOG.read_bytes().splitlines(keepends=True)
    for name, part in (("a.log", lines[:20]), ("b.log", lines[20:])):
        (tmp_path / name).write_bytes(b"".join(part))
    names = [tmp_path / "b.log", tmp_path / "a.log"]
    assert json_of("stats", *names) == json_of("stats", LOG)
    assert kwire("clients", "--to", "4.4", *names).out == kwire("clients", "--to", "4.4", LOG).out


def test_damaged_lines_are_told_with_file_and_line_and_the_rest_is_read(tmp_path):
    log = tmp_path / "damaged.log"
    log.write_bytes(line() + line()[:200] + b"\n" + b"Completed request:Name: FetchRequest; Version: 0\n" + line())
    done = kwire("stats", "--format", "json", log)
    facts = json.loads(done.out)["facts"]
    assert facts["frames"] == {"request": 2, "response": 2}
    assert facts["anomalies"] == {"DAMAGED_LINE": 1, "TEXT_FORM": 1}
    assert done.err.startswith(f"kwire: {log}:2: DAMAGED_LINE: no JSON: ")
    assert done.err.endswith(", and 1 more\n")
    assert json_of("clients", log)["tables"]["clients"][0]["requests"] == 2


def test_a_log_with_nothing_that_can_be_read_is_refused(tmp_path):
    log = tmp_path / "old.log"
    log.write_bytes(b"[t] TRACE Completed request:Name: FetchRequest; Version: 0 (kafka.request.logger)\n")
    for command in ("stats", "clients"):
        error = refusal_of(command, log)
        assert "the text that Kafka wrote before 2.8 is not understood" in error
        assert f"{log}: holds no readable logged request" in error


def test_a_file_that_can_not_be_opened_says_why(tmp_path, monkeypatch):
    log = tmp_path / "closed.log"
    log.write_bytes(line())

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    done = kwire("clients", log)
    assert (done.code, done.err) == (2, f"kwire: {log}: cannot be read: Permission denied\n")


def test_several_logs_are_one_table_that_names_them(tmp_path):
    other = tmp_path / "other.log"
    other.write_bytes(line())
    found = lines_of("decode", LOG, other)
    assert {row["file"] for row in found} == {str(LOG), str(other)}
