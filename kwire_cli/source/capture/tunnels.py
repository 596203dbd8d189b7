"""Tunnels that mirrored and overlay traffic comes in: what they carry, as an EtherType and where that begins.

struct.error leaves these functions where the bytes end inside a header.
"""

from __future__ import annotations

from typing import NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture import link
from kwire_cli.source.capture.ip import protocol_name
from kwire_cli.source.capture.other import OtherError
from kwire_cli.structs.network import ip, link as link_types, transport, tunnels as declared
from kwire_cli.structs.records.parts import offset_of

_UDP, _VXLAN, _GENEVE, _GRE = fixed(transport.UDP), fixed(declared.VXLAN), fixed(declared.GENEVE), fixed(declared.GRE)
_OPTIONAL, _ERSPAN2, _ERSPAN3 = fixed(declared.GRE_OPTIONAL).size, fixed(declared.ERSPAN2).size, fixed(declared.ERSPAN3)
_VXLAN_NETWORK, _GENEVE_NETWORK = offset_of(declared.VXLAN, "network"), offset_of(declared.GENEVE, "network")
_NETWORK = declared.VXLAN.network.sizeof()
_PLATFORM = fixed(declared.ERSPAN3_PLATFORM).size


class Wrapping(NamedTuple):
    """The headers of a tunnel: what they carry, and the parts [start, stop) of them that are no option, key, sequence number or reserved.

    `ethernet` is where an Ethernet header begins that is the last of them; None where there is none.
    """

    carried: link.Carried
    fixed: tuple[tuple[int, int], ...] = ()
    ethernet: int | None = None


def inside(protocol: int, data: bytes, at: int) -> link.Carried:
    """What an IP packet of this protocol carries, if it is a tunnel; OtherError with the protocol's name if it is none."""
    return wrapping(protocol, data, at).carried


def wrapping(protocol: int, data: bytes, at: int) -> Wrapping:
    """The headers of the tunnel that an IP packet of this protocol is; OtherError as `inside`."""
    if protocol == ip.PROTOCOL_UDP:
        return _udp(data, at)
    if protocol == ip.PROTOCOL_GRE:
        return _gre(data, at)
    if protocol in {ip.PROTOCOL_IPV4, ip.PROTOCOL_IPV6}:
        return Wrapping(link.raw_ip(data, at))
    raise OtherError(protocol_name(protocol))


def _udp(data: bytes, start: int) -> Wrapping:
    port = _UDP.unpack(data, start)[1]
    at = start + _UDP.size
    if port in declared.VXLAN_PORTS and _VXLAN.unpack(data, at)[0] & declared.VXLAN_VALID:
        told = ((start, at + 1), (at + _VXLAN_NETWORK, at + _VXLAN_NETWORK + _NETWORK))
        return _bridged(data, at + _VXLAN.size, told)
    if port == declared.GENEVE_PORT:
        first, _, protocol, _, _ = _GENEVE.unpack(data, at)
        if first >> 6 == 0:
            fixed_part = ((start, at + _GENEVE_NETWORK + _NETWORK),)
            at += _GENEVE.size + (first & 0x3F) * 4
            return _bridged(data, at, fixed_part) if protocol == link_types.ETHER_BRIDGED else Wrapping((protocol, at), fixed_part)
    raise OtherError("udp")


def _bridged(data: bytes, at: int, told: tuple[tuple[int, int], ...]) -> Wrapping:
    return Wrapping(link.ethernet(data, at), told, at)


def _gre(data: bytes, start: int) -> Wrapping:
    flags, protocol = _GRE.unpack(data, start)
    if flags & declared.GRE_ROUTING:
        raise OtherError("gre with routing")
    optional = (declared.GRE_CHECKSUM, declared.GRE_KEY, declared.GRE_SEQUENCE, declared.GRE_ACKNOWLEDGMENT)
    at = start + _GRE.size
    told = (start, at)
    at += _OPTIONAL * sum(bool(flags & bit) for bit in optional)
    if protocol == link_types.ETHER_BRIDGED:
        return _bridged(data, at, (told,))
    if protocol == link_types.ETHER_ERSPAN:
        mirrored = at + (_ERSPAN2 if flags & declared.GRE_SEQUENCE else 0)
        return _bridged(data, mirrored, (told, (at, mirrored)))
    if protocol == link_types.ETHER_ERSPAN3:
        last = _ERSPAN3.unpack(data, at)[-1]
        parts = (told, (at, at + _ERSPAN3.size))
        at += _ERSPAN3.size + (_PLATFORM if last & declared.ERSPAN3_HAS_PLATFORM else 0)
        is_ip = last & declared.ERSPAN3_FRAME_TYPE == declared.ERSPAN3_IP
        return Wrapping(link.raw_ip(data, at), parts) if is_ip else _bridged(data, at, parts)
    if protocol == declared.GRE_PPP and flags & declared.GRE_VERSION == 1:
        carried = link.point_to_point(data, at)
        return Wrapping(carried, (told, (at, carried[1])))
    return Wrapping((protocol, at), (told,))
