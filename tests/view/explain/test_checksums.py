"""A single flipped bit is found from the checksum alone."""

import pytest
from hypothesis import given, strategies as st
from kit.logs import segments

from kwire_cli.records.codecs import crc32, crc32c
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.view.explain.messages import explain_items
from kwire_cli.view.explain.model import Look, Step
from kwire_cli.view.explain.workings import POLYNOMIALS, flipped_bit


@pytest.mark.parametrize(("name", "checksum"), [("crc32", crc32), ("crc32c", crc32c)])
@given(data=st.data())
def test_the_bit_is_found(name, checksum, data):
    raw = bytearray(data.draw(st.binary(min_size=1, max_size=200)))
    at, bit = data.draw(st.integers(0, len(raw) - 1)), data.draw(st.integers(0, 7))
    before = checksum(raw)
    raw[at] ^= 1 << bit
    assert flipped_bit(len(raw), before ^ checksum(raw), POLYNOMIALS[name]) == (at, bit)


def test_two_flipped_bits_are_no_single_one():
    raw = bytearray(200)
    before = crc32c(raw)
    raw[3] ^= 1
    raw[100] ^= 0x10
    assert flipped_bit(len(raw), before ^ crc32c(raw), POLYNOMIALS["crc32c"]) is None


@pytest.mark.parametrize("name", ["orders-zstd-0", "v0-kp-snappy-0", "v1-kp-gzip-0"])
@pytest.mark.parametrize(("byte", "bit", "said"), [(100, 3, "with bit 3 of byte 100"), (None, None, "")])
def test_a_damaged_batch_tells_which_bit(name, byte, bit, said):
    raw = bytearray(segments()[name])
    if byte is not None:
        raw[byte] ^= 1 << bit
    text = checksum_working(bytes(raw))
    assert ("One bit makes the difference" in text) == (byte is not None)
    assert said in text


def test_a_bit_of_the_checksum_itself():
    raw = bytearray(segments()["orders-zstd-0"])
    raw[18] ^= 2
    assert "flipped in the checksum itself" in checksum_working(bytes(raw))


def checksum_working(data):
    source = source_of(data)
    events = explain_items([next(read_items(source))], Look(every=True), source)
    [step, *_] = (event for event in events if isinstance(event, Step) and event.path == "crc")
    return " ".join(step.pieces[0].working)
