"""Write an `Answer` in the requested format.

`emit` checks that the format fits the options and the destination, applies --sort and --top, and calls the writer of
the format. All commands share these writers. Each imports its dependencies when it is called: start-up counts.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import click

from kwire_cli.answer import Answer, Block, Row, Table
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.options import Tables, refuse_terminal
from kwire_cli.cli.sorting import MEASURES, Order, Ordering, unknown_column
from kwire_cli.view.answers import answer_csv, answer_json, answer_jsonl, chosen_table
from kwire_cli.view.arrow import FORMATS, write_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Report


def emit(environment: Environment, answer: Answer, options: Report) -> Exit:
    """Write an answer in the requested format. Return FOUND if the answer has findings, otherwise DONE.

    Raises UsageError if the format does not support --table, or if a page, Parquet or Arrow would go to a terminal.
    Raises InputError if the answer has no table with the name in --table.
    """
    chosen = options.format_for(environment)
    _refuse_table(options, chosen)
    refuse_place(environment, options)
    WRITERS[chosen](environment, arranged(answer, options, for_eyes=is_for_eyes(chosen)), options)
    return Exit.FOUND if answer.found else Exit.DONE


def _refuse_table(options: Report, chosen: str) -> None:
    if (
        isinstance(options, Tables)
        and options.table is not None
        and options.sort is None
        and chosen not in {"csv", *FORMATS}
    ):
        raise click.UsageError("--table goes with --format csv, parquet or arrow, or with --sort")


def arranged(answer: Answer, options: Report, *, for_eyes: bool) -> Answer:
    """Return an answer with rows sorted by --sort and limited by --top.

    --sort applies to the table in --table, or to the first table that has the column. --top limits each table, or with
    --sort only the sorted one. Formats for display state the number of further rows. Raises UsageError for an unknown
    column.
    """
    if not isinstance(options, Tables):
        return answer
    order = options.order
    top = options.top
    if order is None and (top is None or options.cuts_tables):
        return answer
    sorted_table = None if order is None else _find_table_to_sort(answer, order, options.table)

    def arrange(block: Block) -> Block:
        if isinstance(block, Table) and (sorted_table is None or sorted_table is block):
            return _select_rows(block, order, top, for_eyes=for_eyes)
        return block

    return replace(answer, blocks=[arrange(block) for block in answer.blocks])


def _find_table_to_sort(answer: Answer, order: Order, name: str | None) -> Table:
    tables = answer.tables if name is None else [chosen_table(answer, name)]
    names: dict[str, None] = {}
    for table in tables:
        if any(order.column in {column.name, column.heading} for column in table.columns):
            return table
        names.update(dict.fromkeys(column.name for column in table.columns))
    raise unknown_column(order.column, list(names))


def _select_rows(table: Table, order: Order | None, top: int | None, *, for_eyes: bool) -> Table:
    """Return a table sorted by `order`, with the first `top` rows.

    For display, the table keeps all rows and only the number of shown rows is set.
    """
    shown = None
    limit = top
    if for_eyes:
        shown = table.shown if top is None else top
        limit = None
    if order is None:
        return table._replace(rows=islice(table.rows, limit), shown=shown)
    [at, *_] = [number for number, column in enumerate(table.columns) if order.column in {column.name, column.heading}]
    descending = table.columns[at].kind in MEASURES if order.descending is None else order.descending
    ordering = Ordering[Row](Order(order.column, descending), limit)
    for row in table.rows:
        ordering.add(row, row[at])
    return table._replace(rows=ordering.rows(), shown=shown)


def is_for_eyes(chosen: str) -> bool:
    """Return whether a format is for display, which requires the layout of a whole table."""
    return chosen in _DISPLAY_FORMATS


def note_more_rows(environment: Environment, shown: int) -> None:
    """Note that only `shown` rows are displayed, and the options that display more."""
    environment.note(
        f"kwire: there are more rows than these {shown}: --top says how many to show, --format jsonl shows all"
    )


def refuse_place(environment: Environment, options: Report) -> None:
    """Raise UsageError if a page, Parquet or Arrow would go to a terminal. Call this before long work."""
    refuse_terminal(environment, options.format_for(environment))


_DISPLAY_FORMATS = frozenset({"table", "html", "markdown", "svg"})


def _write_table(environment: Environment, answer: Answer, options: Report) -> None:
    from kwire_cli.view.terminal import answer_text  # rich's tables take long to load

    if text := answer_text(answer, None if options.wide else environment.width, colour=environment.in_colour):
        environment.write_painted(text)


def _write_json(environment: Environment, answer: Answer, _: Report) -> None:
    for text in answer_json(answer):
        environment.write(text)


def _write_jsonl(environment: Environment, answer: Answer, _: Report) -> None:
    for line in answer_jsonl(answer):
        environment.write(line)


def _table_of(options: Report) -> str | None:
    return options.table if isinstance(options, Tables) else None


def _write_csv(environment: Environment, answer: Answer, options: Report) -> None:
    name = _table_of(options)
    if name is None and len(tables := [table.name for table in answer.tables]) > 1:
        environment.note(f"kwire: this is the table {tables[0]}; --table writes {', '.join(tables[1:])}")
    for line in answer_csv(answer, name):
        environment.write(line)


def _write_html(environment: Environment, answer: Answer, options: Report) -> None:
    from kwire_cli.cli.questions import typed
    from kwire_cli.view.page.answers import answer_page  # only pages need it
    from kwire_cli.view.page.shell import input_names

    sources = getattr(options, "source", ()) or ()
    names = [sources] if isinstance(sources, str) else list(sources)
    for text in answer_page(answer, input_names(names), typed(names) if names else ""):
        environment.write_bytes(text.encode("utf-8", "backslashreplace"))


def _write_markdown(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.markdown import answer_markdown  # it imports rich's tables

    for line in answer_markdown(answer):
        environment.write(line)


def _write_arrow_table(environment: Environment, answer: Answer, options: Report) -> None:
    table = chosen_table(answer, _table_of(options))
    write_table(environment.write_bytes, table, options.format_for(environment))


def _write_svg(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.charts import picture_of  # only pictures need it

    for line in picture_of(answer):
        environment.write(line)


WRITERS: dict[str, Callable[[Environment, Answer, Report], None]] = {
    "table": _write_table,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "html": _write_html,
    "markdown": _write_markdown,
    **dict.fromkeys(FORMATS, _write_arrow_table),
    "svg": _write_svg,
}
