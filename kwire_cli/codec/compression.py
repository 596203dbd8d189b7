"""Compressed record sets: `decompress` within limits, and never an error; `compress` as Kafka's producers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.codec import gzip_members, lz4_frames, snappy_blocks, zstd_frames
from kwire_cli.codec.model import Limits, Output, Stop, Unpacked
from kwire_cli.errors import EncodeError
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CODECS", "Limits", "Unpacked", "compress", "decompress"]


class _Codec(NamedTuple):
    unpack: Callable[[memoryview, Output, int], None]
    pack: Callable[[memoryview, int | None, int], bytes]
    levels: range


CODECS = COMPRESSION.names
"""The names of the codecs (org.apache.kafka.common.record.CompressionType) by the three low bits of the attributes of a batch or message."""

_CODECS = {
    1: _Codec(gzip_members.unpack, gzip_members.pack, gzip_members.LEVELS),
    2: _Codec(snappy_blocks.unpack, snappy_blocks.pack, range(0)),
    3: _Codec(lz4_frames.unpack, lz4_frames.pack, lz4_frames.LEVELS),
    4: _Codec(zstd_frames.unpack, zstd_frames.pack, zstd_frames.LEVELS),
}


def decompress(codec_id: int, data: Any, limits: Limits, *, magic: int = 2) -> Unpacked:
    """What the compressed bytes of one batch or wrapper message hold.

    Never raises, whatever the bytes: a fault, an oddity or a limit is the `code` of the result, and `data` is all that came before. Memory is bounded
    by `limits` and by one block of the format (at most 4 MiB, and 128 MiB of address space for a zstd window).

    Args:
        codec_id: As in CODECS; any other is UNKNOWN_COMPRESSION.
        data: The compressed bytes, a bytes-like; not copied.
        limits: What they may become.
        magic: The format of the record set. 0 takes the lz4 header checksum of KAFKA-3160 for good.

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
    """The bytes that a Java producer would write; but for the choices of the compressors, which differ between versions of the libraries.

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
