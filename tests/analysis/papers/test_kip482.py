"""Every number of KIP-482, reproduced or corrected; what is measured is tried on both sides of each boundary."""

import base64

import pytest
from command_line import kwire as run

import kwire_cli as kwire
from kwire_cli.analysis.papers import kip482 as measured
from kwire_cli.analysis.papers.claims import paper
from kwire_cli.analysis.papers.kip482 import MESSAGES
from kwire_cli.structs.lengths import ArrayOf, Sized
from kwire_cli.structs.numbers import INTS


@pytest.fixture(scope="module")
def found():
    return paper("kip482", kwire.catalog())


def claims_about(found, text):
    return [claim for claim in found.claims if text in claim.statement]


@pytest.mark.parametrize(
    ("statement", "says", "measured", "verdict"),
    [
        ("the bytes of 300", ("ac 02",), ("ac 02",), "same"),
        ("fewest and most bytes of a length", (1, 5), (1, 5), "same"),
        ("more bits unsigned than signed", (0,), (0,), "same"),
        ("header's version in inflexible and flexible requests", (0, 1), (1, 2), "explained"),
        ("the flexible header with a client id", (15,), (16,), "explained"),
        ("header's version in inflexible and flexible responses", (0, 1), (0, 1), "same"),
        ("the same of ApiVersions", (0, 1), (0, 0), "explained"),
        ("the largest tag", (2147483647,), (2147483647,), "same"),
        ("bytes of tagged fields that are not present", (0,), (0,), "same"),
        ("a section without tagged fields", (1,), (1,), "same"),
        ("sections of that message", (104,), (104,), "same"),
        ("the order of the tags", (1, 5, 1000), (1, 5, 1000), "same"),
        ("bytes before 5 bytes of tag 0", (2,), (2,), "same"),
        ("whose tag the reader does not know", ("skipped",), ("kept",), "explained"),
        ("errors in the JSON of the example", (0,), (3,), "corrected"),
        ("fields of the example that break", (0,), (2,), "corrected"),
        ("tagged arrays that are refused", (0,), (0,), "same"),
        ("the same by the earlier draft", (1,), (1,), "same"),
        ("bytes saved by an array, a byte buffer, a string, of 10", (3, 3, 1), (3, 3, 1), "same"),
        ("the same at the longest", (3, 3, 1), (-1, -1, -1), "corrected"),
        ("bytes saved of a MetadataResponse", (811,), (811,), "same"),
        ("bytes saved of an ApiVersionsResponse", ("some",), (-41,), "explained"),
        ("arrays of objects", (0,), (9,), "corrected"),
        ("take more space with all fields tagged", (8,), (6,), "explained"),
        ("escape bytes", ("less",), ("less",), "same"),
    ],
)
def test_a_number(found, statement, says, measured, verdict):
    [claim] = claims_about(found, statement)
    assert (claim.says, claim.measured, claim.verdict) == (says, measured, verdict)
    assert claim.why or verdict == "same"


def test_the_compact_forms_say_null_nothing_and_one_by_0_1_and_2(found):
    claims = claims_about(found, "the length of null")
    assert [claim.where for claim in claims] == ["Compact Arrays", "Compact Bytes", "Compact String"]
    assert {claim.verdict for claim in claims} == {"same"}
    assert len(found.claims) == 25 + 3


@pytest.mark.parametrize("kind", ["array", "bytes", "string"])
@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16382, 16383])
def test_the_saving_of_a_length_is_that_of_the_whole_value(kind, length):
    value = {"array": [0] * length, "bytes": base64.b64encode(bytes(length)).decode(), "string": "x" * length}[kind]
    sizes = []
    for compact in (False, True):
        layout = (
            ArrayOf(INTS["int8"], compact=compact, nullable=True)
            if kind == "array"
            else Sized(kind, compact=compact, nullable=True)
        )
        sizes.append(len(layout.build(value)))
    assert sizes[0] - sizes[1] == measured.saving(kind, length)


def test_a_string_saves_one_byte_to_126_none_to_16382_and_costs_one_from_there():
    assert measured.savings("string") == [(0, 126, 1), (127, 16382, 0), (16383, 32767, -1)]


def test_arrays_and_buffers_save_three_bytes_down_to_minus_one():
    rows = [(0, 126, 3), (127, 16382, 2), (16383, 2097150, 1), (2097151, 268435454, 0), (268435455, 2147483646, -1)]
    assert measured.savings("array") == measured.savings("bytes") == rows


def test_the_differences_of_the_messages_are_explained_by_their_kinds():
    for message in MESSAGES:
        row = measured.priced(kwire.catalog(), message)
        assert measured.structs_of(kwire.catalog(), message) == row.structs
        tagged_at_default = row.inflexible - row.flexible - row.saved + row.sections
        assert tagged_at_default >= 0
        assert tagged_at_default == 0 or row.message in {
            "FetchRequest",
            "ProduceResponse",
            "ApiVersionsResponse",
            "OffsetCommitRequest",
        }


def test_the_three_faults_of_the_example_are_found_where_they_are():
    assert [name for name, _ in measured.syntax_errors()] == ["a stray {", "a missing comma", "an ellipsis"]
    assert measured.violations("kafka-4.4") == ()
    assert [found.split()[1] for found in measured.violations("kip482")] == [
        "UserAgent.taggedVersions",
        "Foos.Bar.taggedVersions",
    ]


def test_what_repeats_a_claim_prints_its_numbers(found):
    [claim] = claims_about(found, "bytes saved of a MetadataResponse")
    done = run(*claim.repeat.split()[1:], "-f", "json")
    assert done.code == 0
    assert '"difference": 811' in done.out
    [claim] = claims_about(found, "whose tag the reader does not know")
    decode, _ = claim.repeat.split(" | ")
    assert run("encode", stdin=run(*decode.split()[1:]).raw).out.strip() == decode.split()[-1]


def test_the_command_prints_it_in_every_format():
    for fmt, start in (
        ("table", "paper     KIP-482: "),
        ("json", '{\n  "title": "KIP-482: '),
        ("jsonl", '{"table":"verdicts"'),
        ("csv", "verdict,claims,meaning"),
    ):
        done = run("paper", "kip482", "-f", fmt)
        assert done.code == 0
        assert done.err == "" or fmt == "csv"
        assert done.out.startswith(start)
