"""Headers of packets and of the PROXY protocol with replaced addresses.

The layers of a packet are parsed from the outside in. Each header is copied with other addresses to a blank packet of
the same size, and its checksum is computed after all contents are known.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.first_bytes import PROXY_V2
from kwire_cli.source.packets import headers as headers_module
from kwire_cli.source.packets.headers import OtherError, datagram
from kwire_cli.source.packets.segments import MAX_NESTING
from kwire_cli.structs import network
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.network import ETHER_IPV4, ETHER_IPV6, GRE, GRE_CHECKSUM

if TYPE_CHECKING:
    from kwire_cli.source.packets.headers import Datagram


# The headers of packets. Addresses are replaced, lengths and flags are kept, unknown parts become blank. The payload
# becomes blank here, and `captures` fills in the bytes of Kafka streams.

_IPV4 = fixed(network.IPV4)
_IPV6 = fixed(network.IPV6)
_EXTENSION = fixed(network.EXTENSION)


_TCP = fixed(network.TCP)
_UDP = fixed(network.UDP)
_GRE = fixed(GRE)
_TCP_OFFSET_AT = offset_of(network.TCP, "data_offset")
_TCP_CHECKSUM_AT = offset_of(network.TCP, "checksum")
_UDP_CHECKSUM_AT = offset_of(network.UDP, "checksum")
_NEXT_HEADER_AT = offset_of(network.IPV6, "next_header")
_IPV4_SOURCE_AT = offset_of(network.IPV4, "source")
_IPV6_SOURCE_AT = offset_of(network.IPV6, "source")
_IPV4_CHECKSUM_AT = offset_of(network.IPV4, "checksum")
_IPV4_PROTOCOL_AT = offset_of(network.IPV4, "protocol")
_MAC = 6
_SLL_ADDRESSES = {
    network.LINK_SLL: offset_of(network.SLL, "address"),
    network.LINK_SLL2: offset_of(network.SLL2, "address"),
}
_PLAIN_OPTIONS = {2: 4, 3: 3, 4: 2, 8: 10}
"""The TCP options that are kept, by kind, with their lengths: segment size, window scale, SACK permitted,
timestamps."""
_SACK = 5
_NO_OPTION = 1
_END_OF_OPTIONS = 0


class Mapped(Protocol):
    """The interface of an object that replaces addresses (`addresses.Addresses`)."""

    def ip(self, address: bytes, /) -> bytes:
        """Return the replacement of an IP address."""

    def mac(self, address: bytes, /) -> bytes:
        """Return the replacement of a MAC address."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum at `at` of the bytes [start, stop) and the pseudo header: addresses, protocol and length."""

    at: int
    start: int
    stop: int
    pseudo: bytes = b""
    never_zero: bool = False


@dataclass(slots=True)
class Rewritten:
    """A packet with replaced addresses and without contents.

    `payload` is the start and end of the TCP payload, or None without TCP. `checksums` must be computed after all bytes
    are written, in this order: the innermost first.
    """

    data: bytearray
    payload: tuple[int, int] | None
    checksums: tuple[Checksum, ...]


class Headers:
    """Rewrites headers."""

    def __init__(self, addresses: Mapped) -> None:
        self._addresses = addresses

    def rewrite(self, kind: int, data: bytes, length: int) -> Rewritten:
        """Rewrite a packet of a link type. `length` is its length on the wire."""
        packet = Rewritten(bytearray(len(data)), None, ())
        try:
            protocol, at = headers_module.carried(kind, data)
            self._link(kind, data, at, packet.data)
            self._nested(protocol, at, data, max(length, len(data)), packet)
        except (OtherError, struct.error, IndexError):
            pass  # the parts before the error are written
        del packet.data[len(data) :]  # a packet that was cut within a header keeps its length
        return packet

    def _link(self, kind: int, data: bytes, at: int, out: bytearray) -> None:
        out[:at] = data[:at]
        if kind == network.LINK_ETHERNET:
            self._macs(data, 0, out)
        elif kind in _SLL_ADDRESSES:
            start = _SLL_ADDRESSES[kind]
            out[start : start + _MAC] = self._addresses.mac(data[start : start + _MAC])
            out[start + _MAC : start + 8] = bytes(2)

    def _macs(self, data: bytes, at: int, out: bytearray) -> None:
        for start in (at, at + _MAC):
            out[start : start + _MAC] = self._addresses.mac(data[start : start + _MAC])

    def _nested(self, protocol: int, at: int, data: bytes, end: int, packet: Rewritten) -> None:
        for _ in range(MAX_NESTING):
            if protocol not in {ETHER_IPV4, ETHER_IPV6}:
                return
            inner = datagram(protocol, data, at, end)
            self._ip(protocol, data, at, inner, packet)
            if inner.is_fragment:
                return
            if inner.protocol == network.PROTOCOL_TCP:
                self._tcp(data, inner, packet)
                return
            before = inner.start
            if inner.protocol == network.PROTOCOL_UDP:
                packet.data[before : before + _UDP.size] = data[before : before + _UDP.size]
                self._checksum(packet, inner, before + _UDP_CHECKSUM_AT, never_zero=True)
            protocol, at = self._tunnel(data, inner, packet)
            end = inner.end

    def _tunnel(self, data: bytes, found: Datagram, packet: Rewritten) -> headers_module.Carried:
        """Write the headers of a tunnel without their options. Return the protocol and offset of its contents."""
        headers = headers_module.wrapping(found.protocol, data, found.start)
        for start, stop in headers.fixed:
            packet.data[start:stop] = data[start:stop]
        if headers.ethernet is not None:
            packet.data[headers.ethernet : headers.carried[1]] = data[headers.ethernet : headers.carried[1]]
            self._macs(data, headers.ethernet, packet.data)
        if found.protocol == network.PROTOCOL_GRE and _GRE.unpack(data, found.start)[0] & GRE_CHECKSUM:
            self._add(packet, Checksum(found.start + _GRE.size, found.start, found.end))
        return headers.carried

    def _ip(self, protocol: int, data: bytes, at: int, found: Datagram, packet: Rewritten) -> None:
        """Write an IP header. Options and extensions become blank."""
        out = packet.data
        four = protocol == ETHER_IPV4
        source, size = (_IPV4_SOURCE_AT, _IPV4.size) if four else (_IPV6_SOURCE_AT, _IPV6.size)
        out[at : at + size] = data[at : at + size]
        half = len(found.addresses) // 2
        where = at + source
        out[where : where + 2 * half] = self._addresses.ip(found.addresses[:half]) + self._addresses.ip(
            found.addresses[half:]
        )
        position = at + size
        following = data[at + _NEXT_HEADER_AT]
        if four:
            position = at + (data[at] & 0x0F) * 4
            following = data[at + _IPV4_PROTOCOL_AT]
            self._add(packet, Checksum(at + _IPV4_CHECKSUM_AT, at, position))
        while position < found.start:
            out[position : position + _EXTENSION.size] = data[position : position + _EXTENSION.size]
            if following == network.IPV6_FRAGMENT:
                out[position : position + 8] = data[position : position + 8]
            kind, (following, length) = following, _EXTENSION.unpack(data, position)
            position += 8 if kind == network.IPV6_FRAGMENT else 8 + length * 8

    def _tcp(self, data: bytes, found: Datagram, packet: Rewritten) -> None:
        start = found.start
        size = (data[start + _TCP_OFFSET_AT] >> 4) * 4
        packet.data[start : start + _TCP.size] = data[start : start + _TCP.size]
        if not _TCP.size <= size or start + size > found.end:
            return
        _options(data, start + _TCP.size, min(start + size, len(data)), packet.data)
        self._checksum(packet, found, start + _TCP_CHECKSUM_AT)
        packet.payload = start + size, max(min(found.end, len(data)), min(start + size, len(data)))

    def _checksum(self, packet: Rewritten, found: Datagram, at: int, *, never_zero: bool = False) -> None:
        half = len(found.addresses) // 2
        addresses = self._addresses.ip(found.addresses[:half]) + self._addresses.ip(found.addresses[half:])
        pseudo = addresses + struct.pack(">II", found.end - found.start, found.protocol)
        self._add(packet, Checksum(at, found.start, found.end, pseudo, never_zero))

    @staticmethod
    def _add(packet: Rewritten, checksum: Checksum) -> None:
        if checksum.at + 2 <= len(packet.data):
            packet.checksums = (checksum, *packet.checksums)


def _options(data: bytes, at: int, stop: int, out: bytearray) -> None:
    """Write TCP options. Options that only describe the connection are kept; others become no-operations."""
    out[at:stop] = bytes((_NO_OPTION,)) * (stop - at)
    while at < stop:
        kind = data[at]
        if kind == _END_OF_OPTIONS:
            out[at:stop] = bytes(stop - at)
            return
        if kind == _NO_OPTION:
            at += 1
            continue
        length = data[at + 1] if at + 1 < stop else 0
        if length < 2 or at + length > stop:
            return
        if _PLAIN_OPTIONS.get(kind) == length or (kind == _SACK and length % 8 == 2):
            out[at : at + length] = data[at : at + length]
        at += length


def internet_checksum(data: bytes) -> int:
    """Return the checksum of IP, TCP and UDP (RFC 1071)."""
    total = int.from_bytes(data + b"\0" * (len(data) % 2))
    # The sum of 16-bit words modulo 65535 is the number itself modulo 65535.
    rest = total % 0xFFFF
    return 0xFFFF - rest if rest or not total else 0


def mend(data: bytearray, checksums: tuple[Checksum, ...]) -> None:
    """Compute the checksums of a packet. A checksum that the sender omitted (0, if allowed) stays omitted.

    The missing bytes of a cut packet count as zeros.
    """
    for checksum in checksums:
        if checksum.never_zero and data[checksum.at : checksum.at + 2] == b"\0\0":
            continue
        data[checksum.at : checksum.at + 2] = b"\0\0"
        computed = internet_checksum(checksum.pseudo + bytes(data[checksum.start : checksum.stop]))
        data[checksum.at : checksum.at + 2] = (computed or (0xFFFF if checksum.never_zero else 0)).to_bytes(2)


# PROXY headers, which load balancers put before a connection's bytes.
#
# Source: HAProxy's proxy-protocol.txt, versions 1 (a line of text) and 2.

_HEAD = fixed(network.PROXY_V2)


_BEGINNING = re.compile(rb"PROXY (?:TCP[46]?|UNKNOWN)")
_END = b"\r\n"


def other_proxy(data: bytes) -> bytes:
    """Return a PROXY header without its addresses and ports."""
    return data[: _HEAD.size].ljust(len(data), b"\0") if data.startswith(PROXY_V2) else _line(data)


def _line(data: bytes) -> bytes:
    """Return a header in text form that contains the protocol only."""
    line = data.removesuffix(_END)
    begun = _BEGINNING.match(line)
    kept = begun[0] if begun else b""
    return kept + b"x" * (len(line) - len(kept)) + data[len(line) :]
