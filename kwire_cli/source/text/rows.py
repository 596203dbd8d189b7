"""Rows of hex with offsets: xxd, hexdump, od, tcpdump, Wireshark, and bytes as debuggers print them.

Packets in rows are read with all their headers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.source.text.model import Chunk, MismatchError, Reading, comment_text, first_visible, is_comment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Dumps made of rows: an offset, bytes, perhaps an ASCII gutter; `*` stands for rows equal to the one before.
#
# Where a row's bytes end is the form's to say; here the offsets check it, tell one dump from the next, and
# undo `*`.

# A `*` costs one character and may claim anything: it never makes more bytes than this, in all.
EXPANSION_LIMIT = 64 << 20


class Row(NamedTuple):
    """One row of a dump: `text` is what follows the offset and begins at `body` of the whole text; `start` is where
    `digits` begin.
    """

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


def scan(
    text: str, pattern: re.Pattern[str], what: str, *, foreign: re.Pattern[str] | None = None, sure: bool = False
) -> list[Row]:
    """The rows of `text`; group 1 of `pattern` is the offset, and what follows the match the row's text.

    Lines that match `foreign` stand between dumps (a packet's summary) and label the next one. `sure` says that one row
    is proof enough of the form. MismatchError at the first line that is neither, and when there is no row.
    """
    rows: list[Row] = []
    position, label, squeezed, early, fresh = 0, None, -1, -1, True
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare:
            label = None
        elif bare == "*":
            squeezed = position + line.index("*")
            early = squeezed if not rows else early
        elif is_comment(line):
            label = comment_text(line)
        elif match := pattern.match(line):
            start, end = match.start(1), match.end()
            rows.append(
                Row(number, position + start, start, match[1], position + end, line[end:], squeezed >= 0, fresh, label)
            )
            label, squeezed, fresh = None, -1, False
        elif foreign is not None and foreign.match(line):
            label, fresh = bare, True
        else:
            raise MismatchError(position + _hex_prefix(line), f"expected {what}", sure=sure and bool(rows))
        position += len(line) + 1
    if not rows:
        raise MismatchError(first_visible(text), f"expected {what}")
    if early >= 0 or squeezed >= 0:
        raise MismatchError(early if early >= 0 else squeezed, "a `*` stands for rows between two others", sure=True)
    return rows


def _hex_prefix(line: str) -> int:
    """Return how many characters of `line` could begin a row."""
    rest = line.lstrip()
    bare = rest.removeprefix("0x")
    return len(line) - len(bare.lstrip("0123456789abcdefABCDEF"))


def assemble(
    rows: Sequence[Row], radices: Sequence[int], read: Callable[[Row], bytes], *, unit: int = 1, sure: bool = False
) -> tuple[int, tuple[Chunk, ...]]:
    """The offsets' radix, the first of `radices` under which offsets and rows agree, and the bytes of each dump.

    `read` gives all bytes of a row; the last row of words of `unit` bytes may hold padding, which the final offset
    takes away. MismatchError as of the radix that got furthest; `sure` when the form is proved or offset 0 and its row
    were well.
    """
    zero = not rows[0].digits.strip("0")
    best: MismatchError | None = None
    try:
        parts = [b"" if row.empty else read(row) for row in rows]
    except MismatchError as error:
        raise MismatchError(error.offset, error.reason, sure=error.sure or sure) from None
    for radix in radices:
        try:
            return radix, _join(rows, parts, radix, unit)
        except MismatchError as error:
            if best is None or error.offset > best.offset:
                best = error
    assert best is not None  # noqa: S101 -- radices is never empty
    raise MismatchError(best.offset, best.reason, sure=sure or zero) from None


def _join(rows: Sequence[Row], parts: Sequence[bytes], radix: int, unit: int) -> tuple[Chunk, ...]:
    """The chunks of rows already read; MismatchError where an offset disagrees with the rows before it."""
    chunks: list[Chunk] = []
    offsets = [_offset(row, radix) for row in rows]
    first, gathered, left = rows[0], bytearray(), EXPANSION_LIMIT
    for index, (row, data) in enumerate(zip(rows, parts, strict=True)):
        follows = index + 1 < len(rows) and not _restarts(row, rows[index + 1], offsets[index], offsets[index + 1])
        if not follows:
            gathered += data
            if gathered:
                chunks.append(Chunk(bytes(gathered), first.line, first.label))
            if index + 1 < len(rows):
                first, gathered = rows[index + 1], bytearray()
                if first.squeezed:
                    raise MismatchError(first.start, "this offset lies before the rows that `*` stands for")
            continue
        count, after = offsets[index + 1] - offsets[index], rows[index + 1]
        if after.squeezed and data and count >= len(data) and count % len(data) == 0:
            left -= count
            if left < 0:
                raise MismatchError(
                    after.start, f"`*` stands for more than {EXPANSION_LIMIT} bytes here; cut the input"
                )
            gathered += data * (count // len(data))
        elif not after.squeezed and 0 <= len(data) - count < (unit if after.empty else 1) and not any(data[count:]):
            gathered += data[:count]
        else:
            raise MismatchError(
                after.start, f"offset {after.digits} does not follow {len(data)} bytes at offset {row.digits}"
            )
    return tuple(chunks)


def _offset(row: Row, radix: int) -> int:
    """A row's offset; MismatchError when a digit is none of the radix."""
    try:
        return int(row.digits, radix)
    except ValueError:
        raise MismatchError(row.start, f"offset {row.digits} is not a number of base {radix}") from None


def _restarts(row: Row, after: Row, offset: int, next_offset: int) -> bool:
    """Return whether `after` begins another dump.

    Another dump is set apart, indented differently (the other side of a stream), or counts from the start again.
    """
    return after.fresh or after.indent != row.indent or next_offset <= offset


# Units of hexdump and od: bytes or little-endian words, written as hex or octal digits of a fixed width.


class Unit(NamedTuple):
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
    for unit in (
        Unit(2, 16, 1),
        Unit(4, 16, 2),
        Unit(8, 16, 4),
        Unit(16, 16, 8),
        Unit(3, 8, 1),
        Unit(6, 8, 2),
        Unit(11, 8, 4),
        Unit(22, 8, 8),
    )
}


def unit_of(row: Row) -> Unit:
    """The unit that a dump's first row is written in; MismatchError when there is none of its width."""
    token = row.text.split(None, 1)[0] if not row.empty else ""
    at = row.body + len(row.text) - len(row.text.lstrip())
    wrong = len(token) - len(token.lstrip("0123456789abcdefABCDEF"))
    if wrong < len(token) and token:
        raise MismatchError(
            at + wrong, "expected hex or octal digits after the offset (characters, as of -c, are not read)"
        )
    unit = UNITS.get(len(token))
    if unit is None or len(token) == len(row.digits):
        raise MismatchError(at, "expected bytes or words in hex or octal after the offset")
    return unit


def read_units(row: Row, unit: Unit, gutter: str, most: int | None = None) -> bytes:
    """The bytes of a row up to its gutter, which begins with the character `gutter`; MismatchError at the first digit
    that does not fit.

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
            raise MismatchError(
                row.body + word.start() + (good.end() if good else 0),
                f"expected {unit.width} digits, one of the {unit}",
            )
        value = int(word[0], unit.radix)
        if value >> (8 * unit.size):
            raise MismatchError(row.body + word.start(), f"{word[0]} does not fit {unit.size * 8} bits")
        out += value.to_bytes(unit.size, "little")
    return bytes(out)


# `xxd` and whatever writes `offset: groups of hex digits ASCII`, big-endian, with the ASCII two spaces away.


def read_xxd(text: str) -> Reading:
    """Bytes of an xxd dump, of any -c, -g and -u; MismatchError for -b and -e, whose digits are in another order."""
    rows = scan(
        text,
        re.compile(r"[ \t]*([0-9a-fA-F]{1,16}):(?=\s|$)[ \t]*"),
        "an offset and a colon, as in 00000010:",
        sure=True,
    )
    _refuse_bits(rows[0])
    radix, chunks = assemble(rows, (16, 10), grouped, sure=True)
    return Reading(chunks, f"rows of {'hex' if radix == 16 else 'decimal'} offset, colon and hex groups")


def grouped(row: Row) -> bytes:
    """The bytes of a row whose groups stand one space apart; two spaces or a tab begin the ASCII gutter, whatever it
    looks like.
    """
    match = re.match(r"[0-9a-fA-F]++(?: [0-9a-fA-F]++)*+", row.text)
    end = match.end() if match else 0
    if match is None or not re.match(r"  | ?\t| ?$", row.text[end:]):
        # One space more is still well where it ends the row; what follows it is not.
        wrong = end + (row.text[end : end + 1] == " ")
        raise MismatchError(row.body + wrong, "expected hex digits; two spaces begin the ASCII column")
    groups = match[0].split(" ")
    at = 0
    for index, group in enumerate(groups):
        last = index == len(groups) - 1
        if len(group) % 2 or len(group) > len(groups[0]) or (len(group) < len(groups[0]) and not last):
            raise MismatchError(
                row.body + at + len(group) - 1, f"expected a group of {len(groups[0])} hex digits, as the first one"
            )
        at += len(group) + 1
    return bytes.fromhex(match[0])


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
        raise MismatchError(
            row.body, "these are little-endian words, as of `xxd -e`: dump it again without -e", sure=True
        )


def _shown(data: bytes) -> str:
    """Bytes as an ASCII gutter shows them, without the spaces at its ends."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data).strip()


# `hexdump -C`, `hexdump`, `hexdump -x`, `-b`: hex offsets, of eight digits with bytes and of seven with
# words.


def read_hexdump(text: str) -> Reading:
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


# `od` with its default, -x, -b, -t x1, x1z, x2, x4, o1, o2 and offsets in any -A but n (which leaves plain
# hex).

_BASES = {8: "octal", 10: "decimal", 16: "hex"}


def read_od(text: str) -> Reading:
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


# `tcpdump -x`, `-X`, `-xx`, `-XX`: packets as rows of 0x offset and hex groups, each below its summary line.

TCPDUMP_ROW = re.compile(r"[ \t]*0x([0-9a-fA-F]{4,16}):(?=\s|$)[ \t]*")
"""The part of a row before its text; group 1 is its offset."""


def read_tcpdump_packets(text: str) -> Reading:
    """Each packet with all its headers."""
    packets = _packets(text)
    return Reading(packets, f"{len(packets)} packets, with their headers")


def _packets(text: str) -> tuple[Chunk, ...]:
    """A chunk for each packet, labelled with its summary line."""
    rows = scan(
        text,
        TCPDUMP_ROW,
        "an offset as in 0x0010:",
        # Any other line is a summary, unless it could be a broken row.
        foreign=re.compile(r"(?![ \t]*0x[0-9a-fA-F]*:)"),
        sure=True,
    )
    return assemble(rows, (16,), grouped, sure=True)[1]


# Wireshark's and tshark's dumps: "copy as hex dump", with or without ASCII, `tshark -x`, and a followed
# stream as hex.
#
# The other side of a followed stream is indented: every change of side is a chunk of its own.

WIRESHARK_ROW = re.compile(r"[ \t]*([0-9a-fA-F]{4,16})(?=  |\t|[ ]*$)")
"""The part of a row before its text; group 1 is its offset."""


_DETAIL = "rows of hex offset and bytes, the ASCII two or three spaces away"


def read_wireshark_packets(text: str) -> Reading:
    """Bytes of the rows, as they stand."""
    return Reading(_chunks(text), _DETAIL)


def _chunks(text: str) -> tuple[Chunk, ...]:
    """A chunk for each packet, or for each change of side in a stream."""
    rows = scan(
        text,
        WIRESHARK_ROW,
        "an offset of at least four digits and two spaces",
        foreign=re.compile(r"=+$|(?:Follow|Filter): |Node [01]: |[A-Z][A-Za-z ]{0,60}\([0-9]{1,9} bytes\):"),
    )
    if len(rows) == 1 and rows[0].digits.strip("0"):
        raise MismatchError(rows[0].start, "a row on its own that does not begin at offset 0")
    return assemble(rows, (16,), row_bytes)[1]


def row_bytes(row: Row) -> bytes:
    """At most 16 bytes; exactly two spaces after the eighth are the gap in the middle, else they begin the ASCII
    gutter.
    """
    match = re.match(
        r"[ \t]+((?:[0-9a-fA-F]{2} ){7}[0-9a-fA-F]{2}  ?(?:[0-9a-fA-F]{2} "
        r"){0,7}[0-9a-fA-F]{2}|[0-9a-fA-F]{2}(?: [0-9a-fA-F]{2}){0,7})(?=  |\t| ?$)",
        row.text,
    )
    if match is None:
        good = re.match(r"[ \t]*(?:[0-9a-fA-F]{2}  ?){0,16}[0-9a-fA-F]?", row.text)
        raise MismatchError(row.body + (good.end() if good else 0), "expected bytes of two hex digits, one space apart")
    return bytes.fromhex(match[1])


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
