"""Every number of KAFKA-9927's document, reproduced or corrected; times are measured, and not held to anything."""

import json

import pytest
from command_line import kwire as run

import kwire_cli as kwire
from kwire_cli.analysis.papers import kafka9927 as measured
from kwire_cli.analysis.papers.claims import paper
from kwire_cli.analysis.papers.kafka9927 import SIZES, measured_times
from kwire_cli.structs.numbers import encoded_int, unsigned_varint

CATALOG = kwire.catalog()
SIGNED = (
    (-2147483648, -134217727, 5), (-134217728, -1048575, 4), (-1048576, -8191, 3), (-8192, -63, 2), (-64, 63, 1),
    (64, 8191, 2), (8192, 1048575, 3), (1048576, 134217727, 4), (134217728, 2147483646, 5),
)  # fmt: skip
"""The printed histogram; its last range is open at the end, so that its highest int is one less."""
UNSIGNED = ((0, 127, 1), (128, 16383, 2), (16384, 2097151, 3), (2097152, 268435455, 4), (268435456, 4294967295, 5))


@pytest.fixture(scope="module")
def found():
    return paper("kafka9927", CATALOG, times=False)


def claim_about(found, text):
    [claim] = [claim for claim in found.claims if text in claim.statement]
    return claim


@pytest.mark.parametrize(
    ("statement", "says", "measured", "verdict"),
    [
        (
            "lower ends of the signed",
            (-2147483648, -134217728, -1048576, -8192, -64),
            (-2147483648, -134217728, -1048576, -8192, -64),
            "same",
        ),
        (
            "upper ends of the negative",
            (-134217727, -1048575, -8191, -63),
            (-134217729, -1048577, -8193, -65),
            "corrected",
        ),
        ("from 63 on", (63, 8191, 1048575, 134217727), (63, 8191, 1048575, 134217727), "same"),
        ("the largest int", (2147483646,), (2147483647,), "corrected"),
        (
            "ends of the unsigned ranges",
            (127, 16383, 2097151, 268435455, 4294967295),
            (127, 16383, 2097151, 268435455, 4294967295),
            "same",
        ),
        ("an int and of a long", (5, 9), (5, 10), "corrected"),
        ("of a negative number", ("not said",), ("ff ff 03",), "explained"),
        ("names of encodings", (9,), (9,), "same"),
        ("errors of a definition", (4,), (4,), "same"),
        ("errors in the JSON", (0,), (1,), "corrected"),
        ("bytes of tooSmall", (4, 8), (4, 8), "same"),
        ("writing 4294967296", ("range checked",), ("range checked",), "same"),
        ("the example of LeaderId", (2,), (1,), "corrected"),
        ("a partition, fixed", (17, 4), (17, 4), "same"),
        ("a partition, all unsigned", (7, 1), (7, 1), "same"),
        ("document's own grammar", (7, 1), (7, 4), "corrected"),
        ("as it is on the wire", (33,), (34,), "explained"),
        ("a topic with 100 partitions", (3216, 1170, 4026), (3529, 1304, 4338), "explained"),
        ("differences", (2046, 2856, 810), (2225, 3034, 809), "explained"),
        ("are greater than, signed", (134217727,), (134217727,), "same"),
        ("the same unsigned", (134217727,), (268435455,), "corrected"),
        ("error codes", (255, 255), (8191, 16383), "corrected"),
    ],
)
def test_a_number(found, statement, says, measured, verdict):
    claims = [claim for claim in found.claims if statement in claim.statement]
    claim = claims[0]
    assert (claim.says, claim.measured, claim.verdict) == (says, measured, verdict)
    assert claim.why or verdict == "same"


def test_the_list_above_is_all(found):
    assert len(found.claims) == 22


@pytest.mark.parametrize(("low", "high", "size"), measured.histogram())
def test_the_ranges_of_the_signed_histogram_are_as_wide_as_they_can_be(low, high, size):
    layout = encoded_int("int32", "packed32")
    assert len(layout.build(low)) == len(layout.build(high)) == size
    for beyond in (low - 1, high + 1):
        assert not layout.low <= beyond <= layout.high or len(layout.build(beyond)) != size


def test_the_printed_histogram_is_wrong_where_kwire_says_so():
    assert [row for row, printed in zip(measured.histogram(), SIGNED, strict=True) if row == printed] == [*SIGNED[4:8]]
    assert measured.unsigned_histogram() == UNSIGNED
    assert [len(unsigned_varint(high)) for _, high, _ in UNSIGNED] == [1, 2, 3, 4, 5]


def test_the_formulas_hold_for_other_numbers_of_elements():
    for replicas, isr, offline in ((0, 0, 0), (1, 2, 3), (5, 4, 0), (126, 0, 0)):
        elements = replicas + isr + offline
        assert measured.partition(CATALOG, "fixed", replicas, isr, offline) == 17 + 4 * elements
        assert measured.partition(CATALOG, "upacked", replicas, isr, offline) == 7 + elements
        assert measured.partition(CATALOG, "upacked", replicas, isr, offline, elements=False) == 7 + 4 * elements
    assert (
        measured.partition(CATALOG, "fixed", 127, 0, 0) == 17 + 4 * 127 + 1
    )  # "assuming best case": a count of two bytes


def test_no_whole_number_of_elements_gives_the_printed_sizes():
    for elements in range(2, 6):
        fixed, best, _ = measured.sizes(CATALOG, elements * measured.PARTITIONS)
        assert fixed - best != SIZES[0] - SIZES[1]
    fitting = round(measured.elements_for(CATALOG, SIZES, 0, 1) * measured.PARTITIONS)
    differences = [fixed - best for fixed, best, _ in (measured.sizes(CATALOG, fitting + more) for more in (0, 1))]
    assert differences[0] <= SIZES[0] - SIZES[1] < differences[1]


def test_the_rules_refuse_encodings_of_arrays():
    array = '{"name": "A", "type": "[]int32", "versions": "0+", "KEY": "upacked32"}'
    assert "ENCODING_TYPE" in measured.rules_broken(array.replace("KEY", "encoding"))
    assert measured.rules_broken(array.replace("KEY", "elementEncoding")) == ("UNKNOWN_KEY",)
    assert measured.rules_broken(array.replace("KEY", "elementEncoding"), "loading") == ()


def test_what_repeats_a_claim_prints_its_numbers(found):
    claim = claim_about(found, "a topic with 100 partitions")
    done = run(*claim.repeat.split()[1:], "-f", "json")
    forms = {form["form"]: form["size"] for form in json.loads(done.out)["tables"]["forms"]}
    assert (forms["fixed"], forms["upacked, best case"], forms["packed, worst case"]) == claim.measured


def test_times_are_measured_and_printed_as_ratios_to_fixed():
    rows = measured_times(CATALOG, full=False)
    assert rows[0].encoding == "fixed"
    assert all(row.encode > 0 and row.decode > 0 and row.compiled is None for row in rows)
    table = paper("kafka9927", CATALOG).tables[-1]
    assert table.title == "kwire's times as ratios to fixed"
    assert table.rows[0][1:3] == (1.0, 1.0)
    assert "this machine" in table.note


@pytest.mark.numba
def test_compiled_times(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr("kwire_cli.analysis.papers.kafka9927.LONG", 0.001)
    assert all(row.compiled for row in measured_times(CATALOG, full=True))


def test_without_times_the_command_prints_the_same_each_time():
    first, second = (run("paper", "kafka9927", "--no-times") for _ in range(2))
    assert first == second
    assert "this machine" not in first.out
    assert run("compare", "-m", "MetadataResponse", "--times").code == 2
