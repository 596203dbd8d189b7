"""Packet captures and brokers' request logs: what is counted of their exchanges in tasks, as the commands for one machine count it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.clients.fold import Clients
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.folding import Faults, folded
from kwire_cli.pipeline.kinds import CAPTURES, REQUEST_LOGS, by_kind
from kwire_cli.pipeline.request_logs import found_in, parts_of_all
from kwire_cli.source.kafka.stats import Stats
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.stores import sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.line_columns import Line
    from kwire_cli.source.capture.points import Naming
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.parts import LogPart
    from kwire_cli.spec.catalog import Catalog


class How(NamedTuple):
    """What is counted: `make` makes what is counted in, which has `merge`; the others are its methods for lines of captures, and of request logs."""

    make: Callable[[], Any]
    line: Callable[[Any, Captured], None]
    exchange: Callable[[Any, Exchange], None]
    fault: Callable[[Any, str], None] | None = None


STATS = How(Stats, Stats.add, Stats.add_exchange, Stats.add_fault)
CLIENTS = How(Clients, Clients.add_line, Clients.add_exchange)


@dataclass
class Counted:
    """What was counted, and how much was looked at."""

    counts: Any
    files: list[str] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: Counted) -> None:
        """Count what another one has, which comes later."""
        self.counts.merge(other.counts)
        self.files += other.files
        self.size += other.size
        self.lines += other.lines
        self.faults.merge(other.faults)


def count(
    spark: SparkSession,
    paths: Sequence[str],
    how: How,
    catalog: Catalog,
    *,
    port: int | None = None,
    key_logs: Sequence[str] = (),
    naming: Naming | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> list[Counted]:
    """Count the exchanges in files, folders and globs: those in request logs and those in captures, each if there are such files.

    A capture and a broker's log may show the same exchanges, so the two are not added. Both are read by the definitions of a catalogue.

    `naming` and `note` are as for `Captures`.

    Raises:
        InputError: There is nothing of a name, or neither a capture nor a request log in all of them.

    """
    captures, logs = by_kind(paths, CAPTURES, REQUEST_LOGS)
    out = []
    if logs:
        logged = Counted(how.make(), logs, sum(sizes(logs)))
        for some in folded(spark, parts_of_all(logs), partial(_of_logs, how, catalog), Counted.merge):
            logged.merge(some)
        out.append(logged)
    if captures:
        found = Captures(spark, captures, port=port, catalog=catalog, key_logs=key_logs, naming=naming, note=note)
        captured = Counted(how.make(), captures, found.size)
        for some in found.folded(partial(_of_lines, how), Counted.merge):
            captured.merge(some)
        captured.faults.add(*found.unread())
        out.append(captured)
    return out


def _of_lines(how: How, lines: Iterable[Line]) -> Counted:
    """What one task counts of captures."""
    found = Counted(how.make())
    for line in lines:
        found.lines += 1
        how.line(found.counts, line.captured)
    return found


def _of_logs(how: How, catalog: Catalog, parts: Iterable[LogPart]) -> Counted:
    """What one task counts of request logs."""
    made = Counted(how.make())
    for part in parts:
        for found in found_in(part, catalog, made.faults):
            made.lines += 1
            if isinstance(found, Exchange):
                how.exchange(made.counts, found)
            elif how.fault:
                how.fault(made.counts, found.code)
    return made
