"""The data of the page of `kwire report`: the numbers of the other commands, within its bounds, without secrets."""

import json
import re
import shlex

import pytest
from kit.calls import few_rules
from kit.commands import ROOT, json_of, kwire, refusal_of
from kit.views import Elements, bytes_of, column, data_of, in_order, nodes_of, page_data, uncovered

from kwire_cli.view.page import report as report_page
from kwire_cli.view.page.details import Details

pytestmark = pytest.mark.usefixtures("few_rules")

CAPTURE = "samples/incidents/rebalancing.pcap"
TRANSACTIONS = "samples/incidents/waiting-for-markers.pcap"


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch, few_rules():
        patch.chdir(ROOT)
        return kwire("report", CAPTURE).out


@pytest.fixture(scope="module")
def data(page):
    return page_data(page)


def test_counts_and_percentiles_are_those_of_the_other_commands(data):
    counted = json_of("stats", CAPTURE)["tables"]["api"]
    requests, errors, size, _, p99 = data["axis"]["total"]
    assert size == sum(json.loads(line)["size"] for line in kwire("decode", CAPTURE, "-f", "jsonl").out.splitlines())
    assert requests == sum(row["requests"] for row in counted) == 166
    assert sum(count for _, counts in data["axis"]["apis"] for count in counts.values()) == requests
    assert sum(row[1] for row in data["axis"]["intervals"]) == requests
    assert errors == sum(bool(names) for names in column(data, "errors"))
    served = sorted(
        value
        for value, waits in zip(column(data, "served_us"), column(data, "is_wait"), strict=True)
        if value is not None and not waits
    )
    assert p99 == served[-(-99 * len(served) // 100) - 1]


@pytest.mark.parametrize(("view", "command"), [("findings", "diagnose"), ("groups", "groups")])
def test_rows_of_a_view_are_those_of_its_command(data, view, command):
    tables = json_of(command, CAPTURE)["tables"]
    rows = data["answers"][view]["rows"]
    assert rows
    assert rows == {name: tables[name] for name in rows}


def test_the_verdict_is_the_most_important_finding(page, data):
    first = data["answers"]["findings"]["rows"]["findings"][0]
    assert data["verdict"]["level"] == first["severity"] == "error"
    assert first["text"] in data["verdict"]["text"]
    assert Elements(page).title == f"rebalancing.pcap: {data['verdict']['text']}"
    assert data_of("report", "samples/captures/midstream.pcap")["verdict"]["level"] == "good"


def test_clients_in_brokers_are_no_applications():
    assert data_of("report", "samples/incidents/rolling-restart.pcapng.gz")["applications"] == [
        "roll-reader",
        "roll-writer",
    ]


def test_every_frame_is_in_one_row_with_its_fields_and_bytes(data):
    decoded = [json.loads(line) for line in kwire("decode", CAPTURE, "-f", "jsonl").out.splitlines()]
    frames = [*column(data, "request"), *column(data, "response")]
    assert sorted(filter(None, frames)) == [line["frame"] for line in decoded]
    sizes = {line["frame"]: line["size"] for line in decoded}
    for side, at in (("request", "asked_at"), ("response", "answered_at")):
        for frame, entry in zip(column(data, side), column(data, at), strict=True):
            [first, *_] = data["entries"][entry]["buffers"]
            assert len(bytes_of(first)) == sizes[frame]
    assert in_order(column(data, "time"))
    assert {uncovered(entry) for entry in data["entries"]} == {0}


def test_rebalances_are_spans(data):
    spans = data["spans"]
    assert [span["kind"] for span in spans] == ["rebalance"] * 6
    assert all(span["from"] < span["to"] for span in spans)


@pytest.mark.slow
def test_transactions_and_stops_are_spans():
    transactions = data_of("report", TRANSACTIONS)
    assert {span["kind"] for span in transactions["spans"]} == {"transaction"}
    assert len(transactions["spans"]) == len(transactions["answers"]["transactions"]["rows"]["transactions"])
    stops = data_of("report", "samples/incidents/rolling-restart.pcapng.gz")["spans"]
    assert "broker" in {span["kind"] for span in stops}


@pytest.mark.slow
def test_a_page_says_what_it_has_no_room_for_and_its_command_shows_the_rest(monkeypatch, data):
    monkeypatch.setattr(report_page, "MOST_ROW_BYTES", 6000)
    text = kwire("report", CAPTURE).out
    first = page_data(text)
    count = first["rows"]["count"]
    assert 0 < count < 166
    assert first["left"]["text"] == f"the first {count} of 166 calls"
    assert Elements(text).title.endswith(f"(the first {count} of 166 calls)")
    assert first["axis"] == data["axis"]  # the axis and the findings are whole
    assert first["answers"]["findings"] == data["answers"]["findings"]
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    rest = data_of(*shlex.split(re.sub(r"^kwire | -o \S+$", "", first["left"]["command"])))
    assert {*column(first, "request"), *column(rest, "request")} >= {*column(data, "request")}


def test_details_end_at_a_number_of_bytes(monkeypatch):
    monkeypatch.setattr(Details.__init__, "__defaults__", (4000,))
    found = data_of("report", CAPTURE)
    assert found["rows"]["count"] == 166
    assert 0 < len(found["entries"]) < 332
    assert None in column(found, "answered_at")


def test_frames_are_chosen_and_the_rest_is_about_all(data):
    chosen = data_of("report", CAPTURE, "--filter", "api == JoinGroup")
    assert {*column(chosen, "api")} == {"JoinGroup"}
    assert chosen["axis"] == data["axis"]
    assert chosen["answers"] == data["answers"]


@pytest.mark.slow
def test_the_page_of_decode_is_that_of_report_with_the_frames_first():
    decoded, reported = data_of("decode", CAPTURE, "-f", "html"), data_of("report", CAPTURE)
    assert (decoded.pop("tab"), reported.pop("tab")) == ("frames", "")
    assert decoded == reported
    assert refusal_of("decode", CAPTURE, "-f", "html", "--pairs").strip().endswith("--pairs is not for a page")


def test_the_page_of_dump_is_that_of_report_with_the_logs_first(monkeypatch):
    dumped, reported = data_of("dump", "samples/logs", "-f", "html"), data_of("report", "samples/logs")
    assert (dumped.pop("tab"), reported.pop("tab")) == ("logs", "")
    assert dumped == reported
    [table] = [block for block in dumped["answers"]["logs"]["blocks"] if block.get("name") == "batches"]
    lines = map(json.loads, kwire("dump", "samples/logs", "-f", "jsonl").out.splitlines())
    batches = [[line["file"], str(line["position"])] for line in lines if "baseOffset" in line]
    assert [row[:2] for row in table["rows"]] == batches
    assert dumped["left"] is None
    monkeypatch.setattr("kwire_cli.analysis.report.MOST_BATCHES", 5)
    left = data_of("dump", "samples/logs", "-f", "html")["left"]
    assert left == {"text": f"the first 5 of {len(batches)} batches", "command": "kwire dump samples/logs"}
    assert refusal_of("dump", "samples/logs", "-f", "html", "--deep").strip().endswith("--deep is not for a page")


@pytest.mark.slow
def test_frames_of_several_captures_are_told_apart():
    found = data_of("report", "samples/captures/midstream.pcap", CAPTURE)
    points = {*column(found, "capture_point")} | {*column(found, "file")}
    assert len(points) > 1
    for frame, at, size in zip(*(column(found, name) for name in ("request", "asked_at", "request_size")), strict=True):
        if frame is not None and at is not None:
            [first, *_] = found["entries"][at]["buffers"]
            assert len(bytes_of(first)) == size


def test_a_request_log_and_a_log_directory_have_pages_too():
    logged = data_of("report", "samples/request-logs/kafka-request.log")
    assert logged["rows"]["count"]
    assert logged["axis"]
    assert logged["entries"] == []
    logs = data_of("report", "samples/logs")
    assert logs["rows"] is None
    assert "logs" in logs["answers"]


@pytest.mark.slow
def test_transactions_of_traffic_and_logs_are_apart():
    traffic, logs = "samples/incidents/fenced-producer.pcap", "samples/incidents/fenced-producer"
    both = data_of("report", traffic, logs)
    of_traffic = json_of("transactions", traffic)["tables"]["transactions"]
    assert both["answers"]["transactions"]["rows"]["transactions"] == of_traffic
    spans = [span for span in both["spans"] if span["kind"] == "transaction"]
    assert len(spans) == len(of_traffic)
    alone = data_of("report", logs)["answers"]["transactions"]
    assert alone["rows"]["transactions"] == json_of("transactions", logs)["tables"]["transactions"]
    [expected] = [block for block in alone["blocks"] if block.get("name") == "transactions"]
    assert expected in both["answers"]["logs"]["blocks"]


def test_no_secret_is_in_the_page():
    hidden = data_of("report", "samples/incidents/sasl.pcap")
    texts = [text for entry in hidden["entries"] for *_, text in nodes_of(entry)]
    assert any(text.startswith("<redacted") for text in texts)
    for entry in hidden["entries"]:
        for buffer in entry["buffers"]:
            for low, high in buffer["masked"]:
                assert not any(bytes_of(buffer)[low:high])


def test_errors_of_use():
    for arguments, terminal, said in (
        (("report", CAPTURE), True, "write it to a file"),
        (("report", "samples/frames/metadata-v0-request.hex"), False, "this question is about"),
        (("report", "samples/logs", "--filter", "frame < 4"), False, "--filter"),
    ):
        done = kwire(*arguments, terminal=terminal)
        assert done.code == 2
        assert said in done.err
