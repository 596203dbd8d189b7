"""The message of the KIP-82 draft, by hand from its text."""

import pytest

from kwire_cli.structs.records import kip82

HEADERS = "00000001 00000002 6162  80000000 00000000"
WITH = "0000000000000005 0000002c 01020304 02 18 0000000000000007 00000001 6b 00000012" + HEADERS + "ffffffff"


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
