import cramjam
import lz4.block
import pytest
from hypothesis import given, strategies as st

from kwire_cli.records.codecs import lz4_block, snappy_block

# Texts with matches near and far, of any length.
TEXTS = st.lists(
    st.one_of(st.binary(max_size=80), st.just(b"abc" * 50), st.integers(1, 400).map(bytes)), max_size=40
).map(b"".join)
BLOCKS = {
    "snappy": (lambda text: bytes(cramjam.snappy.compress_raw(text)), snappy_block),
    "lz4": (lambda text: lz4.block.compress(text, store_size=False), lz4_block),
}


@pytest.mark.parametrize("kind", BLOCKS)
@given(text=TEXTS, room=st.integers(0, 5000))
def test_a_whole_block(kind, text, room):
    pack, unpack = BLOCKS[kind]
    block = memoryview(pack(text))
    assert unpack(block, len(text)) == text
    assert unpack(block, room) == text[:room]


@pytest.mark.parametrize("kind", BLOCKS)
@given(text=TEXTS.filter(len))
def test_a_cut_block(kind, text):
    pack, unpack = BLOCKS[kind]
    block = memoryview(pack(text))
    last = b""
    for size in range(len(block)):
        got = unpack(block[:size], 1 << 20)
        assert text.startswith(got)
        assert len(got) >= len(last)
        last = got


@pytest.mark.parametrize("kind", BLOCKS)
@given(data=st.binary(max_size=200), room=st.integers(0, 3000))
def test_any_bytes(kind, data, room):
    assert len(BLOCKS[kind][1](memoryview(data), room)) <= room


def test_far_literals_and_copies_of_snappy():
    text = bytes(range(256)) * 400
    block = memoryview(bytes(cramjam.snappy.compress_raw(text)))
    assert snappy_block(block, len(text)) == text
    # A literal whose length takes two bytes, and a copy with an offset of four: forms that writers seldom choose.
    block = (
        b"\xff\x01"
        + bytes((61 << 2,))
        + (99).to_bytes(2, "little")
        + bytes(range(100))
        + bytes((9 << 2 | 3,))
        + (100).to_bytes(4, "little")
    )
    assert snappy_block(memoryview(block), 255) == bytes(range(100)) + bytes(range(10))


def test_copies_from_the_history_of_lz4():
    history, text = bytes(range(200)), bytes(range(50, 150)) * 2
    block = lz4.block.compress(text, store_size=False, dict=history)
    assert lz4_block(memoryview(block), 1000, history) == text
    assert lz4_block(memoryview(block), 1000) != text
