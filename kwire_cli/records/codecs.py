"""Codecs by number and name, their limits, checksums and partial output.

A compressed byte can become a thousand bytes, so the output is limited in size and in ratio to the input. The libraries
return nothing for a damaged block. Slow decoders here return the output up to the fault.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.structs.compression import SNAPPY_PREAMBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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

    def tail(self, size: int) -> bytes:
        """Return the last bytes, at most `size`."""
        view = self._data.getbuffer()
        return bytes(view[max(0, self.size - size) :])

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


# Decompression of a damaged or cut block of snappy or LZ4 up to its fault; the libraries return the whole block or
# nothing.
#
# This is slow, but only used for one block, and bounded by its bytes and `room`. Bytes before a fault may already be
# wrong, because faults are detected late. Sources: snappy's format_description.txt; the LZ4 block format. Both consist
# of literals and copies of earlier output.


class _Bytes:
    """The compressed bytes, read in order."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def number(self, size: int = 1) -> int:
        """Read a little-endian number of `size` bytes. Raise EOFError if fewer remain."""
        part = self.some(size)
        if len(part) < size:
            raise EOFError
        return int.from_bytes(part, "little")

    def some(self, size: int) -> memoryview:
        """Return the next bytes, at most `size`."""
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part

    def more(self) -> bool:
        return self._at < len(self._data)


def snappy_block(block: memoryview, room: int) -> bytes:
    """Return the content of a raw snappy block before its fault, at most `room` bytes."""
    return _run_elements(_snappy(_Bytes(block)), room, b"")


def lz4_block(block: memoryview, room: int, history: bytes = b"") -> bytes:
    """Return the content of an LZ4 block before its fault, at most `room` bytes.

    Copies can reach back into `history`.
    """
    return _run_elements(_lz4(_Bytes(block)), room, history)


def _run_elements(elements: Iterator[memoryview | tuple[int, int]], room: int, history: bytes) -> bytes:
    """Build the output from elements: literals, and copies as (distance, length), which may overlap their output."""
    out = bytearray(history)
    end = len(out) + room
    try:
        for element in elements:
            if isinstance(element, memoryview):
                out += element[: end - len(out)]
            else:
                distance, length = element
                if not 0 < distance <= len(out):
                    break
                length = min(length, end - len(out))
                source = out[-distance:]
                out += (source * (length // distance + 1))[:length]
            if len(out) >= end:
                break
    except EOFError:
        pass
    return bytes(out[len(history) :])


def _snappy(data: _Bytes) -> Iterator[memoryview | tuple[int, int]]:
    for _ in range(SNAPPY_PREAMBLE):
        if data.number() < 0x80:
            break
    while data.more():
        tag = data.number()
        kind = tag & 3
        upper = tag >> 2
        if kind == 0:
            # For 60 to 63 the length less 1 follows in 1 to 4 bytes.
            yield data.some((data.number(upper - 59) if upper >= 60 else upper) + 1)
        elif kind == 1:
            yield (upper >> 3 << 8) | data.number(), (upper & 7) + 4
        else:
            yield data.number(2 if kind == 2 else 4), upper + 1


def _lz4(data: _Bytes) -> Iterator[memoryview | tuple[int, int]]:
    while data.more():
        token = data.number()
        yield data.some(_read_length(data, token >> 4))
        if data.more():
            distance = data.number(2)
            yield distance, _read_length(data, token & 15) + 4


def _read_length(data: _Bytes, start: int) -> int:
    """Read a length of LZ4: 15 continues in further bytes, up to the first that is not 255."""
    length = start
    more = start == 15
    while more:
        byte = data.number()
        length += byte
        more = byte == 255
    return length
