"""`kwire clients`: who speaks to the brokers, in which versions, and whom a newer release would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_file
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import (
    PORT,
    REPORT_FORMATS,
    with_capture_points,
    with_catalog,
    with_csv,
    with_output,
    with_tls_keylog,
)
from kwire_cli.errors import InputError
from kwire_cli.spec.kafka import RELEASE
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.clients import Clients, Row
    from kwire_cli.spec.accepted import Accepted
    from kwire_cli.spec.catalog import Catalog

BESIDE = "of what both show the larger numbers count, and not their sums"


def complete_release(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Releases that go on from what was typed."""
    from kwire_cli.spec.accepted import known_releases

    return [release for release in known_releases() if release.startswith(incomplete)]


@click.command(name="clients")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--upgrade-to",
    "release",
    metavar="RELEASE",
    shell_complete=complete_release,
    help=f"Name the clients that brokers of this release, such as {RELEASE}, refuse.",
)
@click.option(
    "--upgrade-from",
    "now",
    metavar="RELEASE",
    shell_complete=complete_release,
    help="Name the brokers' release today.  [default: taken from ApiVersions responses]",
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(REPORT_FORMATS),
    help="Set the output format.  [default: table on a terminal, jsonl elsewhere]",
)
@click.option(
    "--port", type=PORT, metavar="N", help="Name the broker's port (captures).  [default: recognised from the bytes]"
)
@with_tls_keylog
@with_capture_points
@with_catalog
@with_output
@with_csv
def command(
    environment: Environment,
    catalog: Catalog,
    source: tuple[str, ...],
    release: str | None,
    now: str | None,
    fmt: str | None,
    **options: Any,
) -> Exit:
    """List the clients in packet captures and brokers' request logs.

    INPUT is files, counted together, or - for standard input. A client is identified by its id, its address,
    and its software name and version if it sent them. With --upgrade-to, exits with 1 if any client would be
    refused.
    """
    fmt = fmt or ("table" if environment.to_terminal else "jsonl")

    def run(environment: Environment, fmt: str) -> Exit:
        return show_clients(
            environment, catalog, lambda: _clients(environment, catalog, source, options), release, now, fmt
        )

    if fmt != "html":
        return run(environment, fmt)
    from kwire_cli.cli.pages import files_among, page_of

    return page_of(environment, "clients", files_among(source), lambda env: run(env, "table"))


def show_clients(
    environment: Environment,
    catalog: Catalog,
    find: Callable[[], Clients],
    release: str | None,
    now: str | None,
    fmt: str,
) -> Exit:
    """Find clients, which may take long, and list them, for an upgrade to and from releases if these are given."""
    from kwire_cli.analysis.clients import report
    from kwire_cli.spec.accepted import accepted_by

    if now and not release:
        raise click.UsageError("--upgrade-from goes with --upgrade-to")
    accepted = accepted_by(release) if release else None
    clients = find()
    rows = report(catalog, clients, accepted, accepted_by(now) if now else None)
    _show(environment, rows, accepted, fmt)
    if clients.forwarded:
        from kwire_cli.view.lines import counted

        passed = "was" if clients.forwarded == 1 else "were"
        environment.note(
            f"kwire: {counted(clients.forwarded, 'request')} {passed} forwarded by other brokers, whose own "
            f"logs say from whom"
        )
    from kwire_cli.analysis.clients import REFUSED

    return Exit.FOUND if any(row.verdict == REFUSED for row in rows) else Exit.DONE


def _clients(environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any]) -> Clients:
    from kwire_cli.analysis.clients import Clients
    from kwire_cli.cli.capture_inputs import CapturePoints, capture_lines, is_log, opened, read_log, tell_of_logs
    from kwire_cli.cli.environment import Progress
    from kwire_cli.source.kinds import Kind, begins_as
    from kwire_cli.source.request_log.exchange import Exchange

    if not source and environment.stdin.isatty():
        raise InputError("no input: give packet captures and brokers' request logs, or - for standard input")
    clients, logged, progress = Clients(), Clients(), Progress(environment)
    logs: list[str] = []
    are_logs = {name for name in source or ("-",) if is_log(environment, name)}
    points = CapturePoints(environment, [name for name in source if name not in are_logs], options)
    for name in source or ("-",):
        if name != "-" and not path_of(name).is_file():
            raise InputError(
                "this is a folder; give the files in it" if path_of(name).is_dir() else "there is no such file",
                file=name,
            )
        if name in are_logs:
            logs.append("standard input" if name == "-" else name)
            for entry in read_log(environment, catalog, name, progress):
                if isinstance(entry, Exchange):
                    logged.add_exchange(entry)
            continue
        capture = environment.stdin if name == "-" else name
        if begins_as(capture) is not Kind.CAPTURE:
            label = "standard input" if name == "-" else name
            with opened(environment, name):  # where that can't be, it says why
                raise InputError(
                    "is neither a packet capture nor a broker's request log with JSON (Kafka 2.8 and newer)", file=label
                )
        if (capture := points.take(capture)) is None:
            continue
        for line in capture_lines(environment, catalog, capture, port=options["port"], key_logs=options["tls_keylog"]):
            clients.add_line(line)
    progress.done()
    if clients.uses and logged.uses:
        tell_of_logs(environment, logs, BESIDE)
    clients.beside(logged)
    if not clients.uses:
        raise InputError("there is no request of Kafka in this; --port says which port is the broker's")
    return clients


def _show(environment: Environment, rows: list[Row], accepted: Accepted | None, fmt: str) -> None:
    from kwire_cli.view.json import dumps
    from kwire_cli.view.traffic import client_csv_cells, client_lines, csv_columns, upgrade_lines

    if fmt == "table":
        environment.write_lines(upgrade_lines(rows, accepted.release) if accepted else client_lines(rows))
    elif fmt == "csv":
        columns = csv_columns(rows, verdicts=accepted is not None)
        environment.write_csv(columns)
        for row in rows:
            for cells in client_csv_cells(row, columns):
                environment.write_csv(cells)
    elif fmt == "jsonl":
        for row in rows:
            environment.write(dumps(row.to_json(), indent=False))
    else:
        environment.write(dumps(_document(rows, accepted), indent=True))


def _document(rows: list[Row], accepted: Accepted | None) -> dict[str, Any]:
    from kwire_cli.analysis.clients import verdict_counts

    head: dict[str, Any] = {"upgradeTo": accepted.release, "verdicts": dict(verdict_counts(rows))} if accepted else {}
    return head | {"clients": [row.to_json() for row in rows]}
