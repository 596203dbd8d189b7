"""`kwire lint`: check message definitions against a rule book.

With --against, old definitions are checked by the same rules. A finding is old if a finding with the same rule, file
name and path exists there, so that a changed line number does not make it new.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.findings import format_option, write_findings
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.errors import InputError, counted
from kwire_cli.spec.conventions import advise, definition_advice
from kwire_cli.spec.evolution.sources import definition_texts
from kwire_cli.spec.files import json_files
from kwire_cli.spec.rules import BOOKS, DEFAULT_BOOK, check_folder, check_many

if TYPE_CHECKING:
    from kwire_cli.spec.files import Finding

COLUMNS = (
    Column("file"),
    Column("line", "id"),
    Column("column", "id"),
    Column("severity", level="warning"),
    Column("rule"),
    Column("path", keep=1),
    Column("message"),
)


EXAMPLES = (
    ("kwire lint NewRequest.json", "which rules of Kafka's own generator it breaks"),
    ("kwire lint definitions/draft --rules kip482-draft", "a folder, by the rule book of KIP-482's draft"),
    ("kwire lint definitions/after --against definitions/before --advice", "only new findings, as for a pull request"),
)


class Options(Report):
    """Options of `kwire lint`."""

    PIPED: ClassVar[str] = "text"

    paths: tuple[str, ...] = argument(nargs=-1, metavar="[FILE|FOLDER]...", type=click.Path(exists=True))
    rules: str = option(
        "--rules",
        type=click.Choice(BOOKS),
        default=DEFAULT_BOOK,
        show_default=True,
        help="Set the rule book; see docs/changes.md.",
    )
    fmt: str | None = format_option()
    against: tuple[str, ...] = option(
        "--against",
        multiple=True,
        metavar="[REV:]PATH",
        shell_complete=complete_file,
        help="Skip findings that these old definitions have, such as HEAD~1:specs; repeatable.",
    )
    advice: bool = flag("--advice", help="Suggest better names and types, and name tags that waste bytes.")


@click.command(name="lint", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Check message definitions, one by one and against each other.

    All violations are reported at once, each with its rule and place. In a folder, each request needs its response.
    Exits with 1 if a violation is an error; advice is not an error.
    """
    paths = options.paths
    if not paths:
        raise click.UsageError("no definitions to check: give files or folders")
    if not any(True for _ in json_files(paths)):
        raise InputError(
            f"there are no definitions in {' or '.join(paths)}: give files, or folders that have *.json files"
        )
    findings = check_folder(paths, options.rules)
    if options.advice:
        findings += definition_advice(paths)
    if options.against:
        findings = _select_new(findings, options)
    counts = Counter(finding.severity for finding in findings)
    rows = [
        (finding.file, finding.line, finding.column, finding.severity, finding.rule, finding.path, finding.message)
        for finding in findings
    ]
    answer = Answer("Definitions", [Table("findings", COLUMNS, rows)])
    write_findings(environment, options, findings, answer)
    summary = f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}"
    environment.note(f"{summary}, {counts['advice']} advice" if options.advice else summary)
    return Exit.FOUND if counts["error"] else Exit.DONE


def _select_new(findings: list[Finding], options: Options) -> list[Finding]:
    """Return the findings that the old definitions do not have, by rule, file name and path."""

    def key(finding: Finding) -> tuple[str, str, str | None]:
        return finding.rule, PurePosixPath((finding.file or "").replace(":", "/")).name, finding.path

    texts: list[tuple[str, str]] = []
    for source in options.against:
        texts += [(text, place) for place, text in definition_texts(source)]
    old = check_many(texts, options.rules)
    if options.advice:
        for text, place in texts:
            old += advise(text, place)
    known = Counter(map(key, old))
    new = []
    for finding in findings:
        if known[key(finding)]:
            known[key(finding)] -= 1
        else:
            new.append(finding)
    return new
