"""The readers of a layout against the kernel: all golden bodies, all samples, and mutations of them.

A reader may refuse what the kernel takes, where a test says so; whatever it gives is what the kernel says.
"""

import random

import pytest
from hypothesis import given, strategies as st
from kit.messages import definition, field, sample, shared, values as values_of
from kit.peers import CATALOG, FORMS, by_reader, check, mutated, places_in, section

from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.python_source import varint_reader
from kwire_cli.engine.reader import SKIP, counter_of, reader_of
from kwire_cli.message.roles import roles
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Varint, encoded_int, unsigned_varint


def test_every_version_of_every_message_has_a_reader():
    for spec in (CATALOG.message(entry.name) for entry in CATALOG):
        for version in spec.valid_versions:
            entry = entry_for(spec, version)
            assert all(reader_of(entry, form).__name__ == "read" for form in FORMS)
            assert counter_of(entry, places_in(entry)).count.__name__ == "count"


def test_samples():
    assert all(check(row.catalog.message(row.message), row.version, row.body) for row in sample())


@pytest.mark.slow
@pytest.mark.shared
def test_all_golden_bodies():
    assert all(check(row.catalog.message(row.message), row.version, row.body) for row in shared()[::3])


def test_mutations():
    rng = random.Random(16)
    calm = [
        check(row.catalog.message(row.message), row.version, mutated(row.body, rng))
        for row in sample()
        for _ in range(12)
    ]
    assert 0.1 < sum(calm) / len(calm) < 0.9


ROWS = sample()


@given(st.sampled_from(range(len(ROWS))), st.data())
def test_any_values(number, data):
    row = ROWS[number]
    spec = row.catalog.message(row.message)
    decl = declare(spec, row.version)
    check(spec, row.version, decl.build(data.draw(values_of(decl))))


def test_an_error_code_in_an_array_is_collected_in_its_order():
    spec = definition(field("[]int16", name="ErrorCode"), field("string", name="Topic", entityType="topicName"))
    body = declare(spec, 0).build({"errorCode": [3, 0, 5], "topic": "t"})
    assert check(spec, 0, body)
    known = roles(spec, entry_for(spec, 0))
    assert by_reader(entry_for(spec, 0), body, SKIP, known.by_node).errors == [3, 5]


# Tag sections


def tagged_spec():
    return definition(
        field("int32", name="A", taggedVersions="1+", tag=0),
        field("string", name="B", taggedVersions="1+", tag=2, nullableVersions="1+", default="null"),
        field(
            "S",
            name="C",
            taggedVersions="1+",
            tag=3,
            fields=[{"name": "X", "type": "int8"}],
            nullableVersions="1+",
            default="null",
        ),
        field("[]string", name="D", taggedVersions="1+", tag=5),
        field("float64", name="E", taggedVersions="1+", tag=6),
        field("bool", name="G", versions="0", tag=7, taggedVersions="1+") | {"versions": "1+"},
    )


NAN, ZERO, MINUS_ZERO = bytes.fromhex("7ff8000000000000"), bytes(8), b"\x80" + bytes(7)
SECTIONS = {
    "none": (section(), True),
    "known": (section((0, b"\0\0\0\7"), (2, b"\2x")), True),
    "default": (section((0, b"\0\0\0\0")), False),
    "null as default": (section((2, b"\0")), False),
    "struct": (section((3, b"\1\5\0")), True),
    "presence": (section((3, b"\2\5\0")), False),
    "array": (section((5, b"\3\2a\2b")), True),
    "no elements": (section((5, b"\1")), False),
    "not a number": (section((6, NAN)), True),
    "zero": (section((6, ZERO)), False),
    "minus zero": (section((6, MINUS_ZERO)), False),
    "unknown": (section((0, b"\0\0\0\7"), (9, b"abc")), True),
    "unknown between": (section((1, b"abc"), (2, b"\2x"), (300, bytes(200))), True),
    "order": (section((2, b"\2x"), (0, b"\0\0\0\7")), False),
    "twice": (section((9, b""), (9, b"")), False),
    "size": (section((0, b"\0\0\0\7\0")), False),
    "long count": (b"\x81\0" + section((0, b"\0\0\0\7"))[1:], False),
    "many": (unsigned_varint(1 << 30) + b"\0\4\0\0\0\7", False),
    "negative tag": (b"\1\xff\xff\xff\xff\x0f\0", False),
    "beyond": (b"\1\x09\x05ab", False),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_tag_sections(name):
    data, whole = SECTIONS[name]
    assert check(tagged_spec(), 1, data) is whole


def test_a_tag_of_other_versions_is_malformed():
    spec = definition(
        field("int32", name="A", versions="1", taggedVersions="1+", tag=0),
        field("int8"),
        flexibleVersions="0+",
        validVersions="0-2",
    )
    assert not check(spec, 2, b"\1\1\0\4\0\0\0\7")
    assert check(spec, 2, b"\1\1\1\4\0\0\0\7")


# Numbers


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("zigzag", [True, False])
@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
def test_varints(kind, bits, zigzag):
    encoding = f"{'' if zigzag else 'u'}packed{bits}"
    decl = encoded_int(kind, encoding)
    assert isinstance(decl, Varint)
    spec = definition(field(kind, encoding=encoding))
    rng = random.Random(bits)
    numbers = [
        n
        for n in (
            0,
            1,
            -1,
            63,
            64,
            127,
            128,
            decl.low,
            decl.high,
            *(rng.randrange(decl.low, decl.high + 1) for _ in range(20)),
        )
        if decl.low <= n <= decl.high
    ]
    for number in numbers:
        data = decl.build(number)
        assert varint_reader(decl)(data, 0) == (number, len(data))
    for _ in range(300):
        data = rng.randbytes(rng.randrange(1, 12))
        check(spec, 0, data)
