"""Every number of the document's draft, reproduced or corrected; none of it is by a formula, so each is tried with
other inputs too.
"""

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.papers import kip98
from kwire_cli.analysis.papers.claims import paper
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import v0, v2

OLD, NEW = (34, 102, 340, 1700, 3400), (62, 96, 215, 895, 1745)
"""The document's table."""
LIMIT = 1_000_000
"""1 MB, of a message set."""


@pytest.fixture(scope="module")
def claims():
    return {claim.statement: claim for claim in paper("kip98", kwire.catalog()).claims}


@pytest.mark.parametrize(
    ("statement", "says", "found", "verdict"),
    [
        (
            "overhead of batches of 1, 3, 10, 50, 100, old format",
            (34, 102, 340, 1700, 3400),
            (34, 102, 340, 1700, 3400),
            "same",
        ),
        (
            "overhead of batches of 1, 3, 10, 50, 100, new format",
            (62, 96, 215, 895, 1745),
            (62, 96, 215, 895, 1745),
            "same",
        ),
        ("overhead of a message in the old format", (34,), (34,), "same"),
        ("overhead of a message set", (45,), (45,), "same"),
        ("bytes that each additional message adds", (17,), (17,), "same"),
        ("least and most overhead of a message", (14, 25), (15, 28), "corrected"),
        ("the same where a message set may have 1000000 bytes", (14, 25), (15, 22), "corrected"),
        (
            "bits of a set's attributes: compression, timestamp type, transactional, unused",
            (3, 1, 1, 11),
            (3, 1, 1, 11),
            "same",
        ),
        (
            "bits of a message's attributes: null key, null value, control flag, unused",
            (1, 1, 1, 5),
            (1, 1, 1, 5),
            "same",
        ),
        ("highest sequence, after which it wraps", (2147483647,), (2147483647,), "same"),
        ("OffsetDelta of a set of 3 messages from offset 10 on", (3,), (2,), "explained"),
        ("control message types of COMMIT and ABORT", (0, 1), (0, 1), "same"),
        ("the same in shipped Kafka", (0, 1), (1, 0), "explained"),
    ],
)
def test_a_number(claims, statement, says, found, verdict):
    claim = claims[statement]
    assert (claim.says, claim.measured, claim.verdict) == (says, found, verdict)
    assert claim.why or verdict == "same"


def test_the_list_above_is_all_but_the_checksum(claims):
    assert len(claims) == 14
    claim = claims["fields of the header that the set's CRC leaves out"]
    assert (claim.measured, claim.verdict) == (("offset, length, crc",), "explained")


def test_both_readings_of_1k_give_the_table():
    # 1024 bytes of key and value; 1000; and 1024 of the whole message, of which 17 are overhead
    for data in (1024, 1000, 1024 - 17):
        assert kip98.overheads("v1", data=data) == OLD
        assert kip98.overheads("kip98-draft", data=data) == NEW


def test_17_bytes_hold_as_far_as_it_says_and_no_further():
    first, last = kip98.same_values()
    assert [kip98.beyond(100, size) for size in (first - 1, first, last, last + 1)] == [16, 17, 17, 18]
    assert kip98.added(128) == (17,)
    assert kip98.added(129) == (17, 18)


def test_the_extremes_are_extremes():
    sizes = (None, 0, 1, 127, 128, 1 << 14, 1 << 21, 1 << 28)
    tried = [
        kip98.beyond(key, value, delta)
        for key in sizes
        for value in sizes
        for delta in (0, 127, 128, 1 << 28, (1 << 31) - 1)
    ]
    assert (min(tried), max(tried)) == (15, 28)


@pytest.mark.slow  # writes two sets of 16,384 messages
def test_the_largest_under_the_limit_fits_and_is_counted_alike():
    overhead, size = kip98.largest_written()
    assert size < LIMIT
    assert overhead == kip98.beyond(1 << 14, 0, 1 << 14) == 22
    assert LIMIT < (1 << 21) * 15  # so many messages, or one of so many bytes, for one more byte


def test_what_a_checksum_leaves_out():
    assert kip98.uncovered(LAYOUTS["v2"], v2.HEADER) == [
        "baseOffset",
        "batchLength",
        "partitionLeaderEpoch",
        "magic",
        "crc",
    ]


@pytest.mark.slow  # measures the whole paper
def test_the_shipped_format_stands_beside_it():
    overheads, sizes = paper("kip98", kwire.catalog()).tables
    assert [row[:4] for row in overheads.rows] == [
        (1, 34, 62, 71),
        (3, 102, 96, 91),
        (10, 340, 215, 161),
        (50, 1700, 895, 561),
        (100, 3400, 1745, 1133),
    ]
    assert dict(sizes.rows)["key of 268435456 bytes, after 268435456 messages: varints of 5 bytes"] == 28


def test_the_old_format_without_timestamps_is_8_bytes_less():
    assert v0.MESSAGE is LAYOUTS["v0"].decl
    rows = [{"key": {"hex": "00" * 100}, "value": {"hex": "00" * 924}}]
    assert len(kwire.write_records([{"records": rows}], "v0")) - 1024 == 26
