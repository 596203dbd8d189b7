"""Every number of the document's draft, reproduced or corrected."""

from itertools import pairwise

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.papers import kip82 as measured
from kwire_cli.analysis.papers.claims import paper
from kwire_cli.structs.records.kip82 import KEY_RANGES


@pytest.fixture(scope="module")
def found():
    return paper("kip82", kwire.catalog())


@pytest.fixture(scope="module")
def claims(found):
    return {claim.statement: claim for claim in found.claims}


@pytest.mark.parametrize(
    ("begins", "says", "measured", "verdict"),
    [
        ("versions of Produce and Fetch", (3, 3), (3, 4), "explained"),
        ("magic byte", (2,), (2,), "same"),
        ("attribute bit", (4,), (4,), "same"),
        ("bytes that a message without headers has more", (0,), (0,), "same"),
        ("bytes of the first header", (12, 8), (12, 8), "same"),
        ("highest key", (0xFFFFFFFF,), (0xFFFFFFFF,), "same"),
        ("0x00000010", (10,), (16,), "corrected"),
        ("0x00100010", (1048592,), (1048592,), "same"),
        ("0x00220010", (2228240,), (2228240,), "same"),
        ("0x0034010", (3407888,), (213008,), "corrected"),
        ("spaces of 2100001", ("Kafka open source",) * 2, ("Open",) * 2, "corrected"),
        ("spaces of 1114000", ("Local",) * 2, ("Local",) * 2, "same"),
        ("a payload of 60 bytes", ("more than 60",), (146, 168, 149, 124, 143), "explained"),
        ("bytes saved without a KeyLength", (4,), (4,), "same"),
        ("bytes saved by a KeyLength of variable length", (4, 4, 4), (3, 2, 1), "explained"),
        ("bytes saved by a ValueLength of variable length", (4, 4, 4), (3, 2, 1), "explained"),
    ],
)
def test_a_number(claims, begins, says, measured, verdict):
    [claim] = [claim for statement, claim in claims.items() if statement.startswith(begins)]
    assert (claim.says, claim.measured, claim.verdict) == (says, measured, verdict)
    assert claim.why or verdict == "same"
    assert len(claims) == 16


def test_what_the_examples_explain(claims):
    why = {statement.split(",")[0].split(" (")[0]: claim.why for statement, claim in claims.items()}
    assert "3407888 is 0x00340010, in Testing, User" in why["0x0034010"]
    assert "0x00200b21, in Open, Infrastructure" in why["spaces of 2100001 and 2100002"]
    assert "0x0010ff90 and 0x00100590, are both in Local, Infrastructure" in why["spaces of 1114000 and 1050000"]
    assert "112 short of the first client key" in why["spaces of 1114000 and 1050000"]
    assert "value is 0x10" in why["attribute bit that says that there are headers"]


def test_the_ranges_cover_all_keys_without_a_gap(found):
    [table] = [table for table in found.tables if table.title == "The key space"]
    firsts, lasts = [row[2] for row in table.rows], [row[3] for row in table.rows]
    assert (firsts[0], lasts[-1]) == (0, (1 << 32) - 1)
    assert [first for first, _ in zip(firsts[1:], lasts, strict=False)] == [last + 1 for last in lasts[:-1]]
    assert len(table.rows) == len(KEY_RANGES) == 21
    assert table.rows[6] == ("0x00140000", "0x0014ffff", 1310720, 1376255, "Local, User")


def test_headers_cost_more_the_more_there_are_in_each_form():
    costs = measured.header_costs()
    assert [*costs] == ["v2", "kip82-draft", "map-pairs", "map-json", "map-avro", "wrapper"]
    assert all(one < more for sizes in costs.values() for one, more in pairwise(sizes))
    # 12 and 8 beyond the values of 16, whatever the names
    assert costs["kip82-draft"] == [28, 52, 76, 100, 124]


def test_reductions_beyond_the_longest_varint_still_save_nothing_less_than_nothing():
    # a zig-zag varint of an int32 has 4 bytes from 1048576 on, as many as it replaces
    assert measured.saved("varint-key-length", [63, 64, 8191, 8192, 1 << 20]) == (3, 2, 2, 1, 0)
    assert measured.saved("varint-value-length", [None, 0], of_value=True) == (3, 3)
    assert measured.saved("no-key-length", [None, 0, 100]) == (4, 0, 0)
    assert measured.saved("all-three", [None, 10]) == (7, 6)
