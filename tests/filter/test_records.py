"""Filters and --fields reach into batches, records, headers and payloads, and see no secret."""

import base64
import json
from pathlib import Path

import pytest
from kit.captures import spoken_capture
from kit.commands import kwire
from kit.logs import b64, batch, record
from kit.traffic import Wire

CAPTURES = [Path("samples/captures") / f"{name}.pcapng" for name in ("kafka-python-4.4.0", "sarama-0.8.2.0-3.9.2")]


def produce(number, topic, *batches):
    partition = {"index": 0, "records": b64(b"".join(batches))}
    return Wire.request("Produce", 9, number, acks=1, topicData=[{"name": topic, "partitionData": [partition]}])


def capture(*frames):
    return spoken_capture(*((0, frame) for frame in frames))


HEADERS = [("h", b"x"), ("trace-id", b"t1"), ("trace-id", b"t2")]
ONE = produce(1, "a", batch(0, [record(b"k1", b"v1", 0, 0, HEADERS)], producerId=9))
TWO = produce(2, "b", batch(0, [record(b"k2", b"\xff\x00", 0, 5), record(None, b"5", 1, 0, [("a b", None)])]))
PLAIN = Wire.request("FindCoordinator", 3, 3, "c", key="k1")
FRAMES = (ONE, TWO, PLAIN)


def numbers(text, *more, frames=FRAMES):
    done = kwire("decode", "--format", "jsonl", "--filter", text, *more, "-", stdin=capture(*frames))
    assert done.code == 0, done.err
    return [json.loads(line)["frame"] for line in done.out.splitlines()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("records.producerId == 9", [1]),
        ("body.topicData.partitionData.records.producerId == 9", [1]),
        ("partitionData.records.producerId == 9", [1]),
        ("producerId == 9", [1]),
        ("records.count == 2", [2]),
        ('records.records.key == "k1"', [1]),
        ('records.key == "k1"', [1]),
        ('key == "k1"', [1, 3]),
        ('body.key == "k1"', [3]),
        ('key ~ "^k[12]$" and api == Produce', [1, 2]),
        ("records.key == 0x6b31", [1]),
        ("value == 0xff00", [2]),
        ("value == 5", [2]),
        ('value > "v0"', [1]),
        ("records.key == null", [2]),
        ("has headers.key", [1, 2]),
        ("header.trace-id == t2", [1]),
        ('header."trace-id" == t1', [1]),
        ("header.trace-id == x", []),
        ("header.'a b' == null", [2]),
        ('has header."a b"', []),
        ("header.clientId == c", [1, 2, 3]),
        ('header."clientId" == c', []),
        ("keySize == -1", [2]),
        ("records.timestamp >= 2025-10-09T08:53:20.005Z", [2]),
        ("isTransactional == true or crcValid == false", []),
        ('not key == "k1"', [2]),
        ("topic == b and valueSize == 1", [2]),
    ],
)
def test_names_in_records(text, expected):
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("baseSequenc == 1", "no column and no field is called baseSequenc; did you mean baseSequence"),
        ("records.records.kye == 1", "no field is called kye; did you mean key?"),
        ("header.clintId == x", "no field of a frame's header is called clintId; did you mean clientId?"),
        ("payloads.data.subscribedTopicName == x", "no field is called subscribedTopicName; did you mean"),
        ("partitonData.records.producerId == 1", "no field is called partitonData; did you mean partitionData"),
    ],
)
def test_suggestions_are_names_of_the_place(text, reason):
    for words in (("--filter", text), ("--fields", text.split()[0])):
        done = kwire("decode", *words, "-", stdin=capture(PLAIN))
        assert done.code == 2
        assert reason in done.err


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_filters_find_what_json_shows(path):
    """Over real captures, each name of batches and records finds the frames whose JSON has the value."""
    lines = [json.loads(line) for line in kwire("decode", "--format", "jsonl", path).out.splitlines()]
    batches = {line["frame"]: [each for each in _batches(line.get("body")) if "baseOffset" in each] for line in lines}
    for name in ("producerId", "baseSequence", "compression", "count", "crcValid", "magic"):
        for value in {each[name] for some in batches.values() for each in some}:
            shown = json.dumps(value)
            found = kwire("decode", "--format", "jsonl", "--filter", f"records.{name} == {shown}", path).out
            expected = [number for number, some in batches.items() if any(each[name] == value for each in some)]
            assert [json.loads(line)["frame"] for line in found.splitlines()] == expected
    found = kwire("decode", "--format", "jsonl", "--filter", "records.records.valueSize >= 0", path).out
    expected = [
        number
        for number, some in batches.items()
        if any(each["valueSize"] >= 0 for one in some for each in one["records"])
    ]
    assert [json.loads(line)["frame"] for line in found.splitlines()] == expected


def _batches(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from (inner if name == "records" and isinstance(inner, list) else _batches(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _batches(inner)


def test_names_of_payloads_are_found_without_a_prefix():
    path = "samples/captures/kafka-python-4.4.0.pcapng"
    lines = [json.loads(line) for line in kwire("decode", "--format", "jsonl", path).out.splitlines()]
    payloads = {line["frame"]: line["payloads"] for line in lines if line.get("payloads")}
    assigned = [
        number
        for number, some in payloads.items()
        if any(each["type"] == "ConsumerProtocolAssignment" for each in some)
    ]
    assert assigned
    assert len(payloads) > len(assigned)
    for text, expected in [
        ("has payloads.data", [*payloads]),
        ("payloads.type == ConsumerProtocolAssignment", assigned),
        ('payloads.data.assignedPartitions.topic == "t-kafka-python"', assigned),
        ("assignedPartitions.topic == t-kafka-python", assigned),
    ]:
        found = kwire("decode", "--format", "jsonl", "--filter", text, path).out
        assert [json.loads(line)["frame"] for line in found.splitlines()] == expected


def test_fields_of_records():
    data = capture(*FRAMES)
    asked = "frame,records.producerId,records.key,header.trace-id,value"
    rows = [
        json.loads(line)
        for line in kwire("decode", "--fields", asked, "--format", "jsonl", "-", stdin=data).out.splitlines()
    ]
    assert rows[0] == {
        "frame": 1,
        "records.producerId": 9,
        "records.key": "k1",
        "header.trace-id": ["t1", "t2"],
        "value": "v1",
    }
    assert rows[1]["records.key"] == ["k2", None]
    assert rows[1]["value"] == ["base64:/wA=", "5"]
    assert rows[2] == {
        "frame": 3,
        "records.producerId": None,
        "records.key": None,
        "header.trace-id": None,
        "value": None,
    }
    table = kwire("decode", "--fields", asked, "--format", "csv", "-", stdin=data).out.splitlines()
    assert table[1:3] == ["1,9,k1,t1;t2,v1", "2,-1,k2;,,base64:/wA=;5"]


def test_records_are_opened_for_names_in_them_alone(monkeypatch):
    opened = []
    monkeypatch.setattr("kwire_cli.filter.rows.opened_batches", lambda *_, deep: opened.append(deep) or [])
    for text in (
        "errorCode != 0",
        "acks == 1",
        "header.clientId == c",
        "topic == a",
        "clientId == c and has body",
        'groupId == "g"',
    ):
        numbers(text)
    assert opened == []
    numbers("records.producerId == 9")
    assert set(opened) == {False}
    numbers("records.key == k1")
    assert True in opened


TOKEN = b"\0alice\0wonderland"
GUESSES = [
    'authBytes ~ "AGFsaWNl"',
    'authBytes == "AGFsaWNlAHdvbmRlcmxhbmQ="',
    'authBytes >= "A" and authBytes < "B"',
    'authBytes ~ "^[A-Z]"',
]


@pytest.mark.parametrize("guess", GUESSES)
def test_no_secret_is_told_by_a_filter(guess):
    frames = (Wire.request("SaslAuthenticate", 1, 1, "c", authBytes="AGFsaWNlAHdvbmRlcmxhbmQ="), PLAIN)
    assert numbers(guess, frames=frames) == []
    assert numbers(guess, "--show-secrets", frames=frames) == [1]
    assert numbers('authBytes ~ "^<redacted 17 bytes>$"', frames=frames) == [1]


@pytest.fixture
def checkpoint():
    """A checkpoint of the metadata log, and the values in it that hold secrets."""
    [path] = Path("samples/segments/__cluster_metadata-0").glob("*0000.checkpoint")
    shown = kwire("dump", "--deep", "--format", "jsonl", "--show-secrets", path).out.splitlines()
    records = [each for line in shown for each in json.loads(line).get("records", ())]
    secret = [base64.b64decode(each["value"]) for each in records if "SCRAM" in json.dumps(each.get("decoded"))]
    assert secret
    return path, secret


def test_no_secret_in_records_is_told_by_a_filter(checkpoint):
    path, secret = checkpoint
    frame = produce(1, "__cluster_metadata", path.read_bytes())
    for value in secret:
        guess = f"value == 0x{value.hex()}"
        assert numbers(guess, frames=(frame,)) == []
        assert numbers(guess, "--show-secrets", frames=(frame,)) == [1]


SEGMENT = b"".join(
    [
        batch(0, [record(b"k1", b"v1", 0, 0, [("h", b"x")]), record(b"k2", b"v2", 1)], producerId=9),
        batch(2, [record(b"k1", b"v3", 0)]),
    ]
)


@pytest.mark.parametrize(
    ("text", "batches", "records"),
    [
        ("producerId == 9", [0], [0, 1]),
        ("key == k1", [0, 2], [0, 2]),
        ("records.key == k1 and records.producerId == 9", [0], [0]),
        ("not key == k1", [0], [1]),
        ("header.h == x", [0], [0]),
        ("offset >= 1", [0, 2], [1, 2]),
        ("count == 1 or has headers.key", [0, 2], [0, 2]),
        ("kind == batch", [0, 2], [0, 1, 2]),
        ("kind == gap", [], []),
        ('value ~ "^v[23]$"', [0, 2], [1, 2]),
    ],
)
def test_batches_and_records_of_a_segment(text, batches, records):
    done = kwire("dump", "--format", "jsonl", "--filter", text, "-", stdin=SEGMENT)
    assert [json.loads(line)["baseOffset"] for line in done.out.splitlines()] == batches
    done = kwire("dump", "--deep", "--format", "jsonl", "--filter", text, "--exit-code", "-", stdin=SEGMENT)
    assert [each["offset"] for line in done.out.splitlines() for each in json.loads(line)["records"]] == records
    assert done.code == (0 if batches else 1)


def test_gaps_of_a_segment_are_found_by_their_kind():
    done = kwire("dump", "--format", "jsonl", "--filter", "kind == gap", "-", stdin=SEGMENT + b"\1" * 99)
    assert [json.loads(line)["gap"] for line in done.out.splitlines()] == ["TRUNCATED"] or "CORRUPT" in done.out


def test_no_choice_of_records_tells_a_secret(checkpoint):
    path, secret = checkpoint
    for raw in secret:
        choice = ("--filter", f"value == 0x{raw.hex()}")
        assert kwire("dump", "--exit-code", *choice, path).code == 1
        assert kwire("dump", "--exit-code", "--show-secrets", *choice, path).code == 0


@pytest.mark.parametrize("before", ["", "records.", "records.records.", "topicData.partitionData.records.records."])
@pytest.mark.parametrize("name", ["value.card.number", "value.records.id", "decoded.value.data.records.id", "key"])
def test_paths_into_decoded_data_may_have_the_path_in_the_message(tmp_path, before, name):
    value = json.dumps({"card": {"number": 7}, "records": [{"id": 7}]})
    given = json.dumps({"records": [{"key": {"text": "7"}, "value": {"text": value}}]})
    data = bytes.fromhex(kwire("encode", "--as-records", given).out)
    asked = ("--key", "json", "--value", "json", "--filter", f"{before}{name} == 7")
    shown = ("--fields", f"{before}{name}", "--format", "csv", "-")
    assert kwire("decode", *asked, *shown, stdin=capture(produce(1, "t", data))).out.split() == [f"{before}{name}", "7"]
    (tmp_path / f"{0:020}.log").write_bytes(data)
    assert len(kwire("dump", *asked, tmp_path / f"{0:020}.log", "--format", "csv").out.splitlines()) == 2
