"""Limits on decompressed records, the output of the codecs, and checksums.

A compressed byte can become a thousand bytes, so the output is limited in size and in ratio to the input.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


# What decompression gives, what limits it, and the state that the codecs share.


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the decompressed size of the records of one batch.

    Attributes:
        output: The maximum number of bytes. A broker takes batches of 1 MiB as they are sent
            (message.max.bytes). Producers make batches of 1 MiB before compression (max.request.size).
            Both are set to some 100 MiB where messages are huge. The default is beyond all of these.
        ratio: The maximum number of decompressed bytes for one compressed byte, or None for no limit.
            The best ratios of the formats are 21 for snappy, 255 for lz4 and 1032 for gzip. zstd reaches
            some 30,000 with one byte repeated, which only matters beyond `floor`.
        floor: The number of bytes up to which the ratio is not checked. Small batches of equal records
            compress very well.

    """

    output: int = 256 << 20
    ratio: int | None = 1000
    floor: int = 16 << 20

    def room(self, compressed: int) -> int:
        """Return the maximum decompressed size for this compressed size."""
        return max(0, self.output if self.ratio is None else min(self.output, max(self.floor, compressed * self.ratio)))


class Unpacked(NamedTuple):
    """Result of decompression.

    `data` is complete if `code` is None, and also if `code` is only about an anomalous checksum or header. After a
    fault, `data` is everything before the fault. `code` is the code of an anomaly (engine.codes.MEANING), and
    `detail` describes the anomaly of these bytes. `used` counts the compressed bytes that were understood. The
    bytes after them are damaged, cut, beyond the limit or not part of the stream.
    """

    data: bytes
    code: str | None
    detail: str
    used: int


class Stop(Exception):  # noqa: N818 - never leaves the room; it ends the work on one stream
    """Decompression cannot continue."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def damaged(detail: str) -> Stop:
    """Return the exception for bytes that are not a valid stream."""
    return Stop("DECOMPRESSION_FAILED", detail)


class Output:
    """Decompressed bytes so far, never more than `room` bytes."""

    def __init__(self, limits: Limits, compressed: int) -> None:
        self._limits = limits
        self._compressed = compressed
        self.room = limits.room(compressed)
        self.size = self.used = 0
        self.note: tuple[str, str] | None = None
        self._data = io.BytesIO()

    @property
    def left(self) -> int:
        """The number of bytes that may still come."""
        return self.room - self.size

    def odd(self, code: str, detail: str) -> None:
        """Keep an anomaly that does not end decompression; the first one counts."""
        self.note = self.note or (code, detail)

    def claim(self, size: int) -> None:
        """Hold a size that the bytes declare against the limit, before anything is done with it."""
        if size > self.left:
            raise self._limit(f"the bytes say that they become {self.size + size}")

    def add(self, data: bytes, used: int) -> None:
        """Take the next bytes; `used` counts the compressed ones up to there."""
        if len(data) > self.left:
            self.size += self._data.write(data[: self.left])
            raise self._limit("the bytes become more than is allowed")
        self.size += self._data.write(data)
        self.used = used

    def take(self) -> bytes:
        """Return all bytes, without a copy."""
        return self._data.getvalue()

    def _limit(self, what: str) -> Stop:
        limits = self._limits
        room = self.room
        why = (
            ""
            if room == max(0, limits.output)
            else f", {limits.ratio} times the {self._compressed} compressed ones but at least {limits.floor}"
        )
        return Stop(
            "DECOMPRESSION_LIMIT", f"{what}; at most {room} bytes are decompressed{why}; --max-decompressed raises that"
        )


# Checksums of record sets and of LZ4 headers.

_MASK = 0xFFFFFFFF


_PRIME1 = 0x9E3779B1
_PRIME2 = 0x85EBCA77
_PRIME3 = 0xC2B2AE3D
_PRIME4 = 0x27D4EB2F
_PRIME5 = 0x165667B1


def crc32(data: Any, value: int = 0) -> int:
    """Return the CRC-32 (IEEE, as in zlib) of bytes-likes, as in messages of magic 0 and 1, as an unsigned number."""
    return zlib.crc32(data, value)


def crc32c(data: Any, value: int = 0) -> int:
    """Return the CRC-32C (Castagnoli) of bytes-likes, as in record batches (magic 2), as an unsigned number."""
    return _crc32c_function()(data, value)


@cache
def _crc32c_function() -> Callable[[Any, int], int]:
    """Load the function of the library crc32c without its package, whose import queries its version and takes longer
    than reading a small log.
    """
    from importlib.machinery import PathFinder  # noqa: PLC0415 - start-up is a feature
    from importlib.util import find_spec, module_from_spec  # noqa: PLC0415

    package = find_spec("crc32c")
    spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        import crc32c as library  # noqa: PLC0415

        return library.crc32c
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[Any, int], int] = module.crc32c
    return function


def xxh32_short(data: Any) -> int:
    """Return the xxHash32 with seed 0 of fewer than 16 bytes, the maximum of an LZ4 header. Longer input is hashed in
    four lanes first.

    Source: the xxHash algorithm description, version 0.1.1, steps 1 (short input) and 4 to 6.
    """
    state = _PRIME5 + len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        state = (_rotated(state + int.from_bytes(data[at : at + 4], "little") * _PRIME3, 17) * _PRIME4) & _MASK
    for byte in data[whole:]:
        state = (_rotated(state + byte * _PRIME5, 11) * _PRIME1) & _MASK
    state = ((state ^ state >> 15) * _PRIME2) & _MASK
    state = ((state ^ state >> 13) * _PRIME3) & _MASK
    return state ^ state >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> 32 - bits) & _MASK
