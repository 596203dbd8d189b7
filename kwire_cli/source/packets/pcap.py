"""Readers of the capture formats pcap and pcapng, without I/O.

A reader takes the bytes of a file in pieces of any size, and returns the packets that are complete. It buffers only an
incomplete packet or block, so a growing file is read by feeding its new bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.source.packets.model import Notice, Packet
from kwire_cli.structs import network
from kwire_cli.structs.network import PCAP, PCAP_MICRO, PCAP_NANO, PCAPNG, PcapngLayout

MAX_PACKET = 1 << 24
"""Maximum size of a packet. A larger size means that the structure of the file was lost."""


USUAL_PACKET = 1 << 18
"""The number of bytes that tcpdump captures of a packet by default. Files with a smaller limit can contain more."""

_HEADERS = {order: fixed(layout.header) for order, layout in PCAP.items()}
_RECORDS = {order: fixed(layout.record) for order, layout in PCAP.items()}
_NANOSECONDS = {PCAP_MICRO: 1000, PCAP_NANO: 1}

HEADER_SIZE = _HEADERS["<"].size


def pcap_order(header: bytes) -> str | None:
    """Return the byte order of a pcap file, from its magic number. Return None if the file is not pcap."""
    if len(header) < HEADER_SIZE:
        header = header.ljust(HEADER_SIZE, b"\0")
    for order, layout in _HEADERS.items():
        if layout.unpack(header)[0] in _NANOSECONDS:
            return order
    return None


class PcapFile(NamedTuple):
    """The header of a pcap file: byte order, link type, nanoseconds per unit of the fraction, and the maximum captured
    length.
    """

    order: str
    link: int
    scale: int
    longest: int


def pcap_file(header: bytes) -> PcapFile:
    """Return the header of a pcap file. `header` must be complete."""
    order = pcap_order(header) or ">"
    magic, _, _, _, _, snap_length, link = _HEADERS[order].unpack(header)
    # A snapshot length of 0 or a huge one is no limit. Real files have captured lengths above a small one.
    return PcapFile(
        order, link & 0xFFFF, _NANOSECONDS.get(magic, 1000), min(max(snap_length, USUAL_PACKET), MAX_PACKET)
    )


class PieceReader:
    """Reads the packets of one capture file, whose bytes come in pieces.

    `feed` takes the next bytes and returns the packets that are complete. `close` ends the file.

    Attributes:
        notices: Data that could not be read, and why reading ended early.
        stopped: Whether the structure of the file was lost.
        number: The number of packets so far, including packets that could not be read.

    """

    def __init__(self, number: int, needed: int) -> None:
        self.notices: list[Notice] = []
        self.stopped = False
        self.number = number
        self._rest: list[bytes] = []
        self._held = 0
        self._needed = needed  # bytes without which nothing can be read
        self._position = 0  # position in the file of the first buffered byte

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets that these bytes complete."""
        if self.stopped:
            return []
        self._rest.append(data)
        self._held += len(data)
        if self._held < self._needed:
            return []
        data = b"".join(self._rest) if len(self._rest) > 1 else data
        packets, used = self._read(data)
        self._rest = [data[used:]]
        self._held = len(data) - used
        self._position += used
        return packets

    def _read(self, data: bytes) -> tuple[list[Packet], int]:
        """Return the complete packets in `data`, and the position of the first incomplete one."""
        raise NotImplementedError

    def _stop(self, text: str, used: int) -> None:
        self.stopped = True
        self.notices.append(Notice(text, self._position + used, self.number))


class PcapReader(PieceReader):
    """Reads the packets of one pcap file. `number` packets came before."""

    def __init__(self, number: int = 0) -> None:
        super().__init__(number, HEADER_SIZE)
        self._layout: Fixed | None = None  # the layout of records; None before the file header is read
        self._link = 0
        self._scale = 0
        self._longest = 0

    def close(self) -> None:
        """End the file. An incomplete packet becomes a notice."""
        if self._held and not self.stopped:
            what = "a packet" if self._layout else "the file's header"
            self._stop(f"the file ends in the middle of {what}: {self._held} of at least {self._needed} bytes", 0)

    def _read(self, data: bytes) -> tuple[list[Packet], int]:
        at = 0
        layout = self._layout
        if layout is None:
            order, self._link, self._scale, self._longest = pcap_file(data)
            layout = _RECORDS[order]
            self._layout = layout
            at = HEADER_SIZE
        link = self._link
        scale = self._scale
        longest = self._longest
        unpack = layout.unpack
        size = layout.size
        packets: list[Packet] = []
        add = packets.append
        new = tuple.__new__
        number = self.number
        stop = len(data)
        last = stop - size
        self._needed = size
        while at <= last:
            seconds, fraction, captured, length = unpack(data, at)
            start = at + size
            end = start + captured
            if end > stop or captured > longest:
                if captured > longest:
                    self.number = number
                    self._stop(
                        f"packet {number + 1} says that it is {captured} bytes long; reading stops before it", at
                    )
                self._needed = size + captured
                break
            number += 1
            add(new(Packet, (number, seconds * 1_000_000_000 + fraction * scale, link, data[start:end], length)))
            at = end
        self.number = number
        return packets, at


MAX_BLOCK = MAX_PACKET + (1 << 20)
"""Maximum size of a block that is read: a packet with its options. Other blocks are skipped, and can have any size."""


MAX_SECRETS = 1 << 24
"""Maximum size of all TLS secrets of a file. Further secrets are dropped."""


class Secrets(NamedTuple):
    """The type and the data of a decryption secrets block. The type is `structs.network.TLS_KEY_LOG` or another."""

    type: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface: the link type of its packets, the limit of their captured size, and the unit of their times."""

    link: int
    snap_length: int
    units: int  # timestamp units per second
    offset: int  # nanoseconds

    def time(self, upper: int, lower: int) -> int:
        """Return nanoseconds since 1970."""
        return ((upper << 32 | lower) * 1_000_000_000) // self.units + self.offset


class Order:
    """The compiled layouts of one byte order, `<` or `>`."""

    def __init__(self, name: str, layout: PcapngLayout) -> None:
        self.name = name
        self.block = fixed(layout.block)
        self.trailer = fixed(layout.trailer)
        self.section = fixed(layout.section)
        self.interface = fixed(layout.interface)
        self.enhanced = fixed(layout.enhanced)
        self.simple = fixed(layout.simple)
        self.obsolete = fixed(layout.obsolete)
        self.secrets = fixed(layout.secrets)
        self.option = fixed(layout.option)
        self.offset = fixed(layout.offset)
        self.resolution = fixed(network.TSRESOL)
        self.least = self.block.size + self.trailer.size


ORDERS = {order: Order(order, layout) for order, layout in PCAPNG.items()}
_READ = frozenset(
    (
        network.SECTION_BLOCK,
        network.INTERFACE_BLOCK,
        network.SIMPLE_PACKET_BLOCK,
        network.ENHANCED_PACKET_BLOCK,
        network.OBSOLETE_PACKET_BLOCK,
        network.SECRETS_BLOCK,
    )
)


class PcapngReader(PieceReader):
    """Reads the packets of one pcapng file.

    Attributes:
        secrets: The decryption secrets so far.
        unread: The number of blocks with a valid length whose contents could not be read.
        order: The byte order of the section that is being read.
        interfaces: The interfaces of that section so far.

    """

    def __init__(self) -> None:
        super().__init__(0, ORDERS["<"].block.size)
        self.secrets: list[Secrets] = []
        self.unread = 0
        self.order: Order | None = None
        self.interfaces: list[Interface] = []
        self._skip = 0  # remaining bytes of a skipped block

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets that these bytes complete."""
        skipped = 0 if self.stopped else min(self._skip, len(data))
        self._skip -= skipped
        self._position += skipped
        return super().feed(data[skipped:])

    def close(self) -> None:
        """End the file. An incomplete block becomes a notice."""
        if (self._held or self._skip) and not self.stopped:
            self._stop("the file ends in the middle of a block", 0)

    def _read(self, data: bytes) -> tuple[list[Packet], int]:
        packets: list[Packet] = []
        at = 0
        while (after := self.read_block(data, at, packets)) != at:
            at = after
        return packets, at

    def read_block(self, data: Any, at: int, packets: list[Packet]) -> int:
        """Read the block at `at`. Return the position of the next block, or `at` if the block is incomplete or
        invalid.
        """
        stop = len(data)
        self._needed = ORDERS["<"].block.size
        if stop - at < self._needed:
            return at
        order = self.order
        if order is None or data[at : at + order.trailer.size] == _SECTION_TYPE:
            order = self._section_order(data, at)
            if order is None:
                return at
        kind, length = order.block.unpack(data, at)
        if length % 4 or length < order.least or (length > MAX_BLOCK and kind in _READ):
            self._stop(f"a block says that it is {length} bytes long; reading stops before it", at)
            return at
        end: int = at + length
        if kind not in _READ:
            if end > stop:
                self._skip = end - stop
                self._needed = 0
            return min(end, stop)
        if end > stop:
            self._needed = length
            return at
        if order.trailer.unpack(data, end - order.trailer.size)[0] != length:
            self._stop("a block's two lengths differ; reading stops before it", at)
            return at
        self._block(order, kind, data[at + order.block.size : end - order.trailer.size], packets, at)
        return end

    def _section_order(self, data: Any, at: int) -> Order | None:
        """Return the byte order of the section that begins at `at`. Return None if it is incomplete or invalid."""
        begin = at + ORDERS["<"].block.size
        if len(data) < begin + ORDERS["<"].section.size:
            self._needed = begin - at + ORDERS["<"].section.size
            return None
        for order in ORDERS.values():
            if order.section.unpack(data, begin)[0] == network.BYTE_ORDER_MAGIC:
                return order
        self._stop("a section begins without a byte order mark; reading stops before it", at)
        return None

    def _block(self, order: Order, kind: int, body: bytes, packets: list[Packet], at: int) -> None:
        try:
            if kind == network.SECTION_BLOCK:
                self.order = order
                self.interfaces = []
            elif kind == network.INTERFACE_BLOCK:
                self.interfaces.append(_interface(order, body))
            elif kind == network.SECRETS_BLOCK:
                self._secrets(order, body)
            else:
                self.number += 1
                packets.append(self._packet(order, kind, body))
        except (struct.error, IndexError, ValueError):
            self.unread += 1
            if self.unread == 1:
                text = "a block's content does not fit it; it is passed over, as are others like it"
                self.notices.append(Notice(text, self._position + at, self.number))

    def _packet(self, order: Order, kind: int, body: bytes) -> Packet:
        """Return a packet. Raise IndexError if its interface is unknown, ValueError if it is longer than its block."""
        if kind == network.ENHANCED_PACKET_BLOCK:
            number, upper, lower, captured, length = order.enhanced.unpack(body)
            start = order.enhanced.size
        elif kind == network.OBSOLETE_PACKET_BLOCK:
            number, _, upper, lower, captured, length = order.obsolete.unpack(body)
            start = order.obsolete.size
        else:
            (length,) = order.simple.unpack(body)
            interface = self.interfaces[0]
            start = order.simple.size
            captured = min(length, interface.snap_length or length, len(body) - start)
            return Packet(self.number, None, interface.link, body[start : start + captured], length)
        interface = self.interfaces[number]
        if captured > len(body) - start:
            raise ValueError(captured)
        return tuple.__new__(
            Packet, (self.number, interface.time(upper, lower), interface.link, body[start : start + captured], length)
        )

    def _secrets(self, order: Order, body: bytes) -> None:
        kind, length = order.secrets.unpack(body)
        data = body[order.secrets.size :][:length]
        if sum(len(secrets.data) for secrets in self.secrets) + len(data) <= MAX_SECRETS:
            self.secrets.append(Secrets(kind, bytes(data)))


_SECTION_TYPE = network.SECTION_BLOCK.to_bytes(4)


def _interface(order: Order, body: bytes) -> Interface:
    link, _, snap_length = order.interface.unpack(body)
    units = 1_000_000
    offset = 0
    for code, value in _options(order, body, order.interface.size):
        if code == network.OPTION_TSRESOL:
            (resolution,) = order.resolution.unpack(value)
            units = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        elif code == network.OPTION_TSOFFSET:
            (seconds,) = order.offset.unpack(value)
            offset = seconds * 1_000_000_000
    return Interface(link, snap_length, units, offset)


def _options(order: Order, body: bytes, at: int) -> list[tuple[int, bytes]]:
    """Return code and value of each option. Raise struct.error if an option is truncated."""
    out: list[tuple[int, bytes]] = []
    while at < len(body):
        code, length = order.option.unpack(body, at)
        at += order.option.size
        if code == network.OPTION_END:
            break
        out.append((code, body[at : at + length]))
        at += -(-length // 4) * 4
    return out
