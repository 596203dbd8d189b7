"""Tunnels that mirrored and overlay traffic comes in: what they carry, as an EtherType and where that begins.

struct.error leaves these functions where the bytes end inside a header.
"""

from __future__ import annotations

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture import link
from kwire_cli.source.capture.ip import protocol_name
from kwire_cli.source.capture.other import OtherError
from kwire_cli.structs.network import ip, link as link_types, transport, tunnels as declared

_UDP, _VXLAN, _GENEVE, _GRE = fixed(transport.UDP), fixed(declared.VXLAN), fixed(declared.GENEVE), fixed(declared.GRE)
_OPTIONAL, _ERSPAN2, _ERSPAN3 = fixed(declared.GRE_OPTIONAL).size, fixed(declared.ERSPAN2).size, fixed(declared.ERSPAN3)
_PLATFORM = fixed(declared.ERSPAN3_PLATFORM).size


def inside(protocol: int, data: bytes, at: int) -> link.Carried:
    """What an IP packet of this protocol carries, if it is a tunnel; OtherError with the protocol's name if it is none."""
    if protocol == ip.PROTOCOL_UDP:
        return _udp(data, at)
    if protocol == ip.PROTOCOL_GRE:
        return _gre(data, at)
    if protocol in {ip.PROTOCOL_IPV4, ip.PROTOCOL_IPV6}:
        return link.raw_ip(data, at)
    raise OtherError(protocol_name(protocol))


def _udp(data: bytes, at: int) -> link.Carried:
    port = _UDP.unpack(data, at)[1]
    at += _UDP.size
    if port in declared.VXLAN_PORTS and _VXLAN.unpack(data, at)[0] & declared.VXLAN_VALID:
        return link.ethernet(data, at + _VXLAN.size)
    if port == declared.GENEVE_PORT:
        first, _, protocol, _, _ = _GENEVE.unpack(data, at)
        if first >> 6 == 0:
            at += _GENEVE.size + (first & 0x3F) * 4
            return link.ethernet(data, at) if protocol == link_types.ETHER_BRIDGED else (protocol, at)
    raise OtherError("udp")


def _gre(data: bytes, at: int) -> link.Carried:
    flags, protocol = _GRE.unpack(data, at)
    if flags & declared.GRE_ROUTING:
        raise OtherError("gre with routing")
    optional = (declared.GRE_CHECKSUM, declared.GRE_KEY, declared.GRE_SEQUENCE, declared.GRE_ACKNOWLEDGMENT)
    at += _GRE.size + _OPTIONAL * sum(bool(flags & bit) for bit in optional)
    if protocol == link_types.ETHER_BRIDGED:
        return link.ethernet(data, at)
    if protocol == link_types.ETHER_ERSPAN:
        return link.ethernet(data, at + (_ERSPAN2 if flags & declared.GRE_SEQUENCE else 0))
    if protocol == link_types.ETHER_ERSPAN3:
        last = _ERSPAN3.unpack(data, at)[-1]
        at += _ERSPAN3.size + (_PLATFORM if last & declared.ERSPAN3_HAS_PLATFORM else 0)
        return link.raw_ip(data, at) if last & declared.ERSPAN3_FRAME_TYPE == declared.ERSPAN3_IP else link.ethernet(data, at)
    if protocol == declared.GRE_PPP and flags & declared.GRE_VERSION == 1:
        return link.point_to_point(data, at)
    return protocol, at
