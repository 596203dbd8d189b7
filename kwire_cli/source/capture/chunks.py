"""Bytes that arrive in any order, put in order: of an IP datagram, or of one direction of a TCP connection."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

OVERHEAD = 256
"""Bytes that a chunk costs beside its data, roughly."""


class Chunk(NamedTuple):
    """`size` bytes at position `start`; `data` is None for bytes that are known to exist but were not captured. `tag` is the caller's."""

    start: int
    size: int
    data: bytes | None
    tag: Any


class Inserted(NamedTuple):
    """How many bytes were new, how many were there before, and whether any of those differ from what was there."""

    new: int
    duplicate: int
    differs: bool


class Chunks:
    """Chunks in order, none overlapping another: the bytes that came first stay. `cost` is about what they take of memory."""

    __slots__ = ("chunks", "cost", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.chunks: list[Chunk] = []
        self.cost = 0

    def __bool__(self) -> bool:
        return bool(self.chunks)

    def insert(self, start: int, size: int, data: bytes | None, tag: Any = None) -> Inserted:
        """Keep what is new of these bytes."""
        end, position = start + size, start
        index = max(bisect_right(self.starts, start) - 1, 0)
        if index < len(self.chunks) and self.starts[index] + self.chunks[index].size <= start:
            index += 1
        duplicate, differs = 0, False
        while position < end:
            if index < len(self.chunks) and self.starts[index] <= position:
                there = self.chunks[index]
                upto = min(end, there.start + there.size)
                if data is not None and there.data is not None:
                    differs |= data[position - start : upto - start] != there.data[position - there.start : upto - there.start]
                duplicate += upto - position
            else:
                upto = min(end, self.starts[index]) if index < len(self.chunks) else end
                piece = data[position - start : upto - start] if data is not None else None
                self.starts.insert(index, position)
                self.chunks.insert(index, Chunk(position, upto - position, piece, tag))
                self.cost += OVERHEAD + len(piece or b"")
            index += 1
            position = upto
        return Inserted(size - duplicate, duplicate, differs)

    def pop(self) -> Chunk:
        """Take the first chunk out."""
        self.starts.pop(0)
        chunk = self.chunks.pop(0)
        self.cost -= OVERHEAD + len(chunk.data or b"")
        return chunk

    def clear(self) -> None:
        """Take all out."""
        self.starts.clear()
        self.chunks.clear()
        self.cost = 0
