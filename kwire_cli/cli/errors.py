"""`kwire errors`: Kafka's error codes by number or name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_error
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Definitions, Report
from kwire_cli.cli.typed_options import argument, takes
from kwire_cli.errors import InputError, close_to, did_you_mean

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog, ErrorCode

COLUMNS = (
    Column("code", "id"),
    Column("name"),
    Column("retriable", "flag"),
    Column("meaning", wide=True),
    Column("given", wide=True),
    Column("clients", wide=True),
)


ASKED = ("meaning", "clients")
"""Columns that a terminal shows of a few codes, and not of many."""
MOST_EXPLAINED = 3
MOST_CLOSE = 4
"""Names that are suggested for one that is no error code."""

EXAMPLES = (
    ("kwire errors 27 35", "what these codes are called"),
    ("kwire errors coordinator", "the codes with this in their name"),
    ("kwire errors --format jsonl too_large", "what they mean, and what clients do, for a program"),
)


@dataclass(frozen=True, kw_only=True)
class Options(Report, Definitions):
    """Options of `kwire errors`."""

    PIPED: ClassVar[str] = "table"

    code: tuple[str, ...] = argument(nargs=-1, shell_complete=complete_error)


@click.command(name="errors", cls=Command, examples=EXAMPLES, context_settings={"ignore_unknown_options": True})
@takes(Options)
def command(environment: Environment, options: Options) -> None:
    """List Kafka's error codes.

    CODE is a number (35, -1) or part of a name. `kwire explain error CODE` explains one in full.
    """
    codes = matching_codes(options.catalog, options.code)
    rows = [(*code, *options.catalog.error_meanings[code.name]) for code in codes]
    explained = ASKED if len(codes) <= MOST_EXPLAINED else ()
    columns = [column._replace(wide=column.wide and column.name not in explained) for column in COLUMNS]
    emit(environment, Answer("Kafka's error codes", [Table("errors", columns, rows)]), options)


def matching_codes(catalog: Catalog, texts: tuple[str, ...]) -> list[ErrorCode]:
    """Return the error codes of these numbers and parts of names; all of them without any.

    Raises InputError if one of the texts matches no error code.
    """
    missing = [text for text in texts if not any(_matches(row, text) for row in catalog.errors)]
    if missing:
        hint = did_you_mean(_close_codes(catalog, missing[0].replace("-", "_"))) or "; kwire errors lists all"
        raise InputError(f"no error code is {' or '.join(missing)}{hint}")
    return [row for row in catalog.errors if not texts or any(_matches(row, text) for text in texts)]


def _close_codes(catalog: Catalog, text: str) -> list[str]:
    """Return the names of error codes that are like a text, or else those with a word that is like it."""
    names = [row.name for row in catalog.errors]
    known = {word for name in names for word in name.split("_")}
    words = {close for word in text.split("_") for close in close_to(word, known, most=1)}
    by_words = sorted(names, key=lambda name: -len(words.intersection(name.split("_"))))
    return close_to(text, names) or [name for name in by_words if words.intersection(name.split("_"))][:MOST_CLOSE]


def _matches(row: ErrorCode, text: str) -> bool:
    return text == str(row.code) or (
        not text.lstrip("-").isdigit() and text.lower().replace("-", "_") in row.name.lower()
    )
