"""Answers in a page: facts, tables that sort, charts, outlines and notes as JSON; the page draws them.

Findings, groups and transactions have views of their own in the page, which take the rows of tables as programs get
them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import NUMBERS, Answer, Chart, Column, Facts, Note, Outline, Table
from kwire_cli.view.answers import table_documents
from kwire_cli.view.ladder import ladder_svg
from kwire_cli.view.lines import escaped
from kwire_cli.view.page.shell import empty, page
from kwire_cli.view.tables import fewer
from kwire_cli.view.terminal import column_texts, fact_text, heading_text, shown_facts, shown_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Block

VIEWS = {
    "diagnosis": ("findings", frozenset({"findings"})),
    "groups": ("groups", frozenset({"groups", "members", "assignments", "events"})),
    "transactions": ("transactions", frozenset({"transactions"})),
}
"""Answers with a view of their own by title: the name of the view, and the tables that it takes."""
MOST_POINTS = 120
"""Columns of a line of columns in a cell."""
MOST_COLUMNS = 12
"""Columns that have room beside each other; of more, wide ones are left out."""


def view_of(answer: Answer) -> str:
    """Return the name of the view that shows an answer: its own, or its title with `-` for spaces."""
    return VIEWS.get(answer.title, (answer.title.replace(" ", "-"), frozenset()))[0]


def answer_page(answer: Answer, title: str = "", arguments: str = "") -> Iterator[str]:
    """Yield the text of the page of an answer. `title` are its inputs, `arguments` the same as they are typed."""
    answer = answer.read()
    start, end = _ends(answer)
    name = f"{title}: {answer.title}" if title else answer.title
    data = empty(escaped(title or answer.title)) | {
        "arguments": escaped(arguments),
        "start": start,
        "length": None if start is None or end is None else end - start,
        "answers": {view_of(answer): document_of(answer)},
    }
    return page(name, data, ())


def _ends(answer: Answer) -> tuple[int | None, int | None]:
    """Return the first and the last time in the tables of an answer, in microseconds since 1970."""
    texts = [
        row[at]
        for table in answer.tables
        for at, column in enumerate(table.columns)
        if column.kind == "instant"
        for row in table.rows
        if row[at]
    ]
    if not texts:
        return None, None
    return _microseconds(min(texts)), _microseconds(max(texts))


def _microseconds(text: str) -> int:
    time = datetime.fromisoformat(text)
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)


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
            facts = [[escaped(fact.heading), escaped(fact_text(fact))] for fact in shown_facts(block)]
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


def _table(table: Table) -> Iterator[dict[str, Any]]:
    if (shown := shown_table(table)) is None:
        return
    rows, everything, columns, hidden = shown
    if len(columns) > MOST_COLUMNS:
        columns = [(at, column) for at, column in columns if not column.wide]
    most = {at: max((row[at] for row in rows if isinstance(row[at], int | float)), default=0) for at, _ in columns}
    cells = [_cells(column, [row[at] for row in everything], most[at]) for at, column in columns]
    yield {
        "type": "table",
        "name": table.name,
        "title": escaped(table.title),
        "columns": [
            {"title": escaped(heading_text(column, [row[at] for row in everything])), "kind": column.kind}
            for at, column in columns
        ],
        "rows": [*map(list, zip(*cells, strict=True))],
        "total": table.total is not None,
        "note": " ".join(filter(None, [f"… and {hidden} more" if hidden else "", escaped(table.note)])),
    }


def _cells(column: Column, values: Sequence[Any], most: float) -> list[Any]:
    """Return the cells of a column: numbers with their texts, so that they sort, bars as shares of the longest one,
    the numbers of lines of columns, or texts.
    """
    if column.kind == "bar":
        return [{"bar": round((value or 0) / most, 4) if most else 0} for value in values]
    if column.kind == "spark":
        return [{"spark": fewer(value or [], MOST_POINTS)} for value in values]
    texts = column_texts(values, column)
    if column.kind not in NUMBERS:
        return texts
    return [
        [value, text] if text and isinstance(value, int | float) else text
        for value, text in zip(values, texts, strict=True)
    ]
