"""Capture files written packet by packet, and copies of some packets of capture files.

Comments, names, keys and interfaces' descriptions of a file are not taken over, unless a pcapng file is copied to one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError
from kwire_cli.source.files import Pieces
from kwire_cli.source.packets.files import capture_format, packets
from kwire_cli.source.packets.pcap import HEADER_SIZE, PcapngReader
from kwire_cli.structs import network as declared

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from kwire_cli.source.packets.model import Packet
    from kwire_cli.source.packets.pcap import Order

_RECORD = fixed(declared.PCAP["<"].record)
_BLOCK = fixed(declared.PCAPNG["<"].block)
_TRAILER = fixed(declared.PCAPNG["<"].trailer)
_ENHANCED = fixed(declared.PCAPNG["<"].enhanced)
_SNAP_LENGTH = 1 << 18
_NANOSECONDS = 9
_SECOND = 1_000_000_000
_UNKNOWN_LENGTH = -1
"""The length of a pcapng section if it is not specified."""


Write = Callable[[bytes], object]
"""Adds bytes at the end of a file."""


class PcapWriter:
    """Writes a pcap file of one link type, with times in nanoseconds."""

    def __init__(self, write: Write, link: int) -> None:
        self._write = write
        self._size = HEADER_SIZE
        header = {"magic": declared.PCAP_NANO, "major_version": 2, "minor_version": 4, "reserved1": 0, "reserved2": 0}
        write(declared.PCAP["<"].header.build({**header, "snap_len": _SNAP_LENGTH, "link_type": link}))

    def add(self, packet: Packet) -> int:
        """Write a packet. Return the place of its data."""
        seconds, fraction = divmod(packet.time or 0, _SECOND)
        size = len(packet.data)
        record = _RECORD.pack(seconds & 0xFFFFFFFF, fraction, size, packet.wire_length)
        self._write(record + packet.data)
        place = self._size + len(record)
        self._size = place + size
        return place


class PcapngWriter:
    """Writes a pcapng file with an interface per link type, and times in nanoseconds. Packets without a time are
    written without one.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._size = 0
        self._layout = declared.PCAPNG["<"]
        self._interfaces: dict[int, int] = {}
        section = {
            "byte_order_magic": declared.BYTE_ORDER_MAGIC,
            "major_version": 1,
            "minor_version": 0,
            "section_length": -1,
        }
        self._block(declared.SECTION_BLOCK, self._layout.section.build(section))

    def add(self, packet: Packet) -> int:
        """Write a packet. Return the place of its data."""
        _, time, link, data, length = packet
        timed = time is not None and time >= 0
        if not timed and link != next(iter(self._interfaces), link):
            timed = True  # only the first interface can have packets without a time
            time = 0
        number = self._interface(link)
        if not timed:
            head = self._layout.simple.build({"original_packet_length": length})
            return self._block(declared.SIMPLE_PACKET_BLOCK, head, data)
        upper = (time or 0) >> 32 & 0xFFFFFFFF
        lower = (time or 0) & 0xFFFFFFFF
        head = _ENHANCED.pack(number, upper, lower, len(data), length)
        return self._block(declared.ENHANCED_PACKET_BLOCK, head, data)

    def _interface(self, link: int) -> int:
        number = self._interfaces.get(link)
        if number is None:
            number = len(self._interfaces)
            self._interfaces[link] = number
            body = self._layout.interface.build({"link_type": link, "reserved": 0, "snap_len": 0})
            resolution = self._layout.option.build({"code": declared.OPTION_TSRESOL, "length": 1}) + bytes(
                (_NANOSECONDS, 0, 0, 0)
            )
            end = self._layout.option.build({"code": declared.OPTION_END, "length": 0})
            self._block(declared.INTERFACE_BLOCK, body + resolution + end)
        return number

    def _block(self, kind: int, head: bytes, data: bytes = b"") -> int:
        """Write a block. Return the place of its data."""
        padded = -len(data) % 4
        total = _BLOCK.size + len(head) + len(data) + padded + _TRAILER.size
        self._write(_BLOCK.pack(kind, total) + head + data + bytes(padded) + _TRAILER.pack(total))
        place = self._size + _BLOCK.size + len(head)
        self._size += total
        return place


def copy_packets(chosen: Mapping[str, Container[int]], form: str, write: Write) -> None:
    """Write the packets of these numbers from each capture file as one capture, `pcap` or `pcapng`.

    Bytes, link types and times stay. From pcapng to pcapng, comments, interfaces and keys stay too. Raise InputError
    if a file cannot be read, or if packets of several link types do not go into a pcap file.
    """
    if form == "pcap":
        _copy_to_pcap(chosen, write)
    elif chosen:
        _copy_to_pcapng(chosen, write)
    else:
        PcapngWriter(write)


def _copy_to_pcapng(chosen: Mapping[str, Container[int]], write: Write) -> None:
    """Copy packets to a pcapng file, with a section or more for each capture file."""
    for file, numbers in chosen.items():
        if capture_format(_first_bytes(file)) == "pcapng":
            copier = _PcapngCopier(numbers, write)
            for piece in Pieces(file):
                copier.feed(piece)
            continue
        writer = PcapngWriter(write)
        for packet in _chosen_packets(file, numbers):
            writer.add(packet)


def _copy_to_pcap(chosen: Mapping[str, Container[int]], write: Write) -> None:
    writer: PcapWriter | None = None
    link = 0
    for file, numbers in chosen.items():
        for packet in _chosen_packets(file, numbers):
            if writer is None:
                link = packet.link
                writer = PcapWriter(write, link)
            if packet.link != link:
                reason = f"a pcap file has one link type, and packets have {link} and {packet.link}: write pcapng"
                raise InputError(reason, file=file)
            writer.add(packet)
    if writer is None:
        PcapWriter(write, declared.LINK_ETHERNET)


def _first_bytes(file: str) -> bytes:
    first = b""
    for piece in Pieces(file):
        first += piece
        if len(first) >= HEADER_SIZE:
            break
    return first


def _chosen_packets(file: str, numbers: Container[int]) -> Iterator[Packet]:
    return (packet for packet in packets(file) if packet.number in numbers)


class _PcapngCopier(PcapngReader):
    """Writes the sections, interfaces and keys of a pcapng file, and packets of some numbers, byte by byte."""

    def __init__(self, numbers: Container[int], write: Write) -> None:
        super().__init__()
        self._numbers = numbers
        self._write = write

    def _block(self, order: Order, kind: int, body: bytes, packets: list[Packet], at: int) -> None:
        before = self.number
        super()._block(order, kind, body, packets, at)
        if self.number != before and self.number not in self._numbers:
            return
        if kind == declared.SECTION_BLOCK:
            after_length = body[order.section.size :]
            magic, major, minor, _ = order.section.unpack(body)
            body = order.section.pack(magic, major, minor, _UNKNOWN_LENGTH) + after_length
        length = order.block.pack(kind, order.least + len(body))
        self._write(length + body + order.trailer.pack(order.least + len(body)))
