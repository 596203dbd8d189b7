"""Advice from the command line: the overlay that it writes, what compare says of that, and the page on overlays."""

import json

from kit.captures import SAMPLES
from kit.commands import ROOT, json_of, kwire, refusal_of, shell

from kwire_cli.spec.overlay import FIELD_KEYS

SMALL = SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng"
LOGS = [SAMPLES / "segments", SAMPLES / "logs"]


def advise(*words, **streams):
    return json_of("compare", "--advise", *words, **streams)


def test_what_comes_through_a_pipe_is_read_twice_too():
    path = SMALL
    assert advise("-", stdin=path.read_bytes()) == advise(path)
    segment = next((SAMPLES / "segments" / "__transaction_state-0").iterdir())
    assert advise("--as-topic", "__transaction_state", stdin=segment.read_bytes()) == advise(segment)


def test_what_is_wrong_in_a_pipe_is_said_of_standard_input():
    assert kwire("compare", "--advise", "-", stdin=b"").err == "kwire: standard input: the input is empty\n"
    cut = SMALL.read_bytes()[:-5]
    assert kwire("compare", "--advise", "-", stdin=cut).err.count("kwire: standard input: after packet") == 1


def test_an_overlay_that_can_not_be_written(tmp_path):
    assert "cannot be written" in refusal_of(
        "compare", "--advise", "--write-overlay", tmp_path / "none" / "mine.json", SMALL
    )


def test_compare_counts_what_the_overlay_of_advice_saves(tmp_path):
    path, overlay = SAMPLES / "captures" / "midstream.pcap", tmp_path / "advice.json"
    facts = advise("--write-overlay", overlay, path)["facts"]
    about = json.loads(overlay.read_text())["about"]
    assert about.startswith("Drawn by kwire compare --advise from 230 messages")
    total = {row["form"]: row for row in json_of("compare", "--form", overlay, path)["tables"]["forms"]}
    assert -total["overlay advice"]["difference"] == facts["saving"] > 0


def test_a_value_without_room_is_refused_with_its_path(tmp_path):
    overlay = tmp_path / "narrow.json"
    overlay.write_text('{"messages": {"FetchRequest": {"fields": {"maxBytes": {"encoding": "packed16"}}}}}')
    path = SAMPLES / "captures" / "ipv6.pcap"
    [row] = json_of("compare", "--form", overlay, "--filter", "api == Fetch", path)["tables"]["refused"]
    assert row["why"].startswith("maxBytes: 52428800 does not fit int32 written as packed16")


def test_messages_in_records_are_advised_on():
    for path in LOGS:
        assert advise(path)["facts"]["saving"] > 0


def test_overhead_reads_input_in_the_form_of_an_overlay():
    frame = SAMPLES / "frames" / "metadata-v13-response.hex"
    said = ("--api", "Metadata", "--message-version", 13)
    laid = shell(
        f"kwire decode --records base64 --api Metadata --message-version 13 {frame}"
        " | kwire encode --specs metadata-upacked"
    ).strip()
    compared = json_of("compare", "--form", "metadata-upacked", *said, frame)["tables"]["forms"]
    done = json_of("overhead", "--specs", "metadata-upacked", *said, laid)
    assert done["facts"]["bytes"] == done["facts"]["inputBytes"] == len(laid) // 2
    before = json_of("overhead", *said, frame)["facts"]["bytes"]
    assert before - done["facts"]["bytes"] == -compared[1]["difference"] > 0


def test_bodies_and_frames_are_advised_on():
    body = "02670000000102680000"
    found = advise("-m", "HeartbeatRequest", "--message-version", 4, body)
    assert {row["message"] for row in found["tables"]["fields"]} == {"HeartbeatRequest"}
    frame = SAMPLES / "frames" / "metadata-v13-response.hex"
    assert advise("--api", "Metadata", "--message-version", 13, frame)["facts"]["messages"] == 1


def test_the_page_on_overlays_names_every_key():
    specs = (ROOT / "docs" / "specs.md").read_text("utf-8")
    assert all(f"`{key}`" in specs for key in FIELD_KEYS)


def test_a_histogram_of_a_header_counts_what_the_filter_chooses():
    words = ("compare", SMALL, "--filter", "api == Metadata", "--histogram")
    [row] = json_of(*words, "header.clientId")["tables"]["fields"]
    assert (row["message"], row["path"], row["highest"]) == ("RequestHeader", "header.clientId", len("sarama-lab"))
    assert "did you mean header.clientId" in refusal_of(*words, "header.clientid")
