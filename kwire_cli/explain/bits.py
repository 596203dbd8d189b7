"""How the bits of a number become it, as text: what a reader would do with pencil and paper."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.structs.records.parts import Bits


def fixed_working(raw: bytes, *, signed: bool) -> str:
    """`0xffff = 65535; less 65536, as the highest bit is set: -1`."""
    number = int.from_bytes(raw, "big")
    shown = f"0x{raw.hex()} = {number}"
    if not signed or not raw or raw[0] < 0x80:
        return shown
    return f"{shown}; less {1 << 8 * len(raw)}, as the highest bit is set: {int.from_bytes(raw, 'big', signed=True)}"


def groups(raw: bytes) -> str:
    """The bytes of a varint as bits, the one that says whether another byte follows set apart: `1|0101100 0|0000010`."""
    return " ".join(f"{byte >> 7}|{byte & 0x7F:07b}" for byte in raw)


def unsigned(raw: bytes, bits: int) -> int:
    """The number in the groups of 7 bits, lowest first; what lies above `bits` is dropped, as Kafka drops it."""
    return sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(raw)) & ((1 << bits) - 1)


def varint_working(raw: bytes, bits: int = 32) -> str:
    """`1|0101100 0|0000010: last group first, 0000010 0101100 = 300`."""
    shown, number = groups(raw), unsigned(raw, bits)
    if len(raw) == 1:
        return f"{shown} = {number}"
    whole = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(raw))
    dropped = f", of which {bits} bits are kept" if whole != number else ""
    return f"{shown}: last group first, {' '.join(f'{byte & 0x7F:07b}' for byte in reversed(raw))}{dropped} = {number}"


def zigzag_working(raw: bytes, bits: int) -> str:
    """That of the unsigned varint, and how it is undone: `…; even: 300 / 2 = 150`."""
    number = unsigned(raw, bits)
    undone = f"odd: -({number} + 1) / 2 = {-(number + 1 >> 1)}" if number & 1 else f"even: {number} / 2 = {number >> 1}"
    return f"{varint_working(raw, bits)}; {undone}"


def upacked_working(raw: bytes, bits: int) -> str:
    """That of the unsigned varint, and the sign of its highest bit."""
    number = unsigned(raw, bits)
    signed = f"; less {1 << bits}, as bit {bits - 1} is set: {number - (1 << bits)}" if number >> (bits - 1) else ""
    return varint_working(raw, bits) + signed


def float_working(raw: bytes) -> str:
    """`sign 0, exponent 10000000000 = 1024, fraction 0x8000000000000: 1.5 * 2^(1024 - 1023)`."""
    number = int.from_bytes(raw, "big")
    sign, exponent, fraction = number >> 63, number >> 52 & 0x7FF, number & ((1 << 52) - 1)
    shown = f"sign {sign}, exponent {exponent:011b} = {exponent}, fraction 0x{fraction:013x}"
    if exponent == 0x7FF:
        return f"{shown}: {'not a number' if fraction else 'infinity'}"
    (value,) = struct.unpack(">d", raw)
    scaled = fraction / (1 << 52) + (exponent > 0)
    power = f"({exponent} - 1023)" if exponent else "-1022"
    return f"{shown}: {'-' if sign else ''}{scaled!r} * 2^{power} = {value!r}"


def uuid_working(raw: bytes) -> str:
    """The 16 bytes as other tools print uuids, and as Kafka does."""
    text = raw.hex()
    usual = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return f"{usual}, in Kafka's text {base64.urlsafe_b64encode(raw).decode('ascii').rstrip('=')}"


def bits_working(raw: bytes, parts: Sequence[Bits]) -> Iterator[str]:
    """A line for all bits, then one for each part: `bits 0-2 = 100: compression zstd`; last those that no part knows, if any is set."""
    number = int.from_bytes(raw, "big")
    yield f"0x{raw.hex()} = {' '.join(f'{byte:08b}' for byte in raw)}{'' if parts else ': no bit has a meaning here yet'}"
    for part in parts:
        value = part.read(number)
        which = f"bit {part.shift}" if part.width == 1 else f"bits {part.shift}-{part.shift + part.width - 1}"
        yield f"{which} = {value:0{part.width}b}: {part.name} {part.names.get(value, 'unknown')}"
    if strange := number & ~sum(part.mask for part in parts):
        yield f"besides 0x{strange:x}, which means nothing in this format"
