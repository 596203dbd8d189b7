"""Capture files written packet by packet, to places that are written again later: a packet's bytes are known when its stream is.

What is not written again stays as it was first, so nothing that was forgotten is in the file. Comments, names, keys and interfaces' descriptions are
not taken over.
"""

from __future__ import annotations

import os
from array import array
from typing import IO

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import captures as declared

_RECORD, _BLOCK, _TRAILER = fixed(declared.PCAP["<"].record), fixed(declared.PCAPNG["<"].block), fixed(declared.PCAPNG["<"].trailer)
_ENHANCED = fixed(declared.PCAPNG["<"].enhanced)
_SNAP_LENGTH = 1 << 18
_NANOSECONDS = 9
_SECOND = 1_000_000_000
_KEPT = 8 << 20
"""Bytes at the end that are kept in memory, since most of what is written again is there."""


class Patched:
    """A file that grows at its end and is written again anywhere."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file.fileno()
        self._base = 0
        self._tail = bytearray()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._base + len(self._tail)

    def append(self, data: bytes | bytearray) -> None:
        """Add bytes at the end."""
        self._tail += data
        if len(self._tail) > 2 * _KEPT:
            self._send(len(self._tail) - _KEPT)

    def put(self, at: int, data: bytes | bytearray) -> None:
        """Write over bytes that are there."""
        if at >= self._base:
            at -= self._base
            self._tail[at : at + len(data)] = data
            return
        before = data[: self._base - at]
        _write(self._file, before, at)
        if len(before) < len(data):
            self._tail[: len(data) - len(before)] = data[len(before) :]

    def get(self, at: int, size: int) -> bytes:
        """Bytes that are there."""
        if at >= self._base:
            return bytes(self._tail[at - self._base : at - self._base + size])
        before = os.pread(self._file, min(size, self._base - at), at)
        return before + bytes(self._tail[: size - len(before)])

    def flush(self) -> None:
        """Write all."""
        self._send(len(self._tail))

    def _send(self, count: int) -> None:
        _write(self._file, self._tail[:count], self._base)
        del self._tail[:count]
        self._base += count


def _write(file: int, data: bytes | bytearray, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(file, view, at)
        view, at = view[done:], at + done


class PcapWriter:
    """A pcap file with times in nanoseconds, of one link type. `places` are where the packets' data begin."""

    def __init__(self, out: Patched, link: int) -> None:
        self.out = out
        self.places = array("Q")
        header = {"magic": declared.PCAP_NANO, "major_version": 2, "minor_version": 4, "reserved1": 0, "reserved2": 0}
        out.append(declared.PCAP["<"].header.build({**header, "snap_len": _SNAP_LENGTH, "link_type": link}))

    def add(self, time: int | None, link: int, data: bytes | bytearray, length: int) -> int:  # noqa: ARG002 - there is one link type
        """Write a packet; where its data begins."""
        seconds, fraction = divmod(time or 0, _SECOND)
        self.out.append(_RECORD.pack(seconds & 0xFFFFFFFF, fraction, len(data), length))
        self.places.append(self.out.size)
        self.out.append(data)
        return self.places[-1]


class PcapngWriter:
    """A pcapng file with an interface for each link type, and times in nanoseconds; packets without a time have none here either."""

    def __init__(self, out: Patched) -> None:
        self.out = out
        self.places = array("Q")
        self._layout = declared.PCAPNG["<"]
        self._interfaces: dict[int, int] = {}
        section = {"byte_order_magic": declared.BYTE_ORDER_MAGIC, "major_version": 1, "minor_version": 0, "section_length": -1}
        self._block(declared.SECTION_BLOCK, self._layout.section.build(section))

    def add(self, time: int | None, link: int, data: bytes | bytearray, length: int) -> int:
        """Write a packet; where its data begins."""
        timed = time is not None and time >= 0
        if not timed and link != next(iter(self._interfaces), link):
            timed, time = True, 0  # only the first interface can have packets without a time
        number = self._interface(link)
        if not timed:
            head = self._layout.simple.build({"original_packet_length": length})
            return self._block(declared.SIMPLE_PACKET_BLOCK, head, data)
        upper, lower = (time or 0) >> 32 & 0xFFFFFFFF, (time or 0) & 0xFFFFFFFF
        return self._block(declared.ENHANCED_PACKET_BLOCK, _ENHANCED.pack(number, upper, lower, len(data), length), data)

    def _interface(self, link: int) -> int:
        known = self._interfaces.get(link)
        if known is None:
            known = self._interfaces[link] = len(self._interfaces)
            body = self._layout.interface.build({"link_type": link, "reserved": 0, "snap_len": 0})
            resolution = self._layout.option.build({"code": declared.OPTION_TSRESOL, "length": 1}) + bytes((_NANOSECONDS, 0, 0, 0))
            end = self._layout.option.build({"code": declared.OPTION_END, "length": 0})
            self._block(declared.INTERFACE_BLOCK, body + resolution + end)
        return known

    def _block(self, kind: int, head: bytes, data: bytes | bytearray = b"") -> int:
        padded = -len(data) % 4
        total = _BLOCK.size + len(head) + len(data) + padded + _TRAILER.size
        self.out.append(_BLOCK.pack(kind, total) + head)
        place = self.out.size
        self.out.append(bytes(data) + bytes(padded) + _TRAILER.pack(total))
        if kind in {declared.SIMPLE_PACKET_BLOCK, declared.ENHANCED_PACKET_BLOCK}:
            self.places.append(place)
        return place
