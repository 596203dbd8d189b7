"""JSON Schemas hold what kwire prints: every sample that a schema is about, in JSON and in JSON lines."""

import json
import random
import tempfile

import pytest
from command_line import ROOT, hold_page, kwire
from examples import examples
from hypothesis import given, strategies as st
from json_schemas import documents, hold, validator
from jsonschema import Draft202012Validator, ValidationError
from named_traffic import spoken_capture
from valid_values import values
from wire import Wire

import kwire_cli
from kwire_cli.cli.column_types import CAPTURES as COLUMNS
from kwire_cli.cli.schema import ANSWERS, OTHERS
from kwire_cli.structs.messages import declare
from kwire_cli.view.schemas import body_schema

CATALOG = kwire_cli.catalog()
SAMPLES = ROOT / "samples"
CAPTURE, LOG = "samples/incidents/rebalancing.pcap", "samples/request-logs/kafka-request.log"
CAPTURES = sorted(str(path.relative_to(ROOT)) for path in (SAMPLES / "captures").iterdir())
SMALL = [path for path in sorted(SAMPLES.glob("*/*.pcap*")) if path.stat().st_size < 20_000]
ASKED = [
    ("advise", ["advise", CAPTURE]),
    ("compare", ["compare", "samples/frames/produce-v13-request.hex", "--by-field"]),
    ("compare", ["compare", CAPTURE, "--filter", "api == Fetch", "--flexible", "--encoding", "packed"]),
    ("compare", ["compare", "-m", "MetadataResponse", "--topics", "1..3", "--versions", "8-9"]),
    ("compare", ["compare", "-m", "FetchRequest", "--versions", "4-5", "--flexible", "--by-field"]),
    ("compare-records", ["compare-records", "samples/segments/orders-zstd-0", "--codec", "none"]),
    ("compare-records", ["compare-records", "--record-count", "20", "--headers", "2", "--record-forms", "v1,v2"]),
    ("changes", ["dump", "--state", "--diff", "0..3", "samples/segments/__consumer_offsets-0"]),
    ("definitions", ["diff", "samples/definitions/before", "samples/definitions/after"]),
    ("definitions", ["diff", "FetchRequest", "12", "13"]),
    ("doctor", ["doctor"]),
    ("messages", ["diff", CAPTURE, "--frames", "1,5"]),
    ("paper", ["paper", "kip82"]),
    ("traffic", ["diff", CAPTURE, "samples/incidents/lag.pcap"]),
    ("breaking", ["breaking", "samples/definitions/before", "samples/definitions/after"]),
    ("clients", ["clients", CAPTURE]),
    ("copies", ["diff", "samples/segments/orders-zstd-0", "samples/segments/garbage-0"]),
    ("diagnose", ["diagnose", CAPTURE]),
    ("diagnose", ["diagnose", "samples/logs"]),
    ("errors", ["errors"]),
    ("groups", ["groups", CAPTURE]),
    ("lint", ["lint", "tests/cli/broken.json"]),
    ("overhead", ["overhead", CAPTURE]),
    ("request-log", ["decode", LOG]),
    ("sequence", ["sequence", CAPTURE]),
    ("spec-list", ["spec", "list"]),
    ("state", ["dump", "--state", "samples/segments/__consumer_offsets-0"]),
    ("state", ["dump", "--state", "samples/segments/__cluster_metadata-0"]),
    ("stats", ["stats", CAPTURE]),
    ("stats", ["stats", LOG]),
    ("summary", ["summary", CAPTURE]),
    ("summary", ["summary", "samples/logs"]),
    ("timeline", ["stats", "--every", "2s", CAPTURE]),
    ("transactions", ["transactions", "samples/incidents/hanging-transaction.pcap"]),
    *((name, [name, LOG]) for name in ("clients", "diagnose", "groups", "sequence", "summary")),
    ("timeline", ["stats", "--every", "2s", LOG]),
    ("verify", ["dump", "--verify", "samples/logs", "samples/segments/bitflip-0"]),
]
PRINTED = [
    *(("frame", ["decode", path]) for path in CAPTURES),
    ("frame", ["decode", "samples/incidents/sasl.pcap"]),
    ("frame", ["decode", "--records", "size", CAPTURE]),
    ("frame", ["decode", "--lossless", "samples/frames/produce-v13-request.hex"]),
    ("frame", ["decode", "samples/frames/metadata-v13-response.hex"]),
    ("frame", ["decode", CAPTURE, "samples/incidents/sasl.pcap"]),
    ("fields", ["decode", CAPTURE, "--fields", "frame,time,host,port,api,topics,latency,error,groupId,anomaly"]),
    ("fields", ["decode", "samples/incidents/sasl.pcap", "--fields", ",".join(COLUMNS)]),
    ("pair", ["decode", "--pairs", CAPTURE]),
    ("message", ["decode", "-m", "HeartbeatRequest", "--message-version", "4", "076f7264657273000000070b636f6e73"]),
    ("batch", ["dump", "samples/segments/orders-zstd-0", "samples/segments/garbage-0", "samples/segments/bitflip-0"]),
    ("batch", ["dump", "--deep", "samples/segments/__consumer_offsets-0", "samples/segments/__cluster_metadata-0"]),
]


def named(value):
    return value if isinstance(value, str) else " ".join(value)


@pytest.mark.parametrize(("name", "arguments"), ASKED, ids=named)
def test_a_report_is_what_its_schema_says(name, arguments, monkeypatch):
    monkeypatch.chdir(ROOT)
    printed, lines = kwire(*arguments, "-f", "json").out, kwire(*arguments, "-f", "jsonl").out
    hold(validator(name), printed)
    hold(validator("answer"), printed)
    hold(validator(name, "--lines"), lines)
    hold(validator("answer", "--lines"), lines)


@pytest.mark.parametrize(("name", "arguments"), PRINTED, ids=named)
@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_frames_and_batches_are_what_their_schemas_say(name, arguments, fmt, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold(validator(name), kwire(*arguments, "-f", fmt).out)


def test_a_gap_that_answers_a_request_of_an_unknown_api_is_what_its_schema_says(tmp_path):
    path, unknown = tmp_path / "unknown.pcap", bytes.fromhex("7ffe0000000000070001630000")
    path.write_bytes(spoken_capture((0, Wire.raw(unknown)), (1, Wire.raw(bytes.fromhex("00000007000000")))))
    printed = kwire("decode", path).out
    gap = [*documents(printed)][-1]
    assert (gap["kind"], gap["requestFrame"], gap["latency"]) == ("gap", 1, 1.0)
    hold(validator("frame"), printed)


def test_a_redacted_header_is_what_its_schema_says():
    printed = kwire("decode", stdin=b"00000008 0024 0002 0a0b0c0d").out  # SaslAuthenticate, cut in its header
    assert "redacted" in next(documents(printed))["header"]["correlationId"]
    hold(validator("frame"), printed)


@examples(20)
@given(st.sampled_from(SMALL), st.integers(0, 2**32).map(random.Random))
def test_lines_of_damaged_captures_are_what_their_schema_says(path, dice):
    damaged = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 12)):
        damaged[dice.randrange(60, len(damaged))] = dice.choice([0, 255, dice.randrange(256)])
    document = validator("frame")
    with tempfile.NamedTemporaryFile(suffix=path.suffix) as file:
        file.write(damaged)
        file.flush()
        for line in documents(kwire("decode", file.name).out):
            document.validate(line)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("definition", ["spec", "show", "HeartbeatRequest"]),
        ("definition", ["spec", "show", "HeartbeatRequest", "4"]),
        ("explanation", ["explain", "error", "27"]),
        ("explanation", ["explain", "varint", "300"]),
        ("explanation", ["explain", "samples/frames/produce-v13-request.hex"]),
    ],
    ids=named,
)
def test_definitions_and_explanations_are_what_their_schemas_say(name, arguments, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold(validator(name), kwire(*arguments, "-f", "json").out)


def test_files_of_log_directories_are_what_their_schema_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    schema = validator("log-file")
    files = ["00000000000000000030.index", "00000000000000000030.snapshot", "leader-epoch-checkpoint"]
    for file in files:
        hold(schema, kwire("dump", f"samples/logs/trimmed-0/{file}", "-f", "json").out)


@given(st.data())
def test_any_body_is_what_the_schema_of_its_message_says(data):
    entry = data.draw(st.sampled_from([entry for entry in CATALOG if entry.valid_versions]))
    version = data.draw(st.sampled_from([*entry.valid_versions.each()]))
    spec = CATALOG.message(entry.name)
    body = data.draw(values(declare(spec, version)))
    Draft202012Validator(body_schema(spec, version)).validate(body)


def test_a_body_of_another_shape_is_refused():
    schema = validator("HeartbeatRequest", "--message-version", "4")
    whole = {"groupId": "orders", "generationId": 7, "memberId": "c", "groupInstanceId": None}
    schema.validate(whole)
    schema.validate(whole | {"groupId": "<redacted 6 bytes>"})
    for wrong in ({"generationId": 1 << 31}, {"groupId": None}, {"other": 1}, {"generationId": "7"}):
        with pytest.raises(ValidationError):
            schema.validate(whole | wrong)
    with pytest.raises(ValidationError):
        schema.validate({"groupId": "orders"})


def test_rows_of_another_shape_are_refused():
    schema = validator("clients", "--lines")
    row = json.loads(kwire("clients", ROOT / CAPTURE, "-f", "jsonl").out.splitlines()[0])
    schema.validate(row)
    for wrong in ({"other": 1}, {"requests": "many"}):
        with pytest.raises(ValidationError):
            schema.validate(row | wrong)


@pytest.mark.parametrize(
    ("time", "is_one"),
    [
        ("2026-11-21T20:46:11.797000Z", True),
        ("2026-11-21T20:46:11.797000", True),  # by the clock of a request log
        (1 << 60, True),  # outside the years 1 to 9999
        ("2026-11-21", False),
        ("20:46:11", False),
        (0.5, False),
    ],
)
def test_an_instant_is_iso_8601_with_or_without_a_zone(time, is_one):
    schema = validator("clients")
    document = json.loads(kwire("clients", ROOT / LOG, "-f", "json").out)
    document["tables"]["clients"][0]["first"] = time
    assert schema.is_valid(document) is is_one


def test_what_an_export_did_and_what_its_tables_say_is_what_their_schemas_say(monkeypatch, tmp_path):
    pytest.importorskip("numba")
    monkeypatch.chdir(ROOT)
    for fmt, more in (("json", []), ("jsonl", ["--lines"])):
        done = kwire("export", CAPTURE, "--into", tmp_path / fmt, "--tables", "frames", "-f", fmt)
        hold(validator("export", *more), done.out)
        for asked in (["--report", "latency"], ["select *, 1 as of from frames limit 9"]):
            hold(validator("query", *more), kwire("query", tmp_path / "json", *asked, "-f", fmt).out)


def test_rows_have_only_columns_that_their_schemas_name():
    schema = validator("compare", "--lines")
    for row in map(
        json.loads, kwire("compare", "-m", "FetchRequest", "--topics", "1..2", "-f", "jsonl").out.split("\n")[:-1]
    ):
        schema.validate(row)
        if row["table"] == "byCounts":
            with pytest.raises(ValidationError):
                schema.validate(row | {"version 4": "many"})
    for row in ({"frame": "1"}, {"host": "127.0.0.1"}, {"latency": "1 ms"}):
        with pytest.raises(ValidationError):
            validator("fields").validate(row)


def test_every_name_has_a_schema_and_a_test():
    listed = [row["name"] for row in json.loads(kwire("schema", "-f", "json").out)["tables"]["schemas"]]
    assert listed == sorted({*OTHERS, *ANSWERS})
    assert {*listed} == {name for name, _ in (*ASKED, *PRINTED)} | {
        *("answer", "definition", "explanation", "export", "log-file", "query", "scan")
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["sumary"], "did you mean summary"),
        (["Heartbeet"], "Heartbeat"),
        (["HeartbeatRequest", "--message-version", "9"], "HeartbeatRequest has versions 0-4, not 9"),
        (["frame", "--lines"], "--lines is for reports"),
        (["stats", "-f", "csv"], "a schema is JSON"),
    ],
)
def test_what_is_wrong_is_said(arguments, reason):
    done = kwire("schema", *arguments)
    assert done.code == 2
    assert reason in done.err


def test_the_page_shows_what_the_commands_print(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "json-schemas.md", updating)
