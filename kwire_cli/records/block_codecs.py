"""Snappy and lz4, block by block.

The libraries decompress a whole frame or nothing. Reading block by block keeps the blocks before a fault, and checks
the limits before memory is allocated.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.codecs import Stop, damaged, xxh32_short
from kwire_cli.structs.compression import (
    LZ4_BLOCK,
    LZ4_BLOCK_CHECKSUM,
    LZ4_BLOCK_SIZE_SHIFT,
    LZ4_BLOCK_SIZES,
    LZ4_CHECKSUM,
    LZ4_CONTENT_CHECKSUM,
    LZ4_DESCRIPTOR,
    LZ4_DICTIONARY,
    LZ4_HEADER,
    LZ4_INDEPENDENT,
    LZ4_MAGIC,
    LZ4_SIZE,
    LZ4_SIZED_HEADER,
    LZ4_START,
    LZ4_STORED,
    LZ4_VERSION,
    LZ4_VERSION_MASK,
    XERIAL_CHUNK,
    XERIAL_HEADER,
    XERIAL_MAGIC,
    XERIAL_VERSION,
)

if TYPE_CHECKING:
    from kwire_cli.records.codecs import Output


# snappy: xerial's stream of chunks, as the Java client writes it, or one raw block, as librdkafka and others
# do.
#
# Source: org.xerial.snappy.SnappyInputStream, which reads both, and streams that were joined.

SNAPPY_BYTES = 1 << 15
"""The bytes that Kafka's producers compress at once."""


_HEADER = fixed(XERIAL_HEADER)
_CHUNK = fixed(XERIAL_CHUNK)
_SNAPPY_START = _CHUNK.unpack(XERIAL_MAGIC)[0]
"""The magic read as the size of a chunk."""
_SWAPPED = int.from_bytes(XERIAL_VERSION.to_bytes(4, "little"), "big")
_MAX_OUTPUT = 64
_MIN_INPUT = 3
"""Maximum decompressed size of an element of a block, and the minimum of its compressed bytes."""


def unpack_snappy(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`. Raise Stop at damaged data or the limit."""
    if len(data) < _HEADER.size or _HEADER.unpack(data)[0] != XERIAL_MAGIC:
        _block(data, 0, len(data), out)
        return
    at = 0
    end = len(data)
    while at < end:
        try:
            size = _CHUNK.unpack(data, at)[0]
            if size == _SNAPPY_START:
                at = _snappy_header(data, at, out)
                continue
        except struct.error:
            # The Java client takes this for the end too.
            out.odd(
                "COMPRESSED_TRAILING_BYTES",
                f"{end - at} bytes follow the last chunk of the snappy stream, too few for another",
            )
            return
        if size < 0:
            raise damaged(f"a snappy chunk says that it is {size} bytes long")
        at += _CHUNK.size
        _block(data, at, size, out)
        at += size


def _snappy_header(data: memoryview, at: int, out: Output) -> int:
    """Read the header at `at` and return the start of the chunks after it."""
    magic, version, compatible = _HEADER.unpack(data, at)
    if magic != XERIAL_MAGIC:
        raise damaged("a snappy chunk begins like another xerial header, but is none")
    if {version, compatible} - {XERIAL_VERSION, _SWAPPED}:
        out.odd(
            "SNAPPY_VERSION",
            f"the xerial header has version {version}, compatible from {compatible}; Kafka writes 1 and 1",
        )
    out.add(b"", at + _HEADER.size)
    return at + _HEADER.size


def _block(data: memoryview, at: int, size: int, out: Output) -> None:
    """Decompress a raw block at `at`."""
    import cramjam  # noqa: PLC0415 - start-up is a feature

    block = data[at : at + size]
    if len(block) < size:
        raise damaged(f"the snappy data ends before its end: {len(block)} bytes are left for a chunk of {size}")
    try:
        length = cramjam.snappy.decompress_raw_len(block)
        # A block cannot become larger than this, so a larger length is wrong and is never allocated.
        if length > size * _MAX_OUTPUT // _MIN_INPUT:
            raise damaged(f"a snappy block of {size} bytes cannot become the {length} bytes that it states")
        out.claim(length)
        out.add(bytes(cramjam.snappy.decompress_raw(block)), at + size)
    except cramjam.DecompressionError as error:
        raise damaged(f"the snappy data is damaged ({error})") from None


def pack_snappy(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """Return xerial's stream with chunks of 32 KiB."""
    import cramjam  # noqa: PLC0415 - start-up is a feature

    parts = [
        XERIAL_HEADER.build({"magic": XERIAL_MAGIC, "version": XERIAL_VERSION, "compatible_version": XERIAL_VERSION})
    ]
    for at in range(0, len(data), SNAPPY_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + SNAPPY_BYTES]))
        parts += (XERIAL_CHUNK.build({"size": len(block)}), block)
    return b"".join(parts)


# LZ4 frames, read block by block. So the blocks before a fault are kept, and no block becomes larger than the frame
# allows.
#
# Kafka's own reader (Lz4BlockInputStream) takes the first frame only, no dependent blocks, and skips content
# size and content checksum; other clients write all of these. What Kafka would refuse or skip is decoded and
# reported.

LEVELS = range(1, 18)


LZ4_BYTES = 4
"""The block size that Kafka writes, 64 KiB."""
MOST = 255
"""Maximum decompressed bytes per compressed byte."""

_LZ4_START = fixed(LZ4_START)
_BLOCK = fixed(LZ4_BLOCK)
_CHECKSUM = fixed(LZ4_CHECKSUM)
_HEADERS = {False: fixed(LZ4_HEADER), True: fixed(LZ4_SIZED_HEADER)}
"""The layout of a header without and with the content's size, which precedes the checksum in the last byte."""
_MAGIC_SIZE = _LZ4_START.size - fixed(LZ4_DESCRIPTOR).size
_FAILED = "DECOMPRESSION_FAILED"
_CUT = "the lz4 data ends before its end"


def unpack_lz4(data: memoryview, out: Output, magic: int) -> None:
    """Decompress into `out`. Raise Stop at damaged data or the limit."""
    import lz4.frame  # noqa: PLC0415 - start-up is a feature

    flags, longest, header = _lz4_header(data, out, magic)
    reader = lz4.frame.LZ4FrameDecompressor()
    try:
        reader.decompress(header)
    except RuntimeError as error:
        raise damaged(f"the header of the lz4 frame is wrong ({error})") from None
    checksum = _CHECKSUM.size if flags & LZ4_BLOCK_CHECKSUM else 0
    at = out.used
    while True:
        try:
            word = _BLOCK.unpack(data, at)[0]
        except struct.error:
            raise damaged(f"{_CUT}: there is no end mark") from None
        size = word & ~LZ4_STORED
        if word == 0:
            break
        if size > longest:
            raise damaged(f"an lz4 block is {size} bytes long, of at most {longest}")
        start = at + _BLOCK.size
        end = start + size + checksum
        if end > len(data):
            raise damaged(f"{_CUT}: {len(data) - start} bytes are left for a block of {size + checksum}")
        try:
            # With room for all of the block; the library would keep what does not fit its first guess for the next
            # call.
            out.add(reader.decompress(data[at:end], longest), end)
        except RuntimeError as error:
            raise Stop(*_fault(error)) from None
        at = end
    _end(data, at, flags, reader, out)


def _lz4_header(data: memoryview, out: Output, magic: int) -> tuple[int, int, bytes]:
    """Return the flags, the maximum size of a decompressed block, and the header with the checksum that the library
    needs.
    """
    try:
        start, flags, descriptor = _LZ4_START.unpack(data)
        if start != LZ4_MAGIC:
            raise damaged("the data does not begin like an lz4 frame")
        if flags & LZ4_VERSION_MASK != LZ4_VERSION:
            raise damaged(f"the lz4 frame has version {flags >> 6}, not 1")
        if flags & LZ4_DICTIONARY:
            raise damaged("the lz4 frame needs a dictionary; Kafka has none")
        longest = LZ4_BLOCK_SIZES.get(descriptor >> LZ4_BLOCK_SIZE_SHIFT)
        if longest is None:
            raise damaged(f"the lz4 frame has the unknown block size {descriptor >> LZ4_BLOCK_SIZE_SHIFT}")
        sized = bool(flags & LZ4_SIZE)
        layout = _HEADERS[sized]
        values = layout.unpack(data)
    except struct.error:
        raise damaged(f"{_CUT}: its header is cut") from None
    # A size that the bytes cannot reach is wrong. Kafka ignores it, and the limit applies anyway.
    if sized and values[-2] <= len(data) * MOST:
        out.claim(values[-2])
    if not flags & LZ4_INDEPENDENT:
        out.odd("LZ4_DEPENDENT_BLOCKS", "the blocks of the lz4 frame depend on each other; Kafka's reader fails here")
    right, broken = header_checksums(bytes(data[: layout.size - 1]))
    checksum = values[-1]
    if checksum != right and (magic > 0 or checksum != broken):
        why = ", as before Kafka 0.10 (KAFKA-3160)" if checksum == broken else ""
        out.odd("LZ4_HEADER_CHECKSUM", f"the checksum of the lz4 header is {checksum:#04x}, not {right:#04x}{why}")
    out.add(b"", layout.size)
    return flags, longest, bytes(data[: layout.size - 1]) + bytes((right,))


def header_checksums(start: bytes) -> tuple[int, int]:
    """Compute the checksum of a header, as specified and as Kafka first wrote it: including the magic (KAFKA-3160).

    `start` is the header without its checksum.
    """
    whole = xxh32_short(start)
    descriptor = xxh32_short(start[_MAGIC_SIZE:])
    return descriptor >> 8 & 0xFF, whole >> 8 & 0xFF


def _end(data: memoryview, at: int, flags: int, reader: Any, out: Output) -> None:
    """Read the end mark at `at`, and note trailing bytes."""
    end = at + _BLOCK.size + (_CHECKSUM.size if flags & LZ4_CONTENT_CHECKSUM else 0)
    try:
        reader.decompress(data[at:end])
    except RuntimeError as error:
        out.odd(*_fault(error))
    out.add(b"", min(end, len(data)))
    if end > len(data):
        raise damaged(f"{_CUT}: the checksum of its content is cut")
    if end < len(data):
        out.odd("COMPRESSED_TRAILING_BYTES", f"{len(data) - end} bytes follow the end of the lz4 frame")


_FAULTS = {
    "blockChecksum_invalid": ("LZ4_BLOCK_CHECKSUM", "the checksum of an lz4 block is wrong; Kafka's reader fails here"),
    "contentChecksum_invalid": (
        "LZ4_CONTENT_CHECKSUM",
        "the checksum of the lz4 frame's content is wrong; Kafka's reader skips it",
    ),
    "frameSize_wrong": (
        "LZ4_CONTENT_SIZE",
        "the lz4 frame does not decompress to its stated size; Kafka's reader ignores the size",
    ),
}


def _fault(error: Exception) -> tuple[str, str]:
    """Return the code and the detail of an error of the library."""
    text = str(error)
    return next(
        (fault for name, fault in _FAULTS.items() if name in text), (_FAILED, f"the lz4 data is damaged ({text})")
    )


def pack_lz4(data: Any, level: int | None, magic: int) -> bytes:
    """Return an LZ4 frame in Kafka's form: independent blocks of 64 KiB, without optional parts.

    Magic 0 gets the header checksum of KAFKA-3160.
    """
    import lz4.block  # noqa: PLC0415 - start-up is a feature

    values = {
        "magic": LZ4_MAGIC,
        "descriptor": {"flags": LZ4_VERSION | LZ4_INDEPENDENT, "block_descriptor": LZ4_BYTES << LZ4_BLOCK_SIZE_SHIFT},
    }
    header = LZ4_START.build(values)
    right, broken = header_checksums(header)
    parts = [LZ4_HEADER.build({**values, "header_checksum": right if magic > 0 else broken})]
    how: dict[str, Any] = {} if level is None else {"mode": "high_compression", "compression": level}
    size = LZ4_BLOCK_SIZES[LZ4_BYTES]
    for at in range(0, len(data), size):
        block = data[at : at + size]
        packed = lz4.block.compress(block, store_size=False, **how)
        stored = len(packed) >= len(block)
        parts += (
            LZ4_BLOCK.build({"size": len(block) | LZ4_STORED if stored else len(packed)}),
            bytes(block) if stored else packed,
        )
    parts.append(LZ4_BLOCK.build({"size": 0}))
    return b"".join(parts)
