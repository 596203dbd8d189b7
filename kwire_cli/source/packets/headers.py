"""Headers of packets: link layers, VLAN tags, IPv4 and IPv6, and tunnels of mirrored and overlay traffic.

Each function reads one header from the bytes of a packet, and returns the position of its payload with the protocol.
`Carried` is an EtherType with an offset. Payloads can be nested, so functions take an offset and copy nothing. They let
struct.error through if the packet ends inside a header, and raise OtherError for protocols that are not read.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.network import ETHER_IPV4, ETHER_IPV6, ETHER_NAMES, LEAST_ETHER_TYPE, VLAN_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable


class OtherError(Exception):
    """A packet contains no readable TCP. `kind` is its protocol or its defect."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


CUT_SHORT = "headers cut off"
"""The packet ends inside its headers, on the wire or because the capture truncated it."""
MALFORMED = "malformed"
TOO_DEEP = "nested too deep"
FRAGMENT = "ip fragment"
"""A fragment of an IP datagram with TCP. Senders of TCP avoid them, so they are not put together."""
_LINK_TYPE = "link type "
_UNREAD = {FRAGMENT, TOO_DEEP, "mpls", "pppoe"}


def is_unread(kind: str) -> bool:
    """Return whether packets of this kind, which are not read, may carry TCP."""
    return kind in _UNREAD or kind.startswith(_LINK_TYPE)


_ETHERNET = fixed(network.ETHERNET, ("protocol",))
_VLAN = fixed(network.VLAN, ("protocol",))


_SLL = fixed(network.SLL, ("protocol",))
_SLL2 = fixed(network.SLL2, ("protocol",))
_SLL2_SIZE = fixed(network.SLL2).size
_NULL = fixed(network.NULL)
_LOOP = fixed(network.LOOP)
_VERSION = fixed(network.IPV4, ("version_and_header_length",))

Carried = tuple[int, int]
"""An EtherType and an offset."""


def carried(link: int, data: bytes) -> Carried:
    """Return the payload of a packet of this link type.

    Raises OtherError for link types that are not read.
    """
    reader = _READERS.get(link)
    if reader is None:
        raise OtherError(f"{_LINK_TYPE}{link}")
    return reader(data, 0)


def ethernet(data: bytes, at: int) -> Carried:
    """Return the payload of an Ethernet frame, after VLAN tags."""
    (protocol,) = _ETHERNET.unpack(data, at)
    at += _ETHERNET.size
    return _untagged(protocol, data, at)


def raw_ip(data: bytes, at: int) -> Carried:
    """Return the packet at `at` as IPv4 or IPv6, according to its version field."""
    version = _VERSION.unpack(data, at)[0] >> 4
    if version not in {4, 6}:
        raise OtherError(f"{MALFORMED} ip")
    return (ETHER_IPV4 if version == 4 else ETHER_IPV6), at


def is_ip_packet(data: bytes) -> bool:
    """Return whether bytes are an IP packet that ends with them, with or without the header of a link layer."""
    for link in (network.LINK_RAW_IP, network.LINK_ETHERNET, network.LINK_SLL, network.LINK_SLL2, network.LINK_NULL):
        with suppress(OtherError, struct.error):
            protocol, at = carried(link, data)
            if protocol in {ETHER_IPV4, ETHER_IPV6} and datagram(protocol, data, at, len(data) + 1).end <= len(data):
                return True
    return False


def ether_name(protocol: int) -> str:
    """Return the name of an EtherType for the summary of packets that were not read."""
    if protocol < LEAST_ETHER_TYPE:
        return "llc"
    return ETHER_NAMES.get(protocol) or f"ethertype 0x{protocol:04x}"


def _untagged(protocol: int, data: bytes, at: int) -> Carried:
    while protocol in VLAN_TYPES:
        (protocol,) = _VLAN.unpack(data, at)
        at += _VLAN.size
    return protocol, at


def _sll(data: bytes, at: int) -> Carried:
    return _untagged(_SLL.unpack(data, at)[0], data, at + _SLL.size)


def _sll2(data: bytes, at: int) -> Carried:
    return _untagged(_SLL2.unpack(data, at)[0], data, at + _SLL2_SIZE)


def _loopback(data: bytes, at: int) -> Carried:
    # Files with either link type exist in both byte orders. Address families are small numbers.
    family = min(_NULL.unpack(data, at)[0], _LOOP.unpack(data, at)[0])
    at += _NULL.size
    if family == network.FAMILY_IPV4:
        return ETHER_IPV4, at
    if family in network.FAMILIES_IPV6:
        return ETHER_IPV6, at
    raise OtherError(f"address family {family}")


_READERS: dict[int, Callable[[bytes, int], Carried]] = {
    network.LINK_NULL: _loopback,
    network.LINK_LOOP: _loopback,
    network.LINK_ETHERNET: ethernet,
    network.LINK_SLL: _sll,
    network.LINK_SLL2: _sll2,
    **dict.fromkeys(network.LINK_RAW, raw_ip),
}


_IPV4 = fixed(
    network.IPV4,
    (
        "version_and_header_length",
        "total_length",
        "flags_and_fragment_offset",
        "protocol",
        ("source", "destination"),
    ),
)
_IPV4_SIZE = fixed(network.IPV4).size
_IPV6 = fixed(network.IPV6, ("version_and_flow", "payload_length", "next_header", ("source", "destination")))
_EXTENSION = fixed(network.EXTENSION)
_FRAGMENT = fixed(network.FRAGMENT)


class Datagram(NamedTuple):
    """The payload of an IP packet: protocol number, start and end.

    `end` is the end on the wire, which can be beyond the captured bytes. `addresses` has both addresses. The payload of
    a fragment is a part of a datagram.
    """

    protocol: int
    start: int
    end: int
    addresses: bytes
    is_fragment: bool = False


def datagram(protocol: int, data: bytes, at: int, end: int) -> Datagram:
    """Return the payload of the IP packet at `at`. `protocol` is its EtherType, and `end` the end of the enclosing
    packet on the wire.
    """
    return ipv4(data, at, end) if protocol == ETHER_IPV4 else ipv6(data, at, end)


def ipv4(data: bytes, at: int, end: int) -> Datagram:
    """Return the payload of an IPv4 packet. A total length of 0 means up to `end`."""
    first, total, flags, protocol, addresses = _IPV4.unpack(data, at)
    start = at + (first & 0x0F) * 4
    stop = min(at + total, end) if total else end
    if first >> 4 != 4 or start < at + _IPV4_SIZE or start > stop:
        raise OtherError(f"{MALFORMED} ip")
    if flags & (network.IPV4_OFFSET | network.IPV4_MORE_FRAGMENTS):
        return Datagram(protocol, start, stop, addresses, is_fragment=True)
    return upper(protocol, data, start, stop, addresses)


def ipv6(data: bytes, at: int, end: int) -> Datagram:
    """Return the payload of an IPv6 packet. A payload length of 0 (jumbogram, segmentation offload) means up to
    `end`.
    """
    first, length, protocol, addresses = _IPV6.unpack(data, at)
    start = at + _IPV6.size
    if first >> 28 != 6 or start > end:
        raise OtherError(f"{MALFORMED} ip")
    return upper(protocol, data, start, min(start + length, end) if length else end, addresses)


def upper(protocol: int, data: bytes, start: int, end: int, addresses: bytes) -> Datagram:
    """Return the payload after extension headers, up to the first header of a fragment."""
    while True:
        if protocol in network.EXTENSIONS:
            protocol, length = _EXTENSION.unpack(data, start)
            start += 8 + length * 8
        elif protocol == network.IPV6_FRAGMENT and len(addresses) == 32:
            protocol, _, flags, _ = _FRAGMENT.unpack(data, start)
            start += _FRAGMENT.size
            if flags & (network.IPV6_OFFSET | network.IPV6_MORE_FRAGMENTS) and start <= end:
                return Datagram(protocol, start, end, addresses, is_fragment=True)
        else:
            break
    if start > end:
        raise OtherError(f"{MALFORMED} ip")
    return Datagram(protocol, start, end, addresses)


def protocol_name(protocol: int) -> str:
    """Return the name of an IP protocol for the summary of packets that were not read."""
    return network.PROTOCOL_NAMES.get(protocol) or f"ip protocol {protocol}"


_UDP = fixed(network.UDP)
_VXLAN = fixed(network.VXLAN)
_GENEVE = fixed(network.GENEVE)
_GRE = fixed(network.GRE)


_OPTIONAL = fixed(network.GRE_OPTIONAL).size
_ERSPAN2 = fixed(network.ERSPAN2).size
_VXLAN_NETWORK = offset_of(network.VXLAN, "network")
_GENEVE_NETWORK = offset_of(network.GENEVE, "network")
_NETWORK = network.VXLAN.network.sizeof()


class Wrapping(NamedTuple):
    """The headers of a tunnel.

    Attributes:
        carried: The payload.
        fixed: The parts [start, stop) without options, keys, sequence numbers and reserved fields.
        ethernet: The start of an Ethernet header at the end of the tunnel's headers; None without one.

    """

    carried: Carried
    fixed: tuple[tuple[int, int], ...] = ()
    ethernet: int | None = None


def wrapping(protocol: int, data: bytes, at: int) -> Wrapping:
    """Return the tunnel headers of an IP packet of this protocol.

    Raises OtherError with the protocol's name if it is not a tunnel.
    """
    if protocol == network.PROTOCOL_UDP:
        return _udp(data, at)
    if protocol == network.PROTOCOL_GRE:
        return _gre(data, at)
    if protocol in {network.PROTOCOL_IPV4, network.PROTOCOL_IPV6}:
        return Wrapping(raw_ip(data, at))
    raise OtherError(protocol_name(protocol))


def _udp(data: bytes, start: int) -> Wrapping:
    port = _UDP.unpack(data, start)[1]
    at = start + _UDP.size
    if port in network.VXLAN_PORTS and _VXLAN.unpack(data, at)[0] & network.VXLAN_VALID:
        fixed_parts = ((start, at + 1), (at + _VXLAN_NETWORK, at + _VXLAN_NETWORK + _NETWORK))
        return _bridged(data, at + _VXLAN.size, fixed_parts)
    if port == network.GENEVE_PORT:
        first, _, protocol, _, _ = _GENEVE.unpack(data, at)
        if first >> 6 == 0:
            fixed_part = ((start, at + _GENEVE_NETWORK + _NETWORK),)
            at += _GENEVE.size + (first & 0x3F) * 4
            if protocol == network.ETHER_BRIDGED:
                return _bridged(data, at, fixed_part)
            return Wrapping((protocol, at), fixed_part)
    raise OtherError("udp")


def _bridged(data: bytes, at: int, fixed_parts: tuple[tuple[int, int], ...]) -> Wrapping:
    return Wrapping(ethernet(data, at), fixed_parts, at)


def _gre(data: bytes, start: int) -> Wrapping:
    flags, protocol = _GRE.unpack(data, start)
    if flags & network.GRE_ROUTING:
        raise OtherError("gre with routing")
    optional = (network.GRE_CHECKSUM, network.GRE_KEY, network.GRE_SEQUENCE)
    at = start + _GRE.size
    base = (start, at)
    at += _OPTIONAL * sum(bool(flags & bit) for bit in optional)
    if protocol == network.ETHER_BRIDGED:
        return _bridged(data, at, (base,))
    if protocol == network.ETHER_ERSPAN:
        mirrored = at + (_ERSPAN2 if flags & network.GRE_SEQUENCE else 0)
        return _bridged(data, mirrored, (base, (at, mirrored)))
    return Wrapping((protocol, at), (base,))
