"""`kwire errors`: Kafka's error codes by number or name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.cli.options import complete_error, with_catalog, with_output
from kwire_cli.errors import InputError, close_to, did_you_mean

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog, ErrorCode


@click.command(name="errors", context_settings={"ignore_unknown_options": True})
@click.argument("code", nargs=-1, shell_complete=complete_error)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@with_catalog
@with_output
def command(environment: Environment, catalog: Catalog, code: tuple[str, ...], fmt: str) -> None:
    """List Kafka's error codes.

    CODE is a number (35, -1) or part of a name (unsupported); without CODE all codes are listed. `kwire explain
    error CODE` explains a code.
    """
    rows = found(catalog, code)
    if fmt == "table":
        width = max(len(row.name) for row in rows)
        environment.write_lines(
            [
                (f"{row.code:>4}", "number"),
                (f"  {row.name:<{width}}", "name"),
                ("  retriable" if row.retriable else "", "meaning"),
            ]
            for row in rows
        )
        return
    from kwire_cli.view.json import dumps

    for row in rows:
        environment.write(dumps(row._asdict() | catalog.error_meanings[row.name]._asdict(), indent=fmt == "json"))


def found(catalog: Catalog, wanted: tuple[str, ...]) -> list[ErrorCode]:
    """The rows of these numbers and parts of names, all without any; InputError where one of them has none."""
    missing = [text for text in wanted if not any(_matches(row, text) for row in catalog.errors)]
    if missing:
        close = close_to(missing[0].replace("-", "_"), [row.name for row in catalog.errors])
        raise InputError(f"no error code is {' or '.join(missing)}{did_you_mean(close) or '; kwire errors lists all'}")
    return [row for row in catalog.errors if not wanted or any(_matches(row, text) for text in wanted)]


def _matches(row: ErrorCode, text: str) -> bool:
    return text == str(row.code) or (
        not text.lstrip("-").isdigit() and text.lower().replace("-", "_") in row.name.lower()
    )
