"""The command `kwire compare`: what the same values would cost in other forms."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.papers.claims import PAPERS, paper
from kwire_cli.cli.command import Command
from kwire_cli.cli.compare_messages import MessageForms, messages_compared
from kwire_cli.cli.compare_records import RecordForms, records_compared, wants_records
from kwire_cli.cli.completers import complete_file, complete_message, complete_version
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Report, argument, given, option, takes

if TYPE_CHECKING:
    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment

BESIDE_PAPER = {"paper", "times", "fmt", "table", "output", "raw_csv", "specs", "kafka", "colour"}
"""Options that mean something with --paper."""
OF_MESSAGES = (
    *("message", "values", "brokers", "topics", "partitions", "replicas", "versions", "flexible", "all_tagged"),
    *("encodings", "fields", "cases", "overlays", "by_field"),
)
"""Options that mean nothing of records."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Report, MessageForms, RecordForms):
    """Options of `kwire compare`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    message: str | None = option(
        "--message",
        "-m",
        metavar="NAME",
        shell_complete=complete_message,
        help="Name the message of --values, of generated values, or of a body.",
    )
    version: int | None = option(
        "--message-version",
        former=("--version", "-n"),
        type=click.IntRange(0, 32767),
        metavar="N",
        shell_complete=complete_version,
        help="Compare the others with this version.  [default: the highest, for generated values]",
    )
    paper: str | None = option(
        "--paper", type=click.Choice([*PAPERS]), help="Show a document's own figures beside those that kwire measures."
    )
    times: bool | None = option(
        "--times/--no-times", help="Measure times for longer, or not at all (with --paper kafka9927)."
    )


@click.command(name="compare", cls=Command)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Compare what the same values cost in other encodings, by encoding them.

    INPUT is bytes as decode takes them: files, - for standard input, or the bytes themselves. All messages of a
    capture are added up; two files with one message each are shown side by side; segments and record sets are
    compared record by record. Without input, values are generated or read from --values. By default the body is
    compared with its other versions, inflexible and flexible, with all fields tagged, and with packed integers.
    """
    with environment.answering():
        return emit(environment, _answer(environment, options), options)


def _answer(environment: Environment, options: Options) -> Answer:
    if options.paper:
        _refuse_beside_paper(options)
        return paper(options.paper, options.catalog, times=options.times).answer()
    if options.times is not None:
        raise click.UsageError("--times needs --paper")
    if options.as_records or (not options.message and wants_records(options, options.source)):
        for text in given(options, *OF_MESSAGES) + _counts(options):
            raise click.UsageError(f"{text} is for values of messages, and this compares records")
        return records_compared(environment, options, options.source)
    return messages_compared(environment, options, options.source)


def _refuse_beside_paper(options: Options) -> None:
    """Raise UsageError if an option or an input was given that means nothing with --paper."""
    names = [entry.name for entry in fields(options) if entry.name not in {*BESIDE_PAPER, "source", "counts"}]
    for text in ["INPUT"] * bool(options.source) + given(options, *names) + _counts(options):
        raise click.UsageError(f"--paper measures the document's own examples; omit {text}")


def _counts(options: Options) -> list[str]:
    """Return --count if it was given; without it the option is an empty mapping, not its default."""
    return ["--count"] if options.counts else []
