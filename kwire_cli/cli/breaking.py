"""`kwire breaking`: check whether two releases of definitions are compatible.

All breaking changes are determined first. --except and --level then select those to report, and the summary counts the
others.
"""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.findings import format_option, write_findings
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import argument, option, takes
from kwire_cli.errors import did_you_mean
from kwire_cli.spec.evolution.breaking import RULES, breaking
from kwire_cli.spec.evolution.sources import are_files, read_definitions

if TYPE_CHECKING:
    from kwire_cli.spec.evolution.sources import Given
    from kwire_cli.spec.files import Finding

LEVELS = ("wire", "tagged", "source", "advice")
COLUMNS = (
    Column("rule"),
    Column("severity", level="warning"),
    Column("message"),
    Column("path"),
    Column("versions", "list", keep=1),
    Column("what"),
    Column("oldReaderOfNew", wide=True),
    Column("newReaderOfOld", wide=True),
    Column("file", wide=True),
    Column("line", "id", wide=True),
    Column("column", "id", wide=True),
)


EXAMPLES = (
    ("kwire breaking definitions/before definitions/after", "what breaks between two releases"),
    ("kwire breaking specs/MetadataResponse.json MetadataResponse.json", "a proposal compared with Kafka's definition"),
    ("kwire breaking definitions/after --against definitions/before --format github", "for a pull request"),
)


class Options(Report):
    """Options of `kwire breaking`."""

    PIPED: ClassVar[str] = "text"

    paths: tuple[str, ...] = argument(nargs=-1, metavar="[OLD] NEW", required=True, shell_complete=complete_file)
    against: tuple[str, ...] = option(
        "--against",
        multiple=True,
        metavar="[REV:]PATH",
        shell_complete=complete_file,
        help="Compare with these old definitions, such as HEAD~1:specs; repeatable.",
    )
    level: str = option(
        "--level",
        type=click.Choice(LEVELS),
        default="tagged",
        show_default=True,
        help="Show findings of at least this level.",
    )
    exceptions: tuple[str, ...] = option(
        "--except",
        multiple=True,
        metavar="RULE[:PATH]",
        help="Skip this rule, everywhere or below a message or field.",
    )
    fmt: str | None = format_option()


@click.command(name="breaking", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Check whether programs with OLD definitions and programs with NEW ones understand each other.

    OLD and NEW are files, folders, Kafka's jars, or git revisions as REV:PATH. With --against, all arguments are
    NEW. Exits with 1 if something breaks. The rules are in docs/changes.md.
    """
    paths = options.paths
    against = options.against
    if not against and len(paths) != 2:
        raise click.UsageError("give OLD and NEW, or NEW and --against OLD")
    allowed = [_parse_exception(text) for text in options.exceptions]
    before, after = (against, paths) if against else (paths[:1], paths[1:])
    old = read_definitions(before)
    new = read_definitions(after)
    part = are_files(after, new)
    for parsed in new.values():
        _note_faults(environment, parsed)
    breakages = [breakage for breakage in breaking(old, new, part=part) if not _is_excepted(breakage, allowed)]
    wanted = LEVELS[: LEVELS.index(options.level) + 1]
    reported = [breakage for breakage in breakages if breakage.severity in wanted]
    answer = Answer("What breaks", [Table("breaks", COLUMNS, [_break_row(breakage) for breakage in reported])])
    write_findings(environment, options, reported, answer)
    environment.note(_summarize(breakages, reported, wanted))
    return Exit.FOUND if reported else Exit.DONE


def _break_row(breakage: Finding) -> tuple[object, ...]:
    what = (breakage.definition, breakage.path, [str(versions) for versions in breakage.versions], breakage.message)
    readers = (breakage.old_reads_new, breakage.new_reads_old)
    return (breakage.rule, breakage.severity, *what, *readers, breakage.file, breakage.line, breakage.column)


def _note_faults(environment: Environment, given: Given) -> None:
    """Note the errors in a new definition, which make its breaking changes uncertain."""
    errors = [fault for fault in given.faults if fault.severity == "error"]
    if errors:
        first = errors[0]
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        where = f"{given.spec.name}.{first.path}" if first.path else given.spec.name
        environment.note(f"kwire: {given.spec.file}: {first.rule} {where}: {first.message}{more}; kwire lint says all")


def _parse_exception(text: str) -> tuple[str, str]:
    rule, _, path = text.partition(":")
    if rule not in RULES:
        hint = did_you_mean(get_close_matches(rule.upper(), RULES, n=3))
        raise click.UsageError(f"--except: there is no rule {rule!r}{hint}")
    return rule, path


def _is_excepted(each: Finding, exceptions: list[tuple[str, str]]) -> bool:
    where = each.place
    for rule, path in exceptions:
        if each.rule == rule and (not path or where == path or where.startswith((f"{path}.", f"{path}[]"))):
            return True
    return False


def _summarize(found: list[Finding], shown: list[Finding], wanted: tuple[str, ...]) -> str:
    def counts(breakages: list[Finding]) -> str:
        by_severity: Counter[str] = Counter(breakage.severity for breakage in breakages)
        return ", ".join(f"{by_severity[level]} {level}" for level in LEVELS if by_severity[level])

    rest = [breakage for breakage in found if breakage.severity not in wanted]
    hidden = (
        f"; {counts(rest)} not shown: --level {max((breakage.severity for breakage in rest), key=LEVELS.index)}"
        if rest
        else ""
    )
    return (f"breaks: {counts(shown)}" if shown else "nothing breaks") + hidden
