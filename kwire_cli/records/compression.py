"""Compression and decompression of record sets: gzip, zstd, and the choice of a codec.

Data is decompressed in pieces of limited size, so that the blocks before a fault are kept and limits apply early.
`decompress` never raises: the fault is an anomaly of the result.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import fixed, part
from kwire_cli.errors import EncodeError
from kwire_cli.records import block_codecs
from kwire_cli.records.codecs import Limits, Output, Stop, Unpacked, damaged
from kwire_cli.structs.compression import (
    GZIP_DEFLATE,
    GZIP_HEADER,
    GZIP_MAGIC,
    GZIP_OS_UNKNOWN,
    GZIP_TRAILER,
    ZSTD_BLOCK,
    ZSTD_CHECKSUM,
    ZSTD_MAGIC,
    ZSTD_RLE,
    ZSTD_SKIPPABLE,
    ZSTD_SKIPPABLE_HEADER,
    ZSTD_SKIPPABLE_MASK,
    ZSTD_START,
)
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable


# gzip: one member after the other, as java.util.zip.GZIPInputStream reads them.

GZIP_LEVELS = range(-1, 10)


_PIECE = 1 << 16
"""Maximum decompressed bytes per call."""
_SLICE = 1 << 14
"""Compressed bytes per call of zlib, which copies unused input."""
_WINDOW = zlib.MAX_WBITS
_GZIP = _WINDOW | 16
_CHECKS = {
    "incorrect data check": ("CRC", 1 + part(GZIP_TRAILER, "isize", "isize").size),
    "incorrect length check": ("size", 1),
}
"""Messages of zlib about a wrong trailer: the affected part, and the number of bytes from its last byte to the end."""
_GZIP_CUT = "the gzip data ends before its end"


def unpack_gzip(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`. Raise Stop at damaged data or the limit."""
    at = 0
    while at < len(data):
        if at and bytes(data[at : at + len(GZIP_MAGIC)]) != GZIP_MAGIC:
            out.odd("COMPRESSED_TRAILING_BYTES", f"{len(data) - at} bytes follow the end of the gzip data")
            return
        at = _member(data, at, out)


def _member(data: memoryview, at: int, out: Output) -> int:
    """Return the end of the member that begins at `at`."""
    unpacker: Any = zlib.decompressobj(wbits=_GZIP)
    rest: Any = b""
    while not unpacker.eof:
        if not rest:
            rest = data[at : at + _SLICE]
            at += len(rest)
        before = unpacker.copy()
        try:
            got = unpacker.decompress(rest, min(_PIECE, out.left + 1))
        except zlib.error as error:
            at = _decompress_to_damage(before, rest, at - len(rest), out)
            check = next((check for text, check in _CHECKS.items() if text in str(error)), None)
            if check is None:
                raise damaged(f"the gzip data is damaged ({error})") from None
            what, after = check
            if at + after > len(data):
                raise damaged(_GZIP_CUT) from None
            # The trailer comes last, so the data is whole.
            out.odd(
                "GZIP_CHECKSUM", f"the {what} in the gzip trailer is not that of the data; Kafka's reader fails here"
            )
            out.add(b"", at + after)
            return at + after
        chunk = rest
        rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        out.add(got, at - len(rest))
        if not chunk and not got:
            raise damaged(_GZIP_CUT)
    return at - len(rest)


def _decompress_to_damage(unpacker: Any, packed: Any, at: int, out: Output) -> int:
    """Decompress up to the damage, and return the offset of the damage. zlib returns no part of a damaged piece, so the
    bytes are passed one by one.
    """
    try:
        for byte in bytes(packed):
            got = unpacker.decompress(bytes((byte,)))
            at += 1
            out.add(got, at)
    except zlib.error:
        pass
    return at


def pack_gzip(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """Return a gzip member with the header of java.util.zip.GZIPOutputStream."""
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -_WINDOW)
    header = GZIP_HEADER.build(
        {
            "magic": GZIP_MAGIC,
            "compression_method": GZIP_DEFLATE,
            "flags": 0,
            "mtime": 0,
            "extra_flags": 0,
            "operating_system": GZIP_OS_UNKNOWN,
        }
    )
    trailer = GZIP_TRAILER.build({"crc32": zlib.crc32(data), "isize": len(data) & 0xFFFFFFFF})
    return b"".join((header, packer.compress(data), packer.flush(), trailer))


# zstd: consecutive frames, including skippable ones, read block by block, so that bytes before a fault are kept.
#
# A window of more than 128 MiB is refused, as by Kafka's reader: both leave libzstd's limit as it is.

ZSTD_LEVELS = range(-131072, 23)


DEFAULT_LEVEL = 3

_START = fixed(ZSTD_START)
_SKIPPABLE = fixed(ZSTD_SKIPPABLE_HEADER)
_BLOCK = fixed(ZSTD_BLOCK)
_CHECKSUM = fixed(ZSTD_CHECKSUM)
_ZSTD_CUT = "the zstd data ends before its end"


def unpack_zstd(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`. Raise Stop at damaged data or the limit."""
    at = 0
    end = len(data)
    while at < end:
        word = _START.unpack(data, at)[0] if end - at >= _START.size else 0
        if word == ZSTD_MAGIC:
            at = _frame(data, at, out)
        elif word & ZSTD_SKIPPABLE_MASK == ZSTD_SKIPPABLE:
            at = _skipped(data, at)
        elif at:
            out.odd(
                "COMPRESSED_TRAILING_BYTES",
                f"{end - at} bytes follow the last zstd frame; Kafka's reader fails at them",
            )
            return
        else:
            raise damaged("the data does not begin like a zstd frame")
        out.add(b"", at)


def _skipped(data: memoryview, at: int) -> int:
    """Return the end of a skippable frame."""
    try:
        end = at + _SKIPPABLE.size + _SKIPPABLE.unpack(data, at)[1]
    except struct.error:
        end = len(data) + 1
    if end > len(data):
        raise damaged(f"{_ZSTD_CUT}: a skippable frame is cut")
    return int(end)


def _frame(data: memoryview, at: int, out: Output) -> int:
    """Return the end of the frame that begins at `at`."""
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
            raise damaged(f"{_ZSTD_CUT}: {len(data) - at} bytes are left for a block of {end - at}")
        try:
            got = reader.decompress(data[at:end])
        except zstandard.ZstdError as error:
            raise damaged(f"the zstd data is damaged ({error})") from None
        out.add(got, end)
        at = end
    return _checksum(data, at, reader, out) if what.has_checksum else at


def _block(data: memoryview, at: int) -> tuple[int, bool]:
    """Return the end of the block that begins at `at`, and whether it is the last block."""
    try:
        low, high = _BLOCK.unpack(data, at)
    except struct.error:
        raise damaged(f"{_ZSTD_CUT}: its last block is missing") from None
    word = high << 16 | low
    size = 1 if word >> 1 & 3 == ZSTD_RLE else word >> 3
    return at + _BLOCK.size + size, bool(word & 1)


def _checksum(data: memoryview, at: int, reader: Any, out: Output) -> int:
    import zstandard  # noqa: PLC0415 - start-up is a feature

    end = at + _CHECKSUM.size
    if end > len(data):
        raise damaged(f"{_ZSTD_CUT}: the checksum of its content is cut")
    try:
        reader.decompress(data[at:end])
    except zstandard.ZstdError:
        out.odd("ZSTD_CHECKSUM", "the checksum of a zstd frame's content is wrong")
    return end


def pack_zstd(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """Return a zstd frame in the form of Kafka's stream, which flushes before the end: without content size and
    checksum, and with an empty last block.
    """
    import zstandard  # noqa: PLC0415 - start-up is a feature

    # Given in one piece its size would be known, and the frame laid out for it.
    packer = zstandard.ZstdCompressor(
        level=DEFAULT_LEVEL if level is None else level, write_content_size=False
    ).compressobj()
    return b"".join((packer.compress(data), packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK), packer.flush()))


# Compressed record sets: `decompress` within limits, and never an error; `compress` as Kafka's producers do.


class _Codec(NamedTuple):
    unpack: Callable[[memoryview, Output, int], None]
    pack: Callable[[memoryview, int | None, int], bytes]
    levels: range


CODECS = COMPRESSION.names
"""The names of the codecs (org.apache.kafka.common.record.CompressionType) by the three low bits of the attributes of a
batch or message."""

_CODECS = {
    1: _Codec(unpack_gzip, pack_gzip, GZIP_LEVELS),
    2: _Codec(block_codecs.unpack_snappy, block_codecs.pack_snappy, range(0)),
    3: _Codec(block_codecs.unpack_lz4, block_codecs.pack_lz4, block_codecs.LEVELS),
    4: _Codec(unpack_zstd, pack_zstd, ZSTD_LEVELS),
}


def decompress(codec_id: int, data: Any, limits: Limits, *, magic: int = 2) -> Unpacked:
    """Decompress the bytes of one batch or wrapper message.

    Never raises for any bytes. A fault, an anomaly or a limit is the `code` of the result, and `data` is
    everything before it. Memory is bounded by `limits` and by one block of the format (at most 4 MiB, and 128 MiB of
    address space for a zstd window).

    Args:
        codec_id: A number in CODECS. Any other number gives UNKNOWN_COMPRESSION.
        data: The compressed bytes, a bytes-like object that is not copied.
        limits: The limits on the decompressed bytes.
        magic: The format of the record set. With 0, the lz4 header checksum of KAFKA-3160 counts as valid.

    """
    if codec_id == 0:
        return Unpacked(bytes(data), None, "", len(data))
    codec = _CODECS.get(codec_id)
    if codec is None:
        return Unpacked(b"", "UNKNOWN_COMPRESSION", f"no codec has the number {codec_id}", 0)
    view = memoryview(data).cast("B")
    out = Output(limits, len(view))
    try:
        if not view:
            return Unpacked(b"", "DECOMPRESSION_FAILED", f"there are no {CODECS[codec_id]} bytes at all", 0)
        codec.unpack(view, out, magic)
    except Stop as stop:
        return Unpacked(out.take(), stop.code, stop.detail, out.used)
    code, detail = out.note or (None, "")
    return Unpacked(out.take(), code, detail, out.used)


def compress(codec_id: int, data: Any, *, level: int | None = None, magic: int = 2) -> bytes:
    """Compress as a Java producer does. The bytes can differ, because versions of the libraries compress differently.

    Args:
        codec_id: As in CODECS.
        data: A bytes-like.
        level: Of gzip -1 to 9, lz4 1 to 17, zstd -131072 to 22; the Java producer's own by default.
        magic: The format of the record set; 0 gets lz4 with the header checksum of KAFKA-3160.

    Raises:
        EncodeError: There is no such codec, or the codec has no such level.

    """
    if codec_id == 0:
        return bytes(data)
    codec = _CODECS.get(codec_id)
    if codec is None:
        raise EncodeError(f"no codec has the number {codec_id}; codecs are 0 to {max(CODECS)}", value=codec_id)
    if level is not None and level not in codec.levels:
        which = f"{codec.levels.start} to {codec.levels.stop - 1}" if codec.levels else "no levels"
        raise EncodeError(f"{CODECS[codec_id]} has {which}, not {level}", value=level)
    return codec.pack(memoryview(data).cast("B"), level, magic)


# The library that compresses, and its level: a compressed size is only meaningful with both.

_DEFAULTS = {"gzip": 6, "lz4": 1, "zstd": DEFAULT_LEVEL}
"""The default levels of `compress`. For lz4 this is the fast compressor, whose only level Kafka calls 1 (9 and others
select LZ4 HC)."""


def library(codec_id: int, level: int | None = None) -> str:
    """Return the library and level that `compress` uses with these arguments, such as `zlib 1.3.1, level 6`.

    Kafka uses other libraries, and its bytes differ.
    """
    name = CODECS[codec_id]
    if name == "none":
        return "not compressed"
    used = _DEFAULTS.get(name) if level is None else level
    return f"{_version(name)}, {'no levels' if used is None else f'level {used}'}"


def _version(name: str) -> str:
    if name == "gzip":
        import zlib  # noqa: PLC0415 - start-up is a feature

        return f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    if name == "snappy":
        import cramjam  # noqa: PLC0415 - as above

        return f"cramjam {cramjam.__version__}"
    if name == "lz4":
        import lz4  # noqa: PLC0415 - as above

        return f"lz4 {lz4.library_version_string()}"
    import zstandard  # noqa: PLC0415 - as above

    return f"zstd {'.'.join(map(str, zstandard.ZSTD_VERSION))}"
