"""Records of format v2: numbers, nulls, headers; the fold against the tree; what is odd."""

import base64
import json

import pytest
from hypothesis import given, strategies as st
from kit.logs import batch, record

import kwire_cli as kwire
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.records import v2
from kwire_cli.records.batch import Area
from kwire_cli.records.v2 import area_of
from kwire_cli.structs.records import v2 as v2_module
from kwire_cli.view.batch_json import line_pieces

LONG = 1 << 63


def read(data, **options):
    (found,) = kwire.read_records(data, **options)
    return found


def codes(found):
    return [note.code for note in found.anomalies]


def test_sequences_wrap():
    found = read(batch(0, [record(offset=i) for i in range(3)], producerId=1, baseSequence=0x7FFFFFFE))
    assert [each.sequence for each in found.records()] == [0x7FFFFFFE, 0x7FFFFFFF, 0]
    assert found.last_sequence == 0


def test_sums_wrap_as_in_java():
    found = read(batch(LONG - 1, [record(offset=1, timestamp=1)], baseTimestamp=LONG - 1, lastOffsetDelta=1))
    (only,) = found.records()
    assert (only.offset, only.timestamp, found.head.last_offset) == (-LONG, -LONG, -LONG)
    assert b"".join(line_pieces(found, label={}, deep=True))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (batch(0, [record()], recordsCount=2), ["COUNT_MISMATCH"]),
        (batch(0, [record()], recordsCount=-1), ["COUNT_MISMATCH"]),
        (batch(0, [record(), record(offset=4)]), ["LAST_OFFSET_MISMATCH"]),
        (batch(0, [record()], lastOffsetDelta=-1), ["LAST_OFFSET_MISMATCH"]),
        (batch(0, [record()], attributes=128), ["ATTRIBUTES_UNKNOWN"]),
        (batch(0, [record()], attributes=5), ["UNKNOWN_COMPRESSION"]),
        (batch(0, [record()], attributes=1), ["DECOMPRESSION_FAILED"]),
        (batch(0, [record()], packed=b"\x0c\0\0\0\x01\x01", recordsCount=1), ["TRUNCATED", "COUNT_MISMATCH"]),
    ],
)
def test_what_is_odd_is_said(data, expected):
    assert codes(read(data)) == expected


def test_a_header_without_a_key_is_said():
    found = read(batch(0, [record()], packed=bytes.fromhex("12 00 00 00 01 02 76 02 01 01")))
    assert codes(found) == ["NULL_NOT_ALLOWED"]
    assert found.to_json()["records"][0]["headers"] == [{"key": "", "value": None}]
    assert json.loads(b"".join(line_pieces(found, label={}, deep=True))) == found.to_json()


HEADERS = st.builds(
    lambda some, times: some * times,
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=4),
    st.sampled_from([1, 1, 20]),
)
RECORDS = st.lists(
    st.builds(
        record,
        key=st.none() | st.binary(max_size=200),
        value=st.none() | st.binary(max_size=9000),
        offset=st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(0, 300),
        timestamp=st.integers(-LONG, LONG - 1) | st.integers(0, 20000),
        headers=HEADERS,
    ),
    max_size=6,
)


@given(RECORDS, st.booleans())
def test_records_are_those_of_the_tree(records, appended):
    found = read(batch(5, records, baseSequence=7, attributes=8 * appended, lastOffsetDelta=(1 << 31) - 1))
    area = area_of(found, [])
    entry = records_entry(v2_module.RECORDS)
    spans = walk(entry, area.data)
    slow = v2._read_with_tree(spans, found.head, Area(area.data, 0, compressed=False), 0, [])
    assert list(found.records()) == slow
    assert [base64.b64decode(each["value"] or "") for each in records] == [each.value or b"" for each in slow]


@given(RECORDS, st.data())
def test_damaged_records_are_those_of_the_tree(records, data):
    area = bytearray(v2_module.RECORDS.build({"records": records}))
    for _ in range(data.draw(st.integers(1, 3))):
        if area:
            area[data.draw(st.integers(0, len(area) - 1))] = data.draw(st.integers(0, 255))
    area = bytes(area[: data.draw(st.integers(0, len(area)))])
    found = read(batch(5, packed=area)) if area else None
    if not found:
        return
    spans = walk(records_entry(v2_module.RECORDS), area)
    notes = []
    slow = v2._read_with_tree(spans, found.head, Area(area, 0, compressed=False), 0, notes)
    assert list(found.records()) == slow
    assert [note[:2] for note in found.anomalies if note.path.startswith("records[")] == [note[:2] for note in notes]
    assert json.loads(b"".join(line_pieces(found, label={}, deep=True))) == found.to_json()


@given(RECORDS)
def test_lines_are_those_of_the_document(records):
    found = read(batch(5, records, lastOffsetDelta=(1 << 31) - 1))
    line = b"".join(line_pieces(found, label={}, deep=True))
    assert json.loads(line) == found.to_json()
    assert list(json.loads(line)) == list(found.to_json())
    assert json.loads(b"".join(line_pieces(found, label={"file": "x"}, deep=False))) == {"file": "x"} | found.to_json(
        deep=False
    )
