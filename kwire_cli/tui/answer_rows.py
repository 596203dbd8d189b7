"""An answer as one list: each of its tables is a title, a heading and rows; facts and notes are lines.

Cells are made once, in the thread that asks the question. The columns that fit are chosen for each width; the detail of
a row has all columns. A row that names frames leads to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import NUMBERS, Chart, Column, Facts, Note, Outline, Table, words
from kwire_cli.view.terminal import (
    cell_text,
    column_texts,
    fact_text,
    heading_text,
    is_blank,
    lines_up,
    shown_facts,
    times_of_day,
    unit_of,
)
from kwire_cli.view.widths import HELD, Column as Cells, layout, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.answer import Answer, Arrow, Block, Row
    from kwire_cli.view.lines import Line
    from kwire_cli.view.widths import Layout

ALWAYS, MIN_CELLS = 4, 10
"""Columns of a table that are always shown, and cells that a column of texts has at least."""
MAX_FRAMES = 100
"""Frames of one row that a filter names."""


@dataclass
class Listed:
    """A table of an answer with the texts of its cells, and the order in which its rows are listed."""

    table: Table
    rows: list[Row]
    columns: list[tuple[int, Column]]
    heads: list[Cells]
    texts: list[list[str]]
    order: list[int]
    sorted_by: int | None = None

    def layout(self, width: int) -> Layout:
        """Return the columns that fit, and their widths."""
        some = [self.cells(number) for number in range(min(len(self.rows), HELD))]
        return layout(self.heads, some, width, whole=True)

    def cells(self, number: int) -> list[str]:
        """Return the texts of a row."""
        return [texts[number] for texts in self.texts]

    def is_error(self, number: int) -> bool:
        """Return whether a row is a finding of severity error, or has a value in a column of errors."""
        row = self.rows[number]
        return any(
            (column.name == "severity" and row[at] == "error")
            or (column.level == "error" and not is_blank(row[at], column))
            for at, column in enumerate(self.table.columns)
        )

    def sort(self) -> str:
        """Sort by the next column, largest numbers and first names first; return its heading.

        After the last column, rows are in the order of the answer again.
        """
        place = 0 if self.sorted_by is None else self.sorted_by + 1
        self.order = list(range(len(self.rows)))
        if place >= len(self.columns):
            self.sorted_by = None
            return ""
        self.sorted_by = place
        at, column = self.columns[place]
        if column.kind in NUMBERS:
            self.order.sort(key=lambda number: -(self.rows[number][at] or 0))
        else:
            self.order.sort(key=lambda number: self.texts[place][number])
        return column.heading


def listed(table: Table) -> Listed:
    """Return a table whose cells are texts; columns without a value are left out."""
    rows = list(table.rows)
    columns: list[tuple[int, Column]] = []
    heads: list[Cells] = []
    texts: list[list[str]] = []
    for at, column in enumerate(table.columns):
        values = [row[at] for row in rows]
        if column.wide or any(map(_has_objects, values[:HELD])) or all(is_blank(value, column) for value in values):
            continue
        columns.append((at, column))
        heads.append(_head(column, values, len(heads)))
        cells = column_texts(values, column)
        texts.append(times_of_day(cells) if column.kind == "instant" else cells)
    return Listed(table, rows, columns, heads, texts, list(range(len(rows))))


def _head(column: Column, values: list[Any], place: int) -> Cells:
    is_right = lines_up(values, column)
    return Cells(
        column.name,
        heading_text(column, values),
        keep=max(column.keep, place + 1 - ALWAYS),
        width=1,
        least=0 if is_right or column.kind == "instant" else MIN_CELLS,
        cut="list" if column.kind in {"list", "map"} else "end",
        right=is_right,
        style="number" if is_right else "name" if place == 0 else "",
    )


def _has_objects(value: Any) -> bool:
    """Return whether a value is a list of objects, such as evidence."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


class Entry(NamedTuple):
    """A line of the list: text, the title or the heading of a table, or a row of it."""

    text: Line
    table: Listed | None = None
    row: int | None = None


@dataclass
class Shown:
    """An answer as lines of a list."""

    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def text(cls, text: str) -> Shown:
        """Return one line of text."""
        return cls([Entry([(text, "")])])

    @classmethod
    def of(cls, answer: Answer) -> Shown:
        """Return the lines of an answer."""
        shown = cls()
        has_rows = any(table.rows for table in answer.tables)
        has_ladder = any(isinstance(block, Chart) and block.kind == "ladder" for block in answer.blocks)
        for block in answer.blocks:
            if isinstance(block, Outline) and not block.name and has_rows:
                continue  # its lines say in words what the rows contain
            if isinstance(block, Table) and has_ladder:
                continue  # its rows are the arrows of the ladder
            lines = list(_lines_of(block))
            if lines and shown.entries:
                shown.entries.append(Entry([]))
            shown.entries += lines
        return shown


def _lines_of(block: Block) -> Iterator[Entry]:
    match block:
        case Note():
            yield Entry([(block.text, "warning" if block.level == "error" else "")])
        case Facts():
            for fact in shown_facts(block):
                yield Entry([(f"{fact.heading}  ", "dim"), (fact_text(fact), "number")])
        case Outline():
            for item in block.items:
                yield Entry([("  " * item.depth, ""), (item.text, ""), (f"  {item.detail}", "dim")])
        case Table():
            table = listed(block)
            if table.rows:
                yield Entry([(block.title or words(block.name), "title")])
                yield Entry([], table)
                yield from (Entry([], table, row) for row in range(len(table.rows)))
            if block.note:
                yield Entry([(block.note, "dim")])
        case Chart(kind="ladder"):
            yield from _lines_of(Table("arrows", _ARROW, [_arrow_row(arrow) for arrow in block.arrows], block.title))


_ARROW = (
    Column("time", "instant"),
    Column("frame", "id"),
    Column("from"),
    Column("to"),
    Column("message"),
    Column("severity", wide=True),
)


def _arrow_row(arrow: Arrow) -> Row:
    return arrow.time, arrow.number, arrow.source, arrow.target, arrow.label, arrow.level


def detail_lines(table: Listed, number: int, width: int) -> Iterator[Line]:
    """Yield all values of a row: a heading each, and the text beside it, folded. Lists of objects are last."""
    row = table.rows[number]
    shown = [
        (column, row[at])
        for at, column in enumerate(table.table.columns)
        if column.kind != "bar" and not is_blank(row[at], column)
    ]
    shown.sort(key=lambda each: _has_objects(each[1]))
    indent = min(max((len(column.heading) for column, _ in shown), default=0) + 2, width // 3)
    for column, value in shown:
        heading = column.heading
        for text in _texts(value, column):
            for piece in wrapped(text, max(width - indent, 8)):
                yield [(f"{heading[: indent - 1]:<{indent}}", "dim"), (piece, "")]
                heading = ""


def _texts(value: Any, column: Column) -> Iterator[str]:
    if _has_objects(value):
        for each in value:
            parts = ((name, part) for name, part in each.items() if part is not None)
            yield ", ".join(str(part) if isinstance(part, str) else f"{name} {part}" for name, part in parts)
    else:
        yield cell_text(value, column, unit_of([value]))


def frames_of(table: Listed, number: int) -> list[int]:
    """Return the numbers of the frames that a row names: those of its evidence, or of its column `frame`."""
    frames: list[int] = []
    for column, value in zip(table.table.columns, table.rows[number], strict=True):
        if column.name == "frame" and isinstance(value, int):
            frames.append(value)
        elif column.name == "evidence" and isinstance(value, list):
            frames += [each["frame"] for each in value if isinstance(each, dict) and each.get("frame")]
    return sorted(set(frames))[:MAX_FRAMES]
