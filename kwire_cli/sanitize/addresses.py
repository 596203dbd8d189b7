"""Addresses of machines: others in their place, that are of the same kind and stand for the same one everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_cli.sanitize.replacing import Replacement

_PRIVATE4, _PRIVATE6, _LOCAL_MAC = b"\x0a", b"\xfd", b"\x02"
"""What the new ones begin with: 10.0.0.0/8, fd00::/8 (unique local), and the bit of a MAC address that somebody made up."""
_LOOPBACK4 = 127
_MULTICAST4, _BROADCAST4 = range(224, 240), b"\xff" * 4
_WELL_KNOWN6 = frozenset((bytes(16), bytes(15) + b"\x01"))
_MULTICAST6 = 0xFF
_MAPPED4 = bytes(10) + b"\xff\xff"
_GROUP_BIT = 1
_NO_MAC = bytes(6)


class Addresses:
    """What was given out; loopback, any, multicast and broadcast stay what they are."""

    def __init__(self, replacement: Replacement) -> None:
        self._replacement = replacement
        self._known: dict[bytes, bytes] = {}
        self._taken: dict[bytes, bytes] = {}

    def ip(self, address: bytes) -> bytes:
        """4 or 16 bytes of an address; of any other length as many that are hashed."""
        if len(address) == 4:
            return self._ip4(address)
        if address[:12] == _MAPPED4 and len(address) == 16:
            return _MAPPED4 + self._ip4(address[12:])
        if address in _WELL_KNOWN6 or not address or (len(address) == 16 and address[0] == _MULTICAST6):
            return address
        return self._made(b"ip6", _PRIVATE6, address)

    def mac(self, address: bytes) -> bytes:
        """6 bytes; of a group's address only what says that it is one stays, unless it is that of all."""
        if address in {_NO_MAC, b"\xff" * 6}:
            return address
        first = bytes((_LOCAL_MAC[0] | address[0] & _GROUP_BIT,))
        return self._made(b"mac", first, address)

    def _ip4(self, address: bytes) -> bytes:
        if address[0] in {0, _LOOPBACK4} or address[0] in _MULTICAST4 or address == _BROADCAST4:
            return address
        return self._made(b"ip4", _PRIVATE4, address)

    def _made(self, what: bytes, first: bytes, address: bytes) -> bytes:
        if len(address) < 2:  # of one that was cut
            return bytes(len(address))
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = first + self._replacement.apart(what, address, len(address) - 1, self._taken)
        return found
