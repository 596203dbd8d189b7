"""Writing an Answer: one writer for each format, for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.cli.environment import Exit
from kwire_cli.view.answers import answer_csv, answer_json, answer_jsonl, answer_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Report


def emit(environment: Environment, answer: Answer, options: Report) -> Exit:
    """Write an answer in the format that the options ask for; return the exit code that says what was found.

    Raises UsageError if the format does not go with --table, or if a page or Parquet would go to a terminal, and
    InputError if the answer has no table of the name that --table gives.
    """
    chosen = options.format_for(environment)
    if options.table is not None and chosen not in {"csv", "parquet"}:
        raise click.UsageError("--table goes with --format csv or parquet")
    refuse_place(environment, options)
    WRITERS[chosen](environment, answer, options)
    return Exit.FOUND if answer.found else Exit.DONE


def refuse_place(environment: Environment, options: Report) -> None:
    """Raise UsageError if a page or Parquet would go to a terminal; before long work."""
    if environment.to_terminal and (why := _NOT_FOR_EYES.get(options.format_for(environment))):
        raise click.UsageError(why)


_NOT_FOR_EYES = {
    "html": "HTML is for a browser: write it to a file with -o report.html",
    "parquet": "Parquet is for programs: write it to a file with -o report.parquet",
}


def _table(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.terminal import answer_text  # rich's tables take long to load

    if text := answer_text(answer, environment.width, colour=environment.in_colour):
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
    for line in answer_csv(answer, options.table, raw=options.raw_csv):
        environment.write(line)


def _html(environment: Environment, answer: Answer, _: Report) -> None:
    from kwire_cli.view.html.answers import answer_page  # only pages need it

    environment.write_bytes(answer_page(answer).encode("utf-8", "backslashreplace"))


def _parquet(environment: Environment, answer: Answer, options: Report) -> None:
    environment.write_bytes(answer_parquet(answer, options.table))


WRITERS: dict[str, Callable[[Environment, Answer, Report], None]] = {
    "table": _table,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "html": _html,
    "parquet": _parquet,
}
