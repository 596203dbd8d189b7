import json
import random

import pytest
from hypothesis import given, strategies as st

from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import CODECS, compress, decompress
from kwire_cli.sanitize.replacing import fitted

PACKED = sorted(set(CODECS) - {0})


def documents(size):
    some = random.Random(size)
    return json.dumps(
        [{"user": some.randrange(1000), "amount": some.random()} for _ in range(size // 30 + 1)]
    ).encode()[:size]


@pytest.mark.parametrize("codec", PACKED, ids=CODECS.get)
@pytest.mark.parametrize("size", [1, 2, 40, 300, 5000, 70_000, 300_000])
@pytest.mark.parametrize("magic", [0, 2])
def test_one_letter_fits_in_the_place_of_documents(codec, size, magic):
    like = compress(codec, documents(size), magic=magic)
    found = fitted(codec, b"x" * size, like, magic=magic)
    assert found is not None
    assert len(found) == len(like)
    back = decompress(codec, found, Limits(), magic=magic)
    assert (back.data, back.code) == (b"x" * size, None)


@given(codec=st.sampled_from(PACKED), before=st.binary(max_size=400), few=st.integers(1, 40), raw=st.booleans())
def test_what_fits_is_as_long_and_the_same(codec, before, few, raw):
    like = compress(codec, before)
    if raw and CODECS[codec] == "snappy":
        like = like[20:]  # librdkafka writes the block alone
    data = (bytes(range(few)) * 400)[: len(before)]
    found = fitted(codec, data, like)
    if found is not None:
        assert len(found) == len(like)
        back = decompress(codec, found, Limits())
        assert (back.data, back.code) == (data, None)


@pytest.mark.parametrize("codec", PACKED, ids=CODECS.get)
def test_what_cannot_be_so_small_is_refused(codec):
    assert fitted(codec, random.Random(1).randbytes(1000), compress(codec, b"x" * 1000)) is None


def test_no_codec_has_such_a_number():
    assert fitted(7, b"x", b"x") is None
