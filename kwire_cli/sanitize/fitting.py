"""Compressed bytes of a wanted size: what is put in the place of others has to be as long as these.

Each format has something that costs bytes and says nothing: a name in gzip's header, empty blocks in zstd. In lz4 and snappy the end of the data is
stored as it is, as much of it as makes the size right. All of it is what readers of these formats, Kafka's too, take.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.codec.lz4_frames import header_checksums
from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import compression as declared
from kwire_cli.structs.numbers import UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable

_LZ4_BLOCK, _XERIAL_CHUNK = fixed(declared.LZ4_BLOCK).pack, fixed(declared.XERIAL_CHUNK).pack
_NEAR = 48
"""Places around the likely one that are tried."""
_MOST_SPLITS = 3
_STORED = 24
"""Bytes that are stored in a piece: fewer than any message has, so that none of those that were packed stands there as it is."""
_ZSTD_LEVEL, _GZIP_LEVEL = 12, 9
_SMALL_BLOCK, _LARGE_BLOCK = 4, 7


def fitted(codec: int, data: bytes, like: bytes, *, magic: int = 2) -> bytes | None:
    """The data compressed to as many bytes as `like`, which is some in the same codec; None where that can't be done.

    Args:
        codec: As in CODECS.
        data: What is to be compressed.
        like: What stood there.
        magic: The format of the record set.

    """
    fit = _FITS.get(codec)
    return fit(data, like, magic) if fit else None


def _gzip(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - the same for all codecs
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(data) + packer.flush()
    trailer = declared.GZIP_TRAILER.build({"crc32": zlib.crc32(data), "isize": len(data) & 0xFFFFFFFF})
    room = len(like) - len(packed) - len(trailer) - fixed(declared.GZIP_HEADER).size
    if room < 0:
        return None
    values = {
        "magic": declared.GZIP_MAGIC,
        "compression_method": declared.GZIP_DEFLATE,
        "flags": declared.GZIP_NAME if room else 0,
        "mtime": 0,
        "extra_flags": 0,
        "operating_system": declared.GZIP_OS_UNKNOWN,
    }
    name = b"x" * (room - 1) + b"\0" if room else b""
    return bytes(declared.GZIP_HEADER.build(values) + name + packed + trailer)


def _zstd(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - as above
    import zstandard  # noqa: PLC0415 - start-up is a feature

    packer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_content_size=False).compressobj(size=len(data))
    packed = packer.compress(data) + packer.flush()
    room = len(like) - len(packed)
    if room < 0:
        return None
    layout = fixed(declared.ZSTD_PLAIN_HEADER)
    empty = declared.ZSTD_BLOCK.build({"low": 0, "high": 0})
    blocks, id_size = divmod(room, len(empty))
    start, descriptor, window = layout.unpack(packed)
    header: bytes = layout.pack(start, descriptor | id_size, window)
    return b"".join((header, bytes(id_size), empty * blocks, packed[layout.size :]))


def _lz4(data: bytes, like: bytes, magic: int) -> bytes | None:
    import lz4.block  # noqa: PLC0415 - start-up is a feature

    block = _SMALL_BLOCK if len(data) <= declared.LZ4_BLOCK_SIZES[_SMALL_BLOCK] else _LARGE_BLOCK
    if len(data) > declared.LZ4_BLOCK_SIZES[block]:
        return None
    flags = declared.LZ4_VERSION | declared.LZ4_INDEPENDENT
    values: Any = {"magic": declared.LZ4_MAGIC, "descriptor": {"flags": flags, "block_descriptor": block << declared.LZ4_BLOCK_SIZE_SHIFT}}
    right, broken = header_checksums(declared.LZ4_START.build(values))
    header = declared.LZ4_HEADER.build({**values, "header_checksum": right if magic > 0 else broken})

    def made(cut: int, splits: int) -> bytes:
        packed = lz4.block.compress(data[:cut], store_size=False) if cut else b""
        parts = [header]
        if cut:
            parts += (_LZ4_BLOCK(len(packed)), packed)
        rest = data[cut:]
        for piece in [rest[i : i + 1] for i in range(splits)] + [rest[i : i + _STORED] for i in range(splits, len(rest), _STORED)]:
            parts += (_LZ4_BLOCK(len(piece) | declared.LZ4_STORED), piece)
        parts.append(_LZ4_BLOCK(0))
        return b"".join(parts)

    for splits in range(_MOST_SPLITS + 1):
        found = _exact(partial(made, splits=splits), len(data), len(like))
        if found is not None:
            return found
    return None


def _exact(made: Callable[[int], bytes], stop: int, size: int) -> bytes | None:
    """What is made with the cut in [0, stop] that gives the size; the further the cut, the smaller it is, but for a few bytes."""
    if min(len(made(0)), len(made(stop))) > size:  # of a few bytes what is stored is the shortest
        return None
    low, high = 0, stop
    while low < high:
        middle = (low + high) // 2
        if len(made(middle)) <= size:
            high = middle
        else:
            low = middle + 1
    for cut in sorted(range(max(low - _NEAR, 0), min(low + _NEAR, stop) + 1), key=lambda each: abs(each - low)):
        if len(found := made(cut)) == size:
            return found
    return None


def _snappy(data: bytes, like: bytes, magic: int) -> bytes | None:  # noqa: ARG001 - as above
    import cramjam  # noqa: PLC0415 - start-up is a feature

    header = b""
    room = len(like)
    if like.startswith(declared.XERIAL_MAGIC):
        version = declared.XERIAL_VERSION
        header = declared.XERIAL_HEADER.build({"magic": declared.XERIAL_MAGIC, "version": version, "compatible_version": version})
        room -= len(header) + fixed(declared.XERIAL_CHUNK).size
    length = bytes(UVARINT.build(len(data)))

    def elements(cut: int) -> bytes:
        return bytes(cramjam.snappy.compress_raw(data[:cut]))[len(UVARINT.build(cut)) :] if cut else b""

    def made(cut: int) -> bytes:
        front = length + elements(cut)
        rest = data[cut:]
        least = len(front) + len(b"".join(_literals(rest, 0)))
        extra = room - least
        return front + b"".join(_literals(rest, max(extra, 0)))

    block = _exact(made, len(data), room)
    if block is None:
        return None
    return header + (_XERIAL_CHUNK(len(block)) if header else b"") + block


def _literals(data: bytes, extra: int) -> list[bytes]:
    """The bytes as literals of a snappy block, in so many more bytes than it takes if that can be: each literal more costs its tag."""

    def size(ones: int) -> int:
        return ones + -(-(len(data) - ones) // _STORED)  # tags alone

    ones, most = min(extra, max(len(data) - 1, 0)), max(len(data) - 1, 0)
    while ones < most and size(ones) < size(0) + extra:
        ones += 1
    return [_literal(data[i : i + 1]) for i in range(ones)] + [_literal(data[i : i + _STORED]) for i in range(ones, len(data), _STORED)]


def _tag(size: int) -> int:
    return 1 + next(more for most, more in declared.SNAPPY_LITERAL if size <= most)


def _literal(data: bytes) -> bytes:
    less, more = len(data) - 1, _tag(len(data)) - 1
    return bytes(((59 + more if more else less) << 2,)) + less.to_bytes(more, "little") + data if more else bytes((less << 2,)) + data


_FITS: dict[int, Callable[[bytes, bytes, int], bytes | None]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
