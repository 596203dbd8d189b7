"""Every code of compressed records, each with bytes that provoke it."""

import gzip
import struct

import lz4.frame
import pytest
import zstandard

from kwire_cli.engine.codes import COMPRESSION
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import compress, decompress

TEXT = b"one record after the other; " * 4000


def flipped(data, at):
    out = bytearray(data)
    out[at] ^= 0x10
    return bytes(out)


SIZED = lz4.frame.compress(TEXT, block_linked=False, store_size=True)
# A frame that says it becomes two bytes, and becomes one; its header checksum is right.
LYING = bytes.fromhex("04224d1868400200000000000000a0") + struct.pack("<I", 0x80000001) + b"a" + bytes(4)

ROWS = [
    ("UNKNOWN_COMPRESSION", 5, TEXT, b""),
    ("DECOMPRESSION_FAILED", 1, gzip.compress(TEXT)[:-8], TEXT),
    ("DECOMPRESSION_LIMIT", 1, gzip.compress(TEXT * 20), (TEXT * 20)[:1000000]),
    ("COMPRESSED_TRAILING_BYTES", 3, compress(3, TEXT) + b"more", TEXT),
    ("GZIP_CHECKSUM", 1, flipped(gzip.compress(TEXT), -6), TEXT),
    ("SNAPPY_VERSION", 2, flipped(compress(2, TEXT), 8), TEXT),
    ("LZ4_HEADER_CHECKSUM", 3, flipped(SIZED, 14), TEXT),
    (
        "LZ4_BLOCK_CHECKSUM",
        3,
        flipped(lz4.frame.compress(TEXT, block_linked=False, block_checksum=True, store_size=False), -5),
        TEXT[: 1 << 16],
    ),
    ("LZ4_CONTENT_CHECKSUM", 3, flipped(lz4.frame.compress(TEXT, block_linked=False, content_checksum=True), -1), TEXT),
    ("LZ4_CONTENT_SIZE", 3, LYING, b"a"),
    ("LZ4_DEPENDENT_BLOCKS", 3, lz4.frame.compress(TEXT, block_linked=True), TEXT),
    ("ZSTD_CHECKSUM", 4, flipped(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT), -1), TEXT),
]


@pytest.mark.parametrize(("code", "codec", "data", "found"), ROWS, ids=[row[0] for row in ROWS])
def test_a_code(code, codec, data, found):
    got = decompress(codec, data, Limits(output=1000000))
    assert got.code == code
    assert got.data == found
    assert got.detail


def test_every_code_is_provoked_here():
    assert {row[0] for row in ROWS} == set(COMPRESSION)
