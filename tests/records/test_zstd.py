import struct

import cramjam
import pytest
import zstandard

from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import compress, decompress

TEXT = b"".join(b"record %d of the orders;" % number for number in range(20000))
SKIPPABLE = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"
LIMITS = Limits()


def frame(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def streamed(data, **options):
    packer = zstandard.ZstdCompressor(**options).compressobj()
    return packer.compress(data) + packer.flush()


def unpacked(data, limits=LIMITS):
    return decompress(4, data, limits)


FRAMES = {
    "with content size": frame(TEXT),
    "without content size": streamed(TEXT),
    "with checksum": frame(TEXT, write_checksum=True),
    "with all": frame(TEXT, write_checksum=True, write_content_size=True, level=19),
    "by Rust": bytes(cramjam.zstd.compress(TEXT)),
    "fast": frame(TEXT, level=-50),
}


@pytest.mark.parametrize("data", FRAMES.values(), ids=FRAMES)
def test_by_others(data):
    assert unpacked(data) == (TEXT, None, "", len(data))


def test_skippable_frames():
    data = SKIPPABLE + frame(TEXT) + SKIPPABLE + streamed(b"more") + SKIPPABLE
    assert unpacked(data) == (TEXT + b"more", None, "", len(data))
    assert unpacked(SKIPPABLE) == (b"", None, "", len(SKIPPABLE))
    assert unpacked(frame(TEXT) + SKIPPABLE[:-1])[:2] == (TEXT, "DECOMPRESSION_FAILED")
    assert unpacked(frame(TEXT) + SKIPPABLE[:6])[:2] == (TEXT, "DECOMPRESSION_FAILED")


def test_what_kafka_writes():
    data = compress(4, TEXT)
    what = zstandard.get_frame_parameters(data)
    assert (what.content_size, what.has_checksum, what.dict_id) == (zstandard.CONTENTSIZE_UNKNOWN, False, 0)


def test_cut_blocks_before_are_kept():
    data = streamed(TEXT)
    got = unpacked(data[:-10])
    assert got.code == "DECOMPRESSION_FAILED"
    assert TEXT.startswith(got.data)
    assert len(got.data) >= 3 << 17


def test_a_declared_size_is_held_against_the_limit():
    got = unpacked(frame(TEXT), Limits(output=1000))
    assert got[:2] == (b"", "DECOMPRESSION_LIMIT")
    assert str(len(TEXT)) in got.detail
    # A frame that says it holds 2^60 bytes, with 1 MiB of them, never has them allocated.
    data = (
        b"\x28\xb5\x2f\xfd\xc0\x70" + struct.pack("<Q", 1 << 60) + struct.pack("<I", 1 << 17 << 3 | 1 << 1)[:3] + b"a"
    )
    assert unpacked(data)[:2] == (b"", "DECOMPRESSION_LIMIT")


def test_a_window_beyond_the_limit_of_kafkas_reader():
    got = unpacked(b"\x28\xb5\x2f\xfd\x00\xa0" + b"\x09\0\0a")
    assert got[:2] == (b"", "DECOMPRESSION_FAILED")
    assert "memory" in got.detail


def test_a_dictionary():
    data = frame(
        TEXT, dict_data=zstandard.train_dictionary(4096, [TEXT[at : at + 400] for at in range(0, len(TEXT), 400)])
    )
    assert unpacked(data)[:2] == (b"", "DECOMPRESSION_FAILED")
    assert "dictionary" in unpacked(data).detail
