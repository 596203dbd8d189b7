"""What load balancers put before a connection's bytes in version 2 of the PROXY protocol (HAProxy's proxy-protocol.txt, 2.2)."""

from __future__ import annotations

from construct import Bytes, Int8ub, Int16ub, Struct

PROXY_V2 = Struct("signature" / Bytes(12), "version_and_command" / Int8ub, "family_and_protocol" / Int8ub, "length" / Int16ub)
"""`length` counts what follows: addresses and ports by the family in the upper 4 bits, and TLVs."""
PROXY_IPV4 = Struct("source" / Bytes(4), "destination" / Bytes(4), "source_port" / Int16ub, "destination_port" / Int16ub)
PROXY_IPV6 = Struct("source" / Bytes(16), "destination" / Bytes(16), "source_port" / Int16ub, "destination_port" / Int16ub)
PROXY_FAMILIES = {1: PROXY_IPV4, 2: PROXY_IPV6}
