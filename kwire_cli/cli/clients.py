"""`kwire clients`: who speaks to the brokers, in which versions, and whom a newer release would refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kwire_cli.analysis.clients import Clients
from kwire_cli.cli.capture_inputs import CapturePoints, capture_lines, is_log, opened, read_log, tell_of_logs
from kwire_cli.cli.completion import complete_file, complete_release
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Progress
from kwire_cli.cli.options import Captures, Definitions, Report, argument, option, takes
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind, begins_as
from kwire_cli.spec.accepted import accepted_by
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit

BESIDE = "of what both show the larger numbers count, and not their sums"


@dataclass(frozen=True, kw_only=True)
class Options(Report, Captures, Definitions):
    """Options of `kwire clients`."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    upgrade_to: str | None = option(
        "--upgrade-to",
        metavar="RELEASE",
        shell_complete=complete_release,
        help=f"Name the clients that brokers of this release, such as {RELEASE}, refuse.",
    )
    upgrade_from: str | None = option(
        "--upgrade-from",
        metavar="RELEASE",
        shell_complete=complete_release,
        help="Name the brokers' release today.  [default: taken from ApiVersions responses]",
    )

    def __post_init__(self) -> None:
        if self.upgrade_from and not self.upgrade_to:
            raise click.UsageError("--upgrade-from goes with --upgrade-to")


@click.command(name="clients")
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """List the clients in packet captures and brokers' request logs.

    INPUT is files, counted together, or - for standard input. A client is identified by its id, its address,
    and its software name and version if it sent them. With --upgrade-to, exits with 1 if any client would be
    refused.
    """
    for release in (options.upgrade_to, options.upgrade_from):
        if release:
            accepted_by(release)  # before anything is read
    return emit(environment, _clients(environment, options).answer(), options)


def _clients(environment: Environment, options: Options) -> Clients:
    source = options.source
    if not source and environment.stdin.isatty():
        raise InputError("no input: give packet captures and brokers' request logs, or - for standard input")
    clients, logged = (Clients(options.upgrade_to, options.upgrade_from) for _ in range(2))
    progress = Progress(environment)
    logs: list[str] = []
    are_logs = {name for name in source or ("-",) if is_log(environment, name)}
    points = CapturePoints(environment, [name for name in source if name not in are_logs], vars(options))
    for name in source or ("-",):
        label = "standard input" if name == "-" else name
        if name != "-" and not path_of(name).is_file():
            raise InputError(
                "this is a folder; give the files in it" if path_of(name).is_dir() else "there is no such file",
                file=name,
            )
        if name in are_logs:
            logs.append(label)
            for entry in read_log(environment, options.catalog, name, progress):
                logged.add(entry)
            continue
        capture = environment.stdin if name == "-" else name
        if begins_as(capture) is not Kind.CAPTURE:
            with opened(environment, name):  # where that can't be, it says why
                raise InputError(
                    "is neither a packet capture nor a broker's request log with JSON (Kafka 2.8 and newer)", file=label
                )
        if (capture := points.take(capture)) is None:
            continue
        for line in capture_lines(
            environment, options.catalog, capture, port=options.port, key_logs=options.tls_keylog
        ):
            clients.add(line)
    progress.done()
    if clients.uses and logged.uses:
        tell_of_logs(environment, logs, BESIDE)
    clients.beside(logged)
    if not clients.uses:
        raise InputError("there is no request of Kafka in this; --port says which port is the broker's")
    return clients
