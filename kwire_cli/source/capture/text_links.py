"""Bytes of a dumped packet: their link layer, which a dump does not name, and headers for payload that was dumped without any."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture import link
from kwire_cli.source.capture.ip import datagram
from kwire_cli.source.capture.other import OtherError
from kwire_cli.structs.network import ip, transport
from kwire_cli.structs.network.link import (
    ETHER_IPV4,
    ETHER_IPV6,
    ETHER_NAMES,
    LINK_ETHERNET,
    LINK_NULL,
    LINK_PPP,
    LINK_RAW_IP,
    LINK_SLL,
    LINK_SLL2,
)

if TYPE_CHECKING:
    from kwire_cli.source.capture.model import Endpoint

LINKS = (LINK_RAW_IP, LINK_ETHERNET, LINK_SLL, LINK_SLL2, LINK_NULL, LINK_PPP)
"""Link layers that are tried, in this order."""
BEYOND = 1 << 17
"""Where no IP packet ends that says its length."""
_LEAST_TCP = fixed(transport.TCP).size


class Link:
    """The link layer of a dump's packets: the one that the packet before had, if it fits, else the first that does."""

    def __init__(self) -> None:
        self._known = LINK_RAW_IP

    def find(self, data: bytes) -> tuple[int, int] | None:
        """Return the link type under which the bytes are an IP packet, and the length of the packet on the wire; None if no type fits."""
        candidates = (self._known, *(one for one in LINKS if one != self._known))
        ends = {one: end for one in candidates if (end := _end(one, data)) is not None}
        # A packet that ends with its bytes proves more than one that was cut.
        for one in sorted(ends, key=lambda one: ends[one] > len(data)):
            self._known = one
            return one, max(ends[one], len(data))
        return None

    def other(self, data: bytes) -> int:
        """Return the link type of a packet that is not IP, such as ARP."""
        try:
            if link.ethernet(data, 0)[0] in ETHER_NAMES:
                return LINK_ETHERNET
        except struct.error:
            pass
        return self._known


def _end(kind: int, data: bytes) -> int | None:
    """Where the IP packet ends that stands behind this link layer; None if there is none."""
    try:
        protocol, at = link.carried(kind, data)
        if protocol not in {ETHER_IPV4, ETHER_IPV6}:
            return None
        found = datagram(protocol, data, at, BEYOND)
    except (OtherError, struct.error):
        return None
    if found.fragment is None and found.protocol == ip.PROTOCOL_TCP and len(data) < found.start + _LEAST_TCP:
        return None
    return len(data) if found.end == BEYOND else found.end


def with_headers(ends: tuple[Endpoint, Endpoint], sequence: int, payload: bytes) -> bytes:
    """Return an IP packet that carries payload which was dumped alone."""
    source, destination = ends
    tcp = {"source_port": source.port, "destination_port": destination.port, "sequence": sequence & 0xFFFFFFFF, "acknowledgment": 0}
    tcp |= {"data_offset": _LEAST_TCP // 4 << 4, "flags": transport.PSH, "window": 0, "checksum": 0, "urgent_pointer": 0}
    addresses = {"source": source.address, "destination": destination.address}
    if len(source.address) == 4:
        # A total length of 0 reaches to the packet's end.
        head = {"version_and_header_length": 4 << 4 | fixed(ip.IPV4).size // 4, "type_of_service": 0, "total_length": 0, "identification": 0}
        head |= {"flags_and_fragment_offset": 0, "time_to_live": 64, "protocol": ip.PROTOCOL_TCP, "checksum": 0}
        return bytes(ip.IPV4.build(head | addresses) + transport.TCP.build(tcp) + payload)
    head = {"version_and_flow": 6 << 28, "payload_length": 0, "next_header": ip.PROTOCOL_TCP, "hop_limit": 64}
    return bytes(ip.IPV6.build(head | addresses) + transport.TCP.build(tcp) + payload)
