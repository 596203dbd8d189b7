"""What a dumped packet carries: the TCP payload, where every length in its headers agrees."""

from __future__ import annotations

from kwire_cli.source.capture.model import Packet
from kwire_cli.source.capture.segments import Segments
from kwire_cli.source.forms.model import Chunk, Reading
from kwire_cli.structs.network.link import LINK_ETHERNET, LINK_RAW_IP

MAX_PACKET = 1 << 16
"""A dump does not say how long the packet was; its own lengths do."""


def payloads(packets: tuple[Chunk, ...]) -> Reading:
    """The TCP payload of each packet that carries one; what is not plainly TCP over IP is given whole."""
    found = [(packet, tcp_payload(packet.data)) for packet in packets]
    chunks = [packet if payload is None else Chunk(payload, packet.line, packet.label) for packet, payload in found if payload != b""]
    whole = sum(payload is None for _, payload in found)
    detail = f"{len(packets)} packets, of which {len(chunks) - whole} carry TCP payload, {len(packets) - len(chunks)} carry none"
    return Reading(tuple(chunks), f"{detail}, {whole} are not plainly TCP over IP and given whole" if whole else detail)


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
