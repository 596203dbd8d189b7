"""Packets to TCP segments, through link layers, IP and tunnels; what is not TCP is counted by kind.

Most packets are Ethernet, IPv4 without options, TCP: their three headers, declared one by one, are read in one step. Everything else takes the
general way, `Segments.segment`, which reads those packets the same (a test compares them). Checksums are not looked at: a capture on the sending
machine has wrong ones as a rule.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

from construct import Struct

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture import link, tunnels
from kwire_cli.source.capture.fragments import Fragments
from kwire_cli.source.capture.ip import Datagram, datagram, upper
from kwire_cli.source.capture.model import Packet, Segment
from kwire_cli.source.capture.other import CUT_SHORT, FRAGMENT, MALFORMED, TOO_DEEP, OtherError
from kwire_cli.structs.network import link as link_types
from kwire_cli.structs.network.ip import IPV4, IPV4_MORE_FRAGMENTS, IPV4_OFFSET, PROTOCOL_TCP
from kwire_cli.structs.network.link import ETHER_IPV4, ETHER_IPV6
from kwire_cli.structs.network.transport import TCP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_NESTING = 8
"""IP packets inside each other."""

_TCP = fixed(TCP, (("source_port", "destination_port"), "sequence", "acknowledgment", "data_offset", "flags"))
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
)
_COMMON = fixed(Struct("link" / link_types.ETHERNET, "ip" / IPV4, "tcp" / TCP), _COMMON_FIELDS)
_ETHERNET_SIZE = fixed(link_types.ETHERNET).size
_TCP_AT = _ETHERNET_SIZE + fixed(IPV4).size
_FRAGMENT_BITS = IPV4_MORE_FRAGMENTS | IPV4_OFFSET
_PLAIN_IPV4 = 4 << 4 | fixed(IPV4).size // 4


class Segments:
    """`other` counts packets that gave no segment, by kind: `arp`, `udp`, `icmp`, `headers cut off`, ...; `fragments` has counts of its own."""

    def __init__(self) -> None:
        self.other: Counter[str] = Counter()
        self.fragments = Fragments()

    def __call__(self, packets: Iterable[Packet]) -> Iterator[Segment]:
        """The segments in these packets, in their order; call it again with those that follow."""
        unpack, size, new, slow = _COMMON.unpack, _COMMON.size, tuple.__new__, self.segment
        for packet in packets:
            number, time, kind, data, _ = packet
            if kind == 1 and len(data) >= size:
                protocol, first, total, fragment, upper_protocol, ends, sequence, acknowledgment, offset, flags = unpack(data)
                if protocol == ETHER_IPV4 and first == _PLAIN_IPV4 and upper_protocol == PROTOCOL_TCP and not fragment & _FRAGMENT_BITS:
                    start, end = _TCP_AT + (offset >> 4) * 4, _ETHERNET_SIZE + total
                    if _COMMON.size <= start <= end <= len(data):
                        yield new(Segment, (number, time, ends, sequence, acknowledgment, flags, data[start:end], 0))
                        continue
            segment = slow(packet)
            if segment is not None:
                yield segment

    def segment(self, packet: Packet) -> Segment | None:
        """The segment in a packet of any kind; None, and a count, where there is none."""
        try:
            return self._segment(packet)
        except OtherError as other:
            self.other[other.kind] += 1
        except struct.error:
            self.other[CUT_SHORT] += 1
        return None

    def close(self) -> None:
        """No more packets will come."""
        self.fragments.close()

    def _segment(self, packet: Packet) -> Segment:
        number, time, kind, data, length = packet
        end = max(length, len(data))
        protocol, at = link.carried(kind, data)
        for _ in range(MAX_NESTING):
            if protocol not in {ETHER_IPV4, ETHER_IPV6}:
                raise OtherError(link.ether_name(protocol))
            found = datagram(protocol, data, at, end)
            if found.fragment is not None:
                found, data = self._reassembled(found, data)
            if found.protocol == PROTOCOL_TCP:
                return _tcp(number, time, data, found)
            protocol, at = tunnels.inside(found.protocol, data, found.start)
            end = found.end
        raise OtherError(TOO_DEEP)

    def _reassembled(self, found: Datagram, data: bytes) -> tuple[Datagram, bytes]:
        """The whole datagram in place of its last fragment; OtherError until it is whole."""
        assert found.fragment  # noqa: S101 - for the type checker
        whole = self.fragments.add(found.fragment, found.protocol, data[found.start : found.end])
        if whole is None:
            raise OtherError(FRAGMENT)
        protocol, data = whole
        return upper(protocol, data, 0, len(data), found.addresses)._replace(fragment=None), data


def _tcp(number: int, time: int | None, data: bytes, found: Datagram) -> Segment:
    ports, sequence, acknowledgment, offset, flags = _TCP.unpack(data, found.start)
    start = found.start + (offset >> 4) * 4
    if not found.start + _TCP_SIZE <= start <= found.end:
        raise OtherError(f"{MALFORMED} tcp")
    payload = data[start : found.end]
    return Segment(number, time, found.addresses + ports, sequence, acknowledgment, flags, payload, found.end - start - len(payload))


def segments(packets: Iterable[Packet]) -> Iterator[Segment]:
    """The TCP segments in these packets; for counts of the rest, and to go on later, keep a Segments."""
    return Segments()(packets)
