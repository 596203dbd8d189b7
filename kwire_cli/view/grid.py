"""A table of a known number of rows: columns as wide as what is in them, numbers to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.view.table import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.view.lines import Line

    Cell = int | float | str | None

BAR = 24
DIGITS = 3
_PARTS = " ▏▎▍▌▋▊▉█"


class Cells(list[tuple[str, str]]):
    """A line of a table that still has its cells, for views that make tables themselves: the values and their texts, or the heading (`heads`)."""

    __slots__ = ("cells", "heads", "texts")

    def __init__(self, line: Line, cells: Sequence[Cell], *, heads: bool, texts: Sequence[str] = ()) -> None:
        super().__init__(line)
        self.cells, self.heads, self.texts = cells, heads, texts


def grid_lines(heading: Sequence[str], rows: Sequence[Sequence[Cell]], digits: Mapping[str, int] | None = None) -> Iterator[Line]:
    """The heading, then a line a row. A column is one of numbers if it holds any; `digits` says how many of a float in it stand behind the point."""
    places = [(digits or {}).get(name, DIGITS) for name in heading]
    numeric = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(heading))]
    texts = [[cell_text(cell, place) for cell, place in zip(row, places, strict=True)] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in texts), 0) for i, name in enumerate(heading)]

    def fitted(cells: Sequence[str]) -> list[str]:
        return [f"{cell:>{width}}" if right else f"{cell:<{width}}" for cell, width, right in zip(cells, widths, numeric, strict=True)]

    yield Cells([("  ".join(fitted(heading)).rstrip(), "dim")], heading, heads=True)
    for row, cells in zip(texts, rows, strict=True):
        line: Line = []
        for at, cell in enumerate(fitted(row)):
            line += [(cell, "number" if numeric[at] else "name" if at == 0 else ""), ("  ", "")]
        yield Cells(line[:-1], cells, heads=False, texts=row)


def cell_text(cell: Cell, digits: int = DIGITS) -> str:
    """A cell; of a float so many digits behind the point."""
    return f"{cell:.{digits}f}" if isinstance(cell, float) else text_of(cell)


def bar(value: float, most: float) -> str:
    """A bar as long as `value` is of `most`, in eighths of a character; something of it is seen unless the value is 0."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(min(value / most, 1) * BAR * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


def bar_share(text: str) -> float | None:
    """What share of the longest bar a text is, where it is one."""
    if not text or set(text) - {*_PARTS[1:]}:
        return None
    return sum(_PARTS.index(letter) for letter in text) / (BAR * 8)
