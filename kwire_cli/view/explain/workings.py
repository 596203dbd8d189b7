"""Calculations from bytes to a value, as text.

A working shows each step that a reader would do with pencil and paper, such as the groups of a varint or the sign bit
of an integer. The functions take only bytes and a declaration, so they are independent of messages and of the outline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import counted
from kwire_cli.structs.numbers import FixedInt, Varint, uuid_text
from kwire_cli.view.explain.rules import number_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.structs.records.parts import Bits


def fixed_working(raw: bytes, *, signed: bool) -> str:
    """Return the working of a fixed-width integer: `0xffff = 65535; less 65536, as the highest bit is set: -1`."""
    number = int.from_bytes(raw, "big")
    equation = f"0x{raw.hex()} = {number}"
    if not signed or not raw or raw[0] < 0x80:
        return equation
    return f"{equation}; less {1 << 8 * len(raw)}, as the highest bit is set: {int.from_bytes(raw, 'big', signed=True)}"


def unsigned(raw: bytes, bits: int) -> int:
    """Return the number in groups of 7 bits, lowest group first. Bits from `bits` on are dropped, as in Kafka."""
    return sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(raw)) & ((1 << bits) - 1)


def varint_working(raw: bytes, bits: int = 32) -> str:
    """Return the working of an unsigned varint: `1|0101100 0|0000010: last group first, 0000010 0101100 = 300`."""
    groups = " ".join(f"{byte >> 7}|{byte & 0x7F:07b}" for byte in raw)
    number = unsigned(raw, bits)
    if len(raw) == 1:
        return f"{groups} = {number}"
    dropped = "" if unsigned(raw, 7 * len(raw)) == number else f", of which {bits} bits are kept"
    reverse = " ".join(f"{byte & 0x7F:07b}" for byte in reversed(raw))
    return f"{groups}: last group first, {reverse}{dropped} = {number}"


def zigzag_working(raw: bytes, bits: int) -> str:
    """Return the working of the unsigned varint, then of the zig-zag decoding: `…; even: 300 / 2 = 150`."""
    number = unsigned(raw, bits)
    undone = f"odd: -({number} + 1) / 2 = {-(number + 1 >> 1)}" if number & 1 else f"even: {number} / 2 = {number >> 1}"
    return f"{varint_working(raw, bits)}; {undone}"


def upacked_working(raw: bytes, bits: int) -> str:
    """Return the working of the unsigned varint, then of the sign in its highest bit."""
    number = unsigned(raw, bits)
    signed = f"; less {1 << bits}, as bit {bits - 1} is set: {number - (1 << bits)}" if number >> (bits - 1) else ""
    return varint_working(raw, bits) + signed


def uuid_working(raw: bytes) -> str:
    """Return the 16 bytes in the usual form of uuids, and in Kafka's form."""
    text = raw.hex()
    usual = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return f"{usual}, in Kafka's text {uuid_text(raw)}"


def bits_working(raw: bytes, parts: Sequence[Bits]) -> Iterator[str]:
    """Yield a line for all bits, then one for each part: `bits 0-2 = 100: compression zstd`. The last line has the set
    bits that belong to no part.
    """
    number = int.from_bytes(raw, "big")
    octets = " ".join(f"{byte:08b}" for byte in raw)
    yield f"0x{raw.hex()} = {octets}{'' if parts else ': no bit has a meaning here yet'}"
    for part in parts:
        value = part.read(number)
        which = f"bit {part.shift}" if part.width == 1 else f"bits {part.shift}-{part.shift + part.width - 1}"
        yield f"{which} = {value:0{part.width}b}: {part.name} {part.names.get(value, 'unknown')}"
    if strange := number & ~sum(part.mask for part in parts):
        yield f"other bits, 0x{strange:x}, have no meaning in this format"


def number_working(decl: Any, raw: bytes) -> str:
    """Return the working of a number, boolean or uuid."""
    rule = number_rule(decl)
    if isinstance(decl, Varint):  # Kafka decodes both unsigned encodings into a signed int
        return (upacked_working if rule in {"uvarint", "upacked"} else zigzag_working)(raw, decl.bits)
    if rule == "float64":
        return f"0x{raw.hex()} = {decl.read(raw)}"
    if rule == "uuid":
        return uuid_working(raw) if any(raw) else "zeros: no uuid"
    if rule == "bool":
        return f"0x{raw.hex()} = {'true' if raw[0] else 'false'}"
    return fixed_working(raw, signed=not isinstance(decl, FixedInt) or decl.wire[0] == "i")


def prefix_working(decl: Any, raw: bytes, one: str, null: str) -> tuple[str, int]:
    """Return the working of a length or count, and the number.

    The text ends with `17 bytes` if `one` is byte, and with `null` for a number below 0.
    """
    number = int(decl.prefix.read(raw)) - decl.compact
    working = number_working(decl.prefix, raw)
    if number < 0:
        return f"{working}: {null}", number
    what = counted(number, one)
    return (f"{working}; less 1: {what}" if decl.compact else f"{working}{what.removeprefix(str(number))}"), number


POLYNOMIALS = {"crc32": 0x04C11DB7, "crc32c": 0x1EDC6F41}
"""Polynomials in the usual notation: highest power first, without x^32."""
MOST_TRIED = 1 << 17
"""Maximum number of bytes, counted from the end, whose bits are tried. This takes about 0.1 seconds."""


def mismatch_text(data: bytes, start: int, difference: int, rule: str) -> str:
    """Return which flipped bit explains a wrong checksum of `data`, whose first byte has the offset `start`."""
    if not difference & (difference - 1):
        return "The two differ in one bit, which may have been flipped in the checksum itself."
    flip = flipped_bit(len(data), difference, POLYNOMIALS[rule])
    if flip is None:
        return "No single flipped bit explains the difference: several bits are wrong, or the size is."
    index, bit = flip
    return (
        f"One bit makes the difference: with bit {bit} of byte {start + index} flipped, "
        f"0x{data[index] ^ 1 << bit:02x} instead of 0x{data[index]:02x}, the checksum is correct."
    )


def flipped_bit(size: int, difference: int, polynomial: int) -> tuple[int, int] | None:
    """Return the index of a byte in `size` bytes and its bit, whose flip changes the checksum by `difference`.

    Return None if no single bit does. A CRC is linear: the effect of a flipped bit depends only on the number of bits
    after it, and not on the data.
    """
    reflected = int(f"{polynomial:032b}"[::-1], 2)
    state = 1
    for at in range(size - 1, max(size - MOST_TRIED, 0) - 1, -1):
        for bit in range(7, -1, -1):
            state = state >> 1 ^ (reflected if state & 1 else 0)
            if state == difference:
                return at, bit
    return None
