"""Answers as pages: facts, tables that sort, charts, outlines and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.answer import NUMBERS, Answer, Chart, Column, Facts, Note, Outline, Table
from kwire_cli.view.html.frames import CLASSES
from kwire_cli.view.html.page import bars, histogram, icicle, report
from kwire_cli.view.ladder import picture
from kwire_cli.view.lines import escaped
from kwire_cli.view.tables import fewer
from kwire_cli.view.terminal import cell_text, shown_facts, shown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.answer import Block as AnswerBlock, Row
    from kwire_cli.view.html.page import Block

_CLASS = {
    "": "",
    "good": CLASSES["text"],
    "info": CLASSES["meaning"],
    "warning": CLASSES["bytes"],
    "error": CLASSES["warning"],
}
MOST_COLUMNS = 12
"""Columns that have room on a page beside each other; where there are more, wide ones are left out."""
MOST_POINTS = 120
"""Columns of a line of columns in a cell."""


def answer_page(answer: Answer) -> str:
    """Return the page of an answer, whole and by itself."""
    return report(answer.title, answer_blocks(answer))


def answer_blocks(answer: Answer) -> list[Block]:
    """Return the blocks of a page of an answer."""
    return [entry for block in answer.blocks for entry in _blocks(block)]


def _blocks(block: AnswerBlock) -> Iterator[Block]:
    match block:
        case Table():
            yield from _table(block)
        case Facts():
            yield {
                "type": "facts",
                "title": escaped(block.title),
                "facts": [
                    [escaped(fact.heading), _number(fact.value, Column(fact.name, fact.kind))]
                    for fact in shown_facts(block)
                ],
            }
        case Note():
            yield _lines("", [[escaped(block.text), _CLASS[block.level]]])
        case Outline():
            rows = [
                [
                    "  " * item.depth + escaped(item.text),
                    _CLASS[item.level],
                    f"  {escaped(item.detail)}",
                    CLASSES["dim"],
                ]
                for item in block.items
            ]
            yield _lines(block.title, rows)
        case Chart(kind="bars"):
            pairs = [(escaped(str(name)), value) for name, value in block.series]
            yield bars(escaped(block.title), pairs, whole=block.whole, note=escaped(block.note), unit=block.unit)
        case Chart(kind="histogram"):
            counts = [(escaped(str(name)), int(value)) for name, value in block.series]
            yield histogram(escaped(block.title), block.unit, counts, note=escaped(block.note))
        case Chart(kind="icicle"):
            sizes = [([escaped(str(part)) for part in path], int(size)) for path, size in block.series]
            yield icicle(escaped(block.title), f"all {block.unit}s", sizes)
        case Chart(kind="ladder"):
            drawn = picture(block)
            shapes = [[*shape[:3], escaped(shape.text), escaped(shape.title)] for shape in drawn.shapes]
            size = {"width": drawn.width, "height": drawn.height}
            yield {"type": "ladder", "title": escaped(block.title), "shapes": shapes, **size}


def _lines(title: str, rows: list[list[str]]) -> Block:
    return {"type": "lines", "title": escaped(title), "lines": rows}


def _table(table: Table) -> Iterator[Block]:
    if (shown := shown_table(table)) is None:
        return
    rows, everything, columns, hidden = shown
    if len(columns) > MOST_COLUMNS:
        columns = [(at, column) for at, column in columns if not column.wide]
    most = {at: _most(rows, at) for at, _ in columns}
    yield {
        "type": "table",
        "title": escaped(table.title),
        "columns": [escaped(column.heading) for _, column in columns],
        "rows": [[_cell(row[at], column, most[at]) for at, column in columns] for row in everything],
        "note": " ".join(
            [*([f"… and {hidden} more"] if hidden else []), *([escaped(table.note)] if table.note else [])]
        ),
    }


def _most(rows: list[Row], at: int) -> float:
    return max((row[at] for row in rows if isinstance(row[at], int | float)), default=0)


def _cell(value: Any, column: Column, most: float) -> Any:
    """Return a cell: a number with its text, so that it sorts, a bar as its share of the longest one, the numbers of a
    line of columns, or a text.
    """
    if column.kind == "bar":
        return {"bar": round((value or 0) / most, 4) if most else 0}
    if column.kind == "spark":
        return {"spark": fewer(value or [], MOST_POINTS)}
    text = cell_text(value, column)
    if text and column.kind in NUMBERS and isinstance(value, int | float):
        return [value, text]
    return text


def _number(value: Any, column: Column) -> Any:
    return value if column.kind in {"count", "bytes"} else cell_text(value, column)
