"""snappy: xerial's stream of chunks, as the Java client writes it, or one raw block, as librdkafka and others do.

Source: org.xerial.snappy.SnappyInputStream, which reads both, and streams that were joined.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kwire_cli.codec.model import damaged
from kwire_cli.codec.partial import snappy_block
from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.compression import XERIAL_CHUNK, XERIAL_HEADER, XERIAL_MAGIC, XERIAL_VERSION

if TYPE_CHECKING:
    from kwire_cli.codec.model import Output

BLOCK = 1 << 15
"""What Kafka's producers compress at once."""

_HEADER, _CHUNK = fixed(XERIAL_HEADER), fixed(XERIAL_CHUNK)
_START = _CHUNK.unpack(XERIAL_MAGIC)[0]
"""What the magic looks like in the place of a chunk's size."""
_SWAPPED = int.from_bytes(XERIAL_VERSION.to_bytes(4, "little"), "big")
_MOST, _LEAST = 64, 3
"""The most that an element of a block becomes, and the bytes that it takes."""


def unpack(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`; Stop where that can't go on."""
    if len(data) < _HEADER.size or _HEADER.unpack(data)[0] != XERIAL_MAGIC:
        _block(data, 0, len(data), out)
        return
    at, end = 0, len(data)
    while at < end:
        try:
            size = _CHUNK.unpack(data, at)[0]
            if size == _START:
                at = _header(data, at, out)
                continue
        except struct.error:
            # The Java client takes this for the end too.
            out.odd("COMPRESSED_TRAILING_BYTES", f"{end - at} bytes follow the last chunk of the snappy stream, too few for another")
            return
        if size < 0:
            raise damaged(f"a snappy chunk says that it is {size} bytes long")
        at += _CHUNK.size
        _block(data, at, size, out)
        at += size


def _header(data: memoryview, at: int, out: Output) -> int:
    """Where the chunks begin behind the header at `at`."""
    magic, version, compatible = _HEADER.unpack(data, at)
    if magic != XERIAL_MAGIC:
        raise damaged("a snappy chunk begins like another xerial header, but is none")
    if {version, compatible} - {XERIAL_VERSION, _SWAPPED}:
        out.odd("SNAPPY_VERSION", f"the xerial header has version {version}, compatible from {compatible}; Kafka writes 1 and 1")
    out.add(b"", at + _HEADER.size)
    return at + _HEADER.size


def _block(data: memoryview, at: int, size: int, out: Output) -> None:
    """One raw block at `at`; there may be less of it than `size`."""
    import cramjam  # noqa: PLC0415 - start-up is a feature

    block = data[at : at + size]
    try:
        length = cramjam.snappy.decompress_raw_len(block)
        # A block can't become more than this, so a length beyond it lies and is never allocated.
        believable = length <= len(block) * _MOST // _LEAST
        if believable:
            out.claim(length)
        if len(block) < size:
            fault = f"the snappy data ends before its end: {len(block)} bytes are left for a chunk of {size}"
        elif believable:
            out.add(bytes(cramjam.snappy.decompress_raw(block)), at + size)
            return
        else:
            fault = f"a snappy block of {size} bytes cannot become the {length} bytes that it states"
    except cramjam.DecompressionError as error:
        length, fault = out.left, f"the snappy data is damaged ({error})"
    out.add(snappy_block(block, min(length, out.left)), out.used)
    raise damaged(fault)


def pack(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """Xerial's stream with chunks of 32 KiB."""
    import cramjam  # noqa: PLC0415 - start-up is a feature

    parts = [XERIAL_HEADER.build({"magic": XERIAL_MAGIC, "version": XERIAL_VERSION, "compatible_version": XERIAL_VERSION})]
    for at in range(0, len(data), BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + BLOCK]))
        parts += (XERIAL_CHUNK.build({"size": len(block)}), block)
    return b"".join(parts)
