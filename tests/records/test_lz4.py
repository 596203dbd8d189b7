import struct

import lz4.block
import lz4.frame
import pytest
from hypothesis import given, strategies as st

from kwire_cli.records.block_codecs import header_checksums
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import compress, decompress

TEXT = b"".join(b"record %d of the orders;" % number for number in range(20000))
LIMITS = Limits()


def frame(data=TEXT, size=4, *, linked=False, **options):
    """A frame of the reference library, as librdkafka uses it."""
    return lz4.frame.compress(data, block_size=size, block_linked=linked, **{"store_size": False, **options})


def unpacked(data, limits=LIMITS, magic=2):
    return decompress(3, data, limits, magic=magic)


@given(st.binary(max_size=300), st.sampled_from([4, 5, 6, 7]), st.booleans(), st.booleans(), st.booleans())
def test_whatever_the_reference_writes(data, size, linked, checksums, store_size):
    packed = frame(
        data, size, linked=linked, block_checksum=checksums, content_checksum=checksums, store_size=store_size
    )
    got = unpacked(packed)
    assert (got.data, got.used) == (data, len(packed))
    assert got.code in (None, "LZ4_DEPENDENT_BLOCKS")


# As written by Kafka: clients of 0.8 and 0.9 (and message sets of magic 0 to this day), and those after.
@pytest.mark.parametrize(("magic", "header"), [(0, "04224d1860401a"), (1, "04224d18604082"), (2, "04224d18604082")])
def test_headers_of_kafka(magic, header):
    data = compress(3, TEXT, magic=magic)
    assert data[:7].hex() == header
    assert unpacked(data, magic=magic) == (TEXT, None, "", len(data))


def test_the_broken_header_checksum():
    broken = compress(3, TEXT, magic=0)
    got = unpacked(broken)
    assert (got.data, got.code, got.used) == (TEXT, "LZ4_HEADER_CHECKSUM", len(broken))
    assert "KAFKA-3160" in got.detail
    assert unpacked(broken, magic=1).code == "LZ4_HEADER_CHECKSUM"
    # The right one is as good in magic 0; others are not, though Kafka does not look.
    assert unpacked(frame(), magic=0).code is None
    assert unpacked(broken[:6] + b"\0" + broken[7:], magic=0)[:2] == (TEXT, "LZ4_HEADER_CHECKSUM")


def test_the_broken_header_checksum_with_a_content_size():
    data = bytearray(frame(store_size=True))
    _, data[14] = header_checksums(bytes(data[:14]))
    assert unpacked(data, magic=0) == (TEXT, None, "", len(data))
    assert "KAFKA-3160" in unpacked(data).detail


@given(st.integers(0, (1 << 64) - 1), st.sampled_from([4, 5, 6, 7]))
def test_header_checksums_as_the_reference_wants_them(size, block):
    start = b"\x04\x22\x4d\x18" + bytes((0x68, block << 4)) + size.to_bytes(8, "little")
    right, _ = header_checksums(start)
    assert lz4.frame.get_frame_info(start + bytes((right,)))["content_size"] == size
    with pytest.raises(RuntimeError, match="headerChecksum"):
        lz4.frame.get_frame_info(start + bytes((right ^ 1,)))


@pytest.mark.parametrize("linked", [False, True])
def test_the_blocks_before_a_cut_one_are_kept(linked):
    data = frame(linked=linked)
    got = unpacked(data[:-1000])
    assert got.code == "DECOMPRESSION_FAILED"
    assert got.data == TEXT[: 7 << 16]


def test_a_wrong_content_size():
    for size in (len(TEXT) + 1, 1 << 60, (1 << 64) - 1):
        data = bytearray(frame(store_size=True))
        struct.pack_into("<Q", data, 6, size)
        data[14], _ = header_checksums(bytes(data[:14]))
        assert unpacked(data)[:2] == (TEXT, "LZ4_CONTENT_SIZE")
        assert unpacked(data).used == len(data)


def test_a_declared_size_is_held_against_the_limit():
    got = unpacked(frame(store_size=True), Limits(output=1000))
    assert got[:2] == (b"", "DECOMPRESSION_LIMIT")
    assert str(len(TEXT)) in got.detail
    assert unpacked(frame(), Limits(output=1000))[:2] == (TEXT[:1000], "DECOMPRESSION_LIMIT")


@pytest.mark.parametrize(
    ("flags", "descriptor", "why"),
    [
        (0xA0, 0x40, "version"),
        (0x61, 0x40, "dictionary"),
        (0x62, 0x40, "reserved"),
        (0x60, 0x30, "block size"),
        (0x60, 0xC1, "block size"),
    ],
)
def test_headers_that_nothing_reads(flags, descriptor, why):
    got = unpacked(b"\x04\x22\x4d\x18" + bytes((flags, descriptor)) + frame()[6:])
    assert got[:2] == (b"", "DECOMPRESSION_FAILED")
    assert why in got.detail


def test_a_block_longer_than_the_frame_allows():
    header = frame()[:7]
    got = unpacked(header + struct.pack("<I", (1 << 16) + 1) + bytes(1 << 17))
    assert got[:2] == (b"", "DECOMPRESSION_FAILED")
    block = lz4.block.compress(TEXT[:70000], store_size=False)
    got = unpacked(header + struct.pack("<I", len(block)) + block + bytes(4))
    assert (got.data, got.code) == (b"", "DECOMPRESSION_FAILED")
