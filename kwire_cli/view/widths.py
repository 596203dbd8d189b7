"""Text in the cells of a terminal: its width, cut to a width, and folded to a width.

In tables whose rows come one by one: which columns a terminal has room for, and how wide each is.
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
"""How a text loses characters: `middle` keeps both ends (`orders-…-app`), `end` the beginning, `call` the beginning of
a name and its version (`ConsumerGr… v1`), `list` the first names and says how many more there are (`orders, payments,
+22`), `short` drops digits behind those that fit."""
ELLIPSIS = "…"
_NARROW = "\u0300"
"""Characters below this one take a cell."""


def cell_width(text: str) -> int:
    """Return the cells that a text without control characters takes: two for a wide character."""
    if text.isascii() or max(text) < _NARROW:
        return len(text)
    return sum(map(_char_width, text))


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, how: Cut = "middle") -> str:
    """Return a text that takes at most `width` cells."""
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
    """Return as many names as fit, and how many more there are."""
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
    """Return the first characters of a text, as many as fit."""
    if text.isascii():
        return text[:width]
    used = 0
    for number, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:number]
    return text


# Lines that are longer than the terminal go on in further lines, which stand further in.

_STEM = re.compile(r"^(?:[│├└─ ]|\.(?=\s))*")
_AFTER = re.compile(r"(?:[\s,;/]|\.(?=[a-zA-Z]))(?:[^\s,;/.]|\.(?![a-zA-Z]))*$")
_INDENT, _LEAST = 4, 16
"""Cells that a line goes on further in, and cells that its text has at least."""


def folded(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """Yield lines that take at most `width` cells, without control characters.

    What does not fit goes on below, under the branches of the tree that the line is in.
    """
    for line in lines:
        safe = without_control(line)
        if cell_width(plain(safe)) <= width:
            yield safe
        else:
            yield from fold(safe, width, _hanging(plain(safe), width))


def _hanging(text: str, width: int) -> str:
    """Return what stands before the second line of a text: its branches of a tree, and an indent."""
    match = _STEM.match(text)
    stem = (match.group() if match else "").replace("├", "│").replace("└", " ").replace("─", " ")
    return f"{stem}{' ' * _INDENT}"[: max(width - _LEAST, 0)]


def fold(line: Line, width: int, hanging: str = "") -> Iterator[Line]:
    """Yield the lines that a line becomes: the first as wide as `width`, the others behind `hanging`."""
    text = plain(line)
    begin, room = 0, width
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
    """Return how many characters stand on one line: up to a space or a comma in its second half, if there is one."""
    head = _head(text, room) or text[0]
    if text[len(head) : len(head) + 1] == " ":
        return len(head)
    match = _AFTER.search(head)
    return match.start() + 1 if match and match.start() >= len(head) // 2 else len(head)


def _slice(line: Line, begin: int, end: int) -> Line:
    """Return the characters [begin, end) of a line."""
    out, at = [], 0
    for text, style in line:
        piece = text[max(begin - at, 0) : max(end - at, 0)]
        at += len(text)
        if piece:
            out.append((piece, style))
    return out


_PIECES = re.compile(r"[^_./:,-]*[_./:,-]*")


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text that take at most `width` cells. They end after a word.

    A word that is wider is continued on the next line after one of `_./:,-`; a part without any loses its middle.
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


GAP, WIDEST, HELD = 2, 40, 500
"""Cells between columns, the widest that a column gets for the sake of its cells, and the rows by which widths are
chosen."""
CORE = 2
"""The largest `keep` of columns that a table is not worth much without."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table whose rows come one by one.

    `keep` says which columns go first on a narrow terminal: those of the largest number; columns of 0 always stay.
    Columns above `CORE` are cut before the others, and those of one number stay or go together.
    `width` is the width of the column while no row is known, `least` the width from which on it is worth showing;
    without `least` its cells are never cut. `gap` is the number of cells behind the column. A `late` column goes if the
    first rows have no value for it; a later value is at the end of its line. An `intact` column is cut only where the
    columns that always stay leave no room for it.
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
    late: bool = False
    intact: bool = False

    @property
    def heading(self) -> str:
        """The heading of the column."""
        return self.title or self.name

    @property
    def usual(self) -> int:
        """The width of the column while no row is known."""
        return max(self.width, len(self.heading))


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are shown, and their widths.

    `places` are those of their cells in a row, `late` those of cells that stand at the end of a line if they have a
    value. `room` is the width of the terminal, None for no limit.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    room: int | None = None
    late: tuple[int, ...] = ()

    def heading(self) -> Line:
        """Return the first line of the table."""
        titles = dict(zip(self.places, [column.heading for column in self.columns], strict=True))
        line = self._fitted([titles.get(place, "") for place in range(max(self.places, default=-1) + 1)])
        return [("".join(text for text, _ in line).rstrip(), "dim")]

    def row(self, cells: Sequence[str]) -> Line:
        """Return a row of the table. `cells` are those of all columns, also of those that are not shown."""
        line = self._fitted(cells)
        for place in self.late:
            if not cells[place] or self.room is None:
                continue
            value = cut(escaped(cells[place]), self.room, "list")
            while line and sum(cell_width(text) for text, _ in line) + GAP + cell_width(value) > self.room:
                line.pop()
            line += [(" " * GAP, ""), (value, "warning")] if line else [(value, "warning")]
        return line

    def _fitted(self, cells: Sequence[str]) -> Line:
        line: Line = []
        at, last = 0, len(self.columns) - 1
        takes_rest = not any(cells[place] for place in self.late if place < len(cells))
        for number, (column, place, width) in enumerate(zip(self.columns, self.places, self.widths, strict=True)):
            text, used = cells[place], width
            if self.room is not None:
                text = escaped(text)
                most = max(self.room - at, 0) if number == last and takes_rest and not column.right else width
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

    Columns are as wide as the first rows need, which are all of them if `whole`: columns without a value go.
    """
    some = [not rows or any(row[at] for row in rows) for at in range(len(columns))]
    places = [at for at, column in enumerate(columns) if some[at] or not _goes(column, room, whole=whole)]
    wanted = {at: _wanted(columns[at], [row[at] for row in rows], room, whole=whole) for at in places}
    late = [at for at, column in enumerate(columns) if column.late and at not in places and not whole and room]
    if room is not None:
        left = room - sum(columns[at].least + GAP for at in late)
        places = _chosen(columns, places, wanted, left + GAP)
        gaps = sum(columns[at].gap for at in places[:-1])
        last = [min(columns[at].least or wanted[at], wanted[at]) for at in places]
        least = [_least(columns[at], wanted[at]) for at in places]
        first = [wanted[at] if columns[at].keep <= CORE else _least(columns[at], wanted[at]) for at in places]
        widths = shrunk([wanted[at] for at in places], (first, least, last), left - gaps)
    else:
        widths = [wanted[at] for at in places]
    return Layout(tuple(columns[at] for at in places), tuple(places), tuple(widths), room, tuple(late))


def _chosen(columns: Sequence[Column], places: Sequence[int], wanted: dict[int, int], room: int) -> list[int]:
    """Return the places of the columns that fit.

    Columns of a `keep` above `CORE` stay or go together where they have the same number.
    """
    core = [at for at in places if columns[at].keep <= CORE]
    needs = [_least(columns[at], wanted[at]) + columns[at].gap for at in core]
    chosen = [core[number] for number in kept([columns[at].keep for at in core], needs, room)]
    used = sum(_least(columns[at], wanted[at]) + columns[at].gap for at in chosen)
    for keep in sorted({columns[at].keep for at in places} - {*range(CORE + 1)}):
        group = [at for at in places if columns[at].keep == keep]
        used += sum(_least(columns[at], wanted[at]) + columns[at].gap for at in group)
        if used > room:
            break
        chosen += group
    return sorted(chosen)


def _least(column: Column, wanted: int) -> int:
    """Return the width from which on a column is worth showing beside those that may go."""
    return wanted if column.intact else min(column.least or wanted, wanted)


def _goes(column: Column, room: int | None, *, whole: bool) -> bool:
    """Return whether a column goes that has no value in the first rows."""
    return (whole and column.late) if room is None else (whole or column.late)


def _wanted(column: Column, cells: list[str], room: int | None, *, whole: bool) -> int:
    """Return how wide a column is where there is room for it."""
    longest = max((min(cell_width(escaped(cell)), WIDEST) for cell in cells), default=0)
    if room is None:
        return max(column.usual, longest)
    if column.cut == "short":
        return column.least
    if not cells or (column.right and not whole):
        return max(column.usual, longest)
    return max(len(column.heading), longest)


def kept(keeps: Sequence[int], needs: Sequence[int], room: int) -> list[int]:
    """Return the places of the columns that fit: those with the largest `keep` go first, the last of them before the
    others.

    `needs` are the cells that each takes at least, with the gap behind it.
    """
    places = [*range(len(keeps))]
    while sum(needs[at] for at in places) > room and any(keeps[at] for at in places):
        places.remove(max(reversed(places), key=lambda at: keeps[at]))
    return places


def shrunk(wanted: Sequence[int], floors: Sequence[Sequence[int]], room: int) -> list[int]:
    """Return widths that add up to at most `room`: the widest columns give first, down to the first of the `floors`,
    then down to the next.

    If even the last floor does not fit, all columns give.
    """
    widths = [*wanted]
    for floor in (*floors, [1] * len(widths)):
        while sum(widths) > room:
            able = [at for at in range(len(widths)) if widths[at] > floor[at]]
            if not able:
                break
            widths[max(able, key=lambda at: widths[at])] -= 1
    return widths
