"""zstd: frames one after the other, skippable ones too, read block by block, so that what stands before a fault is kept.

A window of more than 128 MiB is refused, as by Kafka's reader: both leave libzstd's limit as it is.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.codec.model import damaged
from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.compression import (
    ZSTD_BLOCK,
    ZSTD_CHECKSUM,
    ZSTD_MAGIC,
    ZSTD_RLE,
    ZSTD_SKIPPABLE,
    ZSTD_SKIPPABLE_HEADER,
    ZSTD_SKIPPABLE_MASK,
    ZSTD_START,
)

if TYPE_CHECKING:
    from kwire_cli.codec.model import Output

LEVELS = range(-131072, 23)
DEFAULT_LEVEL = 3

_START, _SKIPPABLE, _BLOCK, _CHECKSUM = fixed(ZSTD_START), fixed(ZSTD_SKIPPABLE_HEADER), fixed(ZSTD_BLOCK), fixed(ZSTD_CHECKSUM)
_CUT = "the zstd data ends before its end"


def unpack(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`; Stop where that can't go on."""
    at, end = 0, len(data)
    while at < end:
        word = _START.unpack(data, at)[0] if end - at >= _START.size else 0
        if word == ZSTD_MAGIC:
            at = _frame(data, at, out)
        elif word & ZSTD_SKIPPABLE_MASK == ZSTD_SKIPPABLE:
            at = _skipped(data, at)
        elif at:
            out.odd("COMPRESSED_TRAILING_BYTES", f"{end - at} bytes follow the last zstd frame; Kafka's reader fails at them")
            return
        else:
            raise damaged("the data does not begin like a zstd frame")
        out.add(b"", at)


def _skipped(data: memoryview, at: int) -> int:
    """Where a skippable frame ends."""
    try:
        end = at + _SKIPPABLE.size + _SKIPPABLE.unpack(data, at)[1]
    except struct.error:
        end = len(data) + 1
    if end > len(data):
        raise damaged(f"{_CUT}: a skippable frame is cut")
    return int(end)


def _frame(data: memoryview, at: int, out: Output) -> int:
    """Where the frame ends that begins at `at`."""
    import zstandard  # noqa: PLC0415 - start-up is a feature

    try:
        size = zstandard.frame_header_size(data[at:])
        what = zstandard.get_frame_parameters(data[at : at + size])
        if what.dict_id:
            raise damaged("the zstd frame needs a dictionary; Kafka has none")
        if what.content_size != zstandard.CONTENTSIZE_UNKNOWN:
            out.claim(what.content_size)
        reader = zstandard.ZstdDecompressor().decompressobj()
        reader.decompress(data[at : at + size])
    except zstandard.ZstdError as error:
        raise damaged(f"the header of a zstd frame is wrong or cut ({error})") from None
    at += size
    last = False
    while not last:
        end, last = _block(data, at)
        if end > len(data):
            raise damaged(f"{_CUT}: {len(data) - at} bytes are left for a block of {end - at}")
        try:
            got = reader.decompress(data[at:end])
        except zstandard.ZstdError as error:
            raise damaged(f"the zstd data is damaged ({error})") from None
        out.add(got, end)
        at = end
    return _checksum(data, at, reader, out) if what.has_checksum else at


def _block(data: memoryview, at: int) -> tuple[int, bool]:
    """Where the block ends that begins at `at`, and whether it is the last."""
    try:
        low, high = _BLOCK.unpack(data, at)
    except struct.error:
        raise damaged(f"{_CUT}: its last block is missing") from None
    word = high << 16 | low
    size = 1 if word >> 1 & 3 == ZSTD_RLE else word >> 3
    return at + _BLOCK.size + size, bool(word & 1)


def _checksum(data: memoryview, at: int, reader: Any, out: Output) -> int:
    import zstandard  # noqa: PLC0415 - start-up is a feature

    end = at + _CHECKSUM.size
    if end > len(data):
        raise damaged(f"{_CUT}: the checksum of its content is cut")
    try:
        reader.decompress(data[at:end])
    except zstandard.ZstdError:
        out.odd("ZSTD_CHECKSUM", "the checksum of a zstd frame's content is wrong")
    return end


def pack(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """One frame as Kafka's stream writes it: without content size and checksum, and with an empty block last, since it is flushed before it ends."""
    import zstandard  # noqa: PLC0415 - start-up is a feature

    # Given in one piece its size would be known, and the frame laid out for it.
    packer = zstandard.ZstdCompressor(level=DEFAULT_LEVEL if level is None else level, write_content_size=False).compressobj()
    return b"".join((packer.compress(data), packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK), packer.flush()))
