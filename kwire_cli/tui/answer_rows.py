"""The rows of a table of an answer: their cells, all of their values as text, and the frames that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import NUMBERS, Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.tui.panes import styled
from kwire_cli.view.terminal import answer_text, column_texts, heading_text, is_blank, lines_up, times_of_day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

MAX_FRAMES = 100
"""Maximum number of frames of a row that a filter names."""
ARROW = (
    Column("time", "instant"),
    Column("frame", "id"),
    Column("from"),
    Column("to"),
    Column("message"),
    Column("severity", wide=True),
)
"""The columns of the arrows of a ladder."""


class ShownColumn(NamedTuple):
    """A column with its place in the rows, its heading and its cells."""

    column: Column
    place: int
    heading: Text
    cells: list[Text]


def shown_columns(table: Table) -> list[ShownColumn]:
    """Return the columns of a table that have a value."""
    found: list[ShownColumn] = []
    for place, column in enumerate(table.columns):
        values = [row[place] for row in table.rows]
        if column.wide or any(map(has_objects, values)) or all(is_blank(value, column) for value in values):
            continue
        texts = column_texts(values, column)
        if column.kind == "instant":
            texts = times_of_day(texts)
        style = "" if found else "name"
        if column.kind in NUMBERS:
            style = "number"
        cells = [styled([(text, style)]) for text in texts]
        heading = styled([(heading_text(column, values), "dim")])
        if lines_up(values, column):
            for text in (heading, *cells):
                text.justify = "right"
        found.append(ShownColumn(column, place, heading, cells))
    return found


def tables_of(answer: Answer) -> list[Table]:
    """Return the tables with rows; the rows of a ladder are its arrows."""
    for block in answer.blocks:
        if isinstance(block, Chart) and block.kind == "ladder":
            rows = [(each.time, each.number, each.source, each.target, each.label, each.level) for each in block.arrows]
            return [Table("arrows", ARROW, rows, block.title)]
    return [table for table in answer.tables if table.rows]


def has_objects(value: Any) -> bool:
    """Return whether a value is a list of objects, such as evidence."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def sorted_rows(rows: Sequence[Any], by: ShownColumn) -> list[int]:
    """Return the numbers of the rows, largest numbers and first names first."""
    if by.column.kind in NUMBERS:
        return sorted(range(len(rows)), key=lambda number: -(rows[number][by.place] or 0))
    return sorted(range(len(rows)), key=lambda number: by.cells[number].plain)


def is_error(table: Table, row: Sequence[Any]) -> bool:
    """Return whether a row has the severity error, or a value in a column of errors."""
    return any(
        (column.name == "severity" and value == "error") or (column.level == "error" and not is_blank(value, column))
        for column, value in zip(table.columns, row, strict=True)
    )


def frames_of(table: Table, row: Sequence[Any]) -> list[int]:
    """Return the numbers of the frames that a row names in its evidence, or in its column `frame`."""
    frames: list[int] = []
    for column, value in zip(table.columns, row, strict=True):
        if column.name == "frame" and isinstance(value, int):
            frames.append(value)
        elif column.name == "evidence" and isinstance(value, list):
            frames += [each["frame"] for each in value if isinstance(each, dict) and each.get("frame")]
    return sorted(set(frames))[:MAX_FRAMES]


def detail_of(table: Table, row: Sequence[Any], width: int) -> str:
    """Return all values of a row as text. Lists of objects are last, one object after the other."""
    facts: list[Fact] = []
    objects: list[Fact] = []
    for column, value in zip(table.columns, row, strict=True):
        if has_objects(value):
            heading = column.heading
            for each in value:
                parts = ((name, part) for name, part in each.items() if part is not None)
                text = ", ".join(part if isinstance(part, str) else f"{name} {part}" for name, part in parts)
                objects.append(Fact(column.name, text, title=heading))
                heading = " "
        elif column.kind != "bar":
            facts.append(Fact(column.name, value, column.kind, column.heading))
    return answer_text(Answer("", [Facts([*facts, *objects])]), width)
