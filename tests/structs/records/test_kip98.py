"""The message set of the KIP-98 draft, by hand from its text."""

import pytest

from kwire_cli import EncodeError
from kwire_cli.structs.records import kip98

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
