"""`kwire lint`: message definitions held against a rule book."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import with_output, with_tls_keylog
from kwire_cli.errors import InputError
from kwire_cli.spec.rules import BOOKS, DEFAULT_BOOK
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from kwire_cli.spec.files import Finding


@click.command(name="lint")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...", type=click.Path(exists=True))
@click.option(
    "--specs", multiple=True, metavar="DIR", type=click.Path(exists=True), help="Check these definitions too."
)
@click.option(
    "--rules",
    type=click.Choice(BOOKS),
    default=DEFAULT_BOOK,
    show_default=True,
    help="Set the rule book; see docs/rules.md.",
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    show_default=True,
    help="Set the output format.",
)
@click.option("--advice", is_flag=True, help="Suggest better names and types, and name tags that do not pay.")
@click.option(
    "--traffic",
    multiple=True,
    metavar="CAPTURE",
    type=click.Path(exists=True, dir_okay=False),
    help="Give advice from the values in this capture; repeatable.",
)
@with_tls_keylog
@with_output
def command(
    environment: Environment,
    paths: tuple[str, ...],
    specs: tuple[str, ...],
    rules: str,
    fmt: str,
    *,
    advice: bool,
    traffic: tuple[str, ...],
    tls_keylog: tuple[str, ...],
) -> int:
    """Check message definitions, one by one and against each other.

    All violations are reported at once, each with its rule, file, line, column and path. Exits with 1 if any of
    them is an error; advice is not.
    """
    from kwire_cli.spec.files import json_files, read_text
    from kwire_cli.spec.rules import check, check_folder

    paths += specs
    if not paths:
        raise click.UsageError("no definitions to check: give files or folders")
    if not any(True for _ in json_files(paths)):
        raise InputError(
            f"there are no definitions in {' or '.join(paths)}: give files, or folders that have *.json files"
        )
    # One file alone has no other half to be missing.
    alone = len(paths) == 1 and Path(paths[0]).is_file()
    findings = check(read_text(paths[0]), paths[0], rules) if alone else check_folder(list(paths), rules)
    if advice:
        from kwire_cli.analysis.costs.definition_advice import definition_advice

        findings += definition_advice(paths)
    if traffic:
        findings += _of_traffic(environment, paths, traffic, tls_keylog)
    if fmt == "text":
        environment.write_lines(_line(finding) for finding in findings)
    else:
        from kwire_cli.view.json import dumps

        for finding in findings:
            environment.write(dumps(finding._asdict(), indent=fmt == "json"))
    counts = Counter(finding.severity for finding in findings)
    summary = f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}"
    environment.note(f"{summary}, {counts['advice']} advice" if advice or traffic else summary)
    return Exit.FOUND if counts["error"] else Exit.DONE


def _of_traffic(
    environment: Environment, paths: tuple[str, ...], captures: tuple[str, ...], key_logs: tuple[str, ...]
) -> list[Finding]:
    """Return the findings of values in captures about the given definitions.

    Return an empty list if one of the definitions has no usable meaning.
    """
    from kwire_cli.analysis.costs.traffic_advice import traffic_findings
    from kwire_cli.cli.inputs import Terminal
    from kwire_cli.errors import SpecError
    from kwire_cli.source.kinds import Kind
    from kwire_cli.source.opening import open_inputs
    from kwire_cli.source.reading import Reading
    from kwire_cli.spec.catalog import catalog
    from kwire_cli.spec.files import json_files

    try:
        specs = catalog(paths, None)
    except SpecError:
        return []
    files = {str(path) for path in json_files(list(paths))}
    how = Reading(catalog=specs, input_kind=Kind.CAPTURE, key_logs=key_logs)
    inputs = open_inputs(captures, how, Terminal(environment))
    lines = (line for opened in inputs for line in opened.subjects())
    return [finding for finding in traffic_findings(specs, lines) if finding.file in files]


def _line(finding: Finding) -> list[tuple[str, str]]:
    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
    style = {"error": "warning", "warning": "bytes"}.get(finding.severity, "meaning")
    return [
        (place, "name"),
        (f": {finding.severity} {finding.rule}", style),
        (f" {finding.path}: " if finding.path else " ", "dim"),
        (finding.message, ""),
    ]
