import gc
import gzip
import mmap
import random
import struct
import subprocess
import sys
import tracemalloc

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given, strategies as st

from kwire_cli.engine.codes import COMPRESSION
from kwire_cli.errors import EncodeError
from kwire_cli.records.codecs import Limits, Unpacked
from kwire_cli.records.compression import CODECS, compress, decompress

LIMITS = Limits()
PACKED = {number: name for number, name in CODECS.items() if number}
LINES = b"".join(b'{"order":%d,"state":"paid"}' % number for number in range(80))
NOISE = random.Random(7).randbytes(300)

# Small streams of every shape, for what is done to each of their bytes, and what is in them.
STREAMS = [
    (1, gzip.compress(LINES), LINES),
    (1, gzip.compress(NOISE) + gzip.compress(b"") + compress(1, LINES), NOISE + LINES),
    (2, compress(2, LINES), LINES),
    (2, bytes(cramjam.snappy.compress_raw(LINES)), LINES),
    (2, compress(2, LINES[:800]) + compress(2, NOISE), LINES[:800] + NOISE),
    (3, compress(3, LINES), LINES),
    (3, compress(3, NOISE), NOISE),
    (3, lz4.frame.compress(LINES, block_linked=True, block_checksum=True, content_checksum=True), LINES),
    (4, compress(4, LINES), LINES),
    (
        4,
        zstandard.ZstdCompressor(write_checksum=True, level=12).compress(LINES) + compress(4, NOISE),
        LINES + NOISE,
    ),
]
IDS = [f"{CODECS[codec]}-{number}" for number, (codec, *_) in enumerate(STREAMS)]


def checked(codec, data, limits=LIMITS, magic=2):
    """What comes out; whatever it is, it keeps the promises."""
    got = decompress(codec, data, limits, magic=magic)
    assert isinstance(got, Unpacked)
    assert isinstance(got.data, bytes)
    assert got.code is None or got.code in COMPRESSION
    assert bool(got.code) == bool(got.detail)
    assert 0 <= got.used <= len(data)
    assert len(got.data) <= limits.room(len(data))
    return got


def test_names():
    assert CODECS == {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
@given(data=st.one_of(st.binary(max_size=500), st.binary(min_size=1, max_size=20).map(lambda part: part * 20_000)))
def test_round_trip(codec, magic, data):
    packed = compress(codec, data, magic=magic)
    assert checked(codec, packed, magic=magic) == (data, None, "", len(packed))


@pytest.mark.parametrize(("codec", "levels"), [(1, (-1, 1, 9)), (3, (1, 9, 17)), (4, (-131072, -1, 1, 22))])
def test_levels(codec, levels):
    lowest, *_, highest = levels
    for level in levels:
        # zstd takes seconds to make ready for its highest levels.
        assert checked(codec, compress(codec, LINES, level=min(level, 17))).data == LINES
    for level in (lowest - 1, highest + 1):
        with pytest.raises(EncodeError, match=f"{lowest} to {highest}, not {level}"):
            compress(codec, LINES, level=level)


def test_what_there_is_not():
    with pytest.raises(EncodeError, match="no levels"):
        compress(2, LINES, level=1)
    with pytest.raises(EncodeError, match="number 5"):
        compress(5, LINES)
    for codec in (5, 6, 7, 8, -1):
        assert checked(codec, LINES)[:2] == (b"", "UNKNOWN_COMPRESSION")


@pytest.mark.parametrize(("codec", "data", "text"), STREAMS, ids=IDS)
def test_bytes_of_any_kind(codec, data, text):
    whole = checked(codec, data)
    assert (whole.data, whole.used) == (text, len(data))
    with mmap.mmap(-1, len(data)) as area:
        area[:] = data
        gc.disable()
        try:
            assert checked(codec, area) == whole
            assert checked(codec, memoryview(area)[: len(data) // 2]).code
            # Nothing holds on to the input, not even after a fault: the map can be closed.
            area.close()
        finally:
            gc.enable()
    assert checked(codec, bytearray(data)) == checked(codec, memoryview(b"x" + data)[1:]) == whole


@pytest.mark.parametrize(("codec", "data", "whole"), STREAMS, ids=IDS)
def test_cut_anywhere(codec, data, whole):
    lengths = []
    for size in range(len(data)):
        got = checked(codec, data[:size])
        assert whole.startswith(got.data)
        # Only streams that were joined can end early without being cut.
        assert got.code in ("DECOMPRESSION_FAILED", "COMPRESSED_TRAILING_BYTES") or len(got.data) < len(whole)
        lengths.append(len(got.data))
    assert lengths == sorted(lengths)


@pytest.mark.parametrize(("codec", "data"), [stream[:2] for stream in STREAMS], ids=IDS)
def test_any_bit_wrong(codec, data):
    for at in range(len(data)):
        for bit in (1, 0x80):
            hurt = bytearray(data)
            hurt[at] ^= bit
            checked(codec, hurt, Limits(output=1 << 20), magic=at % 3)


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.binary(max_size=200), start=st.integers(0, 30))
def test_any_bytes(codec, data, start):
    checked(codec, data, Limits(output=100_000))
    checked(codec, compress(codec, LINES)[:start] + data, Limits(output=100_000))


ZEROS = bytes(1 << 22)


def xerial_chunk(data):
    block = bytes(cramjam.snappy.compress_raw(data))
    return struct.pack(">i", len(block)) + block


def lz4_block(data):
    return lz4.frame.compress(data, block_size=7, block_linked=False, store_size=False)[7:-4]


# Each says, or becomes, more than 10 GB, but for snappy, which can't compress that well.
BOMBS = {
    "gzip": (1, gzip.compress(ZEROS) * 2500),
    "snappy declared": (2, b"\xff\xff\xff\xff\x0f" + b"\xfe\x01\x00" * 100),
    "snappy": (2, compress(2, b"") + xerial_chunk(ZEROS) * 50),
    "lz4": (3, bytes.fromhex("04224d18607073") + lz4_block(ZEROS) * 2500),
    "zstd": (
        4,
        b"\x28\xb5\x2f\xfd\x00\x58"
        + struct.pack("<I", 1 << 17 << 3 | 1 << 1)[:3].join([b"", *[b"\0"] * 80_000])
        + b"\x01\0\0",
    ),
    "zstd declared": (4, b"\x28\xb5\x2f\xfd\xc0\x58" + struct.pack("<Q", 10**10) + b"\x02\0\x10\0" * 80_000),
    "zstd frames": (4, zstandard.ZstdCompressor().compress(ZEROS) * 2500),
}


@pytest.mark.parametrize(("codec", "data"), BOMBS.values(), ids=BOMBS)
def test_bombs(codec, data):
    limit = 1 << 23
    decompress(codec, data[:100], LIMITS)  # what is imported is not counted
    tracemalloc.start()
    got = checked(codec, data, Limits(output=limit))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if got.data:
        assert got.code == "DECOMPRESSION_LIMIT"
        assert not any(got.data)
        # zstd blocks and xerial chunks that would pass the limit are not begun.
        assert limit // 2 <= len(got.data) <= limit
    assert peak < 4 * limit
    assert got.code == ("DECOMPRESSION_FAILED" if "\xff\xff" in str(data[:2], "latin-1") else "DECOMPRESSION_LIMIT")


def test_the_ratio_counts_beyond_the_floor():
    data = compress(4, bytes(20_000_000))
    limits = Limits(floor=1_000_000, ratio=100)
    got = checked(4, data, limits)
    assert (len(got.data), got.code) == (1_000_000, "DECOMPRESSION_LIMIT")
    assert "100 times" in got.detail
    assert checked(4, data, Limits(ratio=None)).code is None
    assert checked(4, data)[1:3] == (
        "DECOMPRESSION_LIMIT",
        got.detail.replace("100 times", "1000 times").replace("1000000", str(16 << 20)),
    )
    assert checked(4, compress(4, bytes(16 << 20))).code is None


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("output", [-5, 0, 1, 8099, 8100, 8101])
def test_the_limit_is_exact(codec, output):
    text = (LINES * 5)[:8100]
    got = checked(codec, compress(codec, text), Limits(output=output))
    assert got.code == (None if output >= len(text) else "DECOMPRESSION_LIMIT")
    assert text.startswith(got.data)


def test_start_up_is_a_feature():
    names = {"cramjam", "lz4", "zstandard", "crc32c"}
    code = (
        f"import sys, kwire_cli.records.compression, kwire_cli.records.codecs; assert not {names!r} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
