"""Units of hexdump and od: bytes or little-endian words, written as hex or octal digits of a fixed width."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.source.forms.model import MismatchError

if TYPE_CHECKING:
    from kwire_cli.source.forms.rows import Row


@dataclass(frozen=True, slots=True)
class Unit:
    """One column of a dump: `width` digits of base `radix` hold `size` bytes, least significant first."""

    width: int
    radix: int
    size: int

    def __str__(self) -> str:
        """The unit in words, as in "16-bit little-endian hex words"."""
        base = "hex" if self.radix == 16 else "octal"
        return f"{base} bytes" if self.size == 1 else f"{self.size * 8}-bit little-endian {base} words"


# Every width is of one unit only.
UNITS = {
    unit.width: unit
    for unit in (Unit(2, 16, 1), Unit(4, 16, 2), Unit(8, 16, 4), Unit(16, 16, 8), Unit(3, 8, 1), Unit(6, 8, 2), Unit(11, 8, 4), Unit(22, 8, 8))
}


def unit_of(row: Row) -> Unit:
    """The unit that a dump's first row is written in; MismatchError when there is none of its width."""
    token = row.text.split(None, 1)[0] if not row.empty else ""
    at = row.body + len(row.text) - len(row.text.lstrip())
    wrong = len(token) - len(token.lstrip("0123456789abcdefABCDEF"))
    if wrong < len(token) and token:
        raise MismatchError(at + wrong, "expected hex or octal digits after the offset (characters, as of -c, are not read)")
    unit = UNITS.get(len(token))
    if unit is None or len(token) == len(row.digits):
        raise MismatchError(at, "expected bytes or words in hex or octal after the offset")
    return unit


def read_units(row: Row, unit: Unit, gutter: str, most: int | None = None) -> bytes:
    """The bytes of a row up to its gutter, which begins with the character `gutter`; MismatchError at the first digit that does not fit.

    Units stand at most `most` spaces apart (None: any number).
    """
    area = row.text.partition(gutter)[0]
    if most is not None and (gap := re.search(rf"\S[ \t]{{{most + 1},}}+(?=\S)", area)):
        raise MismatchError(row.body + gap.end(), f"expected at most {most} spaces between bytes")
    out = bytearray()
    digits = "[0-9a-fA-F]" if unit.radix == 16 else "[0-7]"
    token = re.compile(rf"{digits}{{{unit.width}}}(?!\S)")
    for word in re.finditer(r"\S+", area):
        if not token.fullmatch(word[0]):
            good = re.match(rf"{digits}{{0,{unit.width}}}", word[0])
            raise MismatchError(row.body + word.start() + (good.end() if good else 0), f"expected {unit.width} digits, one of the {unit}")
        value = int(word[0], unit.radix)
        if value >> (8 * unit.size):
            raise MismatchError(row.body + word.start(), f"{word[0]} does not fit {unit.size * 8} bits")
        out += value.to_bytes(unit.size, "little")
    return bytes(out)
