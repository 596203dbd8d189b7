"""Answers as JSON, JSON lines and csv, for programs.

A table can have millions of rows, so `answer_json`, `answer_jsonl` and `answer_csv` yield lines without the complete
document in memory. Values are not formatted: durations are numbers in seconds and times are ISO 8601. `arrow` writes
tables with types. `terminal`, `markdown` and `html` format answers for display.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.answer import Fact, Facts, Note, Outline
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.view.json import dumps
from kwire_cli.view.tables import csv_row, json_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.answer import Answer, Column, Item, Table


def answer_document(answer: Answer) -> dict[str, Any]:
    """Return the JSON form: the title, tables as lists of objects, facts by name, and notes.

    Shape: {"title": text, "tables": {name: [row]}, "facts": {name: value}, "notes": [text]}.
    """
    tables = {name: list(rows) for name, rows in _tables(answer).items()}
    return {"title": answer.title, "tables": tables, **_facts_and_notes(answer)}


def _tables(answer: Answer) -> dict[str, Iterator[dict[str, Any]]]:
    """Return the rows of tables and of outlines by name."""
    tables = {table.name: table_documents(table) for table in answer.tables}
    for block in answer.blocks:
        if isinstance(block, Outline) and block.name:
            tables[block.name] = map(_item_document, block.items)
    return tables


def _item_document(item: Item) -> dict[str, Any]:
    return {"depth": item.depth, "text": item.text, "detail": item.detail}


def _facts_and_notes(answer: Answer) -> dict[str, Any]:
    return {
        "facts": {fact.name: json_value(fact.value) for fact in _facts(answer)},
        "notes": [block.text for block in answer.blocks if isinstance(block, Note)],
    }


def table_documents(table: Table) -> Iterator[dict[str, Any]]:
    """Yield a JSON object for each row of a table. The total is left out."""
    columns = _data_columns(table)
    names = [column.name for _, column in columns]
    for row in table.rows:
        yield dict(zip(names, [json_value(row[at]) for at, _ in columns], strict=True))


def answer_json(answer: Answer) -> Iterator[str]:
    """Yield the lines of the indented `answer_document`. Only one row is in memory at a time."""
    tables = _tables(answer)
    yield f'{{\n  "title": {dumps(answer.title, indent=False)},\n  "tables": {{' + ("" if tables else "},")
    for number, (name, rows) in enumerate(tables.items(), 1):
        end = "]," if number < len(tables) else "]"
        text = f"    {dumps(name, indent=False)}: ["
        comma = ""
        for row in rows:
            yield text + comma
            text = "      " + dumps(row, indent=True).replace("\n", "\n      ")
            comma = ","
        if comma:
            yield text
            text = "    "
        yield text + end
    if tables:
        yield "  },"
    yield dumps(_facts_and_notes(answer), indent=True).removeprefix("{\n")


def answer_jsonl(answer: Answer) -> Iterator[str]:
    """Yield a line for each item of an outline and each note, a line for each row of a table, and one for the facts."""
    for block in answer.blocks:
        if isinstance(block, Note):
            yield dumps({"table": "notes", "text": block.text, "level": block.level or "info"}, indent=False)
        elif isinstance(block, Outline) and block.name:
            for item in block.items:
                yield dumps({"table": block.name, **_item_document(item)}, indent=False)
    for table in answer.tables:
        for document in table_documents(table):
            yield dumps({"table": table.name, **document}, indent=False)
    if facts := {fact.name: json_value(fact.value) for fact in _facts(answer)}:
        yield dumps({"table": "facts", **facts}, indent=False)


def answer_csv(answer: Answer, name: str | None = None) -> Iterator[str]:
    """Yield the names of the columns of a table, by default of the first one, then its rows."""
    table = chosen_table(answer, name)
    columns = _data_columns(table)
    yield csv_row([column.name for _, column in columns])
    for row in table.rows:
        yield csv_row([_csv_cell(row[at], column) for at, column in columns])


def chosen_table(answer: Answer, name: str | None) -> Table:
    """Return the table with a name, by default the first one. Raise InputError if the answer does not have it."""
    tables = {table.name: table for table in answer.tables}
    if not tables:
        raise InputError("this answer has no table")
    if name is None:
        return answer.tables[0]
    if name not in tables:
        raise InputError(f"--table {name}: the tables are {', '.join(tables)}{did_you_mean(close_to(name, tables))}")
    return tables[name]


def _facts(answer: Answer) -> Iterator[Fact]:
    for block in answer.blocks:
        if isinstance(block, Facts):
            yield from (fact for fact in block.facts if not fact.spoken)


def _data_columns(table: Table) -> list[tuple[int, Column]]:
    return [(at, column) for at, column in enumerate(table.columns) if column.kind != "bar"]


def _csv_cell(value: Any, column: Column) -> Any:
    """Return a cell of csv. A map becomes a list of `name count`."""
    if column.kind == "map" and isinstance(value, dict):
        return [f"{name} {count}" for name, count in value.items()]
    return json_value(value)
