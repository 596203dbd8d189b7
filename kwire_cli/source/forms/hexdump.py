"""`hexdump -C`, `hexdump`, `hexdump -x`, `-b`: hex offsets, of eight digits with bytes and of seven with words."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import MismatchError, Reading
from kwire_cli.source.forms.rows import Row, assemble, scan
from kwire_cli.source.forms.words import read_units, unit_of


def read(text: str) -> Reading:
    """Bytes of a hexdump; squeezed rows are put back, and the final offset takes away the last word's padding."""
    rows = scan(text, re.compile(r"[ \t]*([0-9a-fA-F]{7,16})(?=\s|$)"), "an offset of seven or eight hex digits")
    unit = unit_of(rows[0])
    canonical = unit.width == 2
    # hexdump itself writes eight digits and two spaces before bytes, seven digits before words.
    if canonical and (len(rows[0].digits) < 8 or not rows[0].text.startswith("  ")):
        raise MismatchError(rows[0].body, "expected an offset of eight digits and two spaces before bytes")
    if not canonical and len(rows[0].digits) != 7:
        raise MismatchError(rows[0].body, "expected an offset of seven digits before words")
    if len(rows) == 1 and rows[0].digits.strip("0"):
        raise MismatchError(rows[0].start, "a row on its own that does not begin at offset 0")

    def row_bytes(row: Row) -> bytes:
        data = read_units(row, unit, "|", most=2 if canonical else None)
        if canonical and len(data) > 16:
            raise MismatchError(row.body, "expected at most 16 bytes in a row")
        return data

    _, chunks = assemble(rows, (16,), row_bytes, unit=unit.size)
    return Reading(chunks, f"rows of hex offset and {unit}")
