"""TCP segments of packets, through link layers, IP and tunnels. Other packets are counted by kind.

Most packets are Ethernet, IPv4 without options, and TCP. Their three headers are read in one step. All other packets
take the general path of `Segments.segment`, which has the same results for these packets (a test compares them).
Checksums are not verified, because captures on the sending machine usually contain wrong ones (checksum offload).
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

from construct import Struct

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.packets import headers
from kwire_cli.source.packets.headers import (
    CUT_SHORT,
    FRAGMENT,
    MALFORMED,
    TOO_DEEP,
    Datagram,
    OtherError,
    datagram,
    is_unread,
    protocol_name,
)
from kwire_cli.source.packets.model import Notice, Packet, Segment
from kwire_cli.structs import network as link_types
from kwire_cli.structs.network import (
    ACK,
    ETHER_IPV4,
    ETHER_IPV6,
    FIN,
    IPV4,
    IPV4_MORE_FRAGMENTS,
    IPV4_OFFSET,
    PROTOCOL_TCP,
    RST,
    SYN,
    TCP,
    ZERO_WINDOW,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MAX_NESTING = 8
"""Maximum number of nested IP packets."""


_TCP = fixed(TCP, (("source_port", "destination_port"), "sequence", "acknowledgment", "data_offset", "flags", "window"))
_TCP_SIZE = fixed(TCP).size
_COMMON_FIELDS = (
    "link.protocol",
    "ip.version_and_header_length",
    "ip.total_length",
    "ip.flags_and_fragment_offset",
    "ip.protocol",
    ("ip.source", "ip.destination", "tcp.source_port", "tcp.destination_port"),
    "tcp.sequence",
    "tcp.acknowledgment",
    "tcp.data_offset",
    "tcp.flags",
    "tcp.window",
)
_COMMON = fixed(Struct("link" / link_types.ETHERNET, "ip" / IPV4, "tcp" / TCP), _COMMON_FIELDS)
_ETHERNET_SIZE = fixed(link_types.ETHERNET).size
_TCP_AT = _ETHERNET_SIZE + fixed(IPV4).size
_FRAGMENT_BITS = IPV4_MORE_FRAGMENTS | IPV4_OFFSET
_PLAIN_IPV4 = 4 << 4 | fixed(IPV4).size // 4
WINDOW_COUNTS = FIN | SYN | RST | ACK
"""A window of 0 means that the sender accepts no more bytes, if ACK is the only one of these flags that is set."""


class Segments:
    """Extracts TCP segments from packets.

    `other` counts packets without a segment by kind: `arp`, `udp`, `icmp`, `headers cut off`, ...
    """

    def __init__(self) -> None:
        self.other: Counter[str] = Counter()

    def notices(self, packet: int, position: int) -> list[Notice]:
        """Return a notice of the packets up to a place that may carry TCP, but are not read; nothing without any."""
        counts = [f"{count} {kind}" for kind, count in self.other.most_common() if is_unread(kind)]
        return [Notice(f"packets that kwire does not read: {', '.join(counts)}", position, packet)] if counts else []

    def __call__(self, packets: Iterable[Packet]) -> Iterator[Segment]:
        """Yield the segments of these packets in order. Further calls continue the capture."""
        unpack = _COMMON.unpack
        size = _COMMON.size
        new = tuple.__new__
        slow = self.segment
        for packet in packets:
            number, time, kind, data, _ = packet
            if kind == 1 and len(data) >= size:
                (
                    protocol,
                    first,
                    total,
                    fragment,
                    upper_protocol,
                    ends,
                    sequence,
                    acknowledgment,
                    offset,
                    flags,
                    window,
                ) = unpack(data)
                if (
                    protocol == ETHER_IPV4
                    and first == _PLAIN_IPV4
                    and upper_protocol == PROTOCOL_TCP
                    and not fragment & _FRAGMENT_BITS
                ):
                    start = _TCP_AT + (offset >> 4) * 4
                    end = _ETHERNET_SIZE + total
                    if size <= start <= end <= len(data):
                        if not window and flags & WINDOW_COUNTS == ACK:
                            flags |= ZERO_WINDOW
                        yield new(Segment, (number, time, ends, sequence, acknowledgment, flags, data[start:end], 0))
                        continue
            segment = slow(packet)
            if segment is not None:
                yield segment

    def segment(self, packet: Packet) -> Segment | None:
        """Return the segment of a packet. Return None and count the packet if it has no segment."""
        try:
            return self._segment(packet)
        except OtherError as other:
            self.other[other.kind] += 1
        except struct.error:
            self.other[CUT_SHORT] += 1
        return None

    def _segment(self, packet: Packet) -> Segment:
        number, time, kind, data, length = packet
        end = max(length, len(data))
        protocol, at = headers.carried(kind, data)
        for _ in range(MAX_NESTING):
            if protocol not in {ETHER_IPV4, ETHER_IPV6}:
                raise OtherError(headers.ether_name(protocol))
            ip_packet = datagram(protocol, data, at, end)
            if ip_packet.is_fragment:
                raise OtherError(FRAGMENT if ip_packet.protocol == PROTOCOL_TCP else protocol_name(ip_packet.protocol))
            if ip_packet.protocol == PROTOCOL_TCP:
                return _tcp(number, time, data, ip_packet)
            protocol, at = headers.wrapping(ip_packet.protocol, data, ip_packet.start).carried
            end = ip_packet.end
        raise OtherError(TOO_DEEP)


def _tcp(number: int, time: int | None, data: bytes, ip_packet: Datagram) -> Segment:
    ports, sequence, acknowledgment, offset, flags, window = _TCP.unpack(data, ip_packet.start)
    if not window and flags & WINDOW_COUNTS == ACK:
        flags |= ZERO_WINDOW
    start = ip_packet.start + (offset >> 4) * 4
    if not ip_packet.start + _TCP_SIZE <= start <= ip_packet.end:
        raise OtherError(f"{MALFORMED} tcp")
    payload = data[start : ip_packet.end]
    return Segment(
        number,
        time,
        ip_packet.addresses + ports,
        sequence,
        acknowledgment,
        flags,
        payload,
        ip_packet.end - start - len(payload),
    )
