"""What mirrors and overlays wrap packets in: VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2784, 2890, 2637), ERSPAN (draft-foschiano-erspan)."""

from __future__ import annotations

from construct import Bytes, Int8ub, Int16ub, Int32ub, Struct

VXLAN = Struct("flags" / Int8ub, "reserved1" / Bytes(3), "network" / Bytes(3), "reserved2" / Int8ub)
VXLAN_VALID = 0x08
VXLAN_PORTS = frozenset((4789, 8472))
"""IANA's, and that of Linux before it."""

GENEVE = Struct("version_and_length" / Int8ub, "flags" / Int8ub, "protocol" / Int16ub, "network" / Bytes(3), "reserved" / Int8ub)
"""The options' length in units of 4 bytes is in the low 6 bits of the first byte."""
GENEVE_PORT = 6081

GRE = Struct("flags_and_version" / Int16ub, "protocol" / Int16ub)
GRE_OPTIONAL = Int32ub
"""Checksum, key, sequence and acknowledgment: each 4 bytes, there if its flag is set."""
GRE_CHECKSUM, GRE_ROUTING, GRE_KEY, GRE_SEQUENCE, GRE_ACKNOWLEDGMENT, GRE_VERSION = 0x8000, 0x4000, 0x2000, 0x1000, 0x0080, 0x0007
GRE_PPP = 0x880B

ERSPAN2 = Struct("version_and_vlan" / Int16ub, "session" / Int16ub, "index" / Int32ub)
"""Type I is GRE without sequence numbers and has no header."""
ERSPAN3 = Struct("version_and_vlan" / Int16ub, "session" / Int16ub, "timestamp" / Int32ub, "group" / Int16ub, "frame_type_and_flags" / Int16ub)
ERSPAN3_PLATFORM = Struct("platform" / Int32ub, "info" / Int32ub)
"""Follows where the lowest bit of `frame_type_and_flags` is set."""
ERSPAN3_HAS_PLATFORM, ERSPAN3_FRAME_TYPE, ERSPAN3_IP = 0x0001, 0x7C00, 0x0800
"""The frame type stands in bits 10 to 14: 0 is Ethernet, 2 is IP."""
