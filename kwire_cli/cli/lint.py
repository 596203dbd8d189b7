"""`kwire lint`: message definitions held against a rule book."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.options import with_output

if TYPE_CHECKING:
    from kwire_cli.spec.findings import Finding

BOOKS = ("kafka-4.4", "kip482", "kip482-draft", "kafka9927")


@click.command(name="lint")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...", type=click.Path(exists=True))
@click.option(
    "--specs", multiple=True, metavar="DIR", type=click.Path(exists=True), help="Definitions to check too, as the other commands take them."
)
@click.option("--rules", type=click.Choice(BOOKS), default="kafka-4.4", show_default=True, help="The rule book; all are described in docs/rules.md.")
@click.option("--format", "-f", "fmt", type=click.Choice(["text", "json", "jsonl"]), default="text", show_default=True, help="How the result looks.")
@with_output
def command(environment: Environment, paths: tuple[str, ...], specs: tuple[str, ...], rules: str, fmt: str) -> int:
    """Check message definitions, one by one and against each other.

    All violations are reported at once, each with its rule, file, line, column and path. Exits with 1 if one of them is an error.
    """
    from kwire_cli.spec.files import read_text
    from kwire_cli.spec.rules import check, check_folder

    paths += specs
    if not paths:
        raise click.UsageError("no definitions to check: give files or folders")
    # One file alone has no other half to be missing.
    alone = len(paths) == 1 and Path(paths[0]).is_file()
    found = check(read_text(paths[0]), paths[0], rules) if alone else check_folder(list(paths), rules)
    if fmt == "text":
        environment.write_lines(_line(finding) for finding in found)
    else:
        from kwire_cli.view.json import dumps

        for finding in found:
            environment.write(dumps(finding._asdict(), indent=fmt == "json"))
    errors = sum(finding.severity == "error" for finding in found)
    environment.note(f"{errors} error{'' if errors == 1 else 's'}, {len(found) - errors} warning{'' if len(found) - errors == 1 else 's'}")
    return Exit.FOUND if errors else Exit.DONE


def _line(finding: Finding) -> list[tuple[str, str]]:
    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
    style = "warning" if finding.severity == "error" else "bytes"
    return [
        (place, "name"),
        (f": {finding.severity} {finding.rule}", style),
        (f" {finding.path}: " if finding.path else " ", "dim"),
        (finding.message, ""),
    ]
