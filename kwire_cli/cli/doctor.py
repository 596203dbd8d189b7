"""`kwire doctor`: what is installed, what is missing and how to get it, and on request whether it works."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.environment import Exit
from kwire_cli.cli.options import with_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.doctor.findings import Finding
    from kwire_cli.view.lines import Line

STYLES = {"ok": "text", "absent": "dim", "broken": "warning"}


@click.command(name="doctor")
@click.option("--deep", is_flag=True, help="Also import each library, compile a function, and run a Spark job.")
@click.option(
    "--format", "-f", "fmt", type=click.Choice(["table", "json", "jsonl"]), default="table", show_default=True, help="Set the output format."
)
@with_output
def command(environment: Environment, fmt: str, *, deep: bool) -> int:
    """Show what is installed, what is missing, how to get it, and which commands need it.

    Exits with 1 if something is broken: installed but unusable, or required by every command. An extra that is
    not installed is not an error.
    """
    from kwire_cli.view.json import dumps
    from kwire_cli.view.lines import without_control

    broken, all_found = False, []
    for group, some in groupby(_found(environment, deep=deep), key=lambda finding: finding.group):
        findings = [*some]
        broken |= any(finding.state == "broken" for finding in findings)
        if fmt == "table":
            environment.write_lines(without_control(line) for line in _lines(group, findings))
        elif fmt == "jsonl":
            for finding in findings:
                environment.write(dumps(finding._asdict(), indent=False))
        all_found += findings
        environment.flush()
    if fmt == "json":
        environment.write(dumps({"healthy": not broken, "findings": [finding._asdict() for finding in all_found]}, indent=True))
    return Exit.FOUND if broken else Exit.DONE


def _found(environment: Environment, *, deep: bool) -> Iterator[Finding]:
    from kwire_cli.doctor.libraries import libraries
    from kwire_cli.doctor.surroundings import itself, places, programs

    seen = []
    for looking in (
        itself(),
        libraries(),
        programs(environment.variables),
        places(environment.variables, to_terminal=environment.to_terminal, in_colour=environment.in_colour),
    ):
        for finding in looking:
            seen.append(finding)
            yield finding
    if deep:
        from kwire_cli.doctor.working import tried

        talk = environment.stderr.isatty()
        unusable = frozenset(finding.name for finding in seen if finding.state != "ok")
        yield from tried(unusable, lambda name: environment.note(f"trying: {name}") if talk else None)


def _lines(group: str, findings: list[Finding]) -> Iterator[Line]:
    purposes = {finding.purpose for finding in findings}
    shared = purposes.pop() if len(purposes) == 1 else ""
    yield [(group, "name"), (f"  {shared}" if shared else "", "meaning")]
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield [
            (f"  {finding.state:<6}", STYLES[finding.state]),
            (f"  {finding.name:<{width}}", ""),
            (f"  {finding.found}" if finding.found else "", "number"),
            (f"  {finding.purpose}" if finding.purpose and not shared else "", "meaning"),
        ]
        if finding.how:
            yield [(f"          {finding.how}", "")]
    yield []
