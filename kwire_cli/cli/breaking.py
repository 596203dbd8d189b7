"""`kwire breaking`: whether two releases of definitions understand each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.completion import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import with_output
from kwire_cli.errors import did_you_mean

if TYPE_CHECKING:
    from kwire_cli.spec.evolution.breaking import Break
    from kwire_cli.spec.evolution.sources import Given

FORMATS = ("text", "json", "jsonl", "junit", "github")
LEVELS = ("wire", "tagged", "source", "advice")


@click.command(name="breaking")
@click.argument("paths", nargs=-1, metavar="[OLD] NEW", required=True, shell_complete=complete_file)
@click.option(
    "--against",
    multiple=True,
    metavar="REV:PATH|PATH",
    shell_complete=complete_file,
    help="Compare with these old definitions, such as HEAD~1:specs; all arguments are new ones.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="tagged",
    show_default=True,
    help="Show findings of at least this level, and exit with 1.",
)
@click.option(
    "--except",
    "exceptions",
    multiple=True,
    metavar="RULE[:PATH]",
    help="Skip a rule, everywhere or below Message or Message.path.of[].field.",
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Set the output format.",
)
@with_output
def command(
    environment: Environment,
    paths: tuple[str, ...],
    against: tuple[str, ...],
    level: str,
    exceptions: tuple[str, ...],
    fmt: str,
) -> int:
    """Check whether programs with OLD definitions and programs with NEW ones understand each other.

    OLD and NEW are definition files, folders of them, Kafka's jars, or git revisions as REV:PATH. The layouts
    of the versions that both define are compared, not the text. Exits with 1 if something breaks. The rules are
    in docs/breaking.md.
    """
    from kwire_cli.spec.evolution.breaking import breaking
    from kwire_cli.spec.evolution.layout import message_pairs
    from kwire_cli.spec.evolution.sources import are_files, read_definitions

    if not against and len(paths) != 2:
        raise click.UsageError("give OLD and NEW, or NEW and --against OLD")
    allowed = [_exception(text) for text in exceptions]
    before, after = (against, paths) if against else (paths[:1], paths[1:])
    old, new = read_definitions(before), read_definitions(after)
    part = are_files(after, new)
    for parsed in new.values():
        _note_faults(environment, parsed)
    breakages = [
        breakage
        for breakage in breaking(old, new, part=part)
        if not any(_excepted(breakage, *exception) for exception in allowed)
    ]
    wanted = LEVELS[: LEVELS.index(level) + 1]
    reported = [breakage for breakage in breakages if breakage.severity in wanted]
    compared = [parsed.spec.name for parsed, _ in message_pairs(old, new, part=part) if parsed]
    _show(environment, reported, compared, fmt)
    environment.note(_summary(breakages, reported, wanted))
    return Exit.FOUND if reported else Exit.DONE


def _note_faults(environment: Environment, given: Given) -> None:
    """Print a note on the errors in a new definition itself. Its breaking changes are uncertain then."""
    errors = [fault for fault in given.faults if fault.severity == "error"]
    if errors:
        first = errors[0]
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        where = f"{given.spec.name}.{first.path}" if first.path else given.spec.name
        environment.note(f"kwire: {given.spec.file}: {first.rule} {where}: {first.message}{more}; kwire lint says all")


def _exception(text: str) -> tuple[str, str]:
    from kwire_cli.spec.evolution.breaking import RULES

    rule, _, path = text.partition(":")
    if rule not in RULES:
        from difflib import get_close_matches

        hint = did_you_mean(get_close_matches(rule.upper(), RULES, n=3))
        raise click.UsageError(f"--except: there is no rule {rule!r}{hint}")
    return rule, path


def _excepted(each: Break, rule: str, path: str) -> bool:
    where = f"{each.message}.{each.path}" if each.path else each.message
    return each.rule == rule and (not path or where == path or where.startswith((f"{path}.", f"{path}[]")))


def _show(environment: Environment, shown: list[Break], messages: list[str], fmt: str) -> None:
    from kwire_cli.view.definitions import break_document, break_lines, github_lines, junit_text
    from kwire_cli.view.json import dumps

    if fmt == "text":
        environment.write_lines(break_lines(shown))
    elif fmt == "json":
        environment.write(dumps([break_document(breakage) for breakage in shown], indent=True))
    elif fmt == "jsonl":
        for breakage in shown:
            environment.write(dumps(break_document(breakage), indent=False))
    elif fmt == "junit":
        environment.write(junit_text(shown, messages))
    else:
        for line in github_lines(shown):
            environment.write(line)


def _summary(found: list[Break], shown: list[Break], wanted: tuple[str, ...]) -> str:
    def counts(some: list[Break]) -> str:
        by_severity: Counter[str] = Counter(breakage.severity for breakage in some)
        return ", ".join(f"{by_severity[level]} {level}" for level in LEVELS if by_severity[level])

    rest = [breakage for breakage in found if breakage.severity not in wanted]
    hidden = (
        f"; {counts(rest)} not shown: --level {max((breakage.severity for breakage in rest), key=LEVELS.index)}"
        if rest
        else ""
    )
    return (f"breaks: {counts(shown)}" if shown else "nothing breaks") + hidden
