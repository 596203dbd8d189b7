"""`xxd` and whatever writes `offset: groups of hex digits  ASCII`, big-endian, with the ASCII two spaces away."""

from __future__ import annotations

import re

from kwire_cli.source.forms.model import MismatchError, Reading
from kwire_cli.source.forms.rows import Row, assemble, scan


def read(text: str) -> Reading:
    """Bytes of an xxd dump, of any -c, -g and -u; MismatchError for -b and -e, whose digits are in another order."""
    rows = scan(text, re.compile(r"[ \t]*([0-9a-fA-F]{1,16}):(?=\s|$)[ \t]*"), "an offset and a colon, as in 00000010:", sure=True)
    _refuse_bits(rows[0])
    radix, chunks = assemble(rows, (16, 10), grouped, sure=True)
    return Reading(chunks, f"rows of {'hex' if radix == 16 else 'decimal'} offset, colon and hex groups")


def grouped(row: Row) -> bytes:
    """The bytes of a row whose groups stand one space apart; two spaces or a tab begin the ASCII gutter, whatever it looks like."""
    found = re.match(r"[0-9a-fA-F]++(?: [0-9a-fA-F]++)*+", row.text)
    end = found.end() if found else 0
    if found is None or not re.match(r"  | ?\t| ?$", row.text[end:]):
        # One space more is still well where it ends the row; what follows it is not.
        wrong = end + (row.text[end : end + 1] == " ")
        raise MismatchError(row.body + wrong, "expected hex digits; two spaces begin the ASCII column")
    groups = found[0].split(" ")
    at = 0
    for index, group in enumerate(groups):
        last = index == len(groups) - 1
        if len(group) % 2 or len(group) > len(groups[0]) or (len(group) < len(groups[0]) and not last):
            raise MismatchError(row.body + at + len(group) - 1, f"expected a group of {len(groups[0])} hex digits, as the first one")
        at += len(group) + 1
    return bytes.fromhex(found[0])


def _refuse_bits(row: Row) -> None:
    """MismatchError when a row's own ASCII gutter shows that its digits are bits (-b) or little-endian words (-e)."""
    area, _, gutter = row.text.partition("  ")
    groups = area.split(" ")
    if not gutter or any(len(group) != 8 or group.strip("0123456789abcdefABCDEF") for group in groups):
        return
    gutter = gutter.lstrip()
    if len(gutter) <= len(groups) and not area.strip("01 "):
        raise MismatchError(row.body, "these are bits, as of `xxd -b`, not bytes: dump it again without -b", sure=True)
    straight = bytes.fromhex(area)
    swapped = b"".join(bytes.fromhex(group)[::-1] for group in groups)
    if not gutter.startswith(_shown(straight)) and gutter.startswith(_shown(swapped)):
        raise MismatchError(row.body, "these are little-endian words, as of `xxd -e`: dump it again without -e", sure=True)


def _shown(data: bytes) -> str:
    """Bytes as an ASCII gutter shows them, without the spaces at its ends."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data).strip()
