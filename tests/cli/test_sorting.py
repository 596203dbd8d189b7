"""`--sort` and `--top`: lines of captures, batches, records and tables of answers; the other half of --pairs."""

import csv
import io
import json

import pytest
from hypothesis import given, strategies as st
from kit.commands import ROOT, examples, json_of, kwire, lines_of

from kwire_cli.cli.captures import order_of_lines
from kwire_cli.cli.sorting import Order, Ordering, order_of

CAPTURE = ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
OTHER = ROOT / "samples/captures/ipv6.pcap"
SEGMENTS = ROOT / "samples/segments"
OFFSETS = SEGMENTS / "__consumer_offsets-0"


def rows(*words):
    done = kwire(*words, "--format", "csv")
    assert done.code == 0, done.err
    return [*csv.DictReader(io.StringIO(done.out))]


@pytest.fixture(scope="module")
def frames():
    """The lines of the capture by their frame numbers, and their latencies."""
    latencies = {int(row["frame"]): float(row["latency_us"] or 0) for row in rows("decode", CAPTURE)}
    return {line["frame"]: line for line in lines_of("decode", CAPTURE)}, latencies


# The order itself.


@examples(60)
@given(
    st.lists(st.none() | st.integers(0, 9) | st.sampled_from(["a", "b"]), max_size=300),
    st.none() | st.integers(0, 5),
    st.booleans(),
)
def test_the_first_rows_are_those_of_all_sorted(values, most, descending):
    ordering = Ordering(Order("size", descending=descending), most)
    for number, value in enumerate(values):
        ordering.add((value, number), value)
        assert len(ordering._rows) <= (len(values) if most is None else 2 * most + 64)
    present = [(value, number) for number, value in enumerate(values) if value is not None]
    present.sort(key=lambda row: (isinstance(row[0], str), row[0]), reverse=descending)
    expected = [*present, *((None, number) for number, value in enumerate(values) if value is None)]
    assert ordering.rows() == expected[:most]


def test_measures_come_largest_first_and_names_smallest_first():
    for column, values, expected in (("size", [1, 3, 2], [3, 2, 1]), ("frame", [1, 3, 2], [1, 2, 3])):
        ordering = Ordering(order_of_lines(order_of(column)), None)
        for value in values:
            ordering.add(value, value)
        assert ordering.rows() == expected
    ordering = Ordering(order_of("topics"), None)
    for value in (["b"], [], ["a", "z"]):
        ordering.add(value, value)
    assert ordering.rows() == [["a", "z"], ["b"], []]


# Lines of captures.


def test_the_slowest_with_their_requests(frames):
    by_number, latencies = frames
    slowest = sorted(latencies, key=latencies.get, reverse=True)[:3]
    pairs = lines_of("decode", CAPTURE, "--sort", "latency", "--top", "3", "--pairs")
    assert [pair["response"] for pair in pairs] == [by_number[number] for number in slowest]
    assert [pair["request"]["frame"] for pair in pairs] == [by_number[number]["requestFrame"] for number in slowest]
    table = kwire("decode", CAPTURE, "--sort", "latency", "--top", "3", "--pairs", "--format", "table").out
    assert [int(line.split()[0]) for line in table.splitlines()[1:]] == [
        number for pair in pairs for number in (pair["request"]["frame"], pair["response"]["frame"])
    ]


@pytest.mark.parametrize("fmt", ["json", "jsonl", "csv", "table", "tree", "hex"])
def test_every_format_is_sorted(fmt, frames):
    words = ("decode", CAPTURE, "--format", fmt)
    largest = max(frames[0].values(), key=lambda line: line["size"])["frame"]
    whole = kwire(*words, "--sort", "size", "--top", "1")
    alone = kwire(*words, "--frames", largest)
    assert whole.code == 0
    assert whole.out == alone.out


def test_lines_are_sorted_over_all_inputs():
    both = rows("decode", CAPTURE, OTHER)
    slowest = sorted(both, key=lambda row: float(row["latency_us"] or 0), reverse=True)[:4]
    assert rows("decode", CAPTURE, OTHER, "--sort", "latency", "--top", "4") == slowest


def test_fields_are_columns_too():
    versions = [
        line["body"]["clientSoftwareVersion"]
        for line in lines_of("decode", OTHER, "--sort", "clientSoftwareVersion", "--filter", "clientSoftwareVersion")
    ]
    assert versions == sorted(versions)
    assert len({*versions}) > 1


def test_lines_that_wait_keep_their_bytes_and_nothing_that_was_decoded(monkeypatch):
    kept, rows_of = [], Ordering.rows

    def rows_and_look(ordering):
        found = rows_of(ordering)
        kept.extend((line._frame, line._values, line.seen.frame, line.seen.plain._read) for line in found)
        return found

    monkeypatch.setattr(Ordering, "rows", rows_and_look)
    words = ("decode", CAPTURE, "--filter", "api == Metadata", "--sort", "throttleTimeMs")
    assert lines_of(*words) == sorted(
        lines_of("decode", CAPTURE, "--filter", "api == Metadata"),
        key=lambda line: "throttleTimeMs" not in line["body"],
    )
    assert kept
    assert set(kept) == {(None, None, None, None)}


# Batches and records.


@pytest.mark.parametrize("command", [("dump",), ("decode", "--records", "size")])
def test_the_largest_batches(command):
    (file,) = OFFSETS.glob("*.log")
    sizes = [line["size"] for line in lines_of(*command, file, "--sort", "size", "--top", "3")]
    assert sizes == sorted((line["size"] for line in lines_of("dump", file)), reverse=True)[:3]


def test_the_largest_records_of_a_folder():
    found = rows("dump", SEGMENTS, "--deep", "--sort", "valueSize", "--top", "4")
    every = rows("dump", SEGMENTS, "--deep")
    assert [int(row["valueSize"]) for row in found] == sorted(int(row["valueSize"] or 0) for row in every)[::-1][:4]
    assert all(row in every for row in found)


def test_the_order_of_a_key_tells_no_secret():
    metadata = [*SEGMENTS.glob("__cluster_metadata-0")]
    assert metadata
    shown = rows("dump", *metadata, "--deep", "--sort", "value")
    assert [row["value"] for row in shown if row["value"]] == sorted(row["value"] for row in shown if row["value"])


# Tables of answers.


def test_the_table_that_has_the_column_is_sorted_and_others_stay():
    words = ("stats", OTHER)
    before = json_of(*words)["tables"]
    after = json_of(*words, "--sort", "client")["tables"]
    assert after["client"] == sorted(before["client"], key=lambda row: row["client"])
    assert after["client"] != before["client"]
    assert after["api"] == before["api"]


def test_a_named_table_is_sorted():
    words = ("stats", OTHER, "--format", "json", "--sort", "requests", "--top", "1", "--table", "topic")
    tables = json.loads(kwire(*words).out)["tables"]
    assert len(tables["topic"]) == 1
    assert len(tables["api"]) > 1


# --filter with --pairs.
