"""Advice from the command line: the overlay that it writes, what overhead says of that, and the pages that show
both.
"""

import csv
import gzip
import io
import json
import re

import pytest
from kit.captures import SAMPLES
from kit.commands import ROOT, json_of, kwire, refusal_of, shell
from kit.logs import line

from kwire_cli.analysis.costs.forms import widths
from kwire_cli.spec.overlay import FIELD_KEYS

SHARED = ROOT.parent / "shared" / "real"
LOG = SAMPLES / "request-logs" / "kafka-request.log"
LOGS = [SAMPLES / "segments", SAMPLES / "logs"]
PAGES = [ROOT / "docs" / "specs.md", ROOT / "docs" / "compare.md"]


def advise(*words, **streams):
    return json_of("compare", "--advise", *words, **streams)


@pytest.mark.parametrize("path", [*LOGS, pytest.param(SHARED / "own" / "segments", marks=pytest.mark.shared)], ids=str)
def test_overhead_confirms_what_messages_in_records_save(path, tmp_path):
    saving = advise("--write-overlay", tmp_path / "mine.json", path)["facts"]["saving"]
    facts = json_of("overhead", "--overlay", tmp_path / "mine.json", path)["facts"]
    assert facts["rewrittenBytesBefore"] - facts["rewrittenBytesAfter"] == saving > 0
    assert facts["inputBytes"] == facts["bytes"]


def test_request_logs_are_advised_on():
    alone = kwire("compare", "--advise", "--format", "json", LOG)
    assert (alone.code, alone.err) == (0, "")
    facts = json.loads(alone.out)["facts"]
    assert facts["messages"] == 78
    assert facts["drawnFrom"] + facts["otherMessages"] == 78
    assert kwire("compare", "--advise", "--format", "json", stdin=gzip.compress(LOG.read_bytes())).out == alone.out
    capture = SAMPLES / "captures" / "ipv6.pcap"
    of_capture = kwire("compare", "--advise", "--format", "json", capture)
    for inputs in ((LOG, capture), (capture, LOG)):
        done = kwire("compare", "--advise", "--format", "json", *inputs)
        assert done.out == of_capture.out  # which may show the same exchanges
        assert done.err.count(str(LOG)) == 1
    fetches = advise("--message", "FetchResponse", LOG)
    assert {row["message"] for row in fetches["tables"]["integers"]} == {"FetchResponse"}
    assert "--filter is for packet captures" in refusal_of("compare", "--advise", "--filter", "api == Fetch", LOG)


def test_what_of_a_request_log_can_not_be_written_is_said(tmp_path):
    log = tmp_path / "requests.log"
    log.write_bytes(
        line(12, 4, request={"groupId": 1}, response={"throttleTimeMs": 7, "errorCode": 0}) * 2
        + b"Completed request:{\n"
    )
    done = kwire("compare", "--advise", "--format", "json", log)
    facts = json.loads(done.out)["facts"]
    assert (done.code, facts["messages"], facts["bytes"]) == (0, 2, 14)
    damaged, left_out = done.err.splitlines()
    assert damaged.startswith(f"kwire: {log}:3: DAMAGED_LINE")
    assert left_out.startswith(f"kwire: {log}:1: HeartbeatRequest 4: groupId: ")
    assert left_out.endswith(": it cannot be written as bytes and is left out, as is 1 more")


def test_what_comes_through_a_pipe_is_read_twice_too():
    path = SAMPLES / "captures" / "ipv6.pcap"
    assert advise("-", stdin=path.read_bytes()) == advise(path)
    segment = next((SAMPLES / "segments" / "__transaction_state-0").iterdir())
    assert advise("--as-topic", "__transaction_state", stdin=segment.read_bytes()) == advise(segment)


def test_what_is_wrong_in_a_pipe_is_said_of_standard_input():
    assert kwire("compare", "--advise", "-", stdin=b"").err == "kwire: standard input: the input is empty\n"
    cut = (SAMPLES / "captures" / "ipv6.pcap").read_bytes()[:-5]
    assert kwire("compare", "--advise", "-", stdin=cut).err.count("kwire: standard input: after packet") == 1


def test_small_savings_are_left_out():
    path = SAMPLES / "captures" / "ipv6.pcap"
    counts = [len(advise("--min-saving", least, path)["tables"]["overlay"]) for least in (1, 200)]
    assert counts[0] > counts[1] > 0


def test_an_overlay_that_can_not_be_written(tmp_path):
    assert "cannot be written" in refusal_of(
        "compare", "--advise", "--write-overlay", tmp_path / "none" / "mine.json", SAMPLES / "captures" / "ipv6.pcap"
    )


def test_overhead_counts_what_the_overlay_of_advice_saves(tmp_path):
    path, overlay = SAMPLES / "captures" / "midstream.pcap", tmp_path / "advice.json"
    facts = advise("--write-overlay", overlay, path)["facts"]
    about = json.loads(overlay.read_text())["about"]
    assert about.startswith("Drawn by kwire compare --advise from 230 messages")
    assert facts["saving"] > 0
    assert json_of("overhead", "--overlay", overlay, path)["facts"]["rewrittenChange"] == -facts["saving"]


def test_a_value_without_room_is_an_error_with_its_frame(tmp_path):
    overlay = tmp_path / "narrow.json"
    overlay.write_text('{"messages": {"FetchRequest": {"fields": {"maxBytes": {"encoding": "packed16"}}}}}')
    assert re.search(
        r"ipv6\.pcap: frame \d+: FetchRequest \d+: maxBytes: 52428800 does not fit int32 written as packed16",
        refusal_of("overhead", "--overlay", overlay, SAMPLES / "captures" / "ipv6.pcap"),
    )


@pytest.mark.parametrize(("version", "reason"), [(9, "of a version that is not known"), (4, "with anomalies")])
def test_what_stays_as_it_is_is_counted_by_its_reason(version, reason):
    body = ("--message", "HeartbeatRequest", "--message-version", version, "0267000000000261")
    facts = json_of("overhead", "--overlay", "all-packed", *body)["facts"]
    assert facts["asWritten"] == {reason: 1}
    assert (facts["inputBytes"], facts["bytes"], facts["rewrittenChange"]) == (8, 8, 0)


def test_changes_have_what_rows_are_as_written():
    command = ("overhead", "--by", "field", "--overlay", "metadata-tagged", SAMPLES / "captures" / "ipv6.pcap")
    rows = [*csv.DictReader(io.StringIO(kwire(*command, "--format", "csv", "--table", "changesByField").out))]
    facts = json_of(*command)["facts"]
    assert sum(int(row["change"]) for row in rows) == facts["bytes"] - facts["inputBytes"] < 0
    assert all(int(row["bytes"]) - int(row["writtenBytes"]) == int(row["change"]) for row in rows)
    gone = next(row for row in rows if row["field"] == "MetadataResponse.throttleTimeMs")
    assert (gone["bytes"], gone["change"]) == ("0", f"-{gone['writtenBytes']}")


def test_input_that_is_in_the_form_of_the_overlay():
    frame = SAMPLES / "frames" / "metadata-v13-response.hex"
    said = ("--api", "Metadata", "--message-version", 13)
    laid = shell(
        f"kwire decode --records base64 --api Metadata --message-version 13 {frame}"
        " | kwire encode --overlay metadata-upacked"
    ).strip()
    what_if = json_of("overhead", "--overlay", "metadata-upacked", *said, frame)
    done = json_of("overhead", "--overlay", "metadata-upacked", "--overlaid-input", *said, laid)
    assert done["facts"]["inputBytes"] == done["facts"]["bytes"] == what_if["facts"]["bytes"]
    assert done["tables"]["byField"] == what_if["tables"]["byField"]
    assert "changesByField" in what_if["tables"]
    assert "changesByField" not in done["tables"]


def test_the_pages_name_everything():
    specs, advise = (page.read_text("utf-8") for page in PAGES)
    assert all(f"`{key}`" in specs for key in FIELD_KEYS)
    for size in range(1, 5):
        packed, upacked = (
            [row for row in widths("int32", name) if row[2] == size] for name in ("packed32", "upacked32")
        )
        assert f"| {size} | {packed[0][0]} to {packed[-1][1]} | {upacked[0][0]} to {upacked[-1][1]} |" in advise
