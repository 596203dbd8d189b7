"""`kwire diagnose`: find problems in captures, request logs and log directories, with evidence and advice.

A `Diagnosis` runs all rules over the facts of the inputs. --rules adds SQL rules from a folder. Rules that are marked
`last` run after all others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit
from kwire_cli.cli.inputs import reading_of
from kwire_cli.cli.on_spark import OnSpark
from kwire_cli.cli.questions import WITH_LAKES, Asking, ask, ask_with_spark, typed_inputs
from kwire_cli.cli.typed_options import flag, option, takes
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.rule_files import SEVERITIES, Severity, read_rules, rules

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

EXAMPLES = (
    ("kwire diagnose incident.pcap", "what is wrong, where it shows, and what to do"),
    ("kwire diagnose incident.pcap --severity error --exit-code", "fail a test on errors"),
    ("kwire diagnose incident.pcap --rules our-rules", "ask rules of your own, written in SQL, too"),
    ("kwire diagnose kafka-logs -o findings.html", "a log directory, as a page for a ticket"),
)


class Options(Asking, OnSpark):
    """Options of `kwire diagnose`."""

    rules: str | None = option(
        "--rules",
        section="Choose",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        shell_complete=complete_file,
        help="Run the rules in this folder too: CODE.sql and CODE.toml each.",
    )
    exit_code: bool = flag("--exit-code", help="Exit with 1 if a finding has severity error.")
    severity: str = option(
        "--severity",
        section="Choose",
        type=click.Choice(SEVERITIES),
        default="info",
        show_default=True,
        help="Show only findings that are at least this severe.",
    )


@click.command(name="diagnose", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Find what is wrong in captures, brokers' request logs, log directories and lakes.

    INPUT is files and folders, counted together, or - for standard input. Each finding says what was seen and
    where, what it means, and what to do. Causes come before their effects. With --master, tasks of Spark
    diagnose each capture point, request log and folder by itself, and each capture point and day of a lake.
    """
    with environment.answering():
        queries = [*rules(), *(read_rules(Path(options.rules)) if options.rules else ())]
        begin = partial(Diagnosis, rules=sorted(queries, key=lambda rule: rule.last))
        least = cast("Severity", options.severity)
        if options.master is not None:
            answer = ask_with_spark(environment, options, begin, takes=WITH_LAKES, connections=True, least=least)
        else:
            diagnosis = begin(Redaction(reading_of(options).catalog))
            ask(environment, options, diagnosis, takes=WITH_LAKES, connections=True)
            answer = diagnosis.answer(least, typed_inputs(options))
        return emit(environment, replace(answer, found=answer.found and options.exit_code), options)
