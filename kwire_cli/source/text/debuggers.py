"""Bytes as debuggers print them: gdb's `x/16xb`, and the elements of an array in IntelliJ's variables view."""

from __future__ import annotations

import re

from kwire_cli.source.text.model import Chunk, MismatchError, Reading, first_visible
from kwire_cli.source.text.rows import Row, assemble, scan

# gdb: an address, perhaps the symbol that it is in, a colon, and bytes as 0x00.

_GDB_ROW = re.compile(r"[ \t]*0x([0-9a-fA-F]{1,16})(?:[ \t]+<[^>\n]*>)?:(?=[ \t]+0x)[ \t]*")
_GDB_BYTES = re.compile(r"0x[0-9a-fA-F]{2}(?:[ \t]+0x[0-9a-fA-F]{2})*+[ \t]*")


def read_gdb(text: str) -> Reading:
    """Bytes of a dump by `x/NNxb`; MismatchError for words, whose order depends on the machine."""
    rows = scan(text, _GDB_ROW, "an address as in 0x7ffe10: 0x00 0x2b", sure=True)
    return Reading(assemble(rows, (16,), _gdb_bytes, sure=True)[1], "rows of address and bytes, as of gdb's x/xb")


def _gdb_bytes(row: Row) -> bytes:
    match = _GDB_BYTES.match(row.text)
    end = match.end() if match else 0
    if end < len(row.text):
        raise MismatchError(row.body + end, "expected bytes as in 0x2b; print them by x/100xb", sure=True)
    return bytes.fromhex(row.text.replace("0x", ""))


# IntelliJ: `0 = 0`, an element a line, perhaps below the name and the type of the array; `[0] = 0` of other debuggers.

_HEADING = re.compile(r"\s*[\w.$]+ = \{byte\[\d+\]@\d+\}.*")
_ELEMENT = re.compile(r"\s*(?P<bracket>\[)?(?P<index>\d{1,9})(?(bracket)\]) = (?P<value>-?\d{1,3})(?:\s.*)?")


def read_intellij(text: str) -> Reading:
    """Bytes of an array of which each line is one element; MismatchError if an element is missing."""
    out = bytearray()
    first, label, position = 0, None, 0
    for number, line in enumerate(text.split("\n"), 1):
        match = _ELEMENT.fullmatch(line)
        if match is not None:
            first = first or number
            if int(match["index"]) != len(out):
                raise MismatchError(
                    position + match.start("index"), f"expected element {len(out)}: copy all of them", sure=len(out) > 1
                )
            value = int(match["value"])
            if not -128 <= value <= 255:
                raise MismatchError(position + match.start("value"), "expected a number from -128 to 255")
            out.append(value & 255)
        elif _HEADING.fullmatch(line) and not out:
            label = line.partition(" = ")[0].strip()
        elif line.strip():
            raise MismatchError(position, "expected an element of an array, as in 0 = 43", sure=len(out) > 1)
        position += len(line) + 1
    if not out:
        raise MismatchError(first_visible(text), "expected an element of an array, as in 0 = 43")
    return Reading((Chunk(bytes(out), first, label),), "elements of an array, one a line")
