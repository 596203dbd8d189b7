"""Formats v0 and v1, and the drafts."""

import pytest
from kit.logs import message, with_crc, wrapper

import kwire_cli as kwire
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write


def read(data, **options):
    (found,) = kwire.read_records(data, **options)
    return found


def offsets(found):
    return [each.offset for each in found.records()]


def codes(found):
    return [note.code for note in found.anomalies]


def messages(name, numbers, **more):
    return b"".join(message(name, number, b"k", b"v%d" % number, **more) for number in numbers)


def test_a_message_of_v0():
    shown = read(message("v0", 5, b"k", None)).to_json()
    assert shown["magic"] == 0
    assert shown["timestampType"] == "NoTimestampType"
    assert (
        shown["maxTimestamp"],
        shown["producerId"],
        shown["isControl"],
        shown["deleteHorizonMs"],
        shown["count"],
    ) == (-1, -1, False, None, None)
    assert shown["records"] == [
        {
            "offset": 5,
            "timestamp": -1,
            "sequence": -1,
            "keySize": 1,
            "valueSize": -1,
            "key": "aw==",
            "value": None,
            "headers": [],
        }
    ]
    assert shown["anomalies"] == []


def test_a_wrapper_with_offset_0_begins_at_0():
    found = read(wrapper("v1", 0, messages("v1", [0, 1, 2])))
    assert (found.head.base_offset, offsets(found), codes(found)) == (0, [0, 1, 2], [])


def test_a_wrapper_below_its_messages_is_said():
    found = read(wrapper("v1", 1, messages("v1", [0, 1, 2])))
    assert (offsets(found), codes(found)) == ([0, 1, 2], ["LAST_OFFSET_MISMATCH"])


def test_zstd_is_said_and_read():
    found = read(wrapper("v1", 1, messages("v1", [0, 1]), 4))
    assert (found.compression, offsets(found), codes(found)) == ("zstd", [0, 1], ["COMPRESSION_NOT_VALID"])


def test_nested_wrappers_are_not_opened():
    inner = wrapper("v1", 1, messages("v1", [0, 1]))
    found = read(wrapper("v1", 5, inner))
    (only,) = found.records()
    assert codes(found) == ["NESTED_COMPRESSION"]
    assert only.offset == 5
    assert only.value.startswith(b"\x1f\x8b")


def test_empty_wrappers():
    assert codes(read(wrapper("v1", 5, b""))) == ["EMPTY_WRAPPER"]
    assert "NULL_NOT_ALLOWED" in codes(read(message("v1", 5, None, None, attributes=1)))


def test_inner_faults_are_said():
    inner = bytearray(messages("v1", [0, 1]))
    inner[-1] ^= 1
    found = read(wrapper("v1", 1, bytes(inner)))
    assert codes(found) == ["CRC_MISMATCH"]
    assert found.anomalies[0].path == "records[1].crc"
    assert "decompressed" in found.anomalies[0].detail
    assert codes(read(wrapper("v1", 1, messages("v1", [0, 1]) + b"\xff" * 30))) == ["CORRUPT"]
    assert codes(read(wrapper("v1", 1, messages("v1", [0, 1]) + messages("v1", [2])[:20]))) == ["TRUNCATED"]


@pytest.mark.parametrize("keys", [(7, 1), (1, 1), (0x80000000, 2)])
def test_headers_of_the_draft_ascend(keys):
    headers = [{"key": key, "value": ""} for key in keys]
    data = message("kip82-draft", 3, b"k", b"v", attributes=16, headers=headers)
    assert [(note.code, note.path) for note in read(data, format="kip82-draft").anomalies] == [
        ("HEADER_ORDER", "headers")
    ]
    inside = read(wrapper("kip82-draft", 3, data), format="kip82-draft")
    assert [(note.code, note.path) for note in inside.anomalies] == [("HEADER_ORDER", "records[0].headers")]


def test_a_header_of_the_draft_without_a_value():
    data = message("kip82-draft", 3, b"k", b"v", attributes=16, headers=[{"key": 1, "value": ""}])
    at = data.index(b"\0\0\0\1\0\0\0\0") + 4
    found = read(with_crc("kip82-draft", data[:at] + b"\xff" * 4 + data[at + 4 :]), format="kip82-draft")
    assert codes(found) == ["NULL_NOT_ALLOWED"]
    assert found.to_json()["records"][0]["headers"] == [{"key": 1, "value": None}]


def set_of_messages(codec="none"):
    text = {"timestamp": 9, "key": {"text": "k"}, "value": {"text": "v"}}
    records = [text, text | {"key": None}, text | {"value": None}, {"timestamp": 9, "control": {"type": "ABORT"}}]
    item = {"baseOffset": 20, "producerId": 7, "producerEpoch": 1, "baseSequence": 0, "isTransactional": True}
    return write([item | {"compression": codec, "records": records}], form="kip98-draft")


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_draft_of_kip_98(codec):
    data = set_of_messages(codec)
    assert LAYOUTS["kip98-draft"].head.size == 45
    shown = read(data, format="kip98-draft").to_json()
    assert (
        shown["baseOffset"],
        shown["lastOffset"],
        shown["producerId"],
        shown["isTransactional"],
        shown["anomalies"],
    ) == (20, 23, 7, True, [])
    assert [(each["offset"], each["sequence"], each["key"], each["value"]) for each in shown["records"]] == [
        (20, 0, "aw==", "dg=="),
        (21, 1, None, "dg=="),
        (22, 2, "aw==", None),
        (23, 3, "AAAAAQ==", None),
    ]
    assert shown["records"][3]["control"] == {"type": "ABORT"}  # the other way round than as shipped


def test_a_wrong_checksum_in_the_draft_of_kip_98():
    data = bytearray(set_of_messages())
    data[-5] ^= 1
    found = read(with_crc("kip98-draft", bytes(data)), format="kip98-draft")
    assert codes(found) == ["CRC_MISMATCH"]
    assert found.anomalies[0].path == "messages[3].crc"
