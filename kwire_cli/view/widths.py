"""Widths of text on a terminal, and the layout of tables whose rows arrive one by one.

A wide character takes two cells and a combining mark none, so `len` is not the width of a string. The first functions
measure text, cut it, and fold it. `layout` then chooses the columns that a terminal has room for and their widths. It
knows only the first rows of a table, because later rows are printed as they are decoded.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kwire_cli.view.lines import escaped, plain, without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.view.lines import Line


Cut = Literal["middle", "end", "call", "list", "short"]
"""The way to shorten a string: `middle` keeps both ends (`orders-…-app`), `end` keeps the beginning, `call` keeps the
beginning of a name and its version (`ConsumerGr… v1`), `list` keeps the first names and the number of further ones
(`orders, payments, +22`), `short` keeps the digits that fit."""
ELLIPSIS = "…"
_NARROW = "\u0300"
"""Characters below this one take one cell."""


def cell_width(text: str) -> int:
    """Return the number of cells of a string without control characters. A wide character takes two."""
    if text.isascii() or max(text) < _NARROW:
        return len(text)
    return sum(map(_char_width, text))


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, how: Cut = "middle") -> str:
    """Shorten a string to at most `width` cells."""
    if cell_width(text) <= width:
        return text
    if how == "list" and (names := text.split(", "))[1:]:
        return _cut_list(names, width)
    if how == "short":
        return text[: max(width, 0)]
    if how == "call":
        name, space, version = text.rpartition(" v")
        if name and len(version) < width // 2:
            return f"{cut(name, width - len(space + version), 'end')}{space}{version}"
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    tail = 0 if how in {"end", "call"} else (width - 1) // 2
    return f"{_head(text, width - 1 - tail)}{ELLIPSIS}{_head(text[::-1], tail)[::-1]}"


def _cut_list(names: list[str], width: int) -> str:
    """Return the names that fit, and the number of further names."""
    text = ""
    for number, name in enumerate(names):
        longer = f"{text}, {name}" if text else name
        if cell_width(longer) + len(f", +{len(names) - number - 1}") > width:
            break
        text = longer
    else:
        return text
    if text:
        return f"{text}, +{len(names) - number}"
    more = f", +{len(names) - 1}"
    return f"{cut(names[0], width - len(more))}{more}" if width - len(more) > 1 else cut(f"{len(names)}", width)


def _head(text: str, width: int) -> str:
    """Return the beginning of a string that fits."""
    if text.isascii():
        return text[:width]
    used = 0
    for number, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:number]
    return text


_STEM = re.compile(r"^(?:[│├└─ ]|\.(?=\s))*")
_AFTER = re.compile(r"(?:[\s,;/]|\.(?=[a-zA-Z]))(?:[^\s,;/.]|\.(?![a-zA-Z]))*$")
_INDENT = 4
"""Cells of additional indent of a continued line."""
_LEAST = 16
"""Minimum cells of text on a continued line. The indent shrinks on a narrow terminal."""


def folded(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """Yield lines that take at most `width` cells, without control characters.

    A longer line is continued on further lines, below the branches of its tree.
    """
    for line in lines:
        safe = without_control(line)
        if cell_width(plain(safe)) <= width:
            yield safe
        else:
            yield from fold(safe, width, _hanging(plain(safe), width))


def _hanging(text: str, width: int) -> str:
    """Return the start of the second line of a string: the branches of its tree, and an indent."""
    match = _STEM.match(text)
    stem = (match.group() if match else "").replace("├", "│").replace("└", " ").replace("─", " ")
    return f"{stem}{' ' * _INDENT}"[: max(width - _LEAST, 0)]


def fold(line: Line, width: int, hanging: str = "") -> Iterator[Line]:
    """Yield a line in pieces of at most `width` cells. The second and further pieces start with `hanging`."""
    text = plain(line)
    begin = 0
    room = width
    while True:
        piece = text[begin:]
        end = len(text) if cell_width(piece) <= room else begin + _break(piece, room)
        yield [*([(hanging, "dim")] if begin else []), *_slice(line, begin, end)]
        begin = end
        while text[begin : begin + 1] == " ":
            begin += 1
        if begin >= len(text):
            return
        room = max(width - len(hanging), 1)


def _break(text: str, room: int) -> int:
    """Return the number of characters of one line. It ends after a space or comma in its second half, if possible."""
    head = _head(text, room) or text[0]
    if text[len(head) : len(head) + 1] == " ":
        return len(head)
    match = _AFTER.search(head)
    return match.start() + 1 if match and match.start() >= len(head) // 2 else len(head)


def _slice(line: Line, begin: int, end: int) -> Line:
    """Return the characters [begin, end) of a line."""
    out = []
    at = 0
    for text, style in line:
        piece = text[max(begin - at, 0) : max(end - at, 0)]
        at += len(text)
        if piece:
            out.append((piece, style))
    return out


_PIECES = re.compile(r"[^_./:,-]*[_./:,-]*")


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield a string in lines of at most `width` cells that end after a word.

    A longer word is split after one of `_./:,-`. A part without these characters is cut in the middle.
    """
    line = ""
    for word in text.split():
        before = f"{line} " if line else ""
        if cell_width(before + word) <= width:
            line = before + word
        elif cell_width(word) <= width:
            yield line
            line = word
        else:
            line = before
            for piece in _PIECES.findall(word):
                if line and cell_width(line + piece) > width:
                    yield line.rstrip()
                    line = ""
                line += cut(piece, width)
    if line:
        yield line


def cropped(line: Line, width: int) -> Line:
    """Return the part of a line that fits."""
    return _slice(line, 0, len(_head(plain(line), width)))


GAP = 2
"""Cells between columns."""
WIDEST = 40
"""Maximum width of a column, unless its heading or `width` is larger. Longer cells are cut."""
HELD = 500
"""Rows that are buffered to choose the widths of columns."""
CORE = 2
"""The largest `keep` of the essential columns of a table."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table whose rows arrive one by one.

    Attributes:
        keep: Columns with the largest number are dropped first on a narrow terminal. Columns with 0 always stay.
            Columns above `CORE` are cut before the others. Columns with the same number are dropped together.
        width: The width if no row is known.
        least: The minimum useful width. If it is 0, cells are never cut.
        gap: The number of cells after the column.
        intact: Cut the cells only if the columns that always stay leave no room.

    """

    name: str
    title: str = ""
    keep: int = 0
    width: int = 8
    least: int = 0
    cut: Cut = "middle"
    right: bool = False
    style: str = ""
    gap: int = GAP
    intact: bool = False

    @property
    def heading(self) -> str:
        """The heading of the column."""
        return self.title or self.name

    @property
    def usual(self) -> int:
        """The width of the column if no row is known."""
        return max(self.width, len(self.heading))


@dataclass(frozen=True)
class Layout:
    """The visible columns of a table, and their widths.

    `places` are the indexes of their cells in a row. `room` is the width of the terminal, or None for no limit.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    room: int | None = None

    def heading(self) -> Line:
        """Return the first line of the table."""
        titles = dict(zip(self.places, [column.heading for column in self.columns], strict=True))
        line = self.row([titles.get(place, "") for place in range(max(self.places, default=-1) + 1)])
        return [("".join(text for text, _ in line).rstrip(), "dim")]

    def row(self, cells: Sequence[str]) -> Line:
        """Return a row of the table. `cells` contains the cells of all columns, including hidden ones."""
        line: Line = []
        at = 0
        last = len(self.columns) - 1
        for number, (column, place, width) in enumerate(zip(self.columns, self.places, self.widths, strict=True)):
            text = cells[place]
            used = width
            if self.room is not None:
                text = escaped(text)
                most = max(self.room - at, 0) if number == last and not column.right else width
                text = cut(text, most, column.cut) if column.least else text
                used = width + len(text) - cell_width(text)
            if number == last and not column.right:
                used = 0
            line += [(f"{text:>{used}}" if column.right else f"{text:<{used}}", column.style), (" " * column.gap, "")]
            at += max(width, cell_width(text)) + column.gap
        line = line[:-1]
        if self.room is not None and at > self.room and sum(cell_width(text) for text, _ in line) > self.room:
            return cropped(line, self.room)
        return line


def layout(
    columns: Sequence[Column], rows: Sequence[Sequence[str]] = (), room: int | None = None, *, whole: bool = False
) -> Layout:
    """Return the layout of a table on a terminal that is `room` cells wide, by default without a limit.

    Columns are as wide as `rows` need. These are the first rows of the table, or all rows if `whole` is True; then
    columns without a value are dropped on a terminal.
    """
    keeps_all = room is None or not whole or not rows
    places = [at for at in range(len(columns)) if keeps_all or any(row[at] for row in rows)]
    wanted = {at: _wanted(columns[at], [row[at] for row in rows], room, whole=whole) for at in places}
    widths = [wanted[at] for at in places]
    if room is not None:
        places = _chosen(columns, places, wanted, room + GAP)
        gaps = sum(columns[at].gap for at in places[:-1])
        last = [min(columns[at].least or wanted[at], wanted[at]) for at in places]
        least = [_least(columns[at], wanted[at]) for at in places]
        first = [wanted[at] if columns[at].keep <= CORE else _least(columns[at], wanted[at]) for at in places]
        widths = shrunk([wanted[at] for at in places], (first, least, last), room - gaps)
    return Layout(tuple(columns[at] for at in places), tuple(places), tuple(widths), room)


def _chosen(columns: Sequence[Column], places: Sequence[int], wanted: dict[int, int], room: int) -> list[int]:
    """Return the places of the columns that fit."""
    chosen: list[int] = []
    left = room
    for keep in sorted({columns[at].keep for at in places}):
        group = [at for at in places if columns[at].keep == keep]
        left -= sum(_least(columns[at], wanted[at]) + columns[at].gap for at in group)
        if keep and left < 0:
            break
        chosen += group
    return sorted(chosen)


def _least(column: Column, wanted: int) -> int:
    """Return the minimum useful width of a column."""
    return wanted if column.intact else min(column.least or wanted, wanted)


def _wanted(column: Column, cells: list[str], room: int | None, *, whole: bool) -> int:
    """Return the width of a column if there is enough room."""
    longest = max((min(cell_width(escaped(cell)), WIDEST) for cell in cells), default=0)
    if room is None:
        return max(column.usual, longest)
    if column.cut == "short":
        return column.least
    if not cells or (column.right and not whole):
        return max(column.usual, longest)
    unknown = 0 if whole or longest else column.least
    return max(len(column.heading), longest, unknown)


def kept(keeps: Sequence[int], needs: Sequence[int], room: int) -> list[int]:
    """Return the places of the columns that fit.

    The column with the largest `keep` is dropped first, the last one if there are several. `needs` is the minimum width
    of each column with the gap after it.
    """
    places = list(range(len(keeps)))
    while sum(needs[at] for at in places) > room and any(keeps[at] for at in places):
        places.remove(max(reversed(places), key=lambda at: keeps[at]))
    return places


def shrunk(wanted: Sequence[int], floors: Sequence[Sequence[int]], room: int) -> list[int]:
    """Return widths whose sum is at most `room`.

    The widest columns shrink first, down to the first of the `floors`, then down to the next one. If even the last
    floor does not fit, all columns shrink further.
    """
    widths = list(wanted)
    for floor in (*floors, [1] * len(widths)):
        while sum(widths) > room:
            able = [at for at in range(len(widths)) if widths[at] > floor[at]]
            if not able:
                break
            widths[max(able, key=lambda at: widths[at])] -= 1
    return widths
