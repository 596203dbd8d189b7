"""The output of `kwire lint` and `kwire breaking`: findings as text, for code reviews, and as an Answer.

A finding as text has the form of errors of compilers: file:line:column and a message. In a pull request, GitHub shows
the findings at their lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import REPORT_FORMATS
from kwire_cli.cli.typed_options import option
from kwire_cli.view.marks import finding_lines, github_lines, sarif_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Report
    from kwire_cli.spec.files import Finding

TEXTS = ("text", "github", "sarif")
"""Formats in addition to the formats of Answers."""


def format_option() -> Any:
    """Declare --format."""
    return option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice((*TEXTS, *REPORT_FORMATS)),
        help="Set the output format.  [default: text]",
    )


def write_findings(
    environment: Environment,
    options: Report,
    findings: Sequence[Finding],
    answer: Answer,
) -> None:
    """Write findings, which are the rows of the table of an answer."""
    chosen = options.format_for(environment, (*TEXTS, *REPORT_FORMATS), "text")
    if chosen in REPORT_FORMATS:
        emit(environment, answer, options)
        return
    if chosen == "text":
        environment.write_lines(finding_lines(findings))
    elif chosen == "github":
        for line in github_lines(findings):
            environment.write(line)
    else:
        command = click.get_current_context().info_name or ""
        environment.write(sarif_text(findings, command))
