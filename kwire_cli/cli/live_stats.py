"""Intervals of a capture that comes through a pipe or grows, for `kwire stats --every` and `kwire watch`.

The rows of an interval are written when the interval is over. An interval is over if a packet is later than its end by
`GRACE`, as frames of several connections are not in the order of their times, or if nothing has come for its length.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.timeline import END
from kwire_cli.answer import NUMBERS, Answer, Fact, Facts, Table, by_count
from kwire_cli.cli.captures import ChosenLines
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import WRITERS
from kwire_cli.cli.fits import refuse_unfit
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.options import Captures, Choosing, Definitions, Tables
from kwire_cli.cli.streamed_table import StreamedTable
from kwire_cli.cli.typed_options import argument
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.packets.tcp import Limits
from kwire_cli.source.reading import Follow, nothing_in
from kwire_cli.source.recognition import begins_as
from kwire_cli.view.answers import answer_csv
from kwire_cli.view.terminal import column_texts, heading_text
from kwire_cli.view.widths import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.timeline import Timeline
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kafka.captured import Captured

MAX_CONNECTIONS = 1 << 14
"""Maximum number of open connections. Beyond it, the connection that was idle the longest is dropped."""
LIMITS = Limits(connections=MAX_CONNECTIONS)
GRACE = 500_000_000
"""Nanoseconds after the end of an interval in which its frames may still arrive."""
PAUSE = 0.2
"""Seconds between two writes of intervals while frames arrive."""


class Counted(Captures, Choosing, Definitions):
    """Options that select the lines to count."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)


class Reported(Tables, Counted):
    """Options that select the lines to count, and the format of the report."""


def writes_live(environment: Environment, options: Reported) -> bool:
    """Return whether rows are written as they arrive, because standard input is a pipe with a capture."""
    if options.sort or options.top is not None or not _is_pipe(environment.stdin):
        return False
    chosen = options.format_for(environment)
    wanted = {"table": None, "jsonl": None, "csv": "intervals"}
    return chosen in wanted and options.table == wanted[chosen] and begins_as(environment.stdin) is Kind.CAPTURE


def _is_pipe(file: Any) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode) and not file.isatty()
    except (AttributeError, OSError):
        return False


def write_live(environment: Environment, options: Reported, timeline: Timeline) -> None:
    """Write the rows of each interval, and at the end the number of frames of each kind."""
    stdin: Any = environment.stdin
    opening = stdin.peek()  # these bytes were already used to recognise the capture
    follow = Follow(stop=lambda: bool(environment.interrupt), limits=LIMITS, opening=opening)
    rows = _Rows(environment, options)
    rows.end(count_intervals(environment, options, timeline, follow, rows.write))


def count_intervals(
    environment: Environment, options: Counted, timeline: Timeline, follow: Follow, write: Callable[[Table], None]
) -> Answer:
    """Count the frames of a growing capture, and `write` the rows of intervals that are over.

    Return the number of frames of each kind, and of anomalies. Raises InputError if there was no line.
    """
    intervals = _Intervals(timeline, write)
    totals = Answer("", [])
    for opened in open_inputs(options.source, reading_of(options, follow=follow), _Live(environment, intervals)):
        refuse_unfit(options, opened)
        lines = ChosenLines(opened, options, environment.interrupt)
        with lines.watched():
            for line in lines:
                intervals.add(line)
            totals = intervals.end()
        lines.note()
        if not lines.decodable:
            raise nothing_in([(opened.label, opened.emptiness)], "line of a capture")
    return totals


class _Intervals:
    """The intervals that are not over yet.

    Intervals that are over are written together, at most once per PAUSE. A capture from a file arrives so fast that
    writing each interval separately would be too slow.
    """

    def __init__(self, timeline: Timeline, write: Callable[[Table], None]) -> None:
        self._timeline = timeline
        self._write_rows = write
        self._width = timeline.width_us * 1000
        self._earliest: int | None = None
        self._latest = 0
        self._arrived = self._written = time.monotonic()
        self._frames: Counter[str] = Counter()
        self._anomalies: Counter[str] = Counter()

    def add(self, line: Captured) -> None:
        """Count a line, and write the intervals that are over."""
        self._arrived = time.monotonic()
        self._frames[line.kind] += 1
        self._anomalies.update(anomaly_codes(line, deep=False))
        if (at := line.seen.time) is not None:
            self._latest = at
            self._earliest = at if self._earliest is None else min(self._earliest, at)
        self._timeline.add(line)
        if self._arrived - self._written >= PAUSE:
            self._write_ended()

    def tick(self) -> None:
        """Write the intervals that are over. If no line arrived for the length of an interval, all of them are."""
        if time.monotonic() - self._arrived >= self._width / 1e9:
            self._write(END)
        else:
            self._write_ended()

    def _write_ended(self) -> None:
        end = (self._latest - GRACE) // self._width * self._width
        if self._earliest is not None and self._earliest < end:
            self._write(datetime.fromtimestamp(end // 1_000_000 / 1000, UTC))

    def _write(self, until: datetime) -> None:
        if self._earliest is None:
            return
        self._write_rows(self._timeline.take(until))
        self._earliest = None if until == END else round(until.timestamp() * 1000) * 1_000_000
        self._written = time.monotonic()

    def end(self) -> Answer:
        """Write the remaining intervals, and return the totals."""
        self._write(END)
        self._timeline.close()
        frames = Fact("frames", dict(by_count(self._frames)), "map")
        anomalies = Fact("anomalies", dict(by_count(self._anomalies)), "map", level="error")
        return Answer("", [Facts([frames, anomalies])])


class _Rows:
    """Rows of intervals in the format of the options, under one heading."""

    def __init__(self, environment: Environment, options: Reported) -> None:
        self._environment = environment
        self._options = options
        self._format = options.format_for(environment)
        self._table: StreamedTable | None = None
        self._is_headed = False

    def write(self, table: Table) -> None:
        """Write the rows of intervals."""
        answer = Answer("", [table])
        if self._format == "table":
            self._write_cells(table)
        elif self._format == "csv":
            lines = list(answer_csv(answer, "intervals"))
            for line in lines[self._is_headed :]:
                self._environment.write(line)
        else:
            WRITERS[self._format](self._environment, answer, self._options)
        self._is_headed = True
        self._environment.flush()

    def _write_cells(self, table: Table) -> None:
        columns = [(at, column) for at, column in enumerate(table.columns) if not column.wide]
        rows = list(table.rows)
        values = {at: [row[at] for row in rows] for at, _ in columns}
        if self._table is None:
            heads = [
                Column(column.name, heading_text(column, values[at]), keep=column.keep, right=column.kind in NUMBERS)
                for at, column in columns
            ]
            room = None if self._options.wide else self._environment.width
            self._table = StreamedTable(self._environment, heads, room, waits=True)
        texts = [column_texts(values[at], column) for at, column in columns]
        self._table.add(*zip(*texts, strict=True))
        self._table.write(whole=False)

    def end(self, answer: Answer) -> None:
        """Write the totals, except in CSV, which has one table."""
        if self._format == "table":
            self._environment.write("")
        if self._format != "csv":
            WRITERS[self._format](self._environment, answer, self._options)


class _Live(Terminal):
    """A command that follows a capture. Intervals also end if no frames arrive."""

    def __init__(self, environment: Environment, intervals: _Intervals) -> None:
        super().__init__(environment)
        self._intervals = intervals

    def idle(self) -> None:
        """Write the intervals that are over, and flush the results so far."""
        self._intervals.tick()
        super().idle()
