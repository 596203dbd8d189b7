"""IP fragments, put together. Memory is bounded: beyond the limit the datagram that has waited longest is given up and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.capture.chunks import Chunks

if TYPE_CHECKING:
    from kwire_cli.source.capture.ip import Fragment

LIMIT = 1 << 22
"""Bytes of fragments held, bookkeeping included."""
MAX_DATAGRAM = (1 << 16) + 8
"""A datagram is never longer; a fragment that reaches beyond is malformed."""


class _Parts:
    __slots__ = ("chunks", "protocol", "total")

    def __init__(self) -> None:
        self.chunks = Chunks()
        self.total: int | None = None
        self.protocol = 0


class Fragments:
    """`incomplete` counts datagrams given up, `differing` those of which two fragments say different things (the first one stands)."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.incomplete = self.differing = 0
        self._limit, self._held = limit, 0
        self._parts: dict[tuple[bytes, int, int], _Parts] = {}

    def add(self, fragment: Fragment, protocol: int, data: bytes) -> tuple[int, bytes] | None:
        """The protocol and the bytes of the datagram that this fragment completes; None if it completes none."""
        if not data or fragment.offset + len(data) > MAX_DATAGRAM:
            return None
        parts = self._parts.get(fragment.key)
        if parts is None:
            parts = self._parts[fragment.key] = _Parts()
        before = parts.chunks.cost
        self.differing += parts.chunks.insert(fragment.offset, len(data), data).differs
        self._held += parts.chunks.cost - before
        if fragment.offset == 0:
            parts.protocol = protocol  # in IPv6 only the first fragment has to say what the datagram is
        if not fragment.more and parts.total is None:
            parts.total = fragment.offset + len(data)
        whole = _whole(parts)
        if whole is not None:
            self._drop(fragment.key)
            return parts.protocol, whole
        while self._held > self._limit:
            self.incomplete += 1
            self._drop(next(iter(self._parts)))
        return None

    def close(self) -> None:
        """No more will come: count what is still incomplete."""
        self.incomplete += len(self._parts)
        self._parts.clear()
        self._held = 0

    def _drop(self, key: tuple[bytes, int, int]) -> None:
        self._held -= self._parts.pop(key).chunks.cost


def _whole(parts: _Parts) -> bytes | None:
    """The datagram, if its end is known and no byte before it is missing."""
    if parts.total is None:
        return None
    position = 0
    for chunk in parts.chunks.chunks:
        if chunk.start != position:
            return None
        position += chunk.size
    return b"".join(chunk.data or b"" for chunk in parts.chunks.chunks)[: parts.total] if position >= parts.total else None
