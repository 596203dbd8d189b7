"""Dumps made of rows: an offset, bytes, perhaps an ASCII gutter; `*` stands for rows equal to the one before.

Where a row's bytes end is the form's to say; here the offsets check it, tell one dump from the next, and undo `*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.source.forms.model import Chunk, MismatchError, comment_text, first_visible, is_comment

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

# A `*` costs one character and may claim anything: it never makes more bytes than this, in all.
EXPANSION_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a dump: `text` is what follows the offset and begins at `body` of the whole text; `start` is where `digits` begin."""

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
        """Whether the row is only an offset: the end of its dump."""
        return not self.text.strip()


def scan(text: str, pattern: re.Pattern[str], what: str, *, foreign: re.Pattern[str] | None = None, sure: bool = False) -> list[Row]:
    """The rows of `text`; group 1 of `pattern` is the offset, and what follows the match the row's text.

    Lines that match `foreign` stand between dumps (a packet's summary) and label the next one. `sure` says that one row is
    proof enough of the form. MismatchError at the first line that is neither, and when there is no row.
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
        elif found := pattern.match(line):
            start, end = found.start(1), found.end()
            rows.append(Row(number, position + start, start, found[1], position + end, line[end:], squeezed >= 0, fresh, label))
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
    """How many characters of `line` could begin a row."""
    rest = line.lstrip()
    bare = rest.removeprefix("0x")
    return len(line) - len(bare.lstrip("0123456789abcdefABCDEF"))


def assemble(
    rows: Sequence[Row], radices: Sequence[int], read: Callable[[Row], bytes], *, unit: int = 1, sure: bool = False
) -> tuple[int, tuple[Chunk, ...]]:
    """The offsets' radix, the first of `radices` under which offsets and rows agree, and the bytes of each dump.

    `read` gives all bytes of a row; the last row of words of `unit` bytes may hold padding, which the final offset takes away.
    MismatchError as of the radix that got furthest; `sure` when the form is proved or offset 0 and its row were well.
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
                raise MismatchError(after.start, f"`*` stands for more than {EXPANSION_LIMIT} bytes here; cut the input")
            gathered += data * (count // len(data))
        elif not after.squeezed and 0 <= len(data) - count < (unit if after.empty else 1) and not any(data[count:]):
            gathered += data[:count]
        else:
            raise MismatchError(after.start, f"offset {after.digits} does not follow {len(data)} bytes at offset {row.digits}")
    return tuple(chunks)


def _offset(row: Row, radix: int) -> int:
    """A row's offset; MismatchError when a digit is none of the radix."""
    try:
        return int(row.digits, radix)
    except ValueError:
        raise MismatchError(row.start, f"offset {row.digits} is not a number of base {radix}") from None


def _restarts(row: Row, after: Row, offset: int, next_offset: int) -> bool:
    """Whether `after` begins another dump: it is set apart, indented otherwise (the other side of a stream), or counts from the start again."""
    return after.fresh or after.indent != row.indent or next_offset <= offset
