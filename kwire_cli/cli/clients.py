"""`kwire clients`: the clients in captures and request logs, their versions, and those that a newer release rejects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.subjects import LAKES, TRAFFIC, add_kind
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_release
from kwire_cli.cli.emit import emit
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of
from kwire_cli.cli.options import Captures, Definitions, Tables
from kwire_cli.cli.typed_options import argument, option, takes
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Read, nothing_in
from kwire_cli.spec.accepted import accepted_by
from kwire_cli.spec.kafka import RELEASE

if TYPE_CHECKING:
    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment, Exit

ABOUT = "this question is about packet captures, brokers' request logs and lakes, not about a folder of other files"
NEITHER = "this is not a packet capture, a broker's request log with JSON (Kafka 2.8 and newer) or a lake"


EXAMPLES = (
    ("kwire clients kafka-request.log", "who speaks to the brokers, in which versions"),
    ("kwire clients before.pcapng --to 4.0", "whom brokers of 4.0 would refuse"),
    ("kwire clients incident.pcap -o clients.html", "the same as a page for a ticket"),
)


class Options(Tables, Captures, Definitions):
    """Options of `kwire clients`."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    upgrade_to: str | None = option(
        "--to",
        metavar="RELEASE",
        shell_complete=complete_release,
        help=f"Name the clients that brokers of this release, such as {RELEASE}, refuse.",
    )
    upgrade_from: str | None = option(
        "--from",
        metavar="RELEASE",
        shell_complete=complete_release,
        help="Name the brokers' release today.  [default: by ApiVersions]",
    )

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.upgrade_from and not self.upgrade_to:
            raise click.UsageError("--from goes with --to")


@click.command(name="clients", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """List the clients in packet captures, brokers' request logs and lakes.

    INPUT is files, counted together, or - for standard input. A client is its id, its address, and its
    software if it said so. With --to, exits with 1 if any client would be refused.
    """
    for release in (options.upgrade_to, options.upgrade_from):
        if release:
            accepted_by(release)  # before anything is read
    with environment.answering():
        return emit(environment, _find_clients(environment, options), options)


def _find_clients(environment: Environment, options: Options) -> Answer:
    """Return the clients of captures or request logs. Raise InputError if there are no clients."""
    if not options.source and environment.stdin.isatty():
        raise InputError("no input: give packet captures, brokers' request logs or lakes, or - for standard input")
    clients = Clients(Redaction(options.catalog))
    kinds: set[Kind] = set()
    read: Read = []
    how = replace(reading_of(options), connections=True)
    for opened in open_inputs(options.source, how, Terminal(environment)):
        if opened.kind not in TRAFFIC | LAKES:
            what = ABOUT if opened.kind is Kind.FOLDER else f"{missing_names(options.source)}{NEITHER}"
            raise InputError(what, file=opened.name)
        add_kind(kinds, opened)
        clients.add_input(opened)
        read.append((opened.label, opened.emptiness))
    answer = clients.answer(options.upgrade_to, options.upgrade_from)
    if not next(iter(answer.tables)).rows:
        raise nothing_in(read, "request of Kafka")
    return answer
