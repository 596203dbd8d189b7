"""Lines of a capture in columns: those of the table, or those of --fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

    Show = Callable[[Captured | None], None]


def _names(fields: str | None) -> list[str]:
    return [name.strip() for name in fields.split(",")] if fields is not None else []


def refuse_unknown(catalog: Catalog, fields: str | None) -> None:
    """UsageError for a name in --fields that is no column and that no field has."""
    from kwire_cli.filter import name_of, unknown_part

    for name in _names(fields):
        if not name:
            raise click.UsageError(f"--fields takes names with commas between them, not {fields!r}")
        if "[" in name:
            raise click.UsageError(f"--fields: a path has no indexes: topics.partitions, not {name}")
        if (named := name_of(name)) is None:
            raise click.UsageError(f"--fields: expected the name of a column or field, found {name!r}")
        if reason := unknown_part(named, catalog.field_names):
            raise click.UsageError(f"--fields: {reason}")


def show_columns(environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction, *, wait: bool) -> Show:
    """What prints lines as rows of a table, csv or JSON with the columns of --fields, else those of the table; None comes last.

    A table of --fields may `wait` for its first rows.
    """
    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.view.json import dumps
    from kwire_cli.view.table import CSV_HEADINGS, TABLE

    columns = tuple(_names(options["fields"])) or TABLE
    if fmt == "csv" and not options["fields"] and options["several"]:
        columns = ("capture", "file", *columns)
    if fmt not in {"csv", "json", "jsonl"}:
        return _table(environment, columns, redaction, wait=wait and bool(options["fields"]))
    if fmt == "csv":
        environment.write_csv([CSV_HEADINGS.get(name, name) for name in columns])

    def show(line: Captured | None) -> None:
        if line is None:
            return
        cells = LineRow(line, redaction)
        if fmt == "csv":
            environment.write_csv([cells.value(name) for name in columns])
        else:
            environment.write(dumps({name: cells.value(name) for name in columns}, indent=fmt == "json"))

    return show


def _table(environment: Environment, columns: tuple[str, ...], redaction: Redaction, *, wait: bool) -> Show:
    """What prints rows of a table; with `wait` its columns are as wide as the first rows need, which are printed together."""
    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.view.table import HELD, cells, fitted, heading, plain_rows, widths_of

    held: list[list[str]] | None = [] if wait else None
    widths: list[int] = []
    plain: Callable[[Captured], str] | None = None

    def begin(first: list[list[str]]) -> None:
        nonlocal held, widths, plain
        held, widths = None, widths_of(columns, first)
        plain = None if environment.in_colour else plain_rows(columns, widths)
        environment.write_lines([heading(columns, widths), *(fitted(each, columns, widths) for each in first)])

    if held is None:
        begin([])

    def show(line: Captured | None) -> None:
        if held is not None:
            held.extend([cells(LineRow(line, redaction), columns)] if line else [])
            if line is None or len(held) == HELD:
                begin(held)
        elif line and plain:
            environment.write(plain(line))
        elif line:
            environment.write_lines([fitted(cells(LineRow(line, redaction), columns), columns, widths)])

    return show
