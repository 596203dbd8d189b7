"""Packets made of frames: TCP connections that carry them, so that bytes without packets open in Wireshark."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kwire_cli.source.packets.headers import internet_checksum
from kwire_cli.source.packets.model import Endpoint, Packet
from kwire_cli.structs import network
from kwire_cli.structs.network import ACK, ETHER_IPV4, ETHER_IPV6, LINK_ETHERNET as LINK, PROTOCOL_TCP, PSH, SYN
from kwire_cli.structs.records.parts import offset_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BROKER", "CLIENT", "LINK", "Conversations"]

CLIENT, BROKER = "127.0.0.1:50000", "127.0.0.1:9092"
"""The ends of frames that nobody knows the ends of."""
_MOST = 65_000
"""Bytes of a frame in one packet."""
_FIRST = 1000
"""The first sequence number of a side."""
_MASK = 0xFFFFFFFF
_WINDOW = 65_535
_NAMED_HOSTS = 198 << 24 | 18 << 16 | 1
"""198.18.0.1, the first address for hosts that have names instead (RFC 2544)."""
_MICROSECOND = 1000
_IPV4_CHECKSUM_AT, _TCP_CHECKSUM_AT = offset_of(network.IPV4, "checksum"), offset_of(network.TCP, "checksum")


class Conversations:
    """Packets of the connections between ends, which are texts as `127.0.0.1:9092` and `[::1]:9092`.

    A connection begins with a handshake from the client. Packets without a time follow each other by a microsecond.
    """

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], int] = {}
        self._number, self._time = 0, 0
        self._named: dict[str, bytes] = {}

    def packets(self, client: str, broker: str, data: bytes, time: int | None, *, to_broker: bool) -> Iterator[Packet]:
        """Yield the packets that carry the bytes of a frame, after those that open the connection if need be."""
        if (client, broker) not in self._next:
            self._next[client, broker] = self._next[broker, client] = _FIRST
            yield self._packet(client, broker, b"", SYN, time)
            yield self._packet(broker, client, b"", SYN | ACK, time)
            yield self._packet(client, broker, b"", ACK, time)
        source, target = (client, broker) if to_broker else (broker, client)
        for at in range(0, len(data), _MOST):
            yield self._packet(source, target, data[at : at + _MOST], PSH | ACK, time)

    def _packet(self, source: str, target: str, payload: bytes, flags: int, time: int | None) -> Packet:
        self._number += 1
        if time is None:
            self._time += _MICROSECOND
        sequence = self._next[source, target]
        acknowledged = self._next[target, source] if flags & ACK else 0
        self._next[source, target] = (sequence + len(payload) + bool(flags & SYN)) & _MASK
        data = _ethernet(self._end(source), self._end(target), payload, sequence, acknowledged, flags)
        return Packet(self._number, self._time if time is None else time, LINK, data, len(data))

    def _end(self, text: str) -> Endpoint:
        """Return an end of IPv4 or IPv6. A host that has a name in the input gets an address of its own."""
        host, _, port = text.rpartition(":")
        try:
            address = ip_address(host.strip("[]")).packed
        except ValueError:
            address = self._named.setdefault(host, (_NAMED_HOSTS + len(self._named)).to_bytes(4))
        return Endpoint(address, int(port) if port.isdecimal() else 0)


def _ethernet(
    source: Endpoint, target: Endpoint, payload: bytes, sequence: int, acknowledged: int, flags: int
) -> bytes:
    header = {
        "source_port": source.port,
        "destination_port": target.port,
        "sequence": sequence,
        "acknowledgment": acknowledged,
        "data_offset": network.TCP.sizeof() // 4 << 4,
        "flags": flags,
        "window": _WINDOW,
        "checksum": 0,
        "urgent_pointer": 0,
    }
    segment = network.TCP.build(header) + payload
    pseudo = source.address + target.address + struct.pack(">II", len(segment), PROTOCOL_TCP)
    segment = _with_checksum(segment, _TCP_CHECKSUM_AT, internet_checksum(pseudo + segment))
    is_v4 = len(source.address) == 4
    packet = (_ipv4 if is_v4 else _ipv6)(source.address, target.address, segment)
    ends = {"destination": bytes(6), "source": bytes(6), "protocol": ETHER_IPV4 if is_v4 else ETHER_IPV6}
    return bytes(network.ETHERNET.build(ends)) + packet


def _with_checksum(data: bytes, at: int, checksum: int) -> bytes:
    return data[:at] + checksum.to_bytes(2) + data[at + 2 :]


def _ipv4(source: bytes, target: bytes, segment: bytes) -> bytes:
    size = network.IPV4.sizeof()
    header = network.IPV4.build(
        {
            "version_and_header_length": 4 << 4 | size // 4,
            "type_of_service": 0,
            "total_length": size + len(segment),
            "identification": 0,
            "flags_and_fragment_offset": 0x4000,
            "time_to_live": 64,
            "protocol": PROTOCOL_TCP,
            "checksum": 0,
            "source": source,
            "destination": target,
        }
    )
    return _with_checksum(header, _IPV4_CHECKSUM_AT, internet_checksum(header)) + segment


def _ipv6(source: bytes, target: bytes, segment: bytes) -> bytes:
    header = {
        "version_and_flow": 6 << 28,
        "payload_length": len(segment),
        "next_header": PROTOCOL_TCP,
        "hop_limit": 64,
        "source": source,
        "destination": target,
    }
    return bytes(network.IPV6.build(header)) + segment
