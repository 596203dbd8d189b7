"""IPv4 and IPv6 packets: what they carry, and where that begins and ends.

`end`, the packet's own on the wire, may lie beyond what was captured. struct.error leaves these functions where the bytes end inside a header.
"""

from __future__ import annotations

from typing import NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture.other import MALFORMED, OtherError
from kwire_cli.structs.network import ip as declared
from kwire_cli.structs.network.link import ETHER_IPV4

_IPV4 = fixed(
    declared.IPV4,
    ("version_and_header_length", "total_length", "identification", "flags_and_fragment_offset", "protocol", ("source", "destination")),
)
_IPV6 = fixed(declared.IPV6, ("version_and_flow", "payload_length", "next_header", ("source", "destination")))
_EXTENSION, _FRAGMENT = fixed(declared.EXTENSION), fixed(declared.FRAGMENT)


class Fragment(NamedTuple):
    """Which piece of which datagram a packet is; `offset` in bytes, `more` unless it is the last."""

    key: tuple[bytes, int, int]
    offset: int
    more: bool


class Datagram(NamedTuple):
    """What an IP packet carries: a protocol's number, where its bytes begin and end, and between which addresses (both, in one piece)."""

    protocol: int
    start: int
    end: int
    addresses: bytes
    fragment: Fragment | None


def datagram(protocol: int, data: bytes, at: int, end: int) -> Datagram:
    """The IP packet that begins at `at`, of the version that the EtherType `protocol` says, in a packet that ended at `end` on the wire."""
    return ipv4(data, at, end) if protocol == ETHER_IPV4 else ipv6(data, at, end)


def ipv4(data: bytes, at: int, end: int) -> Datagram:
    """As `datagram`. A total length of 0 reaches to the packet's end."""
    first, total, identification, flags, protocol, addresses = _IPV4.unpack(data, at)
    start = at + (first & 0x0F) * 4
    stop = min(at + total, end) if total else end
    if first >> 4 != 4 or start < at + fixed_size(4) or start > stop:
        raise OtherError(f"{MALFORMED} ip")
    offset, more = (flags & declared.IPV4_OFFSET) * 8, bool(flags & declared.IPV4_MORE_FRAGMENTS)
    if offset or more:
        return Datagram(protocol, start, stop, addresses, Fragment((addresses, protocol, identification), offset, more))
    return upper(protocol, data, start, stop, addresses)


def ipv6(data: bytes, at: int, end: int) -> Datagram:
    """As `datagram`. A payload length of 0, of a jumbogram or by segmentation offload, reaches to the packet's end."""
    first, length, protocol, addresses = _IPV6.unpack(data, at)
    start = at + fixed_size(6)
    if first >> 28 != 6 or start > end:
        raise OtherError(f"{MALFORMED} ip")
    return upper(protocol, data, start, min(start + length, end) if length else end, addresses)


def upper(protocol: int, data: bytes, start: int, end: int, addresses: bytes) -> Datagram:
    """What stands behind the extension headers, up to the first that says that this is a fragment."""
    while True:
        if protocol in declared.EXTENSIONS:
            protocol, length = _EXTENSION.unpack(data, start)
            start += 8 + length * 8
        elif protocol == declared.AUTHENTICATION:
            protocol, length = _EXTENSION.unpack(data, start)
            start += 8 + length * 4
        elif protocol == declared.IPV6_FRAGMENT and len(addresses) == 32:
            protocol, _, flags, identification = _FRAGMENT.unpack(data, start)
            start += _FRAGMENT.size
            offset, more = flags & declared.IPV6_OFFSET, bool(flags & declared.IPV6_MORE_FRAGMENTS)
            if (offset or more) and start <= end:
                return Datagram(protocol, start, end, addresses, Fragment((addresses, 0, identification), offset, more))
        else:
            break
    if start > end:
        raise OtherError(f"{MALFORMED} ip")
    return Datagram(protocol, start, end, addresses, None)


def fixed_size(version: int) -> int:
    """The size of a header of this version without options or extensions."""
    return _IPV4_SIZE if version == 4 else _IPV6.size


_IPV4_SIZE = fixed(declared.IPV4).size


def protocol_name(protocol: int) -> str:
    """What an IP protocol is called in the summary of what was not read."""
    return declared.PROTOCOL_NAMES.get(protocol) or f"ip protocol {protocol}"
