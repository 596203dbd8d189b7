"""gzip: one member after the other, as java.util.zip.GZIPInputStream reads them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from kwire_cli.codec.model import damaged
from kwire_cli.engine.fixed import part
from kwire_cli.structs.compression import GZIP_DEFLATE, GZIP_HEADER, GZIP_MAGIC, GZIP_OS_UNKNOWN, GZIP_TRAILER

if TYPE_CHECKING:
    from kwire_cli.codec.model import Output

LEVELS = range(-1, 10)
_PIECE = 1 << 16
"""Bytes that are unpacked at once."""
_SLICE = 1 << 14
"""Packed bytes that zlib is given at once; it copies what it leaves."""
_WINDOW = zlib.MAX_WBITS
_GZIP = _WINDOW | 16
_CHECKS = {
    "incorrect data check": ("CRC", 1 + part(GZIP_TRAILER, "isize", "isize").size),
    "incorrect length check": ("size", 1),
}
"""What zlib says of a trailer that does not fit the data: which part it means, and how many bytes go on from that part's last one."""
_CUT = "the gzip data ends before its end"


def unpack(data: memoryview, out: Output, magic: int) -> None:  # noqa: ARG001 - the same for all codecs
    """Decompress into `out`; Stop where that can't go on."""
    at = 0
    while at < len(data):
        if at and bytes(data[at : at + len(GZIP_MAGIC)]) != GZIP_MAGIC:
            out.odd("COMPRESSED_TRAILING_BYTES", f"{len(data) - at} bytes follow the end of the gzip data")
            return
        at = _member(data, at, out)


def _member(data: memoryview, at: int, out: Output) -> int:
    """Where the member ends that begins at `at`."""
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
            at = _up_to_damage(before, rest, at - len(rest), out)
            check = next((check for text, check in _CHECKS.items() if text in str(error)), None)
            if check is None:
                raise damaged(f"the gzip data is damaged ({error})") from None
            what, after = check
            if at + after > len(data):
                raise damaged(_CUT) from None
            # The trailer comes last, so the data is whole.
            out.odd("GZIP_CHECKSUM", f"the {what} in the gzip trailer is not that of the data; Kafka's reader fails here")
            out.add(b"", at + after)
            return at + after
        given = rest
        rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        out.add(got, at - len(rest))
        if not given and not got:
            raise damaged(_CUT)
    return at - len(rest)


def _up_to_damage(unpacker: Any, packed: Any, at: int, out: Output) -> int:
    """Add what can be unpacked before the damage, and tell where that ends: zlib gives nothing of a piece that it finds damaged."""
    try:
        for byte in bytes(packed):
            got = unpacker.decompress(bytes((byte,)))
            at += 1
            out.add(got, at)
    except zlib.error:
        pass
    return at


def pack(data: Any, level: int | None, magic: int) -> bytes:  # noqa: ARG001 - the same for all codecs
    """One member, with the header that java.util.zip.GZIPOutputStream writes."""
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
