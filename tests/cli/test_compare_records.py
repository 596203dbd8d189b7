"""`kwire compare` of records: where records come from, how they are told from messages, and what damaged bytes do."""

import json
import random

import pytest
from kit.commands import ROOT, json_of, kwire

import kwire_cli
from kwire_cli.source.opening import holds_batches

SEGMENTS = ROOT / "samples" / "segments"
HEADERS = [{"key": "trace", "value": {"text": "1"}}]
ITEM = {"records": [{"timestamp": 5, "key": {"text": "k"}, "value": {"text": "v"}, "headers": HEADERS}]}
RECORDS = kwire_cli.write_records([ITEM])
NONE = ("--codec", "none", "--batch", "as-is")


def compared(*arguments, stdin=b""):
    return json_of("compare", *arguments, stdin=stdin)


def sizes(found):
    return {price["form"]: price["bytes"] for price in found["tables"]["forms"]}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    file = tmp_path_factory.mktemp("records") / "00000000000000000000.log"
    file.write_bytes(RECORDS)
    return compared(file, *NONE)


def test_a_file_of_any_name_a_folder_and_standard_input_are_records(tmp_path, expected):
    other = tmp_path / "other"
    other.mkdir()
    (other / "copy.bin").write_bytes(RECORDS)
    assert sizes(compared(other / "copy.bin", *NONE)) == sizes(expected)
    partition = tmp_path / "t-0"
    partition.mkdir()
    (partition / "00000000000000000000.log").write_bytes(RECORDS)
    assert sizes(compared(partition, *NONE)) == sizes(expected)
    assert sizes(compared("-", *NONE, stdin=RECORDS)) == sizes(expected)
    assert sizes(compared(*NONE, stdin=RECORDS)) == sizes(expected)


def test_bytes_as_arguments_or_in_files_are_records_when_it_is_said(tmp_path, expected):
    assert sizes(compared(RECORDS.hex(), *NONE)) == sizes(expected)
    (tmp_path / "records.hex").write_text(RECORDS.hex(" "))
    assert sizes(compared(tmp_path / "records.hex", *NONE)) == sizes(expected)


def test_records_are_taken_out_of_messages_and_bodies(expected):
    topics = [{"name": "t", "partitionData": [{"index": 0, "records": [ITEM]}]}]
    body = json.dumps({"transactionalId": None, "acks": 1, "timeoutMs": 1, "topicData": topics})
    frame = kwire("encode", "--api", "Produce", "--message-version", "9", "--kind", "request", body).out.strip()
    assert sizes(compared(frame, *NONE)) == sizes(expected)
    message = ("--message", "ProduceRequest", "--message-version", "9")
    assert sizes(compared(*message, kwire("encode", *message, body).out.strip(), *NONE)) == sizes(expected)


def test_a_capture_prices_what_is_produced_and_what_is_fetched():
    found = compared(ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng", *NONE)
    assert (found["facts"]["records"], found["facts"]["partitions"]) == (20, 4)


def test_several_inputs_are_added_up(expected, tmp_path):
    (tmp_path / "00000000000000000000.log").write_bytes(RECORDS)
    found = compared(tmp_path / "00000000000000000000.log", SEGMENTS / "orders-zstd-0", *NONE)
    alone = compared(SEGMENTS / "orders-zstd-0", *NONE)
    assert sizes(found) == {form: size + sizes(alone)[form] for form, size in sizes(expected).items()}


def test_a_draft_is_read_when_its_format_is_said(tmp_path):
    (tmp_path / "draft.bin").write_bytes(
        kwire_cli.write_records([{"records": [{"timestamp": 5, "key": {"text": "k"}}]}], "kip98-draft")
    )
    found = compared(tmp_path / "draft.bin", "--record-format", "kip98-draft", *NONE)
    assert found["facts"]["formats"] == {"kip98-draft": 1}
    assert sizes(found)["kip98-draft"] == found["facts"]["bytes"]


def test_what_holds_batches_is_told_by_name_or_content(tmp_path):
    assert not holds_batches("")
    assert "an argument is empty" in kwire("compare", "").err
    (tmp_path / "plain").write_bytes(RECORDS)
    (tmp_path / "text").write_text("0000")
    (tmp_path / "empty").write_bytes(b"")
    assert [holds_batches(str(tmp_path / name)) for name in ("plain", "text", "empty", "absent")] == [
        True,
        False,
        False,
        False,
    ]
    assert holds_batches(str(SEGMENTS))
    assert not holds_batches("00" * 5000)
    (tmp_path / "server.log").write_text("[2026-11-21 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    (tmp_path / "cut.log").write_bytes(RECORDS[:30])
    (tmp_path / "00000000000000000000.log").write_bytes(b"")
    names = ("server.log", "cut.log", "00000000000000000000.log")
    assert [holds_batches(str(tmp_path / name)) for name in names] == [False, True, True]


def test_a_register_gives_names_their_numbers(tmp_path):
    file = tmp_path / "register.json"
    file.write_text('{"trace": 7}')
    with_own = compared("--register", file, *NONE, stdin=RECORDS)
    assert sizes(with_own) == sizes(compared(*NONE, stdin=RECORDS))  # every number has four bytes


def test_headers_have_numbers():
    twice = {"key": "a", "value": {"hex": "0102"}}
    item = {"records": [{"timestamp": 5, "headers": [twice, twice, {"key": "b", "value": None}]}]}
    words = (*NONE, "--form", "kip82-draft", "--form", "map-json")
    rows = compared(*words, stdin=kwire_cli.write_records([item]))["tables"]["headers"]
    assert [row["form"] for row in rows] == ["kip82-draft", "map-json"]
    for row in rows:
        assert row["headers"] == 3
        assert row["bytes"] - row["bytesWithoutHeaders"] == row["headerBytes"]
        assert row["bytesPerHeader"] == round(row["headerBytes"] / 3, 3)
    bare = compared(*words, stdin=kwire_cli.write_records([{"records": [{"timestamp": 5}]}]))
    assert bare["tables"]["headers"][0]["bytesPerHeader"] is None


@pytest.mark.parametrize(
    "name", ["orders-zstd-0", "txn-out-0", "v0-kp-snappy-0", "v1-kp-gzip-0", "__consumer_offsets-0"]
)
def test_damaged_segments_end_in_numbers_or_in_words(name, tmp_path):
    [source] = (SEGMENTS / name).glob("*.log")
    data, chance = source.read_bytes(), random.Random(name)
    file = tmp_path / "00000000000000000000.log"
    for _ in range(10):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(bytes(broken[: chance.randint(1, len(broken))]) if chance.random() < 0.3 else bytes(broken))
        done = kwire("compare", file, "--batch", "as-is,2", "--codec", "none,as-is")
        assert done.code in {0, 2}, done.err
        assert bool(done.out) == (done.code == 0)


def test_batches_with_right_checksums_and_hostile_numbers():
    chance = random.Random(5)
    numbers = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 1 << 40]
    for magic in (0, 1, 2):
        for _ in range(15):
            rows = [{"offset": chance.choice(numbers), "value": {"text": "x"}} for _ in range(chance.randint(1, 4))]
            if magic:
                rows = [row | {"timestamp": chance.choice(numbers)} for row in rows]
            item = {"magic": magic, "compression": "gzip" if magic < 2 else "none", "records": rows}
            try:
                data = kwire_cli.write_records([item])
            except kwire_cli.EncodeError:
                continue
            done = kwire("compare", "-", "--batch", "as-is,2,all", stdin=data)
            assert done.code in {0, 2}, done.err
            assert "Traceback" not in done.err
