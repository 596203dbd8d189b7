"""Bytes on a Kafka port that are no Kafka: TLS, HTTP, SSH and what load balancers put in front, told by how they begin."""

from __future__ import annotations

from typing import NamedTuple

PROXY_V2 = b"\r\n\r\n\0\r\nQUIT\n"

BEGINNINGS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("tls", (b"\x16\x03\x00", b"\x16\x03\x01", b"\x16\x03\x02", b"\x16\x03\x03", b"\x15\x03")),
    ("http", (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"CONNECT ", b"PATCH ", b"TRACE ", b"HTTP/", b"PRI * HTTP/2")),
    ("ssh", (b"SSH-",)),
    ("proxy", (b"PROXY TCP", b"PROXY UNKNOWN", PROXY_V2)),
    ("smtp", (b"EHLO ", b"HELO ", b"220 ")),
    ("redis", (b"*1\r\n$", b"*2\r\n$", b"*3\r\n$", b"+OK\r\n", b"+PONG\r\n")),
    ("zookeeper", (b"ruok", b"stat", b"srvr", b"mntr", b"imok")),
)
"""Protocols by what their first bytes are. No size prefix of a frame begins like one of them: it would be larger than a broker takes."""

LONGEST = max(len(start) for _, starts in BEGINNINGS for start in starts)


class Beginning(NamedTuple):
    """A protocol, and how many bytes of it stand before what follows (0 where it goes on to the end of the connection)."""

    protocol: str
    prefix: int


def beginning(data: bytes | bytearray) -> Beginning | None:
    """The protocol that a direction's first bytes belong to; None where they can be Kafka's, or are too few to tell."""
    head = bytes(data[:LONGEST])
    for protocol, starts in BEGINNINGS:
        if head.startswith(starts):
            return Beginning(protocol, _proxy_size(data) if protocol == "proxy" else 0)
    return None


def undecided(data: bytes | bytearray) -> bool:
    """Whether more bytes are needed to tell: these are the beginning of a beginning, or of a PROXY line that has not ended."""
    head = bytes(data[:LONGEST])
    if any(start.startswith(head) for _, starts in BEGINNINGS for start in starts if len(head) < len(start)):
        return True
    found = beginning(data)
    return found is not None and found.protocol == "proxy" and found.prefix == 0 and len(data) < 256


def _proxy_size(data: bytes | bytearray) -> int:
    """The length of a PROXY protocol header (versions 1 and 2 of its specification), 0 where it has not come whole."""
    if data.startswith(PROXY_V2):
        if len(data) < 16:
            return 0
        size = 16 + int.from_bytes(data[14:16], "big")
        return size if size <= len(data) else 0
    return bytes(data[:256]).find(b"\r\n") + 2 if b"\r\n" in data[:256] else 0
