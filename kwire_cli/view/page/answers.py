"""Answers as JSON for the page, whose scripts draw them: facts, sortable tables, charts, outlines and notes.

Cells are formatted here by the functions of `terminal`, so that the page shows the same texts as the other formats.
Numbers have their value in addition to their text, for sorting. The separate views of findings, groups and transactions
get the unformatted rows of tables.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
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
"""Answers with a separate view, by title: the name of the view, and the tables that it needs."""
MOST_POINTS = 120
"""Maximum number of columns of a sparkline in a cell."""
MOST_COLUMNS = 12
"""Maximum number of columns of a table. Wide columns are left out of a table with more columns."""


def view_of(answer: Answer) -> str:
    """Return the name of the view of an answer: a separate view, or its title with `-` for spaces."""
    return VIEWS.get(answer.title, (answer.title.replace(" ", "-"), frozenset()))[0]


def answer_page(answer: Answer, title: str = "", arguments: str = "") -> Iterator[str]:
    """Yield the text of the page of an answer. `title` contains its inputs, `arguments` the inputs as typed."""
    answer = answer.read()
    start, end = _time_range(answer)
    name = f"{title}: {answer.title}" if title else answer.title
    data = empty(escaped(title or answer.title)) | {
        "arguments": escaped(arguments),
        "start": start,
        "length": None if start is None or end is None else end - start,
        "answers": {view_of(answer): document_of(answer)},
    }
    return page(name, data, ())


def _time_range(answer: Answer) -> tuple[int | None, int | None]:
    """Return the first and the last time in the tables of an answer, in microseconds since 1970."""
    texts: list[str] = []
    for table in answer.tables:
        for at, column in enumerate(table.columns):
            if column.kind == "instant":
                texts += (row[at] for row in table.rows if row[at])
    if not texts:
        return None, None
    return _microseconds(min(texts)), _microseconds(max(texts))


def _microseconds(text: str) -> int:
    time = datetime.fromisoformat(text)
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)


def document_of(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON: its formatted blocks, and the rows that its separate view needs."""
    _, tables = VIEWS.get(answer.title, ("", frozenset()))
    answer = answer.read()
    rows = {table.name: list(table_documents(table)) for table in answer.tables if table.name in tables}
    blocks = list(chain.from_iterable(map(_documents, answer.blocks)))
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
            sizes = [(_escaped_path(path), int(size)) for path, size in block.series]
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


def _escaped_path(path: Sequence[Any]) -> list[str]:
    return [escaped(str(part)) for part in path]


def _table(table: Table) -> Iterator[dict[str, Any]]:
    if (shown := shown_table(table)) is None:
        return
    rows, everything, columns, hidden = shown
    if len(columns) > MOST_COLUMNS:
        columns = [(at, column) for at, column in columns if not column.wide]
    cells = []
    headings = []
    for at, column in columns:
        values = [row[at] for row in everything]
        most = max((row[at] for row in rows if isinstance(row[at], int | float)), default=0)
        cells.append(_cells(column, values, most))
        headings.append({"title": escaped(heading_text(column, values)), "kind": column.kind})
    yield {
        "type": "table",
        "name": table.name,
        "title": escaped(table.title),
        "columns": headings,
        "rows": [*map(list, zip(*cells, strict=True))],
        "total": table.total is not None,
        "note": " ".join(filter(None, [f"… and {hidden} more" if hidden else "", escaped(table.note)])),
    }


def _cells(column: Column, values: Sequence[Any], most: float) -> list[Any]:
    """Return the cells of a column.

    Numbers have a string and a value for sorting. Bars are shares of the longest bar, sparklines are numbers, and other
    cells are texts.
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
