"""Tables whose rows come one by one: which columns a terminal has room for, and how wide each is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kwire_cli.view.lines import escaped
from kwire_cli.view.widths import cell_width, cropped, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.view.lines import Line
    from kwire_cli.view.widths import Cut

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
    first rows have no value for it; a later value stands at the end of its line.
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

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The forms of the cells of a row without a limit, for the operator %, each with the gap behind it."""
        return tuple(
            f"%{'' if column.right else '-'}{width}s{' ' * column.gap}"
            for column, width in zip(self.columns, self.widths, strict=True)
        )

    def heading(self) -> Line:
        """Return the first line of the table."""
        titles = dict(zip(self.places, [column.heading for column in self.columns], strict=True))
        line = self._fitted([titles.get(place, "") for place in range(max(self.places, default=-1) + 1)])
        return [("".join(text for text, _ in line).rstrip(), "dim")]

    def row(self, cells: Sequence[str]) -> Line:
        """Return a row of the table. `cells` are those of all columns, also of those that are not shown."""
        line = self._fitted(cells)
        for place in self.late:
            used = sum(cell_width(text) for text, _ in line)
            if cells[place] and self.room is not None and self.room - used > GAP:
                line += [(" " * GAP, ""), (cut(escaped(cells[place]), self.room - used - GAP, "end"), "warning")]
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
        least = [_least(columns[at], wanted[at]) for at in places]
        first = [wanted[at] if columns[at].keep <= CORE else _least(columns[at], wanted[at]) for at in places]
        widths = shrunk([wanted[at] for at in places], (first, least), left - gaps)
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
    """Return the width from which on a column is worth showing."""
    return min(column.least or wanted, wanted)


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
