"""Packet capture files: pcap and pcapng, in both byte orders.

Sources: draft-ietf-opsawg-pcap (with the nanosecond magic), draft-ietf-opsawg-pcapng. Names are those of the drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from construct import FormatField, Int8ub, Struct

PCAP_MICRO, PCAP_NANO = 0xA1B2C3D4, 0xA1B23C4D
"""The pcap magic: the fraction of a second counts micro- or nanoseconds."""

SECTION_BLOCK = 0x0A0D0D0A
"""The same in both byte orders."""
BYTE_ORDER_MAGIC = 0x1A2B3C4D
INTERFACE_BLOCK, OBSOLETE_PACKET_BLOCK, SIMPLE_PACKET_BLOCK, ENHANCED_PACKET_BLOCK, SECRETS_BLOCK = 1, 2, 3, 6, 10

TLS_KEY_LOG = 0x544C534B
"""The type of a secrets block that holds a TLS key log."""

OPTION_END, OPTION_TSRESOL, OPTION_TSOFFSET = 0, 9, 14
"""Option codes; the latter two are those of an interface description."""


@dataclass(frozen=True, slots=True)
class PcapLayout:
    """A pcap file: the header, then packets, each behind a record header."""

    header: Any
    record: Any


@dataclass(frozen=True, slots=True)
class PcapngLayout:
    """A pcapng section. Every block begins with `block` and ends with `trailer`, its total length again; a body begins with one of the others."""

    block: Any
    trailer: Any
    section: Any
    interface: Any
    enhanced: Any
    simple: Any
    obsolete: Any
    secrets: Any
    option: Any
    offset: Any


def _pcap(order: str) -> PcapLayout:
    u16, u32 = FormatField(order, "H"), FormatField(order, "L")
    return PcapLayout(
        header=Struct(
            "magic" / u32,
            "major_version" / u16,
            "minor_version" / u16,
            "reserved1" / u32,  # once the time zone
            "reserved2" / u32,  # once the accuracy of times
            "snap_len" / u32,
            "link_type" / u32,  # the link type in the low 16 bits, the length of a frame check sequence in the highest
        ),
        record=Struct("seconds" / u32, "fraction" / u32, "captured_length" / u32, "original_length" / u32),
    )


def _pcapng(order: str) -> PcapngLayout:
    u16, u32 = FormatField(order, "H"), FormatField(order, "L")
    return PcapngLayout(
        block=Struct("type" / u32, "total_length" / u32),
        trailer=u32,
        section=Struct("byte_order_magic" / u32, "major_version" / u16, "minor_version" / u16, "section_length" / FormatField(order, "q")),
        interface=Struct("link_type" / u16, "reserved" / u16, "snap_len" / u32),
        enhanced=Struct(
            "interface_id" / u32, "timestamp_upper" / u32, "timestamp_lower" / u32, "captured_packet_length" / u32, "original_packet_length" / u32
        ),
        simple=Struct("original_packet_length" / u32),
        obsolete=Struct(
            "interface_id" / u16,
            "drops_count" / u16,
            "timestamp_upper" / u32,
            "timestamp_lower" / u32,
            "captured_packet_length" / u32,
            "original_packet_length" / u32,
        ),
        secrets=Struct("secrets_type" / u32, "secrets_length" / u32),
        option=Struct("code" / u16, "length" / u16),
        offset=FormatField(order, "q"),
    )


PCAP = {order: _pcap(order) for order in "<>"}
PCAPNG = {order: _pcapng(order) for order in "<>"}

TSRESOL = Int8ub
"""A power of 10, or with the high bit set of 2: so many parts of a second a timestamp counts."""
