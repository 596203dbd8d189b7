import gzip
import json
import re
import time

import pytest
import zstandard
from kit.commands import ROOT, kwire
from kit.logs import line
from pyarrow import parquet

LOG = ROOT / "samples/request-logs/kafka-request.log"
CAPTURE = ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
FRAME = ROOT / "samples/frames/metadata-v0-request.hex"


def stats(*arguments, **options):
    done = kwire("stats", "--format", "json", *arguments, **options)
    return done, json.loads(done.out) if done.out else None


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_logs_and_standard_input_give_the_same(tmp_path, pack):
    packed = tmp_path / "requests"
    packed.write_bytes(pack(LOG.read_bytes()))
    plain = stats(LOG)[1]
    assert stats(packed)[1] == plain == stats("-", stdin=LOG.read_bytes())[1] == stats(stdin=pack(LOG.read_bytes()))[1]
    assert kwire("clients", packed).out == kwire("clients", LOG).out == kwire("clients", stdin=LOG.read_bytes()).out


def test_topic_ids_are_names_as_soon_as_a_line_has_told_both():
    topic_id = "8sl9_61lQyGd_pX2cuRR1A"
    produced = {"transactionalId": None, "acks": -1, "topicData": [{"topicId": topic_id, "partitionData": []}]}
    lines = [
        line(0, 13, request=produced),
        line(3, 13, response={"topics": [{"errorCode": 0, "name": "orders", "topicId": topic_id}]}),
        line(0, 13, request=produced),
    ]
    requests = json.loads(kwire("decode", "-f", "json", stdin=b"".join(lines)).out)["tables"]["requests"]
    assert [row["topics"] for row in requests] == [[topic_id], ["orders"], ["orders"]]
    arrows = json.loads(kwire("sequence", "-f", "json", stdin=b"".join(lines)).out)["tables"]["arrows"]
    labels = [row["label"] for row in arrows if row["api"] == "Produce" and row["kind"] == "request"]
    assert labels == [f"Produce v13 {topic_id}", "Produce v13 orders"]


def test_times_without_a_zone_stay_so_in_every_report_on_every_machine(monkeypatch, tmp_path):
    zoned = tmp_path / "zoned.log"
    zoned.write_bytes(re.sub(rb"(?m)^\[([^\]]+)\]", rb"[\1Z]", LOG.read_bytes()))
    try:
        for command in ("sequence", "groups", "summary", "stats --every 10s", "diagnose", "clients"):
            printed, shown = [], []
            for zone in ("UTC", "Asia/Tokyo"):
                monkeypatch.setenv("TZ", zone)
                time.tzset()
                printed.append(kwire(*command.split(), LOG, "--format", "json").out.replace(str(LOG), "the log"))
                shown.append(kwire(*command.split(), LOG, "--format", "table").out)
            assert printed[0] == printed[1], command
            times = re.findall(r'"(2026-11-21T[^"]*)"', printed[0])
            assert times, command
            assert not any(text.endswith("Z") for text in times), command
            assert "UTC" not in shown[0], command
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
    assert json.dumps(stats(*names)[1], sort_keys=True) == json.dumps(stats(LOG)[1], sort_keys=True)
    assert kwire("clients", "--to", "4.4", *names).out == kwire("clients", "--to", "4.4", LOG).out


def test_damaged_lines_are_told_with_file_and_line_and_the_rest_is_read(tmp_path):
    log = tmp_path / "damaged.log"
    log.write_bytes(line() + line()[:200] + b"\n" + b"Completed request:Name: FetchRequest; Version: 0\n" + line())
    done, shown = stats(log)
    assert (done.code, shown["facts"]["frames"], shown["facts"]["anomalies"]) == (
        0,
        {"request": 2, "response": 2},
        {"DAMAGED_LINE": 1, "TEXT_FORM": 1},
    )
    assert done.err.startswith(f"kwire: {log}:2: DAMAGED_LINE: no JSON: ")
    assert done.err.endswith(", and 1 more\n")
    assert json.loads(kwire("clients", log, "--format", "json").out)["tables"]["clients"][0]["requests"] == 2


def test_a_log_with_nothing_that_can_be_read_is_refused(tmp_path):
    log = tmp_path / "old.log"
    log.write_bytes(b"[t] TRACE Completed request:Name: FetchRequest; Version: 0 (kafka.request.logger)\n")
    for done in (stats(log)[0], kwire("clients", log)):
        assert done.code == 2
        assert "the text that Kafka wrote before 2.8 is not understood" in done.err
        assert f"{log}: holds no readable logged request" in done.err


def test_a_log_beside_other_inputs():
    done = kwire("stats", "--format", "jsonl", LOG, CAPTURE)
    rows = [json.loads(text) for text in done.out.splitlines()]
    facts = [(row["of"], row["frames"]["request"]) for row in rows if row["table"] == "facts"]
    assert facts == [("request logs", 39), ("captures", 9)]
    rows = [
        row["clientId"] for row in json.loads(kwire("clients", CAPTURE, LOG, "-f", "json").out)["tables"]["clients"]
    ]
    assert "sarama-lab" in rows
    assert "legacy-billing" in rows
    assert kwire("clients", CAPTURE, "-", stdin=LOG.read_bytes()).out == kwire("clients", CAPTURE, LOG).out


def test_statistics_of_logs_and_captures_are_one_document_in_every_format(tmp_path):
    out = tmp_path / "api.parquet"
    for inputs in ((LOG, CAPTURE), (CAPTURE, LOG)):
        tables = json.loads(kwire("stats", "--format", "json", *inputs).out)["tables"]
        assert {row["of"] for row in tables["api"]} == {"request logs", "captures"}
        for name, path in (("request logs", LOG), ("captures", CAPTURE)):
            own = [{key: row[key] for key in row if key != "of"} for row in tables["api"] if row["of"] == name]
            assert own == stats(path)[1]["tables"]["api"]
        page = kwire("stats", "--format", "html", *inputs).out
        assert page.count("<!doctype html>") == page.count("</html>") == 1
        kwire("stats", "--table", "api", "-o", out, *inputs)
        assert parquet.read_table(out).column("of").to_pylist() == [row["of"] for row in tables["api"]]


def test_what_is_no_log_is_read_as_before():
    assert kwire("decode", FRAME).code == 0
    assert kwire("decode", stdin=FRAME.read_bytes()).out == kwire("decode", FRAME).out
    assert kwire("stats", FRAME).code == 2


def test_a_file_that_can_not_be_opened_says_why(tmp_path, monkeypatch):
    log = tmp_path / "closed.log"
    log.write_bytes(line())

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    done = kwire("clients", log)
    assert (done.code, done.err) == (2, f"kwire: {log}: cannot be read: Permission denied\n")


REQUESTS = ROOT / "samples/request-logs/kafka-request.log"


def decoded_rows(*words):
    done = kwire("decode", *words, "--format", "jsonl")
    assert done.code == 0, done.err
    return [json.loads(text) for text in done.out.splitlines()]


def test_decode_shows_each_logged_request():
    found = decoded_rows(REQUESTS)
    assert len(found) == sum(
        row["requests"] for row in json.loads(kwire("stats", REQUESTS, "--format", "json").out)["tables"]["api"]
    )
    assert found[4]["api"] == "Metadata"
    assert found[4]["topics"] == ["orders"]
    assert found[4]["error"] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert found[4]["latencySeconds"] == pytest.approx(0.08691, abs=1e-4)
    assert found[0]["file"] is None


def test_logged_requests_are_sorted_and_cut():
    latencies = sorted((row["latencySeconds"] for row in decoded_rows(REQUESTS)), reverse=True)
    found = decoded_rows(REQUESTS, "--sort", "latency", "--top", "3")
    assert [row["latencySeconds"] for row in found] == latencies[:3]
    assert [row["line"] for row in decoded_rows(REQUESTS, "--top", "2")] == [1, 2]


def test_several_logs_are_one_table_that_names_them(tmp_path):
    other = tmp_path / "other.log"
    other.write_bytes(line())
    found = decoded_rows(REQUESTS, other)
    assert {row["file"] for row in found} == {str(REQUESTS), str(other)}


def test_logged_requests_are_a_table_on_a_terminal_and_no_tree():
    out = kwire("decode", REQUESTS, terminal=True, variables={"NO_COLOR": "1", "COLUMNS": "100"}).out
    assert out.splitlines()[0].split()[:2] == ["time", "client"]
    assert any(row.endswith("  UNKNOWN_TOPIC_OR_PARTITION") for row in out.splitlines())
    assert max(map(len, out.splitlines())) <= 100
    assert "not tree" in kwire("decode", REQUESTS, "--format", "tree").err
    assert "kwire stats makes a page of it" in kwire("decode", REQUESTS, "--format", "html").err
