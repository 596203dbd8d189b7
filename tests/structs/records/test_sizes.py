import base64

import pytest
from hypothesis import given, strategies as st

from kwire_cli.errors import EncodeError
from kwire_cli.structs.records import kip82, kip98, v0, v1
from kwire_cli.structs.records.kip82 import REDUCED
from kwire_cli.structs.records.parts import Blank, size_of

SIZES = st.none() | st.sampled_from([0, 1, 63, 64, 100, 111, 127, 128, 16383, 16384]) | st.integers(0, 300)


def text(size):
    return None if size is None else base64.b64encode(bytes(size)).decode()


def blank(size):
    return None if size is None else Blank(size)


@given(SIZES, SIZES, st.sampled_from([0, 127, 128, 16384, (1 << 31) - 1]))
def test_it_counts_what_would_be_built_of_the_kip_98_draft(key, value, delta):
    attributes = (key is None) * kip98.NULL_KEY.mask | (value is None) * kip98.NULL_VALUE.mask
    message = {"attributes": attributes, "timestamp": 5, "offsetDelta": delta, "crc": 7}
    assert size_of(kip98.MESSAGE, message | {"key": blank(key), "value": blank(value)}) == len(
        kip98.MESSAGE.build(message | {"key": text(key), "value": text(value)})
    )


@given(SIZES, SIZES, st.sampled_from([v0.MESSAGE, v1.MESSAGE, kip82.MESSAGE, *REDUCED.values()]))
def test_it_counts_what_would_be_built_of_old_messages(key, value, decl):
    message = {
        "offset": 1,
        "crc": 7,
        "magic": 1,
        "attributes": 0,
        "timestamp": 5,
        "key": blank(key),
        "value": blank(value),
    }
    if decl is v0.MESSAGE:
        del message["timestamp"]
    assert size_of(decl, message) == len(decl.build(message | {"key": text(key), "value": text(value)}))


def test_huge_ones_are_counted_and_not_made():
    message = {
        "attributes": 0,
        "timestamp": 0,
        "offsetDelta": 1 << 28,
        "crc": 0,
        "key": Blank(1 << 28),
        "value": Blank(1 << 30),
    }
    assert size_of(kip98.MESSAGE, message) == (1 << 28) + (1 << 30) + 28


def test_a_length_that_does_not_fit_is_an_error():
    with pytest.raises(EncodeError, match="does not fit"):
        size_of(
            kip98.MESSAGE,
            {"attributes": 0, "timestamp": 0, "offsetDelta": 0, "crc": 0, "key": Blank(0), "value": Blank(1 << 31)},
        )


def test_only_bytes_can_be_blank():
    with pytest.raises(TypeError, match="does not hold bytes"):
        size_of(kip98.MESSAGE, {"attributes": 3, "timestamp": Blank(8), "offsetDelta": 0, "crc": 0})
