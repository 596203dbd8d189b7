"""Questions answer about a lake what they answer about the captures and request logs that were exported to it."""

import json
from shutil import copy

import pytest
from kit.commands import ROOT, json_of, kwire, slow
from kit.lakes import run

import kwire_cli
from kwire_cli.analysis.one_by_one import works_of
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.source.reading import Caller, Reading
from kwire_cli.spec.catalog import catalog
from kwire_cli.view.answers import answer_json

SAMPLES = ROOT / "samples"
QUESTIONS = ("clients", "diagnose", "groups", "stats", "transactions")
INPUTS = (
    "request-logs/kafka-request.log",
    "incidents/rebalancing.pcap",
    "incidents/fetch-sessions.pcap",
    slow("captures/midstream.pcap"),
    slow("incidents/clocks.pcap"),
    slow("captures/ipv6.pcap"),
    slow("captures/sarama-0.8.2.0-3.9.2.pcapng"),
    slow("incidents/long-transaction.log"),
    slow("incidents/sasl.pcap"),
)


def answer(question, *inputs):
    text = "".join(answer_json(kwire_cli.ask(question, *inputs)))
    return json.loads(text)


@pytest.mark.parametrize("name", INPUTS)
def test_a_lake_answers_as_its_inputs(tmp_path, name):
    run([SAMPLES / name], tmp_path / "lake", "all")
    for question in QUESTIONS:
        assert answer(question, tmp_path / "lake") == answer(question, SAMPLES / name), question


def test_lakes_answer_together_as_their_captures(tmp_path):
    captures = [SAMPLES / "captures" / "ipv6.pcap", SAMPLES / "incidents" / "rebalancing.pcap"]
    lakes = [tmp_path / capture.stem for capture in captures]
    for capture, lake in zip(captures, lakes, strict=True):
        run([capture], lake, "all")
    for question in ("diagnose", "groups", "stats"):
        found, expected = (_without_capture(answer(question, *inputs)) for inputs in (lakes, captures))
        assert found == expected, question


def _without_capture(value):
    """An answer without the names of capture points: a capture is named by its file, and a lake has the folder's."""
    if isinstance(value, dict):
        return {name: _without_capture(inner) for name, inner in value.items() if name != "capture"}
    return [*map(_without_capture, value)] if isinstance(value, list) else value


def test_a_lake_that_lacks_tables_says_so(tmp_path):
    run([SAMPLES / "incidents" / "rebalancing.pcap"], tmp_path)
    found = kwire_cli.ask("diagnose", tmp_path)
    notes = json.loads("".join(answer_json(found)))["notes"]
    assert [note for note in notes if "was exported without produce_batches, bodies" in note]
    with pytest.raises(InputError, match=r"exported without bodies, which this question reads; .*--tables all"):
        kwire_cli.ask("groups", tmp_path)
    assert answer("stats", tmp_path) == answer("stats", SAMPLES / "incidents" / "rebalancing.pcap")
    (missing,) = answer("summary", tmp_path)["tables"]["missing"]
    assert "was exported without produce_batches, bodies" in missing["what"]


def test_only_the_lake_that_lacks_tables_is_named(tmp_path):
    for tables in ("frames,connections", "all"):
        run([SAMPLES / "incidents" / "rebalancing.pcap"], tmp_path / tables, tables)
    notes = answer("diagnose", tmp_path / "frames,connections", tmp_path / "all")["notes"]
    assert len([note for note in notes if "was exported without" in note]) == 1


def test_a_lake_without_frames(tmp_path):
    run([SAMPLES / "segments"], tmp_path)
    with pytest.raises(InputError, match="this lake has no frames"):
        kwire_cli.ask("stats", tmp_path)
    with pytest.raises(InputError, match="this lake has no frames"):
        works_of([str(tmp_path)], Reading(catalog=catalog()), Caller(), {Kind.LAKE})


def test_captures_and_request_logs_in_one_lake(tmp_path):
    run([SAMPLES / "incidents" / "sasl.pcap", SAMPLES / "request-logs"], tmp_path)
    with pytest.raises(InputError, match="captures and request logs, which may show the same requests"):
        kwire_cli.ask("stats", tmp_path)


@pytest.mark.parametrize("command", ["decode", "sequence", "overhead", "report", "dump"])
def test_commands_that_need_bytes_refuse_lakes(tmp_path, command):
    run([SAMPLES / "incidents" / "sasl.pcap"], tmp_path)
    done = kwire(command, tmp_path)
    assert done.code == 2
    assert "a lake" in done.err


def test_lakes_differ_as_their_captures(tmp_path):
    captures = [SAMPLES / "captures" / name for name in ("ipv6.pcap", "kafka-python-4.4.0.pcapng")]
    lakes = [tmp_path / capture.stem for capture in captures]
    for capture, lake in zip(captures, lakes, strict=True):
        run([capture], lake, "all")
    found = json_of("diff", *lakes)
    assert found["tables"]["apis"]
    assert found["tables"] == json_of("diff", *captures)["tables"]


def test_options_for_reading_captures_are_refused_with_a_lake(tmp_path):
    run([SAMPLES / "incidents" / "sasl.pcap"], tmp_path / "lake")
    done = kwire("diagnose", tmp_path / "lake", "--port", "9092")
    assert done.code == 2
    assert f"--port is for packet captures, and {tmp_path / 'lake'} is a lake" in done.err


FILTERS = (
    "kind == response and latency > 5ms or error",
    "topic and host == ::1 and not port == 39292",
    "frame in (5, 6, 7, 8) or request_frame > 200",
    "time >= 00:00 and stream != 0 and group",
    "api == Metadata and capture_point ~ 'first$'",
)


def test_a_filter_chooses_frames_of_a_lake_as_of_its_captures(tmp_path):
    for point, name in (("first", "captures/ipv6.pcap"), ("second", "incidents/rebalancing.pcap")):
        (tmp_path / point).mkdir()
        copy(SAMPLES / name, tmp_path / point)
    captures = [*tmp_path.glob("*/*.pcap")]
    run(captures, tmp_path / "lake")
    whole = json_of("stats", tmp_path / "lake")["facts"]["frames"]
    for text in FILTERS:
        found = json_of("stats", tmp_path / "lake", "--filter", text)
        assert found == json_of("stats", *captures, "--filter", text), text
        assert found["facts"]["frames"] not in ({}, whole), text


def test_a_filter_of_a_lake_of_request_logs_chooses_halves_of_exchanges(tmp_path):
    run([SAMPLES / "request-logs" / "kafka-request.log"], tmp_path)
    whole = json_of("stats", tmp_path)["facts"]["frames"]
    chosen = json_of("stats", tmp_path, "--filter", "kind == response")["facts"]["frames"]
    assert chosen == {"response": whole["response"]}


def test_filters_of_a_lake_have_columns_only(tmp_path):
    run([SAMPLES / "incidents" / "rebalancing.pcap"], tmp_path)
    for text, reason in {
        "kind == request and records.key == x": "column 21: a filter of a lake takes no records.key, only columns of",
        "errorCode != 0": "takes no errorCode, only columns of frames; did you mean error_codes or errors?",
        "anomaly == TRUNCATED": "takes no anomaly, only columns of frames; did you mean anomalies?",
    }.items():
        done = kwire("stats", tmp_path, "--filter", text)
        assert (done.code, reason in done.err) == (2, True), done.err
    assert "no frame matches (332 read)" in kwire("stats", tmp_path, "--filter", "size > 1GB").err
