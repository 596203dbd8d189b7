"""--value, --key, --schemas and --redact: every format shows what was decoded, and none what is redacted."""

import base64
import json

import pytest
from kit.commands import ROOT, kwire, lines_of, refusal_of

import kwire_cli as library

SAMPLES = ROOT / "samples" / "schemas"
ORDERS, TOPIC = SAMPLES / "avro-orders-0", SAMPLES / "_schemas-0"
CARD = "4111111111111111"
FORMATS = ("jsonl", "json", "csv", "tree", "table")


def dump(*arguments, form="jsonl"):
    return kwire("dump", "--deep", ORDERS, "--schemas", TOPIC, "--format", form, *arguments)


def records(done):
    return [record for line in done.out.splitlines() for record in json.loads(line)["records"]]


@pytest.mark.parametrize("form", FORMATS)
def test_redacted_fields_are_in_no_format(form, tmp_path):
    shown, hidden = tmp_path / f"shown.{form}", tmp_path / f"hidden.{form}"
    wide = "wide" if form == "table" else form
    assert dump("--full", "-o", shown, form=wide).code == 0
    assert dump("--full", "--redact", "value.paid.*", "-o", hidden, form=wide).code == 0
    if form != "table":  # which cuts long values
        assert CARD.encode() in shown.read_bytes()
    data = hidden.read_bytes()
    assert CARD.encode() not in data
    assert b"redacted" in data


ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
BAD = ORDER | {"fields": [{"name": "id", "type": "Missing"}]}
FITS, CUT = b"\0\0\0\0\7\4o1", b"\0\0\0\0\7\4o"


@pytest.mark.parametrize("form", ["jsonl", "json", "tree", "table", "csv"])
@pytest.mark.parametrize(
    ("value", "schemas", "code", "anomaly"),
    [
        (FITS, {"7": ORDER}, 0, None),
        (CUT, {"7": ORDER}, 1, "VALUE_UNFIT"),
        (CUT, {"8": ORDER}, 0, "UNKNOWN_SCHEMA"),
        (CUT, {"7": BAD}, 0, "UNKNOWN_SCHEMA"),
        (b"\1" + CUT[1:], {"7": ORDER}, 1, "VALUE_UNFIT"),  # names no schema
    ],
    ids=["fits", "cut", "without schema", "malformed schema", "no id"],
)
def test_strict_fails_for_values_that_do_not_fit_and_not_for_those_without_a_schema(
    value, schemas, code, anomaly, form, tmp_path
):
    file, folder = tmp_path / "00000000000000000000.log", tmp_path / "schemas"
    folder.mkdir()
    for number, schema in schemas.items():
        (folder / f"{number}.avsc").write_text(json.dumps(schema), "utf-8")
    file.write_bytes(library.write_records([{"records": [{"value": base64.b64encode(value).decode()}]}]))
    asked = ("dump", "--strict", "--value", "avro", "--schemas", folder, file)
    assert kwire(*asked, "--format", form, "-o", tmp_path / f"out.{form}").code == code
    (line,) = lines_of(*asked)
    assert [note["code"] for note in line["anomalies"]] == [anomaly] * bool(anomaly)
    chosen = kwire("dump", "--value", "avro", "--schemas", folder, file, "--filter", "anomaly", "--format", "jsonl")
    assert bool(chosen.out) == bool(code)


CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"


@pytest.mark.parametrize("name", ["x.pcap", "x.pcapng"])
def test_packets_are_not_copied_with_redacted_fields(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "kwire sanitize replaces values" in refusal_of(
        "decode", CAPTURE, "--value", "json", "--redact", "value.card.*", "-o", name
    )
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_records_has_what_was_decoded(tmp_path):
    chosen = ("--tables", "records", "--schemas", TOPIC, "--redact", "value.paid")
    assert kwire("export", ORDERS, "-o", tmp_path, "--out-format", "jsonl", *chosen).code == 0
    (file,) = (tmp_path / "records").rglob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    data = json.loads(rows[0]["payload"])["decoded"]["value"]["data"]
    assert (data["paid"], data["customer"]["name"]) == ("<redacted 52 bytes>", "Ada")
    assert CARD not in file.read_text("utf-8")


def explain(*arguments, short=("--short",)):
    return kwire("explain", *short, ORDERS / "00000000000000000000.log", "--schemas", TOPIC, *arguments)


def test_explanations_say_what_was_decoded_and_why_not():
    done = explain("--value", "avro", "--all")
    assert "records[0].value: avro acme.shop.Order, by schema 3" in done.out
    assert CARD in done.out
    assert "records[2].value: avro, by schema 3\n  ! VALUE_UNFIT the value ends early, after 149 bytes" in done.out
    hidden = explain("--redact", "value.paid.*", "--all", "--format", "json", short=())
    assert '\\"paid\\":{\\"Card\\":\\"<redacted 42 bytes>\\"}' in hidden.out
    assert CARD not in hidden.out + explain("--redact", "value.paid.*", "--all").out


def test_tables_show_decoded_numbers_and_text(tmp_path):
    records = json.dumps({"records": [{"key": {"text": "\0\0\0\7"}, "value": {"text": '[1, "x"]'}}]})
    batch = kwire("encode", "--as-records", "--format", "raw", records).raw
    (tmp_path / "a.log").write_bytes(batch)
    done = kwire("dump", "--deep", tmp_path / "a.log", "--key", "int", "--value", "json", "--format", "table")
    assert done.out.splitlines()[-1].split()[-2:] == ["7", '[1,"x"]']


def test_frames_hide_redacted_fields_in_records_as_bytes():
    formats = library.serdes(value="json", redact=["value.card.*"])
    frames = library.read_frames(CAPTURE, serdes=formats)
    produced = next(frame for frame in frames if frame.body and frame.body.message == "ProduceRequest")
    (topic,) = produced.to_json()["body"]["topicData"]
    assert topic["partitionData"][0]["records"].startswith("<redacted ")
    with pytest.raises(library.InputError, match="the frame holds secrets"):
        produced.to_json(lossless=True)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("value == -5", [1]), ("value != -5", [0, 2]), ("value > 4", [0, 2]), ('key == "k1"', [1]), ("key == 1", [])],
)
def test_numbers_are_compared_as_what_they_are(text, chosen, tmp_path):
    values = [base64.b64encode(number.to_bytes(8, "big", signed=True)).decode() for number in (5, -5, 7)]
    file = tmp_path / "00000000000000000000.log"
    rows = [{"offset": at, "key": {"text": f"k{at}"}, "value": value} for at, value in enumerate(values)]
    file.write_bytes(library.write_records([{"baseOffset": 0, "records": rows}]))
    done = kwire("dump", "--deep", file, "--value", "long", "--filter", text, "--format", "jsonl")
    assert [record["offset"] for record in records(done)] == chosen
