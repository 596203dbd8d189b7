"""What passes between the steps: packets, segments, notices, ends of a connection."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kwire_cli.engine.fixed import part
from kwire_cli.structs.network.transport import TCP

NO_TIME = -(1 << 63)
"""In place of the time of a packet that has none, or one that is out of range, where times are numbers."""
_PORTS = part(TCP, "source_port", "destination_port")


class Packet(NamedTuple):
    """One captured packet: its number from 1, nanoseconds since 1970 or None, the file's link type, what was captured, its length on the wire."""

    number: int
    time: int | None
    link: int
    data: bytes
    wire_length: int


class Notice(NamedTuple):
    """Something about a file that its reader should know: what, and where: a byte of the (unpacked) file, the last packet before it."""

    text: str
    position: int
    packet: int


class Endpoint(NamedTuple):
    """One end of a connection: 4 or 16 bytes of address, and the port. As text `127.0.0.1:9092` or `[::1]:9092`."""

    address: bytes
    port: int

    def __str__(self) -> str:
        return endpoint_text(self)


class Segment(NamedTuple):
    """One TCP segment.

    `ends` is both addresses, then both ports, as they stand in the headers; `missing` counts the bytes of payload that the capture cut off.
    """

    packet: int
    time: int | None
    ends: bytes
    sequence: int
    acknowledgment: int
    flags: int
    payload: bytes
    missing: int = 0

    @property
    def source(self) -> Endpoint:
        """Who sent it."""
        return endpoints(self.ends)[0]

    @property
    def destination(self) -> Endpoint:
        """Who it was sent to."""
        return endpoints(self.ends)[1]


def endpoints(ends: bytes) -> tuple[Endpoint, Endpoint]:
    """Source and destination in a segment's `ends`."""
    addresses, size = len(ends) - _PORTS.size, (len(ends) - _PORTS.size) // 2
    source, destination = _PORTS.unpack(ends, addresses)
    return Endpoint(ends[:size], source), Endpoint(ends[size:addresses], destination)


def turned(ends: bytes) -> bytes:
    """The `ends` of segments in the other direction."""
    addresses, size, port = len(ends) - _PORTS.size, (len(ends) - _PORTS.size) // 2, _PORTS.size // 2
    return ends[size:addresses] + ends[:size] + ends[addresses + port :] + ends[addresses : addresses + port]


@lru_cache(maxsize=4096)
def endpoint_text(endpoint: Endpoint) -> str:
    """`127.0.0.1:9092`, `[::1]:9092`."""
    from socket import AF_INET, AF_INET6, inet_ntop  # noqa: PLC0415 - takes long to import, and only text needs it

    if len(endpoint.address) == 4:
        return f"{inet_ntop(AF_INET, endpoint.address)}:{endpoint.port}"
    return f"[{inet_ntop(AF_INET6, endpoint.address)}]:{endpoint.port}"
