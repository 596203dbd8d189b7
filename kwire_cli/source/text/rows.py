"""Rows of hex with offsets: dumps of xxd, hexdump, od, tcpdump and Wireshark.

All dumps have one grammar: an offset, groups of digits, and perhaps a column of characters. A row may end at several
places, because the characters may look like digits. The next offset decides. In the last row the column of the rows
above decides, or characters that are equal to the bytes before them. `*` stands for rows equal to the one before.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.text.model import Chunk, Input, MismatchError, comment_text, first_visible, is_comment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.source.text.model import Reader

# A `*` costs one character and may claim anything: it never makes more bytes than this, in all.
EXPANSION_LIMIT = 64 << 20
_MAX_COMPARED = 1 << 10
"""Characters of a row whose column of characters is compared with the bytes. Real rows are shorter."""


class Row(NamedTuple):
    """A row of a dump: the `digits` of its offset at `start` of the whole text, and the `text` at `body` after them."""

    line: int
    start: int
    indent: int
    digits: str
    body: int
    text: str
    squeezed: bool
    fresh: bool
    label: str | None

    @property
    def empty(self) -> bool:
        """Return whether the row is only an offset, which is the end of its dump."""
        return not self.text.strip()


BYTE = 2
WORD = 4
"""Digits of a byte, and of a little-endian word of two bytes."""


class Style(NamedTuple):
    """How a tool writes rows.

    - `pattern`: the part of a row before the digits; group 1 is the offset.
    - `what`: the offset in an error.
    - `radices`: the bases that an offset may have, the likeliest first.
    - `colon`: a colon proves the offset. Without `width` the digits are then bytes in groups of any width.
    - `width`: BYTE or WORD. Without `colon` the default is the width of the first group.
    - `most`: the bytes of the longest row of bytes; 0 if any number is possible.
    - `foreign`: lines between dumps, which label the next one.
    """

    pattern: re.Pattern[str]
    what: str
    radices: tuple[int, ...] = (16,)
    colon: bool = False
    width: int = 0
    most: int = 0
    foreign: re.Pattern[str] | None = None


_XXD = Style(
    re.compile(r"[ \t]*([0-9a-fA-F]{1,16}):(?=\s|$)[ \t]*"),
    "an offset and a colon, as in 00000010:",
    (16, 10),
    colon=True,
)
_TCPDUMP = Style(
    re.compile(r"[ \t]*0x([0-9a-fA-F]{4,16}):(?=\s|$)[ \t]*"),
    "an offset as in 0x0010:",
    colon=True,
    # Any other line is a summary, unless it could be a broken row.
    foreign=re.compile(r"(?!0x[0-9a-fA-F]*:)"),
)
_WIRESHARK = Style(
    re.compile(r"[ \t]*([0-9a-fA-F]{4,16})(?=  |\t|[ ]*$)"),
    "an offset of at least four digits and two spaces",
    width=BYTE,
    most=16,
    foreign=re.compile(r"=+$|(?:Follow|Filter): |Node [01]: |[A-Z][A-Za-z ]{0,60}\([0-9]{1,9} bytes\):"),
)
# hexdump writes eight digits and two spaces before bytes, and seven digits before words. In a table a bar follows.
_HEXDUMP = Style(
    re.compile(
        r"[ \t]*\|?(?=[0-9a-fA-F]{4,16} ?\| |[0-9a-fA-F]{8,16}(?:  [ \t]*[0-9a-fA-F]{2}(?![^\s|])|[ \t]*$)"
        r"|[0-9a-fA-F]{7}(?:[ \t]+[0-9a-fA-F]{3}|[ \t]*$))([0-9a-fA-F]{4,16})(?: ?\|)?"
    ),
    "an offset of seven or eight hex digits",
    most=16,
    foreign=re.compile(r"[+-]?-{4,}\+[-+]*$|\|  0  1  2 |Idx +\| Hex +\|"),
)
_OD = Style(re.compile(r"[ \t]*([0-9a-fA-F]{6,7})(?=\s|$)"), "an offset of six or seven digits", (8, 10, 16))
_STYLES = {
    "tcpdump": _TCPDUMP,
    "xxd": _XXD,
    "hexdump": _HEXDUMP,
    "od": _OD,
    "wireshark": _WIRESHARK,
}
_BASES = {8: "octal", 10: "decimal", 16: "hex"}


def _rows(text: str, style: Style) -> list[Row]:
    """Return the rows of all lines.

    Raises:
        MismatchError: A line is not a row of this style, or there is no row.

    """
    rows: list[Row] = []
    position = 0
    label = None
    squeezed = -1
    early = -1
    fresh = True
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare:
            label = None
        elif bare == "*":
            squeezed = position + line.index("*")
            early = squeezed if not rows else early
        elif is_comment(line):
            label = comment_text(line)
        elif match := style.pattern.match(line):
            start = match.start(1)
            end = match.end()
            rows.append(
                Row(number, position + start, start, match[1], position + end, line[end:], squeezed >= 0, fresh, label)
            )
            label = None
            squeezed = -1
            fresh = False
        elif style.foreign is not None and style.foreign.match(bare):
            label = None if "|" in bare or "--" in bare else bare
            fresh = True
        else:
            raise MismatchError(position + _hex_prefix(line), f"expected {style.what}", sure=style.colon and bool(rows))
        position += len(line) + 1
    if not rows:
        raise MismatchError(first_visible(text), f"expected {style.what}")
    if early >= 0 or squeezed >= 0:
        raise MismatchError(early if early >= 0 else squeezed, "a `*` stands for rows between two others", sure=True)
    return rows


def _hex_prefix(line: str) -> int:
    """Return how many characters of `line` could begin a row."""
    bare = line.lstrip().removeprefix("0x")
    return len(line) - len(bare.lstrip("0123456789abcdefABCDEF"))


# The bytes of a row


class Digits(NamedTuple):
    """The digits of a row as bytes. `ends` are the places where the bytes may end, the likeliest first.

    An end is a number of bytes, and the column in which the characters begin.
    """

    data: bytes
    ends: tuple[tuple[int, int], ...]

    def before(self, column: int) -> bytes:
        """Return the bytes before the characters in this column, or else the likeliest bytes."""
        return self.data[: next((size for size, gutter in self.ends if gutter == column), self.ends[0][0])]


_GROUP = re.compile(r"([0-9a-fA-F]++)([ \t]*+)([^ \t]?)")


def digits_of(row: Row, style: Style) -> Digits:
    """Return the digits of a row.

    Raises:
        MismatchError: A group of digits is malformed.

    """
    text = row.text
    at = len(text) - len(text.lstrip())
    words = style.width == WORD
    width = style.width
    out = bytearray()
    ends: list[tuple[int, int]] = []
    wrong = "expected hex digits; two spaces begin the ASCII column"
    while match := _GROUP.match(text, at):
        group, gap, behind = match.groups()
        last = behind in ("", "|", ">")
        wide = len(gap) > 1 or gap == "\t"
        width = width or len(group)
        short = not style.width and (last or wide) and len(group) < width
        if not gap and not last:
            at = match.end(1)
            break
        if (len(group) != width and not short) or len(group) % 2:
            at += min(len(group), width)
            wrong = f"expected a group of {width} hex digits, as the first one"
            break
        out += bytes.fromhex(group)[::-1] if words else bytes.fromhex(group)
        at = match.start(3)
        if last or (wide and not words):
            ends.append((len(out), at))
        if last:
            break
    if not ends:
        raise MismatchError(row.body + at, wrong)
    if style.most and not words and ends[0][0] > style.most:
        raise MismatchError(row.body, f"expected at most {style.most} bytes in a row")
    return Digits(bytes(out), tuple(_likeliest(ends, out, text, style)) if len(ends) > 1 else tuple(ends))


def _likeliest(ends: list[tuple[int, int]], data: bytearray, text: str, style: Style) -> list[tuple[int, int]]:
    """Return the ends of a row without the help of other rows, the likeliest first."""
    if len(text) <= _MAX_COMPARED:
        proved = [end for end in ends if _shows(data[: end[0]], text[end[1] :])]
        if proved:
            return proved + ends
    if style.colon:
        return ends
    # Exactly two spaces after the eighth byte are the gap in the middle.
    middle = len(ends) > 1 and ends[0][0] == 8 and text[: ends[0][1]].endswith("  ") and text[ends[0][1] - 3] != " "
    return ends[1:] + ends[:1] if middle else ends


def _shows(data: bytes | bytearray, gutter: str) -> bool:
    """Return whether characters are equal to the bytes. Spaces and a mark around the characters do not count."""
    shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data).replace(" ", "")
    bare = gutter.replace(" ", "")
    return bool(bare) and shown in (bare, bare[1:], bare[1:-1])


# Rows joined by their offsets


def _read(style: Style, text: str) -> Input:
    """Return the bytes of each dump.

    Raises:
        MismatchError: A line is not a row, or an offset does not follow. The error of the base that got furthest
            is raised. It is sure if the style has a colon, or if offset 0 and its row are right.

    """
    rows = _rows(text, style)
    if style.colon:
        _refuse_bits(rows[0])
    elif len(rows) == 1 and rows[0].digits.strip("0"):
        raise MismatchError(rows[0].start, "a row on its own that does not begin at offset 0")
    else:
        style = style._replace(width=style.width or _width_of(rows[0]))
    try:
        parts = [Digits(b"", ((0, -1),)) if row.empty else digits_of(row, style) for row in rows]
    except MismatchError as error:
        raise MismatchError(error.offset, error.reason, sure=error.sure or style.colon) from None
    errors: list[MismatchError] = []
    # od writes six digits for -A x only.
    for radix in sorted(style.radices, reverse=True) if len(rows[0].digits) == 6 else style.radices:
        try:
            chunks = _join(rows, parts, radix, 2 if style.width == WORD else 1)
            return Input(chunks, f"rows of {_BASES[radix]} offsets")
        except MismatchError as error:
            errors.append(error)
    best = max(errors, key=lambda error: error.offset)
    raise MismatchError(best.offset, best.reason, sure=style.colon or not rows[0].digits.strip("0")) from None


def _join(rows: Sequence[Row], parts: Sequence[Digits], radix: int, unit: int) -> tuple[Chunk, ...]:
    """Return the bytes of each dump.

    The last row of words of `unit` bytes may hold padding, which the final offset excludes.
    """
    chunks: list[Chunk] = []
    offsets = [_offset(row, radix) for row in rows]
    first = rows[0]
    gathered = bytearray()
    left = EXPANSION_LIMIT
    column = -1
    for index, (row, digits) in enumerate(zip(rows, parts, strict=True)):
        data = digits.before(column)
        after = rows[index + 1] if index + 1 < len(rows) else None
        count = offsets[index + 1] - offsets[index] if after else 0
        # The other side of a stream is indented.
        if after is None or after.fresh or after.indent != row.indent or count <= 0:
            gathered += data
            if gathered:
                chunks.append(Chunk(bytes(gathered), first.line, first.label))
            first = after or first
            gathered = bytearray()
            if after and after.squeezed:
                raise MismatchError(after.start, "this offset is before the rows that `*` replaces")
            continue
        if after.squeezed and data and count >= len(data) and count % len(data) == 0:
            left -= count
            if left < 0:
                raise MismatchError(after.start, f"`*` replaces more than {EXPANSION_LIMIT} bytes; cut the input")
            gathered += data * (count // len(data))
            continue
        padding = unit if after.empty else 1
        fitting = [end for end in digits.ends if 0 <= end[0] - count < padding and not any(digits.data[count : end[0]])]
        if after.squeezed or not fitting:
            raise MismatchError(
                after.start, f"offset {after.digits} does not follow {len(data)} bytes at offset {row.digits}"
            )
        gathered += digits.data[:count]
        column = fitting[0][1] if fitting[0][1] < len(row.text) else column
    return tuple(chunks)


def _offset(row: Row, radix: int) -> int:
    try:
        return int(row.digits, radix)
    except ValueError:
        raise MismatchError(row.start, f"offset {row.digits} is not a number of base {radix}") from None


def _width_of(row: Row) -> int:
    """Return the number of digits in the groups of a dump, from its first row."""
    digits = row.text.split(None, 1)[0] if not row.empty else ""
    at = row.body + len(row.text) - len(row.text.lstrip())
    if len(digits) not in (BYTE, WORD) or digits.strip("0123456789abcdefABCDEF"):
        octal = len(digits) in (3, 6) and not digits.strip("01234567")
        reason = "expected bytes or words in hex after the offset, as od -t x1 writes them (octal is not read)"
        raise MismatchError(at, reason, sure=octal)
    return len(digits)


def _refuse_bits(row: Row) -> None:
    """Raise MismatchError if the characters prove that the digits are bits (-b) or little-endian words (-e)."""
    area, _, gutter = row.text.partition("  ")
    groups = area.split(" ")
    if not gutter or any(len(group) != 8 or group.strip("0123456789abcdefABCDEF") for group in groups):
        return
    if len(gutter.strip()) <= len(groups) and not area.strip("01 "):
        raise MismatchError(row.body, "these are bits, as of `xxd -b`, not bytes: dump it again without -b", sure=True)
    swapped = b"".join(bytes.fromhex(group)[::-1] for group in groups)
    if not _shows(bytes.fromhex(area), gutter) and _shows(swapped, gutter):
        raise MismatchError(row.body, "little-endian words, as of `xxd -e`: dump it again without -e", sure=True)


READERS: dict[str, Reader] = {form: partial(_read, style) for form, style in _STYLES.items()}
"""Readers of rows by form, in the order in which auto tries them."""
