"""The headers of packets: addresses replaced, lengths and flags kept, whatever is not known blank; and checksums that are right again.

What a packet says beyond its headers is blank here; `captures` puts in what the streams of Kafka say.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.capture import link, tunnels
from kwire_cli.source.capture.ip import datagram
from kwire_cli.source.capture.other import OtherError
from kwire_cli.source.capture.segments import MAX_NESTING
from kwire_cli.structs.network import ip as declared, link as link_types, transport
from kwire_cli.structs.network.link import ETHER_IPV4, ETHER_IPV6
from kwire_cli.structs.network.tunnels import GRE, GRE_CHECKSUM
from kwire_cli.structs.records.parts import offset_of

if TYPE_CHECKING:
    from kwire_cli.source.capture.ip import Datagram

_IPV4, _IPV6, _EXTENSION = fixed(declared.IPV4), fixed(declared.IPV6), fixed(declared.EXTENSION)
_TCP, _UDP = fixed(transport.TCP), fixed(transport.UDP)
_GRE = fixed(GRE)
_TCP_OFFSET_AT, _TCP_CHECKSUM_AT = offset_of(transport.TCP, "data_offset"), offset_of(transport.TCP, "checksum")
_UDP_CHECKSUM_AT, _NEXT_HEADER_AT = offset_of(transport.UDP, "checksum"), offset_of(declared.IPV6, "next_header")
_IPV4_SOURCE_AT, _IPV6_SOURCE_AT = offset_of(declared.IPV4, "source"), offset_of(declared.IPV6, "source")
_IPV4_CHECKSUM_AT = offset_of(declared.IPV4, "checksum")
_MAC = 6
_SLL_ADDRESSES = {link_types.LINK_SLL: offset_of(link_types.SLL, "address"), link_types.LINK_SLL2: offset_of(link_types.SLL2, "address")}
_PLAIN_OPTIONS = {2: 4, 3: 3, 4: 2, 8: 10}
"""Options of TCP that stay, by their kind, with their lengths: segment size, window scale, SACK permitted, timestamps."""
_SACK, _NO_OPTION, _END_OF_OPTIONS = 5, 1, 0


class Mapped(Protocol):
    """What gives addresses for others (`addresses.Addresses`)."""

    def ip(self, address: bytes, /) -> bytes:
        """An address of IP."""

    def mac(self, address: bytes, /) -> bytes:
        """One of a link."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum at `at`, of the bytes [start, stop), and of the addresses, protocol and length that `pseudo` has."""

    at: int
    start: int
    stop: int
    pseudo: bytes = b""
    never_zero: bool = False


@dataclass(slots=True)
class Rewritten:
    """A packet with other addresses and without contents. `payload` is where that of TCP begins and ends, None where there is none.

    `checksums` have to be made once all is written, in this order: what is inside comes first.
    """

    data: bytearray
    payload: tuple[int, int] | None
    checksums: tuple[Checksum, ...]


class Headers:
    """Rewrites headers."""

    def __init__(self, addresses: Mapped) -> None:
        self._addresses = addresses

    def rewrite(self, kind: int, data: bytes, length: int) -> Rewritten:
        """A packet of a link type, which was `length` bytes long on the wire."""
        packet = Rewritten(bytearray(len(data)), None, ())
        try:
            protocol, at = link.carried(kind, data)
            self._link(kind, data, at, packet.data)
            self._nested(protocol, at, data, max(length, len(data)), packet)
        except (OtherError, struct.error, IndexError):
            pass  # what was understood of it is written
        del packet.data[len(data) :]  # a packet that was cut in a header stays so
        return packet

    def _link(self, kind: int, data: bytes, at: int, out: bytearray) -> None:
        out[:at] = data[:at]
        if kind == link_types.LINK_ETHERNET:
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
            found = datagram(protocol, data, at, end)
            self._ip(protocol, data, at, found, packet)
            if found.fragment is not None:
                return
            if found.protocol == declared.PROTOCOL_TCP:
                self._tcp(data, found, packet)
                return
            before = found.start
            if found.protocol == declared.PROTOCOL_UDP:
                packet.data[before : before + _UDP.size] = data[before : before + _UDP.size]
                self._checksum(packet, found, before + _UDP_CHECKSUM_AT, never_zero=True)
            protocol, at = self._tunnel(data, found, packet)
            end = found.end

    def _tunnel(self, data: bytes, found: Datagram, packet: Rewritten) -> link.Carried:
        """The headers of a tunnel, without their options; what they carry."""
        headers = tunnels.wrapping(found.protocol, data, found.start)
        for start, stop in headers.fixed:
            packet.data[start:stop] = data[start:stop]
        if headers.ethernet is not None:
            packet.data[headers.ethernet : headers.carried[1]] = data[headers.ethernet : headers.carried[1]]
            self._macs(data, headers.ethernet, packet.data)
        if found.protocol == declared.PROTOCOL_GRE and _GRE.unpack(data, found.start)[0] & GRE_CHECKSUM:
            self._add(packet, Checksum(found.start + _GRE.size, found.start, found.end))
        return headers.carried

    def _ip(self, protocol: int, data: bytes, at: int, found: Datagram, packet: Rewritten) -> None:
        """An IP header, with options and extensions that say nothing."""
        out = packet.data
        four = protocol == ETHER_IPV4
        source, size = (_IPV4_SOURCE_AT, _IPV4.size) if four else (_IPV6_SOURCE_AT, _IPV6.size)
        out[at : at + size] = data[at : at + size]
        half = len(found.addresses) // 2
        where = at + source
        out[where : where + 2 * half] = self._addresses.ip(found.addresses[:half]) + self._addresses.ip(found.addresses[half:])
        if four:
            self._add(packet, Checksum(at + _IPV4_CHECKSUM_AT, at, at + (data[at] & 0x0F) * 4))
            return
        position, following = at + size, data[at + _NEXT_HEADER_AT]
        while position < found.start:
            out[position : position + _EXTENSION.size] = data[position : position + _EXTENSION.size]
            if following == declared.IPV6_FRAGMENT:
                out[position : position + 8] = data[position : position + 8]
            kind, (following, length) = following, _EXTENSION.unpack(data, position)
            unit = 4 if kind == declared.AUTHENTICATION else 8
            position += 8 if kind == declared.IPV6_FRAGMENT else 8 + length * unit

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
    """Options of TCP: those that only say how the connection works stay, others become nothing."""
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


def mend(data: bytearray, checksums: tuple[Checksum, ...]) -> None:
    """Make the checksums of a packet right; one that the sender left away (0, where that is allowed) stays so.

    Of a packet that was cut, what is missing counts as zeros.
    """
    for each in checksums:
        if each.never_zero and data[each.at : each.at + 2] == b"\0\0":
            continue
        data[each.at : each.at + 2] = b"\0\0"
        made = internet_checksum(each.pseudo + bytes(data[each.start : each.stop]))
        data[each.at : each.at + 2] = (made or (0xFFFF if each.never_zero else 0)).to_bytes(2)


def internet_checksum(data: bytes) -> int:
    """The checksum of IP, TCP and UDP (RFC 1071)."""
    total = int.from_bytes(data + b"\0" * (len(data) % 2))
    # The sum of 16-bit words modulo 65535 is the number itself modulo 65535.
    rest = total % 0xFFFF
    return 0xFFFF - rest if rest or not total else 0
