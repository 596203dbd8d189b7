"""Writing an Answer: one writer for each format, for all commands."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

import click

from kwire_cli.answer import Answer, Block, Row, Table
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.sorting import MEASURES, Order, Ordering, unknown_column
from kwire_cli.errors import without_credentials
from kwire_cli.stores import exists, location
from kwire_cli.view.answers import answer_csv, answer_json, answer_jsonl, chosen_table
from kwire_cli.view.arrow import FORMATS, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Report

Subject = TypeVar("Subject")


def emit(environment: Environment, answer: Answer, options: Report) -> Exit:
    """Write an answer in the format that the options ask for; return the exit code that says what was found.

    Raises UsageError if the format does not go with --table, or if a page, Parquet or Arrow would go to a terminal, and
    InputError if the answer has no table of the name that --table gives.
    """
    chosen = options.format_for(environment)
    _refuse_table(options, chosen)
    refuse_place(environment, options)
    WRITERS[chosen](environment, arranged(answer, options, for_eyes=is_for_eyes(chosen)), options)
    return Exit.FOUND if answer.found else Exit.DONE


def arranged_subjects(
    environment: Environment, subjects: Sequence[Subject], table: Table, options: Report
) -> list[Subject]:
    """Return what the rows of a table are of, in the order and number that --sort and --top ask for, for formats that
    are no table. People are told how many more there are.

    Raises UsageError for --table without --sort, and for an unknown column.
    """
    _refuse_table(options, "")
    rows = [(*row, subject) for row, subject in zip(table.rows, subjects, strict=True)]
    [first] = arranged(Answer("", [table._replace(rows=rows)]), options, for_eyes=False).tables
    chosen: list[Subject] = [row[-1] for row in first.rows]
    if hidden := len(rows) - len(chosen):
        environment.note(f"… and {hidden} more")
    return chosen


def _refuse_table(options: Report, chosen: str) -> None:
    if options.table is not None and options.sort is None and chosen not in {"csv", *FORMATS}:
        raise click.UsageError("--table goes with --format csv, parquet or arrow, or with --sort")


def arranged(answer: Answer, options: Report, *, for_eyes: bool) -> Answer:
    """Return an answer with the rows that --sort and --top ask for.

    --sort is of the table that --table names, or of the first one that has the column. --top cuts each table, with
    --sort the sorted one alone; people are told how many rows more there are. Raises UsageError for an unknown column.
    """
    order, top = options.order, options.top
    if order is None and (top is None or options.cuts_tables):
        return answer
    of = None if order is None else _table_to_sort(answer, order, options.table)

    def part(block: Block) -> Block:
        if isinstance(block, Table) and (of is None or of is block):
            return _first_rows(block, order, top, for_eyes=for_eyes)
        return block

    return replace(answer, blocks=[part(block) for block in answer.blocks])


def _table_to_sort(answer: Answer, order: Order, name: str | None) -> Table:
    tables = answer.tables if name is None else [chosen_table(answer, name)]
    for table in tables:
        if any(order.column in {column.name, column.heading} for column in table.columns):
            return table
    raise unknown_column(order.column, list(dict.fromkeys(column.name for table in tables for column in table.columns)))


def _first_rows(table: Table, order: Order | None, top: int | None, *, for_eyes: bool) -> Table:
    """Return a table with its first rows in an order; for eyes with all of them, and how many are shown."""
    shown, most = (table.shown if top is None else top, None) if for_eyes else (None, top)
    if order is None:
        return table._replace(rows=islice(table.rows, most), shown=shown)
    [at, *_] = [number for number, column in enumerate(table.columns) if order.column in {column.name, column.heading}]
    descending = table.columns[at].kind in MEASURES if order.descending is None else order.descending
    ordering = Ordering[Row](Order(order.column, descending), most)
    for row in table.rows:
        ordering.add(row, row[at])
    return table._replace(rows=ordering.rows(), shown=shown)


def is_for_eyes(chosen: str) -> bool:
    """Return whether a format is for people, and laid out as a whole."""
    return chosen in _FOR_EYES


def note_more_rows(environment: Environment, shown: int) -> None:
    """Write a note that there are more rows than those shown, with the options that show them."""
    environment.note(
        f"kwire: there are more rows than these {shown}: --top says how many to show, --format jsonl shows all"
    )


def refuse_place(environment: Environment, options: Report) -> None:
    """Raise UsageError if a page, Parquet or Arrow would go to a terminal; before long work."""
    refuse_terminal(environment, options.format_for(environment))


def refuse_terminal(environment: Environment, chosen: str) -> None:
    """Raise UsageError if results of a format that is not for people would go to a terminal."""
    if environment.to_terminal and (why := _NOT_FOR_EYES.get(chosen)):
        raise click.UsageError(why)


_FOR_EYES = frozenset({"table", "text", "html", "markdown", "svg"})
_NOT_FOR_EYES = {
    "html": "HTML is for a browser: write it to a file with -o report.html",
    "arrow": "Arrow is for programs: write it to a file with -o report.arrow",
    "parquet": "Parquet is for programs: write it to a file with -o report.parquet",
    "svg": "SVG is a picture: write it to a file with -o chart.svg",
    "pcap": "a capture is for Wireshark: write it to a file with -o frames.pcap",
    "pcapng": "a capture is for Wireshark: write it to a file with -o frames.pcapng",
}


def _table(environment: Environment, answer: Answer, options: Report) -> None:
    from kwire_cli.view.terminal import answer_text  # rich's tables take long to load

    if text := answer_text(answer, None if options.wide else environment.width, colour=environment.in_colour):
        environment.write_painted(text)


def _json(environment: Environment, answer: Answer, _: Report) -> None:
    for text in answer_json(answer):
        environment.write(text)


def _jsonl(environment: Environment, answer: Answer, _: Report) -> None:
    for line in answer_jsonl(answer):
        environment.write(line)


def _csv(environment: Environment, answer: Answer, options: Report) -> None:
    if options.table is None and len(tables := [table.name for table in answer.tables]) > 1:
        environment.note(f"kwire: this is the table {tables[0]}; --table writes {', '.join(tables[1:])}")
    for line in answer_csv(answer, options.table):
        environment.write(line)


def _html(environment: Environment, answer: Answer, options: Report) -> None:
    from kwire_cli.cli.questions import typed
    from kwire_cli.view.page.answers import answer_page  # only pages need it

    sources = getattr(options, "source", ()) or ()
    names = [sources] if isinstance(sources, str) else [*sources]
    for text in answer_page(answer, _title_of(names), typed(names) if names else ""):
        environment.write_bytes(text.encode("utf-8", "backslashreplace"))


_LONGEST = 60
"""Characters of a name in a title."""


def _title_of(sources: Sequence[str]) -> str:
    """Return the title of a page: its files without their folders. Bytes that were typed may be secret."""
    files = [
        location(source) for source in sources if source == "-" or exists(source) or exists(source.rpartition("@")[0])
    ]
    names = [PurePath(without_credentials(file)).name for file in files]
    labels = [name if len(name) <= _LONGEST else f"…{name[-_LONGEST:]}" for name in names[:3]]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(labels) + more


def _markdown(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.markdown import answer_markdown  # it needs what rich's tables need

    for line in answer_markdown(answer):
        environment.write(line)


def _typed(environment: Environment, answer: Answer, options: Report) -> None:
    table = chosen_table(answer, options.table)
    write_table(environment.write_bytes, table, options.format_for(environment))


def _svg(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.charts import picture_of  # only pictures need it

    for line in picture_of(answer):
        environment.write(line)


WRITERS: dict[str, Callable[[Environment, Answer, Report], None]] = {
    "table": _table,
    "text": _table,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "html": _html,
    "markdown": _markdown,
    **dict.fromkeys(FORMATS, _typed),
    "svg": _svg,
}
