"""TCP (RFC 9293) and UDP (RFC 768)."""

from __future__ import annotations

from construct import Int8ub, Int16ub, Int32ub, Struct

TCP = Struct(
    "source_port" / Int16ub,
    "destination_port" / Int16ub,
    "sequence" / Int32ub,
    "acknowledgment" / Int32ub,
    "data_offset" / Int8ub,  # in units of 4 bytes, in the high half
    "flags" / Int8ub,
    "window" / Int16ub,
    "checksum" / Int16ub,
    "urgent_pointer" / Int16ub,
)
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16

UDP = Struct("source_port" / Int16ub, "destination_port" / Int16ub, "length" / Int16ub, "checksum" / Int16ub)
