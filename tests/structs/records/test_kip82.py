"""The message of the KIP-82 draft, by hand from its text."""

from itertools import pairwise

import pytest

from kwire_cli import EncodeError
from kwire_cli.structs.records import kip82, v1

HEADERS = "00000001 00000002 6162  80000000 00000000"
WITH = "0000000000000005 0000002c 01020304 02 18 0000000000000007 00000001 6b 00000012" + HEADERS + "ffffffff"
WITHOUT = "0000000000000006 00000017 01020304 02 00 0000000000000007 00000001 6b ffffffff"
COMMON = {"crc": 0x01020304, "magic": 2, "timestamp": 7, "key": "aw==", "value": None}
VALUES = [
    {
        "offset": 5,
        "messageSize": 45,
        "attributes": 0x18,
        "headers": [{"key": 1, "value": "YWI="}, {"key": 0x80000000, "value": ""}],
    }
    | COMMON,
    {"offset": 6, "messageSize": 23, "attributes": 0} | COMMON,
]


def test_messages_with_and_without_headers(check):
    found = check(kip82.MESSAGE_SET, WITH.replace("0000002c", "0000002d") + WITHOUT, {"messages": VALUES})
    assert [(leaf.path, leaf.kind, leaf.start, leaf.value, leaf.end) for leaf in found.leaves][6:13] == [
        ("messages[0].key", "bytes", 26, 30, 31),
        ("messages[0].headers", "int32", 31, 35, 35),
        ("messages[0].headers[0].key", "uint32", 35, 35, 39),
        ("messages[0].headers[0].value", "bytes", 39, 43, 45),
        ("messages[0].headers[1].key", "uint32", 45, 45, 49),
        ("messages[0].headers[1].value", "bytes", 49, 53, 53),
        ("messages[0].value", "bytes", 53, 57, 57),
    ]
    assert [bits.read(0x18) for bits in kip82.ATTRIBUTES] == [0, 1, 1]


def test_headers_that_are_none(check):
    message = {"offset": 5, "messageSize": 27, "attributes": 0x10, "headers": []} | COMMON
    check(
        kip82.MESSAGE_SET,
        "0000000000000005 0000001b 01020304 02 10 0000000000000007 00000001 6b 00000000 ffffffff",
        {"messages": [message]},
    )


def test_without_headers_it_is_v1():
    message = VALUES[1]
    assert kip82.MESSAGE.build(message) == v1.MESSAGE.build(message)


def test_the_bit_and_the_headers_have_to_agree():
    with pytest.raises(EncodeError, match="has no such field"):
        kip82.MESSAGE.build(VALUES[1] | {"headers": []})
    with pytest.raises(EncodeError, match="the field is missing"):
        kip82.MESSAGE.build(VALUES[1] | {"attributes": 0x10})


FAULTS = [
    (WITH, [("RECORD_SIZE_MISMATCH", "messages[0].messageSize", 8)]),  # 44 where 45 follow
    (
        WITH.replace("0000002c", "0000002d").replace("00000012", "00000011"),
        [("RECORD_SIZE_MISMATCH", "messages[0].headers", 31)],
    ),
    (
        WITH.replace("0000002c", "0000002d").replace("00000012", "7fffffff"),
        [("TRUNCATED", "messages[0].headers[2].value", 57)],
    ),
    (WITH.replace("0000002c", "0000002d").replace("00000012", "ffffffff"), None),
    (WITH.replace("0000002c", "0000002d").replace("00000002 6162", "ffffffff 6162"), None),
]


@pytest.mark.parametrize(("data", "found"), FAULTS)
def test_a_size_that_lies(read, data, found):
    anomalies = read(kip82.MESSAGE_SET, bytes.fromhex(data)).anomalies
    assert anomalies == found or (found is None and anomalies)


@pytest.mark.parametrize(
    ("key", "space", "use"),
    [
        (1, "Kafka open source", ""),
        (16, "Kafka open source", ""),
        (0x10000, "Kafka open source", "RESERVED"),
        (0x00100010, "Local", "Infrastructure"),
        (1050000, "Local", "Infrastructure"),
        (1114000, "Local", "Infrastructure"),
        (1114112, "Local", "Client"),
        (0x00150000, "Local", "RESERVED"),
        (2100001, "Open", "Infrastructure"),
        (0x00220010, "Open", "Stack/Middleware"),
        (0x0023FFFF, "Open", "Application"),
        (0x00340010, "Testing", "User"),
        (0x003FFFFF, "Testing", "RESERVED"),
        (0x00400000, "Reserved", "RESERVED"),
        (-1, "Reserved", "RESERVED"),
    ],
)
def test_the_range_of_a_key(key, space, use):
    found = kip82.key_range(key)
    assert (found.space, found.use) == (space, use)


def test_ranges_have_no_gaps():
    ranges = kip82.KEY_RANGES
    assert (ranges[0].first, ranges[-1].last) == (0, 0xFFFFFFFF)
    assert all(b.first == a.last + 1 for a, b in pairwise(ranges))


def test_order():
    assert kip82.ascending([1, 2, 0x80000000])
    assert not kip82.ascending([1, 1])
    assert not kip82.ascending([2, 1])
