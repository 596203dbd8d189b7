"""Link layers: from a captured packet to the EtherType of what it carries, and where that begins.

struct.error leaves these functions where the packet ends inside a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture.other import MALFORMED, OtherError
from kwire_cli.structs.network import ip, link as declared
from kwire_cli.structs.network.link import ETHER_IPV4, ETHER_IPV6, ETHER_NAMES, LEAST_ETHER_TYPE, VLAN_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

_ETHERNET, _VLAN = fixed(declared.ETHERNET, ("protocol",)), fixed(declared.VLAN, ("protocol",))
_SLL, _SLL2, _SLL2_SIZE = fixed(declared.SLL, ("protocol",)), fixed(declared.SLL2, ("protocol",)), fixed(declared.SLL2).size
_NULL, _LOOP, _PPP, _PPP_ADDRESS = fixed(declared.NULL), fixed(declared.LOOP), fixed(declared.PPP), fixed(declared.PPP_ADDRESS)
_VERSION = fixed(ip.IPV4, ("version_and_header_length",))

Carried = tuple[int, int]
"""An EtherType and an offset."""


def carried(link: int, data: bytes) -> Carried:
    """What a packet of this link type carries. OtherError for link types that are not read."""
    reader = _READERS.get(link)
    if reader is None:
        raise OtherError(f"link type {link}")
    return reader(data, 0)


def ethernet(data: bytes, at: int) -> Carried:
    """What an Ethernet frame carries, VLAN tags passed over."""
    (protocol,) = _ETHERNET.unpack(data, at)
    at += _ETHERNET.size
    return _untagged(protocol, data, at)


def raw_ip(data: bytes, at: int) -> Carried:
    """An IP packet, of the version that it says itself."""
    version = _VERSION.unpack(data, at)[0] >> 4
    if version not in {4, 6}:
        raise OtherError(f"{MALFORMED} ip")
    return (ETHER_IPV4 if version == 4 else ETHER_IPV6), at


def ether_name(protocol: int) -> str:
    """What an EtherType is called in the summary of what was not read."""
    if protocol < LEAST_ETHER_TYPE:
        return "llc"
    return ETHER_NAMES.get(protocol) or f"ethertype 0x{protocol:04x}"


def point_to_point(data: bytes, at: int) -> Carried:
    """What a PPP frame carries, with or without address and control before the protocol."""
    if _PPP_ADDRESS.unpack(data, at)[0] == declared.PPP_ALL_STATIONS:
        at += _PPP_ADDRESS.size
    (protocol,) = _PPP.unpack(data, at)
    if protocol not in {declared.PPP_IPV4, declared.PPP_IPV6}:
        raise OtherError("ppp")
    return (ETHER_IPV4 if protocol == declared.PPP_IPV4 else ETHER_IPV6), at + _PPP.size


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
    # Of both link types files exist in both orders; families are small numbers.
    family = min(_NULL.unpack(data, at)[0], _LOOP.unpack(data, at)[0])
    at += _NULL.size
    if family == declared.FAMILY_IPV4:
        return ETHER_IPV4, at
    if family in declared.FAMILIES_IPV6:
        return ETHER_IPV6, at
    raise OtherError(f"address family {family}")


_READERS: dict[int, Callable[[bytes, int], Carried]] = {
    declared.LINK_NULL: _loopback,
    declared.LINK_LOOP: _loopback,
    declared.LINK_ETHERNET: ethernet,
    declared.LINK_SLL: _sll,
    declared.LINK_SLL2: _sll2,
    declared.LINK_PPP: point_to_point,
    declared.LINK_PPP_HDLC: point_to_point,
    **dict.fromkeys(declared.LINK_RAW, raw_ip),
}
