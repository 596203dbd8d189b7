"""PROXY headers, which load balancers put before a connection's bytes: the same form and length, with other addresses, and nothing else.

Source: HAProxy's proxy-protocol.txt, versions 1 (a line of text) and 2.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.kafka.protocols import PROXY_V2
from kwire_cli.structs.network import proxy as declared

if TYPE_CHECKING:
    from kwire_cli.sanitize.addresses import Addresses
    from kwire_cli.sanitize.replacing import Replacement

_HEAD = fixed(declared.PROXY_V2)
_FAMILIES = {family: fixed(layout) for family, layout in declared.PROXY_FAMILIES.items()}
_WORDS = (b"TCP4", b"TCP6", b"UNKNOWN")
_BEGINNING = re.compile(rb"PROXY (?:TCP|UNKNOWN)")
_END = b"\r\n"
_PORT = re.compile(rb"[0-9]{1,5}")
_NUMBER = re.compile(r"[0-9a-fA-F]+")
_OTHER = b"x"
_DECIMALS = {1: (0, 10), 2: (10, 90), 3: (100, 156)}
"""Of a part of an IPv4 address with so many digits: the smallest one, and how many there are."""


def other_proxy(data: bytes, addresses: Addresses, replacement: Replacement) -> bytes:
    """A whole PROXY header, up to what follows it, in other words."""
    return _binary(data, addresses) if data.startswith(PROXY_V2) else _line(data, addresses, replacement)


def _binary(data: bytes, addresses: Addresses) -> bytes:
    family = _HEAD.unpack(data)[2] >> 4
    layout = _FAMILIES.get(family)
    out = data[: _HEAD.size]
    if layout and len(data) >= _HEAD.size + layout.size:
        source, destination, *ports = layout.unpack(data, _HEAD.size)
        out += layout.pack(addresses.ip(source), addresses.ip(destination), *ports)
    return out.ljust(len(data), b"\0")


def _line(data: bytes, addresses: Addresses, replacement: Replacement) -> bytes:
    line = data.removesuffix(_END)
    words = line.split(b" ")
    if words[1] not in _WORDS:
        begun = _BEGINNING.match(line)
        kept = begun[0] if begun else b""
        return kept + _OTHER * (len(line) - len(kept)) + data[len(line) :]
    out = [_address(word, addresses, replacement) for word in words[2:4]]
    out += [word if _PORT.fullmatch(word) else _OTHER * len(word) for word in words[4:6]]
    out += [_OTHER * len(word) for word in words[6:]]
    return b" ".join((*words[:2], *out)) + data[len(line) :]


def _address(word: bytes, addresses: Addresses, replacement: Replacement) -> bytes:
    """Another address of as many letters: the one that stands for it elsewhere if that has as many."""
    try:
        address = ip_address(word.decode("ascii"))
    except ValueError:
        return _OTHER * len(word)
    if "%" in str(address):
        return _OTHER * len(word)
    made = addresses.ip(address.packed)
    if made == address.packed:
        return word
    text = str(ip_address(made)).encode()
    return text if len(text) == len(word) else _as_long(word.decode("ascii"), replacement)


def _as_long(text: str, replacement: Replacement) -> bytes:
    """The same form with other numbers."""
    digest = iter(replacement.digest(b"ip text", text.encode(), 64))
    decimal_from = text.rfind(":") + 1 if "." in text else len(text)

    def other(found: re.Match[str]) -> str:
        size = len(found[0])
        number = int.from_bytes(bytes((next(digest), next(digest))))
        if found.start() >= decimal_from:
            least, count = _DECIMALS[size]
            return str(least + number % count)
        return f"{number:04x}"[:size]

    return _NUMBER.sub(other, text).encode()
