"""What a damaged or cut block of snappy or LZ4 holds up to its fault; the libraries give all of a block or nothing.

Slow, but only ever used for one block, and no longer than its bytes or `room` last. What stands before a fault may already be wrong: it shows late.
Sources: snappy's format_description.txt; the LZ4 block format. Both are literals and copies of what was decompressed before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.structs.compression import SNAPPY_PREAMBLE

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Bytes:
    """The compressed bytes, read in order."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def number(self, size: int = 1) -> int:
        """A number of so many bytes, lowest first; EOFError when they are not all there."""
        part = self.some(size)
        if len(part) < size:
            raise EOFError
        return int.from_bytes(part, "little")

    def some(self, size: int) -> memoryview:
        """As many bytes as are left, at most `size`."""
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part

    def more(self) -> bool:
        return self._at < len(self._data)


def snappy_block(block: memoryview, room: int) -> bytes:
    """What a raw snappy block holds before its fault, at most `room` bytes."""
    return _filled(_snappy(_Bytes(block)), room, b"")


def lz4_block(block: memoryview, room: int, history: bytes = b"") -> bytes:
    """What an LZ4 block holds before its fault, at most `room` bytes; copies can reach back into `history`."""
    return _filled(_lz4(_Bytes(block)), room, history)


def _filled(elements: Iterator[memoryview | tuple[int, int]], room: int, history: bytes) -> bytes:
    """The elements put together: literals, and copies as (distance, length), which may overlap what they make."""
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
        kind, upper = tag & 3, tag >> 2
        if kind == 0:
            # 60 to 63 say that the length less 1 follows in 1 to 4 bytes.
            yield data.some((data.number(upper - 59) if upper >= 60 else upper) + 1)
        elif kind == 1:
            yield (upper >> 3 << 8) | data.number(), (upper & 7) + 4
        else:
            yield data.number(2 if kind == 2 else 4), upper + 1


def _lz4(data: _Bytes) -> Iterator[memoryview | tuple[int, int]]:
    while data.more():
        token = data.number()
        yield data.some(_length(data, token >> 4))
        if data.more():
            distance = data.number(2)
            yield distance, _length(data, token & 15) + 4


def _length(data: _Bytes, start: int) -> int:
    """A length of LZ4: 15 goes on in further bytes, up to one that is not 255."""
    length = start
    more = start == 15
    while more:
        byte = data.number()
        length += byte
        more = byte == 255
    return length
