import struct

import cramjam
import pytest

from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import compress, decompress

TEXT = b"".join(b"record %d of the orders;" % number for number in range(6000))
MAGIC = b"\x82SNAPPY\0"
LIMITS = Limits()


def raw(data):
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(*parts, order=">", version=1, compatible=1):
    chunks = (raw(part) for part in parts)
    return (
        MAGIC
        + struct.pack(f"{order}ii", version, compatible)
        + b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)
    )


def unpacked(data, limits=LIMITS):
    return decompress(2, data, limits)


@pytest.mark.parametrize("order", "<>")
def test_xerial_with_either_byte_order(order):
    data = xerial(TEXT[:40000], TEXT[40000:], order=order)
    assert unpacked(data) == (TEXT, None, "", len(data))


def test_what_kafka_writes():
    data = compress(2, TEXT)
    assert data.startswith(MAGIC + struct.pack(">ii", 1, 1))
    sizes, at = [], 16
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        sizes.append(cramjam.snappy.decompress_raw_len(data[at + 4 : at + 4 + size]))
        at += 4 + size
    assert sizes == [1 << 15] * (len(TEXT) >> 15) + [len(TEXT) % (1 << 15)]
    assert compress(2, b"") == data[:16]


def test_the_chunks_before_a_cut_one_are_kept():
    first = TEXT[:30000]
    got = unpacked(xerial(first, TEXT[30000:60000])[:-100])
    assert got[:2] == (first, "DECOMPRESSION_FAILED")
    assert got.used == len(xerial(first))


def test_of_a_raw_block_that_is_cut_nothing_is_read():
    data = raw(TEXT)
    assert unpacked(data[: len(data) // 2])[:2] == (b"", "DECOMPRESSION_FAILED")


@pytest.mark.parametrize(
    "chunk",
    [
        struct.pack(">i", -2),
        struct.pack(">i", 0),
        struct.pack(">i", 1 << 30) + b"\x03\x08abc",
        struct.pack(">i", 9) + b"\xff\xff\xff\xff\x0f\x08abc",
        MAGIC[:4] + bytes(12),
    ],
    ids=["negative", "empty", "beyond the end", "4 GiB", "another magic"],
)
def test_chunks_that_lie(chunk):
    got = unpacked(xerial(TEXT) + chunk)
    assert got.code == "DECOMPRESSION_FAILED"
    assert got.data in (TEXT, TEXT + b"abc")


def test_a_declared_size_beyond_the_limit_is_not_begun():
    got = unpacked(raw(TEXT), Limits(output=1000))
    assert got[:2] == (b"", "DECOMPRESSION_LIMIT")
    assert str(len(TEXT)) in got.detail
    got = unpacked(xerial(TEXT[:900], TEXT), Limits(output=1000))
    assert got[:2] == (TEXT[:900], "DECOMPRESSION_LIMIT")
