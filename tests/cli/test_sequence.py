"""`kwire sequence`: which calls are chosen, of captures and request logs, in every format."""

import json
from pathlib import Path

import pytest
from kit.commands import ROOT, json_of, kwire, refusal_of
from kit.views import data_of

GROUP = ROOT / "samples/incidents/rebalancing.pcap"
TRANSACTION = ROOT / "samples/incidents/hanging-transaction.pcap"
LOG = ROOT / "samples/request-logs/kafka-request.log"


def arrows(*arguments, **options):
    return json_of("sequence", *arguments, **options)["tables"]["arrows"]


def test_the_ladder_is_what_a_terminal_and_a_pipe_get():
    piped = kwire("sequence", GROUP, "--frames", "30-38")
    variables = {"NO_COLOR": "1", "COLUMNS": "100"}
    shown = kwire("sequence", GROUP, "--frames", "30-38", terminal=True, variables=variables)
    assert piped.out == shown.out == kwire("sequence", GROUP, "--frames", "30-38", "-f", "table").out
    assert "├──────────┼─────────>│  JoinGroup v7 payment-workers" in piped.out
    assert "│<╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌┤  JoinGroup v7 -> generation 1, leader of 1" in piped.out


def test_frames_that_are_chosen_have_arrows_and_no_others():
    assert [row["frame"] for row in arrows(GROUP, "--frames", "62-65")] == [62, 63, 64, 65]
    assert {row["kind"] for row in arrows(GROUP, "--filter", "error")} == {"response"}
    assert {row["api"] for row in arrows(GROUP, "--filter", "api == JoinGroup")} == {"JoinGroup"}
    of_stream = [row["frame"] for row in arrows(GROUP, "--filter", "stream == 3", "--top", "9")]
    decoded = kwire("decode", GROUP, "--filter", "stream == 3", "--top", "9", "--format", "jsonl").out.splitlines()
    assert of_stream == [json.loads(row)["frame"] for row in decoded]


def test_calls_are_chosen_by_group_and_transactional_id():
    rows = arrows(GROUP, "--group", "payment-workers", "--top", "1000")
    requests = [row for row in rows if row["kind"] == "request"]
    assert len(requests) * 2 == len(rows)
    assert {row["api"] for row in rows} >= {"FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}
    assert not {row["api"] for row in rows} & {"Produce", "Fetch", "Metadata"}
    assert arrows(GROUP, "--group", "nobody") == []
    transactional = arrows(TRANSACTION, "--top", "1000")
    names = {row["label"] for row in transactional if row["api"] == "InitProducerId" and row["kind"] == "request"}
    for name in {label.partition(" v")[2].partition(" ")[2] for label in names if label.count(" ") > 1}:
        chosen = arrows(TRANSACTION, "--transactional-id", name)
        assert "InitProducerId" in {row["api"] for row in chosen}
        assert len(chosen) < len(transactional)


def test_request_logs_have_ladders_too():
    everything = arrows(LOG, "--top", "1000")
    of_group = arrows(LOG, "--group", "reports", "--top", "1000")
    assert {row["kind"] for row in everything} == {"request", "response"}
    assert [row["time"] for row in everything] == sorted(row["time"] for row in everything)
    assert {row["api"] for row in of_group} >= {"FindCoordinator", "JoinGroup", "LeaveGroup"}
    assert len(of_group) < len(everything)
    assert "--filter is for packet captures" in refusal_of("sequence", LOG, "--filter", "error")


def test_the_limit_says_how_many_more_there_are():
    done = kwire("sequence", GROUP, "--top", "3")
    assert done.out.splitlines()[-1] == "… and 329 more; --top 332 shows all"
    assert len(arrows(GROUP)) == 200
    assert len(arrows(GROUP, "--top", "7")) == 7
    facts = json_of("sequence", GROUP, "--top", "3")["facts"]
    assert facts == {"arrows": 3, "allArrows": 332}


def test_pictures_and_pages(tmp_path):
    svg, html = (tmp_path / name for name in ("a.svg", "a.html"))
    for file in (svg, html):
        assert kwire("sequence", GROUP, "--frames", "62-65", "-o", file).code == 0
    assert svg.read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert svg.read_text() == kwire("sequence", GROUP, "--frames", "62-65", "-f", "svg").out
    blocks = data_of("sequence", GROUP, "--frames", "62-65", "-f", "html")["answers"]["sequence"]["blocks"]
    (block,) = [block for block in blocks if block["type"] == "picture"]
    assert block["svg"] == svg.read_text().removesuffix("\n")


FRAMES = "kwire decode a.pcap --fields frame,stream,api,correlation_id"
"""The command that lists what --filter and --frames choose from."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("sequence", "a.pcap", "--filter", "correlationId == 99999"),
            f"no request or response matches --filter 'correlationId == 99999'; to see what there is: {FRAMES}",
        ),
        (
            ("sequence", "a.pcap", "--frames", "7", "--group", "g"),
            f"no request or response matches --frames 7 --group g; to see what there is: {FRAMES}, kwire groups a.pcap",
        ),
        (
            ("sequence", "a.pcap", "--transactional-id", "nobody"),
            "no request or response matches --transactional-id nobody; to see what there is: kwire transactions a.pcap",
        ),
        (
            ("groups", "a.pcap", "--group", "nobody", "--format", "text"),
            "no request or response matches --group nobody; to see what there is: kwire groups a.pcap",
        ),
        (
            ("transactions", "a.pcap", "--transactional-id", "nobody", "--format", "text"),
            "no request or response matches --transactional-id nobody; to see what there is: kwire transactions a.pcap",
        ),
        (("transactions", "a.pcap", "--format", "text"), "there is no request or response that was chosen"),
    ],
)
def test_what_was_not_found_is_said_with_a_command_that_lists_what_there_is(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.pcap").symlink_to(GROUP)
    done = kwire(*words)
    assert (done.code, done.out, done.err) == (0, f"{said}\n", "")
    assert kwire(*FRAMES.split()[1:]).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("clients", GROUP, "-f", "svg"), "this answer has no chart to draw"),
        (("sequence", GROUP, "--group", "nobody", "-f", "svg"), "this answer has no chart to draw"),
        (("sequence", GROUP, LOG), "ask about each in a run of its own"),
        (("sequence", ROOT / "samples/logs"), "this question is about packet captures and brokers' request logs"),
        (("sequence", GROUP, "--frames", "0"), "--frames counts from 1"),
        (("sequence", GROUP, "--filter", "nosuch == 1"), "nosuch"),
    ],
)
def test_what_makes_no_sense_is_refused(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refusal_of(*words)
    assert not [*tmp_path.iterdir()]


def test_a_picture_is_not_for_a_terminal():
    done = kwire("sequence", GROUP, "-f", "svg", terminal=True)
    assert done.code == 2
    assert "write it to a file with -o chart.svg" in done.err


@pytest.mark.parametrize(
    ("command", "name", "label"),
    [
        ("groups", "rebalancing.pcap", "JoinGroup v7 -> generation 1, leader of 1"),
        ("transactions", "hanging-transaction.pcap", "EndTxn"),
    ],
)
def test_groups_and_transactions_are_ladders_too(command, name, label, tmp_path):
    path = ROOT / "samples" / "incidents" / name
    done = kwire(command, path, "--format", "text")
    assert done.code == 0
    assert label in done.out
    assert "Metadata" not in done.out  # which is about neither
    picture = tmp_path / "ladder.svg"
    assert kwire(command, path, "-o", picture).code == 0
    assert picture.read_text("utf-8").startswith("<svg ")
    assert '"table":"events"' in kwire(command, path).out  # elsewhere the tables stay


def test_a_ladder_has_no_open_transactions():
    path = ROOT / "samples" / "incidents" / "hanging-transaction.pcap"
    assert "--open chooses rows" in kwire("transactions", path, "--open", "--format", "text").err
