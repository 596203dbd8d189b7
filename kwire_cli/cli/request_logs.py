"""Broker request logs among the inputs of a command, and what `kwire decode --stats` does with them."""

from __future__ import annotations

import contextlib
from typing import IO, TYPE_CHECKING, Any

import click

from kwire_cli.errors import InputError
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.progress import Progress
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault
    from kwire_cli.spec.catalog import Catalog

OF_CAPTURES = ("filter", "frames", "stream", "fields", "pairs", "port", "limit", "follow", "lossless", "tls_keylog")


def is_log(environment: Environment, name: str) -> bool:
    """Whether a file, or standard input as `-`, is a request log; to tell that waits for its first bytes."""
    from kwire_cli.source.kinds import Kind, begins_as

    return begins_as(environment.stdin if name == "-" else name) is Kind.REQUEST_LOG


def without_logs(environment: Environment, arguments: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """The request logs among the inputs, and the others, which may be anything.

    Standard input is looked at where it is the only one: what other inputs give must not wait for it.
    """
    given = arguments or (() if environment.stdin.isatty() else ("-",))
    logs = [name for name in given if (name != "-" or len(given) == 1) and is_log(environment, name)]
    return logs, tuple(name for name in arguments if name not in logs)


def tell_of_logs(environment: Environment, logs: Sequence[str], what: str) -> None:
    """Say what becomes of request logs that are given with captures, which may show the same exchanges."""
    from kwire_cli.source.request_log.opening import beside_captures

    environment.note(f"kwire: {beside_captures(logs, what)}")


def opened(environment: Environment, name: str) -> AbstractContextManager[IO[bytes]]:
    """A file to read, or standard input as `-`, which stays open. InputError where it cannot be read."""
    if name == "-":
        return contextlib.nullcontext(environment.stdin)
    try:
        return path_of(name).open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from None


def read_log(
    environment: Environment, catalog: Catalog, name: str, progress: Progress, *, label: str | None = None, notices: bool = True
) -> Iterator[Exchange | LineFault]:
    """What is in a request log, which may be called something else than its file; what could not be read is noted when it was read."""
    from kwire_cli.source.request_log.reading import RequestLog

    label = label or ("standard input" if name == "-" else name)
    with opened(environment, name) as file:
        size = path_of(name).stat().st_size if name != "-" else 0
        log = RequestLog(file, catalog)
        first: LineFault | None = None
        for number, found in enumerate(log, 1):
            if not number & 255:
                progress.tell(label, file.tell() if size else 0, size)
            first = first or (found if isinstance(found, tuple) else None)
            yield found
    if first and notices:
        more = f", and {log.faults - 1} more" if log.faults > 1 else ""
        environment.note(f"kwire: {label}:{first.line}: {first.code}: {first.detail}{more}")
    if not log.exchanges:
        raise InputError("holds no readable logged request", file=label)


def show_stats(environment: Environment, catalog: Catalog, names: list[str], fmt: str, options: dict[str, Any], *, strict: bool) -> bool:
    """Print the statistics of request logs, all together since a log is rotated; whether there was a fault, where that was asked for."""
    from kwire_cli.cli.captures import show_counts
    from kwire_cli.cli.progress import Progress
    from kwire_cli.source.kafka.stats import Stats
    from kwire_cli.source.request_log.exchange import Exchange

    if not options["stats"]:
        raise InputError("is a broker's request log, which holds no bytes: use --stats, or kwire clients", file=names[0])
    given = [f"--{name.replace('_', '-')}" for name in OF_CAPTURES if options[name] not in {None, False, ()}]
    if given:
        raise click.UsageError(f"{given[0]} is for packet captures, and {names[0]} is a broker's request log")
    stats, progress = Stats(), Progress(environment)
    for name in names:
        for found in read_log(environment, catalog, name, progress):
            if isinstance(found, Exchange):
                stats.add_exchange(found)
            else:
                stats.add_fault(found.code)
    progress.done()
    show_counts(environment, stats, fmt)
    return strict and bool(stats.anomalies)
