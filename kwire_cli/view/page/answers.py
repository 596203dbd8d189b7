"""Answers in a page: facts, tables that sort, charts, outlines and notes as JSON; the page draws them.

Findings, groups and transactions have views of their own in the page, which take the rows of tables as programs get
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.answer import NUMBERS, Answer, Chart, Column, Facts, Note, Outline, Table
from kwire_cli.view.answers import table_documents
from kwire_cli.view.ladder import ladder_svg
from kwire_cli.view.lines import escaped
from kwire_cli.view.tables import fewer
from kwire_cli.view.terminal import cell_text, shown_facts, shown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.answer import Block

VIEWS = {
    "diagnosis": ("findings", frozenset({"findings"})),
    "groups": ("groups", frozenset({"groups", "members", "assignments", "events"})),
    "transactions": ("transactions", frozenset({"transactions"})),
}
"""Answers with a view of their own by title: the name of the view, and the tables that it takes."""
MOST_POINTS = 120
"""Columns of a line of columns in a cell."""
MOST_BRANCHES = 40
"""Parts of a part in an icicle; the smallest ones beyond are one."""


def view_of(answer: Answer) -> str:
    """Return the name of the view that shows an answer: its own, or its title."""
    return VIEWS.get(answer.title, (answer.title, frozenset()))[0]


def document_of(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON: its blocks as people see them, and the rows that its own view takes."""
    _, tables = VIEWS.get(answer.title, ("", frozenset()))
    answer = answer.read()
    rows = {table.name: [*table_documents(table)] for table in answer.tables if table.name in tables}
    blocks = [document for block in answer.blocks for document in _documents(block)]
    return {"title": escaped(answer.title), "rows": _escaped(rows), "blocks": blocks}


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_escaped(name): _escaped(inner) for name, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _documents(block: Block) -> Iterator[dict[str, Any]]:
    match block:
        case Table():
            yield from _table(block)
        case Facts():
            facts = [[escaped(fact.heading), _fact_text(fact)] for fact in shown_facts(block)]
            if facts:
                yield {"type": "facts", "title": escaped(block.title), "facts": facts}
        case Note():
            yield {"type": "note", "text": escaped(block.text), "level": block.level}
        case Outline():
            items = [[item.depth, escaped(item.text), escaped(item.detail), item.level] for item in block.items]
            yield {"type": "outline", "title": escaped(block.title), "items": items}
        case Chart(kind="ladder"):
            yield {"type": "picture", "title": escaped(block.title), "svg": "\n".join(ladder_svg(block))}
        case Chart(kind="icicle"):
            sizes = [([escaped(str(part)) for part in path], int(size)) for path, size in block.series]
            yield {"type": "icicle", "title": escaped(block.title), "sizes": sizes}
        case Chart():
            yield {
                "type": "bars",
                "title": escaped(block.title),
                "unit": block.unit,
                "whole": block.whole,
                "series": [[escaped(str(name)), value] for name, value in block.series],
                "note": escaped(block.note),
            }


def _fact_text(fact: Any) -> str:
    return cell_text(fact.value, Column(fact.name, fact.kind))


def _table(table: Table) -> Iterator[dict[str, Any]]:
    if (shown := shown_table(table)) is None:
        return
    rows, everything, columns, hidden = shown
    most = {at: max((row[at] for row in rows if isinstance(row[at], int | float)), default=0) for at, _ in columns}
    yield {
        "type": "table",
        "name": table.name,
        "title": escaped(table.title),
        "columns": [
            {"title": escaped(column.heading), "kind": column.kind, "isWide": column.wide} for _, column in columns
        ],
        "rows": [[_cell(row[at], column, most[at]) for at, column in columns] for row in everything],
        "total": table.total is not None,
        "note": " ".join(filter(None, [f"… and {hidden} more" if hidden else "", escaped(table.note)])),
    }


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
