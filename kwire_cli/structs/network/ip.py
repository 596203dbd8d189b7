"""IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers."""

from __future__ import annotations

from construct import Bytes, Int8ub, Int16ub, Int32ub, Struct

IPV4 = Struct(
    "version_and_header_length" / Int8ub,  # version in the high half; length in units of 4 bytes, options included
    "type_of_service" / Int8ub,
    "total_length" / Int16ub,  # header included; 0 where the network card was to cut the packet (segmentation offload)
    "identification" / Int16ub,
    "flags_and_fragment_offset" / Int16ub,
    "time_to_live" / Int8ub,
    "protocol" / Int8ub,
    "checksum" / Int16ub,
    "source" / Bytes(4),
    "destination" / Bytes(4),
)
IPV6 = Struct(
    "version_and_flow" / Int32ub,
    "payload_length" / Int16ub,  # extension headers included; 0 for a jumbogram (RFC 2675) and with segmentation offload
    "next_header" / Int8ub,
    "hop_limit" / Int8ub,
    "source" / Bytes(16),
    "destination" / Bytes(16),
)
EXTENSION = Struct("next_header" / Int8ub, "length" / Int8ub)
"""`length` counts 8 bytes each beyond the first 8; in an authentication header (RFC 4302) 4 bytes each beyond the first 8."""
FRAGMENT = Struct("next_header" / Int8ub, "reserved" / Int8ub, "offset_and_flags" / Int16ub, "identification" / Int32ub)

IPV4_MORE_FRAGMENTS, IPV4_OFFSET = 0x2000, 0x1FFF
"""The bits of `flags_and_fragment_offset`; the offset is in units of 8 bytes."""
IPV6_MORE_FRAGMENTS, IPV6_OFFSET = 1, 0xFFF8
"""Those of `offset_and_flags`; the offset is in bytes."""

PROTOCOL_IPV4, PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV6, PROTOCOL_GRE = 4, 6, 17, 41, 47
HOP_BY_HOP, ROUTING, IPV6_FRAGMENT, AUTHENTICATION, DESTINATION, MOBILITY = 0, 43, 44, 51, 60, 135
EXTENSIONS = frozenset((HOP_BY_HOP, ROUTING, DESTINATION, MOBILITY))

PROTOCOL_NAMES = {1: "icmp", 2: "igmp", 17: "udp", 50: "esp", 58: "icmpv6", 59: "no next header", 89: "ospf", 103: "pim", 112: "vrrp", 132: "sctp"}
