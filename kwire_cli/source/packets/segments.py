"""TCP segments in packets, with IP fragments joined."""

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
    upper,
)
from kwire_cli.source.packets.model import Chunks, Packet, Segment
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

    from kwire_cli.source.packets.headers import Fragment


# IP fragments, put together. Memory is bounded: beyond the limit the datagram that has waited longest is
# given up and counted.

LIMIT = 1 << 22
"""Bytes of fragments held, bookkeeping included."""


MAX_DATAGRAM = (1 << 16) + 8
"""A datagram is never longer; a fragment that reaches beyond is malformed."""


class _Parts:
    __slots__ = ("chunks", "protocol", "total", "waiting")

    def __init__(self) -> None:
        self.chunks = Chunks()
        self.total: int | None = None
        self.protocol = 0
        self.waiting = 0


class Fragments:
    """`incomplete` counts datagrams given up, `differing` those of which two fragments say different things (the first
    one stands), and `joined` the fragments that were waiting for the last one of their datagram.
    """

    def __init__(self) -> None:
        self.incomplete = 0
        self.differing = 0
        self.joined = 0
        self._held = 0
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
            self.joined += parts.waiting
            return parts.protocol, whole
        parts.waiting += 1
        while self._held > LIMIT:
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
    return (
        b"".join(chunk.data or b"" for chunk in parts.chunks.chunks)[: parts.total] if position >= parts.total else None
    )


# Packets to TCP segments, through link layers, IP and tunnels; what is not TCP is counted by kind.
#
# Most packets are Ethernet, IPv4 without options, TCP: their three headers, declared one by one, are read in
# one step. Everything else takes the general way, `Segments.segment`, which reads those packets the same (a
# test compares them). Checksums are not looked at: a capture on the sending machine has wrong ones as a rule.

MAX_NESTING = 8
"""IP packets inside each other."""


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
"""Flags, of which ACK alone has to be set for a window of 0 to say that the sender takes no more."""


class Segments:
    """`other` counts packets that gave no segment, by kind: `arp`, `udp`, `icmp`, `headers cut off`, ...; `fragments`
    has counts of its own.
    """

    def __init__(self) -> None:
        self.other: Counter[str] = Counter()
        self.fragments = Fragments()

    def __call__(self, packets: Iterable[Packet]) -> Iterator[Segment]:
        """The segments in these packets, in their order; call it again with those that follow."""
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
        protocol, at = headers.carried(kind, data)
        for _ in range(MAX_NESTING):
            if protocol not in {ETHER_IPV4, ETHER_IPV6}:
                raise OtherError(headers.ether_name(protocol))
            ip_packet = datagram(protocol, data, at, end)
            if ip_packet.fragment is not None:
                ip_packet, data = self._reassembled(ip_packet, data)
            if ip_packet.protocol == PROTOCOL_TCP:
                return _tcp(number, time, data, ip_packet)
            protocol, at = headers.inside(ip_packet.protocol, data, ip_packet.start)
            end = ip_packet.end
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
    ports, sequence, acknowledgment, offset, flags, window = _TCP.unpack(data, found.start)
    if not window and flags & WINDOW_COUNTS == ACK:
        flags |= ZERO_WINDOW
    start = found.start + (offset >> 4) * 4
    if not found.start + _TCP_SIZE <= start <= found.end:
        raise OtherError(f"{MALFORMED} tcp")
    payload = data[start : found.end]
    return Segment(
        number,
        time,
        found.addresses + ports,
        sequence,
        acknowledgment,
        flags,
        payload,
        found.end - start - len(payload),
    )


def segments(packets: Iterable[Packet]) -> Iterator[Segment]:
    """The TCP segments in these packets; for counts of the rest, and to go on later, keep a Segments."""
    return Segments()(packets)
