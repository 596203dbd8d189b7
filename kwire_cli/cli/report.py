"""`kwire report`: all analyses of captures, request logs and log directories, as one page for a browser.

`write_page` is also used by `kwire decode --format html`, and `write_report` by `kwire dump --format html`. All
analyses run in one pass over the inputs, which also collects the details of the selected frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.analysis.report import Report
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.inputs import reading_of
from kwire_cli.cli.options import Choosing, Output, Secrets, refuse_terminal
from kwire_cli.cli.questions import Inputs, ask, typed_inputs
from kwire_cli.cli.typed_options import takes
from kwire_cli.message.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.page.details import Details

EXAMPLES = (
    ("kwire report incident.pcap -o report.html", "what is wrong, who was there, and every frame, on one page"),
    ("kwire report incident.pcap --filter 'frame >= 5000' -o part.html", "the same page, with these frames"),
    ("kwire report kafka-request.log -o report.html", "the same of a broker's request log"),
)


class Page(Choosing, Secrets, Inputs):
    """Options for the content of a page."""


class Options(Output, Page):
    """Options of `kwire report`."""


@click.command(name="report", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Write a page with a time axis, findings, groups, transactions, frames, costs and clients.

    INPUT is files and folders, counted together, or - for standard input. The page is one file that needs no
    network. It has room for so many bytes; its title says what it leaves out. --filter chooses
    the frames of the page: the axis and the findings are about all frames.
    """
    return write_page(environment, options)


def write_page(environment: Environment, options: Page, tab: str = "") -> Exit:
    """Write the page. `tab` is the name of the tab that it shows first."""
    from kwire_cli.view.page.details import Details

    refuse_terminal(environment, "html")
    choice = Choice(options, options.catalog, show_secrets=options.show_secrets)
    redaction = Redaction(reading_of(options).catalog, show_secrets=options.show_secrets)
    details = Details(redaction)
    report = Report(redaction, choice.takes if choice.chooses else None, details.add)
    with environment.answering():
        ask(environment, options, report, connections=True, checked=True)
        write_report(environment, report, details, options.source, typed_inputs(options), tab)
    return Exit.DONE


def write_report(
    environment: Environment,
    report: Report,
    details: Details,
    source: Sequence[str],
    arguments: str,
    tab: str,
) -> None:
    """Write the page of a report after all inputs were read. `arguments` contains the inputs as typed."""
    from kwire_cli.view.page.report import report_page

    for text in report_page(report, details, source, arguments, tab):
        environment.write_bytes(text.encode("utf-8", "backslashreplace"))
