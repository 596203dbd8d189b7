import gzip
import zlib

import pytest

from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import compress, decompress

TEXT = b"".join(b"record %d of the orders;" % number for number in range(6000))
LIMITS = Limits()


def unpacked(data, limits=LIMITS):
    return decompress(1, data, limits)


def test_a_header_with_everything():
    # Extra field, name, comment and header CRC, as RFC 1952 has them.
    header = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00abc" + b"name\0" + b"comment\0"
    header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    packer = zlib.compressobj(wbits=-15)
    data = (
        header
        + packer.compress(TEXT)
        + packer.flush()
        + zlib.crc32(TEXT).to_bytes(4, "little")
        + len(TEXT).to_bytes(4, "little")
    )
    assert unpacked(data) == (TEXT, None, "", len(data))


def test_what_java_writes():
    data = compress(1, TEXT)
    assert data[:10] == bytes.fromhex("1f8b08000000000000ff")
    assert gzip.decompress(data) == TEXT


@pytest.mark.parametrize(("at", "what"), [(-8, "CRC"), (-1, "size")])
def test_a_wrong_trailer(at, what):
    data = bytearray(gzip.compress(TEXT))
    data[at] ^= 1
    got = unpacked(data + gzip.compress(b"more"))
    assert got[:2] == (TEXT + b"more", "GZIP_CHECKSUM")
    assert what in got.detail
    assert got.used == len(data + gzip.compress(b"more"))


def test_damage_gives_what_is_before_it():
    packer = zlib.compressobj(wbits=31)
    # The third type of block, which deflate does not have.
    data = packer.compress(TEXT) + packer.flush(zlib.Z_FULL_FLUSH)
    got = unpacked(data + b"\x06" + bytes(40000))
    assert got[:2] == (TEXT, "DECOMPRESSION_FAILED")
    assert got.used == len(data)
