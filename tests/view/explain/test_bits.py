"""What is said of bits is so: the last number in each working is the value."""

import re

import pytest
from hypothesis import given, strategies as st

from kwire_cli.structs.numbers import INTS, UUID, UVARINT, ZIGZAG, ZIGZAG_LONG, Varint
from kwire_cli.structs.records import v2
from kwire_cli.view.explain import workings


def last(text):
    return int(re.findall(r"-?\d+", text)[-1])


@given(st.binary(min_size=1, max_size=8), st.booleans())
def test_integers_of_fixed_size(raw, signed):
    assert last(workings.fixed_working(raw, signed=signed)) == int.from_bytes(raw, "big", signed=signed)


def test_an_integer_with_its_highest_bit_set():
    assert (
        workings.fixed_working(b"\xff\xff", signed=True) == "0xffff = 65535; less 65536, as the highest bit is set: -1"
    )
    assert workings.fixed_working(b"\xff\xff", signed=False) == "0xffff = 65535"


def varints(most):
    return st.lists(st.integers(0, 127), min_size=1, max_size=most).map(
        lambda groups: bytes([*(0x80 | g for g in groups[:-1]), groups[-1]])
    )


@given(varints(5))
def test_unsigned_varints(raw):
    value = UVARINT.read(raw)
    assert last(workings.varint_working(raw)) == value % (1 << 32)
    assert workings.varint_working(raw).count("1|") == len(raw) - 1


@given(varints(5))
def test_zigzag_varints(raw):
    assert last(workings.zigzag_working(raw, 32)) == ZIGZAG.read(raw)


@given(varints(10))
def test_zigzag_varlongs(raw):
    assert last(workings.zigzag_working(raw, 64)) == ZIGZAG_LONG.read(raw)


@given(varints(3))
def test_upacked_varints(raw):
    assert last(workings.upacked_working(raw, 16)) == Varint("int16", 16, zigzag=False).read(raw)


def test_a_varint_of_two_bytes():
    assert workings.varint_working(b"\xac\x02") == "1|0101100 0|0000010: last group first, 0000010 0101100 = 300"
    assert workings.zigzag_working(b"\x05", 32) == "0|0000101 = 5; odd: -(5 + 1) / 2 = -3"
    assert workings.varint_working(b"\xff\xff\xff\xff\x7f").endswith("of which 32 bits are kept = 4294967295")


@given(st.binary(min_size=16, max_size=16))
def test_uuids(raw):
    usual, kafka = workings.uuid_working(raw).split(", in Kafka's text ")
    assert bytes.fromhex(usual.replace("-", "")) == raw
    assert kafka == UUID.read(raw)


@pytest.mark.parametrize("attributes", [0, 0x33, 0x7FFF, -1])
def test_attribute_bits(attributes):
    raw = INTS["int16"].build(attributes)
    first, *lines = workings.bits_working(raw, v2.ATTRIBUTES)
    assert int(first.partition("= ")[2].replace(" ", ""), 2) == attributes % 65536
    assert len(lines) == len(v2.ATTRIBUTES) + bool(attributes & 0xFF80)
    for part, line in zip(v2.ATTRIBUTES, lines, strict=False):
        assert f" = {part.read(attributes):0{part.width}b}: {part.name} " in line
