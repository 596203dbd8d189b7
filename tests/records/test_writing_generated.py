"""Record sets that hypothesis makes up: written and read they say the same, and no JSON gets anything but bytes or an
EncodeError.
"""

import base64
import contextlib
import json

import pytest
from hypothesis import example, given, strategies as st
from kit.commands import examples

import kwire_cli as kwire
from kwire_cli import EncodeError
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import ITEM_KEYS, write

INT8, INT16, INT32, INT64 = (st.integers(-(1 << bits), (1 << bits) - 1) for bits in (7, 15, 31, 63))
COUNT = st.integers(0, (1 << 31) - 1)
BINARY = st.binary(max_size=40).map(lambda data: {"hex": data.hex()})
DATA = st.none() | BINARY
NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CODECS = {
    "v0": ["none", "gzip", "snappy", "lz4"],
    "v1": ["none", "gzip", "snappy", "lz4"],
    "v2": ["none", "gzip", "snappy", "lz4", "zstd"],
}


@st.composite
def records(draw, base, headers, timestamps=INT64, most=20):
    out, offset = [], base
    for _ in range(draw(st.integers(0, most))):
        row = {"offset": offset, "timestamp": draw(timestamps), "key": draw(DATA), "value": draw(DATA)}
        if headers is not None:
            row["headers"] = draw(st.lists(headers, max_size=3))
        out.append(row)
        offset += draw(st.integers(1, 1000))
    return out


@st.composite
def batches(draw):
    base = draw(st.integers(0, 1 << 40))
    appended = draw(st.booleans())
    latest = draw(INT64)
    rows = draw(
        records(base, st.fixed_dictionaries({"key": NAME, "value": DATA}), st.just(latest) if appended else INT64)
    )
    last = max([base, *(row["offset"] for row in rows)])
    return {
        "baseOffset": base,
        "lastOffset": last + draw(st.integers(0, 5)),
        "magic": 2,
        "compression": draw(st.sampled_from(CODECS["v2"])),
        "timestampType": "LogAppendTime" if appended else "CreateTime",
        "maxTimestamp": latest,
        "producerId": draw(INT64),
        "producerEpoch": draw(INT16),
        "baseSequence": draw(INT32),
        "partitionLeaderEpoch": draw(INT32),
        "isTransactional": draw(st.booleans()),
        "isControl": False,
        "deleteHorizonMs": draw(st.none() | INT64),
        "records": rows,
    }


@st.composite
def message_sets(draw, name):
    base = draw(st.integers(0, 1 << 40))
    codec = draw(st.sampled_from(CODECS.get(name, CODECS["v1"])))
    headers = st.fixed_dictionaries({"key": st.integers(0, 0xFFFFFFFF), "value": BINARY})
    rows = draw(records(base, headers if name == "kip82-draft" else None, st.just(-1) if name == "v0" else INT64))
    if codec == "none":
        rows = rows[:1] or [{"offset": base}]
    item = {"baseOffset": base, "magic": LAYOUTS[name].magic, "compression": codec, "records": rows}
    if rows:
        item["lastOffset"] = rows[-1]["offset"]
    if name == "v0":
        return item
    appended = draw(st.booleans())
    latest = draw(INT64)
    if codec == "none":
        latest = rows[0].get("timestamp", latest)
    elif appended:
        for row in rows:
            row["timestamp"] = latest
    return item | {"timestampType": "LogAppendTime" if appended else "CreateTime", "maxTimestamp": latest}


def shown(data, form):
    return [item.to_json() for item in kwire.read_records(data, format=form)]


def check(items, form):
    """What is read is what was given, and is written again in the same bytes, but for what a compressor does."""
    written = write(items, form=form)
    found = shown(written, form)
    assert len(found) == len(items)
    for item, seen in zip(items, found, strict=True):
        assert {note["code"] for note in seen["anomalies"]} <= {"EMPTY_WRAPPER", "HEADER_ORDER"}
        assert seen["crcValid"]
        assert {key: seen[key] for key in item if key != "records"} == {
            key: value for key, value in item.items() if key != "records"
        }
        for given_row, row in zip(item["records"], seen["records"], strict=True):
            for key in given_row:
                expected = given_row[key]
                if key in {"key", "value"}:
                    expected = decoded(expected)
                elif key == "headers":
                    expected = [{"key": header["key"], "value": decoded(header["value"])} for header in expected]
                assert row[key] == expected
    assert write(json.loads(json.dumps(found)), form=form) == written


def decoded(value):
    return None if value is None else base64.b64encode(bytes.fromhex(value["hex"])).decode()


@pytest.mark.slow
@given(st.lists(batches(), min_size=1, max_size=3))
def test_batches(items):
    check(items, "auto")


@given(st.lists(message_sets("v0") | message_sets("v1"), min_size=1, max_size=3))
@example(
    [{"baseOffset": 18 << 32, "magic": 0, "compression": "gzip", "records": []}]
)  # its offset reads as the size of a frame that meets another
def test_message_sets(items):
    check(items, "auto")


@examples(25)
@given(st.lists(message_sets("kip82-draft"), min_size=1, max_size=3))
def test_the_draft_of_kip_82(items):
    check(items, "kip82-draft")


@pytest.mark.slow
@given(st.lists(batches(), min_size=1, max_size=3))
def test_the_draft_of_kip_98(items):
    for item in items:
        del item["partitionLeaderEpoch"], item["deleteHorizonMs"]
        for row in item["records"]:
            del row["headers"]
    check(items, "kip98-draft")


LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["none", "gzip", "COMMIT", "/w==", 0, 2])
)
PARTS = "offset timestamp key value headers control decoded type data version text json hex gap"
WORDS = sorted(ITEM_KEYS | set(PARTS.split()))
ANYTHING = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.slow
@examples(240)
@given(
    st.lists(st.dictionaries(st.sampled_from(WORDS), ANYTHING, max_size=6), max_size=2),
    st.sampled_from(["auto", *LAYOUTS]),
    st.booleans(),
)
def test_no_json_gets_another_exception(items, form, internal):
    with contextlib.suppress(EncodeError):
        assert isinstance(write(items, form=form, topic="__consumer_offsets" if internal else None), bytes)


@pytest.mark.slow
@examples(240)
@given(st.data())
def test_a_batch_with_something_else_in_a_place(data):
    form = data.draw(st.sampled_from(["auto", *LAYOUTS]))
    item = data.draw(batches() if form in {"auto", "v2", "kip98-draft"} else message_sets(form))
    at, key = item, data.draw(st.sampled_from(sorted(item)))
    while isinstance(at[key], list) and at[key] and data.draw(st.booleans()):
        at = data.draw(st.sampled_from(at[key]))
        key = data.draw(st.sampled_from(sorted(at)))
    at[key] = data.draw(ANYTHING)
    if data.draw(st.booleans()):
        item["fields"] = data.draw(st.dictionaries(st.sampled_from(["crc", "records", "attributes", "magic"]), LEAF))
    with contextlib.suppress(EncodeError):
        assert isinstance(write([item], form=form), bytes)


DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "item",
    [
        {"records": [{"value": {"json": DEEP}}]},
        {"records": DEEP},
        {"records": [{"headers": DEEP}]},
        {"records": [{"control": {"type": "KRaftVoters", "value": {"version": 0, "voters": DEEP}}}]},
        {"crc": DEEP, "crcValid": False, "records": []},
        {"records": [{"fields": {"headers": DEEP}}]},
    ],
    ids=["value", "records", "headers", "control", "crc", "fields"],
)
def test_what_nests_without_end(item):
    with pytest.raises(EncodeError) as caught:
        write([item])
    assert len(caught.value.reason) < 500
