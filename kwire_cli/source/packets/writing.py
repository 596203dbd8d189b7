"""Capture files written packet by packet.

Comments, names, keys and interfaces' descriptions of a file that was read are not taken over.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Protocol

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network as declared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.source.packets.model import Packet

_RECORD, _BLOCK, _TRAILER = (
    fixed(declared.PCAP["<"].record),
    fixed(declared.PCAPNG["<"].block),
    fixed(declared.PCAPNG["<"].trailer),
)
_ENHANCED = fixed(declared.PCAPNG["<"].enhanced)
_SNAP_LENGTH = 1 << 18
_NANOSECONDS = 9
_SECOND = 1_000_000_000
_MOST_COMMENT = 0xFFFF
"""The most bytes of an option."""


class Sink(Protocol):
    """The interface of a file that grows at its end."""

    @property
    def size(self) -> int:
        """Bytes so far."""

    def append(self, data: bytes | bytearray) -> None:
        """Add bytes at the end."""


class Growing:
    """A file that grows by a function that writes."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self.size = write, 0

    def append(self, data: bytes | bytearray) -> None:
        """Add bytes at the end."""
        self._write(bytes(data))
        self.size += len(data)


class PcapWriter:
    """A pcap file with times in nanoseconds, of one link type. `places` are where the packets' data begin."""

    def __init__(self, out: Sink, link: int) -> None:
        self.out = out
        self.places = array("Q")
        header = {"magic": declared.PCAP_NANO, "major_version": 2, "minor_version": 4, "reserved1": 0, "reserved2": 0}
        out.append(declared.PCAP["<"].header.build({**header, "snap_len": _SNAP_LENGTH, "link_type": link}))

    def add(self, packet: Packet, comments: Sequence[str] = ()) -> int:  # noqa: ARG002 - there are none in this format
        """Write a packet; where its data begins."""
        seconds, fraction = divmod(packet.time or 0, _SECOND)
        self.out.append(_RECORD.pack(seconds & 0xFFFFFFFF, fraction, len(packet.data), packet.wire_length))
        self.places.append(self.out.size)
        self.out.append(packet.data)
        return self.places[-1]


class PcapngWriter:
    """A pcapng file with an interface for each link type, and times in nanoseconds; packets without a time have none
    here either.
    """

    def __init__(self, out: Sink) -> None:
        self.out = out
        self.places = array("Q")
        self._layout = declared.PCAPNG["<"]
        self._interfaces: dict[int, int] = {}
        section = {
            "byte_order_magic": declared.BYTE_ORDER_MAGIC,
            "major_version": 1,
            "minor_version": 0,
            "section_length": -1,
        }
        self._block(declared.SECTION_BLOCK, self._layout.section.build(section))

    def add(self, packet: Packet, comments: Sequence[str] = ()) -> int:
        """Write a packet with comments; where its data begins. A packet without a time that has comments is of 1970."""
        _, time, link, data, length = packet
        timed = time is not None and time >= 0
        if not timed and (comments or link != next(iter(self._interfaces), link)):
            timed, time = True, 0  # only the first interface can have packets without a time
        number = self._interface(link)
        if not timed:
            head = self._layout.simple.build({"original_packet_length": length})
            return self._block(declared.SIMPLE_PACKET_BLOCK, head, data)
        upper, lower = (time or 0) >> 32 & 0xFFFFFFFF, (time or 0) & 0xFFFFFFFF
        head = _ENHANCED.pack(number, upper, lower, len(data), length)
        return self._block(declared.ENHANCED_PACKET_BLOCK, head, data, self._options(comments))

    def _options(self, comments: Sequence[str]) -> bytes:
        parts = []
        for comment in comments:
            text = _cut(comment)
            parts += [self._layout.option.build({"code": declared.OPTION_COMMENT, "length": len(text)}), text]
            parts.append(bytes(-len(text) % 4))
        return b"".join(parts) + self._layout.option.build({"code": declared.OPTION_END, "length": 0}) if parts else b""

    def _interface(self, link: int) -> int:
        number = self._interfaces.get(link)
        if number is None:
            number = self._interfaces[link] = len(self._interfaces)
            body = self._layout.interface.build({"link_type": link, "reserved": 0, "snap_len": 0})
            resolution = self._layout.option.build({"code": declared.OPTION_TSRESOL, "length": 1}) + bytes(
                (_NANOSECONDS, 0, 0, 0)
            )
            end = self._layout.option.build({"code": declared.OPTION_END, "length": 0})
            self._block(declared.INTERFACE_BLOCK, body + resolution + end)
        return number

    def _block(self, kind: int, head: bytes, data: bytes | bytearray = b"", options: bytes = b"") -> int:
        padded = -len(data) % 4
        total = _BLOCK.size + len(head) + len(data) + padded + len(options) + _TRAILER.size
        self.out.append(_BLOCK.pack(kind, total) + head)
        place = self.out.size
        self.out.append(bytes(data) + bytes(padded) + options + _TRAILER.pack(total))
        if kind in {declared.SIMPLE_PACKET_BLOCK, declared.ENHANCED_PACKET_BLOCK}:
            self.places.append(place)
        return place


def _cut(comment: str) -> bytes:
    """Return a comment in UTF-8, cut to what an option holds."""
    return comment.encode("utf-8", "replace")[:_MOST_COMMENT].decode("utf-8", "ignore").encode()
