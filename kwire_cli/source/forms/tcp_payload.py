"""What a dumped packet carries: the TCP payload, where every length in its headers agrees."""

from __future__ import annotations

from kwire_cli.source.forms.model import Chunk, Reading


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
    for start in (0, 14):
        if start == 14 and packet[12:14] not in (b"\x08\x00", b"\x86\xdd"):
            continue
        found = _ip_payload(packet[start:])
        if found is not None and len(found) >= 20 and 20 <= (header := (found[12] >> 4) * 4) <= len(found):
            return found[header:]
    return None


def _ip_payload(packet: bytes) -> bytes | None:
    """What an unfragmented IP packet carries as TCP; None when it is anything else or its length lies."""
    if len(packet) >= 40 and packet[0] >> 4 == 6 and packet[6] == 6:
        start, end = 40, 40 + int.from_bytes(packet[4:6])
    elif len(packet) >= 20 and packet[0] >> 4 == 4 and packet[9] == 6 and not int.from_bytes(packet[6:8]) & 0x3FFF:
        start, end = (packet[0] & 15) * 4, int.from_bytes(packet[2:4])
    else:
        return None
    return packet[start:end] if 20 <= start <= end <= len(packet) else None
