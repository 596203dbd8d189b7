"""`od` with its default, -x, -b, -t x1, x1z, x2, x4, o1, o2 and offsets in any -A but n (which leaves plain hex)."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import MismatchError, Reading
from kwire_cli.source.forms.rows import assemble, scan
from kwire_cli.source.forms.words import read_units, unit_of

_BASES = {8: "octal", 10: "decimal", 16: "hex"}


def read(text: str) -> Reading:
    """Bytes of an od dump; the offsets' radix is the one under which offsets and rows agree."""
    rows = scan(text, re.compile(r"[ \t]*([0-9a-fA-F]{6,16})(?=\s|$)"), "an offset of six or seven digits")
    width = len(rows[0].digits)
    if width > 7:
        raise MismatchError(rows[0].body, "expected an offset of six or seven digits")
    unit = unit_of(rows[0])
    if len(rows) == 1 and rows[0].digits.strip("0"):
        raise MismatchError(rows[0].start, "a row on its own that does not begin at offset 0")
    # od writes six digits for -A x, seven for octal and decimal.
    radices = (16, 8, 10) if width == 6 else (8, 10, 16)
    radix, chunks = assemble(rows, radices, lambda row: read_units(row, unit, ">"), unit=unit.size)
    return Reading(chunks, f"rows of {_BASES[radix]} offset and {unit}")
