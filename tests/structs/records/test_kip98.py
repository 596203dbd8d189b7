"""The message set of the KIP-98 draft, by hand from its text."""

import base64

import pytest

from kwire_cli import EncodeError
from kwire_cli.structs.records import kip98, v1

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


@pytest.mark.parametrize(
    ("data", "value"), list(zip((KEY_AND_VALUE, NULL_KEY, NULL_VALUE, NEITHER), VALUES, strict=True))
)
def test_a_message_leaves_out_what_its_bits_say_is_null(check, data, value):
    check(kip98.MESSAGES, data, {"messages": [value]})


def set_value(length, attributes, messages):
    return {
        "offset": 100, "length": length, "crc": 0xCAFEBABE, "magic": 2, "attributes": attributes, "offsetDelta": 3,
        "maxTimestamp": 1, "pid": 9,
        "epoch": 2, "sequence": 5, "messages": messages,
    }  # fmt: skip


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
