"""Packet captures and brokers' request logs: what is counted of their exchanges in tasks, as the commands for one machine count it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.clients.fold import Clients
from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.folding import FileFault, folded
from kwire_cli.pipeline.kinds import CAPTURES, REQUEST_LOGS, by_kind
from kwire_cli.source.kafka.stats import Stats
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import RequestLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.line_columns import Line
    from kwire_cli.source.kafka.captured import Captured
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
    faults: list[FileFault] = field(default_factory=list)

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
        total.faults += found.unread()
    for counts, lines, size, faults in folded(spark, logs, partial(_of_logs, how, catalog)):
        total.add(counts, lines)
        total.size += size
        total.faults += faults
    return total


def _of_lines(how: How, lines: Iterable[Line]) -> tuple[Any, int]:
    """What one task counts of captures."""
    counts, number = how.make(), 0
    for number, line in enumerate(lines, 1):  # noqa: B007 - how many they were
        how.line(counts, line.captured)
    return counts, number


def _of_logs(how: How, catalog: Catalog, paths: Iterable[str]) -> tuple[Any, int, int, list[FileFault]]:
    """What one task counts of request logs. A log that can't be read, or not to its end, is a fault."""
    counts, lines, size = how.make(), 0, 0
    faults: list[FileFault] = []
    for path in paths:
        try:
            size += Path(path).stat().st_size
            for found in RequestLog(path, catalog):
                lines += 1
                if isinstance(found, Exchange):
                    how.exchange(counts, found)
                    continue
                faults.append(FileFault(f"{path}:{found.line}", f"{found.code}: {found.detail}"))
                if how.fault:
                    how.fault(counts, found.code)
        except (InputError, OSError) as error:
            faults.append(FileFault(path, error.reason if isinstance(error, InputError) else str(error)))
    return counts, lines, size, faults
