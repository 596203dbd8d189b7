"""The message set of the KIP-98 draft, by hand from its text."""

import base64

import pytest

from kwire_cli import EncodeError
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import kip98, v1, v2

STAMP = "0000000000000001"
KEY_AND_VALUE = "11 00" + STAMP + "00 01 6b 76 deadbeef"
NULL_KEY = "0f 01" + STAMP + "01 76 deadbeef"
NULL_VALUE = "0f 02" + STAMP + "02 6b deadbeef"
NEITHER = "0e 07" + STAMP + "03 deadbeef"
"""The last one is a control message, besides."""
COMMON = {"timestamp": 1, "crc": 0xDEADBEEF}
VALUES = [
    {"length": 17, "attributes": 0, "offsetDelta": 0, "key": "aw==", "value": "dg=="} | COMMON,
    {"length": 15, "attributes": 1, "offsetDelta": 1, "value": "dg=="} | COMMON,
    {"length": 15, "attributes": 2, "offsetDelta": 2, "key": "aw=="} | COMMON,
    {"length": 14, "attributes": 7, "offsetDelta": 3} | COMMON,
]
ALL = KEY_AND_VALUE + NULL_KEY + NULL_VALUE + NEITHER


@pytest.mark.parametrize(
    ("data", "value"), list(zip((KEY_AND_VALUE, NULL_KEY, NULL_VALUE, NEITHER), VALUES, strict=True))
)
def test_a_message_leaves_out_what_its_bits_say_is_null(check, data, value):
    check(kip98.MESSAGES, data, {"messages": [value]})


def test_messages(check):
    found = check(kip98.MESSAGES, ALL, {"messages": VALUES})
    assert [(leaf.path, leaf.kind, leaf.start, leaf.value, leaf.end) for leaf in found.leaves][:7] == [
        ("messages[0].length", "uvarint", 0, 1, 1),
        ("messages[0].attributes", "int8", 1, 1, 2),
        ("messages[0].timestamp", "int64", 2, 2, 10),
        ("messages[0].offsetDelta", "uvarint", 10, 10, 11),
        ("messages[0].key", "bytes", 11, 12, 13),
        ("messages[0].value", "bytes", 13, 13, 14),
        ("messages[0].crc", "uint32", 14, 14, 18),
    ]
    assert [leaf.path for leaf in found.leaves][7:12] == [
        f"messages[1].{name}" for name in ("length", "attributes", "timestamp", "offsetDelta", "value")
    ]


def test_empty_is_not_null(check):
    messages = [
        {"length": 15, "attributes": 0, "offsetDelta": 0, "key": "", "value": ""} | COMMON,
        {"length": 14, "attributes": 1, "offsetDelta": 0, "value": ""} | COMMON,
        {"length": 14, "attributes": 2, "offsetDelta": 0, "key": ""} | COMMON,
    ]
    rows = ("0f 00" + STAMP + "00 00 deadbeef", "0e 01" + STAMP + "00 deadbeef", "0e 02" + STAMP + "00 deadbeef")
    check(kip98.MESSAGES, "".join(rows), {"messages": messages})


def header(length, attributes=0x10):
    return (
        f"0000000000000064 {length:08x} cafebabe 02 {attributes:04x} 00000003 0000000000000001 "
        f"0000000000000009 0002 00000005"
    )


def set_value(length, attributes, messages):
    return {
        "offset": 100, "length": length, "crc": 0xCAFEBABE, "magic": 2, "attributes": attributes, "offsetDelta": 3,
        "maxTimestamp": 1, "pid": 9,
        "epoch": 2, "sequence": 5, "messages": messages,
    }  # fmt: skip


def test_message_sets(check):
    size = 33 + len(bytes.fromhex(ALL))
    value = set_value(size, 0x10, VALUES)
    check(kip98.MESSAGE_SETS, (header(size) + ALL) * 2, {"messageSets": [value] * 2})
    assert [bits.read(0x10) for bits in kip98.ATTRIBUTES] == [0, 0, 1]


def test_compressed_messages_are_one_piece_of_bytes(check):
    check(kip98.MESSAGE_SETS, header(35, 0x11) + "ffff", {"messageSets": [set_value(35, 0x11, "//8=")]})


def test_a_set_without_messages(check):
    check(kip98.MESSAGE_SETS, header(33) * 2, {"messageSets": [set_value(33, 0x10, [])] * 2})


def test_the_header_has_45_bytes():
    assert kip98.HEADER.sizeof() == offset_of(kip98.MESSAGE_SET, "messages") == 45
    assert offset_of(kip98.HEADER, "magic") == offset_of(v2.HEADER, "magic") == 16


def test_the_space_table_of_the_document():
    payload = {"key": base64.b64encode(bytes(100)).decode(), "value": base64.b64encode(bytes(924)).decode(), "crc": 0}
    old = {"offset": 0, "magic": 1, "attributes": 0, "timestamp": 0} | payload
    for count, before, after in ((1, 34, 62), (3, 102, 96), (10, 340, 215), (50, 1700, 895), (100, 3400, 1745)):
        assert len(v1.MESSAGE_SET.build({"messages": [old] * count})) - 1024 * count == before
        messages = [{"attributes": 0, "timestamp": 0, "offsetDelta": i} | payload for i in range(count)]
        assert len(kip98.MESSAGE_SET.build(set_value(None, 0, messages))) - 1024 * count == after


def test_what_a_message_costs_besides_its_bytes():
    least = {"attributes": 1, "timestamp": 0, "offsetDelta": 0, "value": "", "crc": 0}
    assert len(kip98.MESSAGE.build(least)) == 15  # the document says 14
    assert len(kip98.MESSAGE.build({"attributes": 3, "timestamp": 0, "offsetDelta": 0, "crc": 0})) == 15


FAULTS = [
    ("12 00" + STAMP + "00 01 6b 76 deadbeef", [("TRUNCATED", "messages[0].crc", 15)]),  # one more byte is the value's
    (
        "0c 00" + STAMP + "00 01 6b 76 deadbeef",
        [("RECORD_SIZE_MISMATCH", "messages[0].length", 0), ("TRUNCATED", "messages[1].length", 17)],
    ),  # no room for a value
    ("11 00" + STAMP + "00 09 6b 76 deadbeef", [("TRUNCATED", "messages[0].key", 11)]),
    ("7f 01" + STAMP + "00 76 deadbeef", [("TRUNCATED", "messages[0].value", 11)]),
    ("ffffffff0f 03" + STAMP + "00 deadbeef", [("RECORD_SIZE_MISMATCH", "messages[0].length", 0)]),
    ("11 00" + STAMP + "00 ffffffff0f 6b 76 deadbeef", None),
]


@pytest.mark.parametrize(("data", "found"), FAULTS)
def test_a_length_that_lies(read, data, found):
    anomalies = read(kip98.MESSAGES, bytes.fromhex(data)).anomalies
    assert anomalies == found or (found is None and anomalies)


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"attributes": 1}, "key", "has no such field"),
        ({"attributes": 2}, "value", "has no such field"),
        ({"value": None}, "value", "takes base64 text"),
        ({"key": None}, "key", "is not nullable"),
    ],
)
def test_bits_and_values_have_to_agree(change, path, reason):
    message = {"attributes": 0, "timestamp": 0, "offsetDelta": 0, "key": "", "value": "", "crc": 0} | change
    with pytest.raises(EncodeError, match=reason) as caught:
        kip98.MESSAGE.build(message)
    assert caught.value.path == path


def test_null_may_be_written_or_left_out():
    message = {"attributes": 3, "timestamp": 0, "offsetDelta": 0, "crc": 0}
    assert kip98.MESSAGE.build(message | {"key": None, "value": None}) == kip98.MESSAGE.build(message)


def test_a_control_message():
    assert kip98.CONTROL_MESSAGE_KEY.build({"version": 0, "controlMessageType": 1}).hex() == "00000001"
    assert (kip98.CONTROL_TYPES[0], v2.CONTROL_TYPES[0]) == ("COMMIT", "ABORT")
    assert [bits.read(7) for bits in kip98.MESSAGE_ATTRIBUTES] == [1, 1, 1]
