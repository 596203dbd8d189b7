"""TCP payloads of packets that were printed as rows of hex, where every length in their headers agrees."""

from __future__ import annotations

from kwire_cli.source.packets.model import Packet
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.text.model import Chunk, Reading
from kwire_cli.structs.network import LINK_ETHERNET, LINK_RAW_IP

MAX_PACKET = 1 << 16
"""A dump does not say how long the packet was; its own lengths do."""


def payloads(packets: Reading) -> Reading:
    """Return the TCP payload of each packet that carries one; what is not plainly TCP over IP is given whole."""
    return _payloads(packets, [tcp_payload(packet.data) for packet in packets.chunks])


def payloads_if_any(rows: Reading) -> Reading:
    """Return the bytes of rows; of whole packets, the TCP payload."""
    carried = [tcp_payload(chunk.data) for chunk in rows.chunks]
    return rows if all(payload is None for payload in carried) else _payloads(rows, carried)


def _payloads(packets: Reading, carried: list[bytes | None]) -> Reading:
    chunks = tuple(
        packet if payload is None else Chunk(payload, packet.line, packet.label)
        for packet, payload in zip(packets.chunks, carried, strict=True)
        if payload != b""
    )
    whole = carried.count(None)
    detail = (
        f"{len(carried)} packets, of which {len(chunks) - whole} carry TCP payload, "
        f"{len(carried) - len(chunks)} carry none"
    )
    return Reading(chunks, f"{detail}, {whole} are not plainly TCP over IP and given whole" if whole else detail)


def tcp_payload(packet: bytes) -> bytes | None:
    """The TCP payload of an IPv4 or IPv6 packet, with an Ethernet header or none; None unless every length agrees.

    A capture cut by tcpdump's -s gives None too: what is missing can't be told.
    """
    for link in (LINK_RAW_IP, LINK_ETHERNET):
        segments = Segments()
        segment = segments.segment(Packet(1, None, link, packet, MAX_PACKET))
        if segment is not None and not segment.missing:
            return segment.payload
    return None
