"""Columns of many messages say what the folds of each one say: values, fields, sums of bytes."""

import base64
import math
from collections import Counter

import numpy as np
import pytest
from kit.logs import record
from kit.messages import (
    FLEXIBLE,
    by_layout,
    definition,
    field,
    hostile_layouts,
    sample,
    shared,
    walked,
    without_unknown_tags,
)

import kwire_cli as kwire
from kwire_cli.engine import arrow
from kwire_cli.engine.arrow import Columns, counts_of, sum_walk
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct
from kwire_cli.engine.spans import walk
from kwire_cli.engine.values import Body, Form
from kwire_cli.message.decoded import decode_spec
from kwire_cli.structs.records import v2


def shown(node, value):
    """What a column holds, in JSON form."""
    if value is None:
        return None
    if isinstance(node, Leaf):
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(node, Array | Series):
        return [shown(node.element, each) for each in value]
    if isinstance(node, Nullable):
        return shown(node.struct, value)
    out = {each.name: shown(each, value[each.name]) for each in node.fields}
    for each, default in node.tags.known.values() if node.tags else ():
        if (tagged := shown(each, value[each.name])) not in (None, default):
            out[each.name] = tagged
    return out


def without_null_tags(node, value):
    """The value without tagged fields that are null: a column has a null for these and for those that are left out."""
    if isinstance(node, Array):
        return value and [without_null_tags(node.element, each) for each in value]
    if isinstance(node, Nullable):
        return value and without_null_tags(node.struct, value)
    if not isinstance(node, Struct):
        return value
    nodes = {
        each.name: each
        for each in (*node.fields, *(each for each, _ in (node.tags.known.values() if node.tags else ())))
    }
    tagged = nodes.keys() - {each.name for each in node.fields}
    return {
        name: without_null_tags(nodes[name], each)
        for name, each in value.items()
        if name not in tagged or each is not None
    }


def bodies_of(spec, version, entry, bodies):
    return [Body(spec, version, version, entry, walk(entry, body)) for body in bodies]


def columns(entry, walk):
    """The structs of the messages that are whole, and their numbers."""
    whole = np.flatnonzero(walk.complete)
    return Columns(entry, walk.only(whole)).root(), whole


def check_columns(entry, many, decoded):
    found, which = columns(entry, many)
    assert which.tolist() == [k for k, body in enumerate(decoded) if body.complete]
    found.validate(full=True)
    for k, value in zip(which.tolist(), found.to_pylist(), strict=True):
        expected = without_unknown_tags(decoded[k].form(Form()))
        assert shown(entry.root, value) == without_null_tags(entry.root, expected)


def check_sums(spec, version, many, bodies):
    """The sums are those of the ledgers."""
    expected = Counter()
    for body in bodies:
        for row in kwire.ledger(decode_spec(spec, body, version)):
            expected[row.path, "prefix"] += row.prefix_bytes
            expected[row.path, "value"] += row.value_bytes
            expected[row.path, "count"] += row.count
    sums = Counter()
    for leaf, *numbers in counts_of(many.program, sum_walk(many, np.zeros(len(many.jobs), np.int64), 1)[0]):
        sums.update(
            {
                (leaf.path or "gap", name): number
                for name, number in zip(("prefix", "value", "count"), numbers, strict=True)
            }
        )
    assert sums == expected
    assert sum(sums[path, name] for path, name in sums if name != "count") == sum(map(len, bodies))


def check(spec, version, entry, bodies):
    many, decoded = walked(entry, bodies), bodies_of(spec, version, entry, bodies)
    check_columns(entry, many, decoded)
    check_sums(spec, version, many, bodies)


def test_all_bodies_of_the_sample():
    for layout in by_layout(sample()):
        check(*layout)


@pytest.mark.shared
def test_all_golden_bodies():
    for spec, version, entry, bodies in by_layout(shared()):
        many, decoded = walked(entry, bodies), bodies_of(spec, version, entry, bodies)
        check_columns(entry, many, decoded)


def test_damaged_bodies():
    for layout in hostile_layouts():
        check(*layout)


@pytest.mark.parametrize(
    ("kind", "bodies"),
    [
        (
            "float64",
            [
                bytes.fromhex(text)
                for text in ("7ff8000000000000", "7ff0000000000000", "fff0000000000000", "3ff8000000000000")
            ],
        ),
        ("uuid", [bytes(16), bytes(range(16)), b"\xff" * 16]),
        ("uint16", [b"\xff\xff", b"\0\1"]),
        ("bool", [b"\0", b"\1", b"\2"]),
        ("string", [b"\0\2\xc3\xa9", b"\0\1\xff", b"\0\0", b"\xff\xff", b"\0\3\xe2\x82\xac", b"\xff\xfe"]),
        ("bytes", [bytes.fromhex(text) for text in ("ffffffff", "00000000", "00000001ff", "fffffffe")]),
        ("[]int16", [bytes.fromhex(text) for text in ("ffffffff", "00000000", "0000000200010002")]),
    ],
)
def test_each_kind_of_value(kind, bodies):
    spec = definition(field(kind, nullableVersions="0+") if kind in {"string", "bytes", "[]int16"} else field(kind))
    check(spec, 0, entry_for(spec, 0), bodies)


def test_tagged_fields_that_are_left_out_are_null_and_the_last_value_counts():
    inner = [{"name": "A", "type": "int16", "tag": 0, "taggedVersions": "1+", "versions": "1+", "default": "7"}]
    spec = definition(
        {
            "name": "S",
            "type": "[]S",
            "versions": "0+",
            "fields": [{"name": "X", "type": "int8", "versions": "0+"}, *inner],
        },
        {
            "name": "T",
            "type": "string",
            "tag": 0,
            "taggedVersions": "1+",
            "versions": "1+",
            "nullableVersions": "1+",
            "default": "null",
        },
        validVersions="0-2",
    )
    entry = entry_for(spec, FLEXIBLE)
    # 1 without the tag, 2 with it, 3 with it twice; then a text in a tag of the message itself.
    body = bytes.fromhex("04" + "0100" + "02010002002a" + "030200020005" + "00020009" + "00")
    tagged = bytes.fromhex("01" + "01" + "00" + "02" + "02" + "41")
    both = [body, tagged]
    many = walked(entry, both)
    found, which = columns(entry, many)
    assert which.tolist() == [0, 1]
    assert found.to_pylist() == [
        {"s": [{"x": 1, "a": None}, {"x": 2, "a": 42}, {"x": 3, "a": 9}], "t": None},
        {"s": [], "t": "A"},
    ]
    check(spec, FLEXIBLE, entry, both)


def test_records_one_by_one():
    one = record(None, b"\1\2", 70, 9000, [("h", None)])
    entry = records_entry(v2.RECORDS)
    bodies = [v2.RECORDS.build({"records": rows}) for rows in ([one, one | {"headers": [], "key": ""}], [], [one] * 3)]
    found, _ = columns(entry, walked(entry, bodies))
    assert [len(each["records"]) for each in found.to_pylist()] == [2, 0, 3]
    first, second = found[0].as_py()["records"]
    assert first == {"length": first["length"], **one, "value": b"\1\2"}
    assert (second["key"], second["headers"]) == (b"", [])


def test_what_attribute_bits_bring_has_no_column():
    entry = records_entry(v2.BATCHES)
    with pytest.raises(TypeError, match="has no column"):
        columns(entry, walked(entry, [b""]))


def test_more_bytes_than_a_column_can_have_are_refused(monkeypatch):
    spec = definition(field("bytes"))
    many = walked(entry_for(spec, 0), [b"\0\0\0\x08" + bytes(8)] * 3)
    monkeypatch.setattr(arrow, "MOST_BYTES", 23)
    with pytest.raises(kwire.InputError, match="take fewer messages at once"):
        columns(entry_for(spec, 0), many)
