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
    files: int = 0
    size: int = 0
    lines: int = 0
    faults: Faults = field(default_factory=Faults)

    def add(self, counts: Any, lines: int) -> None:
        """Count what a task has."""
        self.counts.merge(counts)
        self.lines += lines


def count(spark: SparkSession, paths: Sequence[str], how: How, catalog: Catalog, port: int | None = None) -> Counted:
    """Count the exchanges in all captures and request logs of files, folders and globs, read by the definitions of a catalogue.

    Raises:
        InputError: There is nothing of a name, or neither a capture nor a request log in all of them.

    """
    captures, logs = by_kind(paths, CAPTURES, REQUEST_LOGS)
    total = Counted(how.make(), files=len(captures) + len(logs))
    if captures:
        found = Captures(spark, captures, port=port, catalog=catalog)
        for counts, lines in found.folded(partial(_of_lines, how)):
            total.add(counts, lines)
        total.size += found.size
        total.faults.add(*found.unread())
    for counts, lines, faults in folded(spark, parts_of_all(logs), partial(_of_logs, how, catalog)):
        total.add(counts, lines)
        total.faults.merge(faults)
    total.size += sum(sizes(logs))
    return total


def _of_lines(how: How, lines: Iterable[Line]) -> tuple[Any, int]:
    """What one task counts of captures."""
    counts, number = how.make(), 0
    for number, line in enumerate(lines, 1):  # noqa: B007 - how many they were
        how.line(counts, line.captured)
    return counts, number


def _of_logs(how: How, catalog: Catalog, parts: Iterable[LogPart]) -> tuple[Any, int, Faults]:
    """What one task counts of request logs."""
    counts, lines, faults = how.make(), 0, Faults()
    for part in parts:
        for found in found_in(part, catalog, faults):
            lines += 1
            if isinstance(found, Exchange):
                how.exchange(counts, found)
            elif how.fault:
                how.fault(counts, found.code)
    return counts, lines, faults
