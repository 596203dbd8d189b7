"""`kwire watch`: the intervals of `kwire stats --every` on the whole terminal, redrawn when they end.

One thread reads the capture and adds the rows of intervals, another one reads keys, and both draw the whole screen.
Keys come from the terminal itself, because standard input may be the capture.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict, deque
from datetime import datetime
from typing import Any, ClassVar

import click

from kwire_cli.analysis.stats import DIMENSIONS, UNSAID
from kwire_cli.analysis.timeline import BUSIEST, INTERVALS, Timeline
from kwire_cli.answer import NUMBERS, Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.live_stats import LIMITS, Counted, count_intervals
from kwire_cli.cli.outputs import whole_terminal
from kwire_cli.cli.typed_options import milliseconds_of, option, takes
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.reading import Follow
from kwire_cli.view.terminal import answer_text

HISTORY = 20
"""Intervals in the column that shows requests over time."""
LOOK = 0.1
"""Seconds between two checks for Ctrl-C after the end of the capture."""
_SHOWN = ("requestsPerSecond", "bytesPerSecond", "latencyP50Seconds", "latencyP99Seconds", "errors")
COLUMNS = [column for column in INTERVALS if column.name in _SHOWN]
SORTED = [column for column in COLUMNS if column.kind in NUMBERS]
TABLES = "  ".join(f"{number} {name}" for number, name in enumerate(DIMENSIONS, 1))
EXAMPLES = (
    ("tcpdump -U -w - tcp port 9092 | kwire watch", "requests, latencies and errors, two seconds at a time"),
    ("kwire watch growing.pcap --every 10s", "a capture that another tool writes"),
    ("ssh broker-1 tcpdump -U -w - tcp port 9092 | kwire watch --filter 'api == Fetch'", "one api, on another machine"),
)


class Options(Counted):
    """Options of `kwire watch`."""

    every: str = option("--every", default="2s", show_default=True, metavar="DURATION", help="Count intervals so long.")
    is_live: ClassVar[bool] = True


@click.command(name="watch", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> Exit:
    """Show the traffic of a capture that is being written, on the whole terminal.

    INPUT is a packet capture that grows, or a pipe. Each table is about one dimension, such as api or client, and
    shows the last interval, and requests over time. `kwire stats --every` writes the same intervals as rows.
    """
    width = milliseconds_of(options.every)
    if not environment.to_terminal:
        raise click.UsageError("this is for a terminal; kwire stats --every writes the intervals as rows")
    timeline = Timeline(Redaction(options.catalog), width, DIMENSIONS, BUSIEST)
    with environment.answering(), whole_terminal() as terminal:
        screen = Screen(environment, width / 1000)
        threading.Thread(target=screen.read_keys, args=(terminal,), daemon=True).start()
        follow = Follow(stop=lambda: screen.is_left or bool(environment.interrupt), limits=LIMITS)
        count_intervals(environment, options, timeline, follow, screen.add)
        screen.state = "the capture has ended"
        screen.draw()
        while not screen.is_left and not environment.interrupt:
            time.sleep(LOOK)
    return Exit.DONE


class Screen:
    """The last interval of each group, one dimension at a time. `width` is the length of intervals in seconds."""

    def __init__(self, environment: Environment, width: float) -> None:
        self.is_left = False
        self._environment = environment
        self._width = width
        self._start: datetime | None = None
        self._rows: defaultdict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(lambda: deque([{}], HISTORY))
        self._by = self._sorted = 0
        self.state = ""
        self._lock = threading.RLock()
        self.draw()

    def add(self, table: Table) -> None:
        """Add the rows of intervals, in the order of time."""
        with self._lock:
            for row in table.to_dicts():
                self._begin_interval(datetime.fromisoformat(row["start"]))
                self._rows[row["by"], row["name"]][-1] = row
            if not self.state:
                self.draw()

    def _begin_interval(self, start: datetime) -> None:
        """Begin an interval. Remove groups without requests in all shown intervals."""
        if self._start is not None and start <= self._start:
            return
        passed = round((start - (self._start or start)).total_seconds() / self._width)
        self._start = start
        for group, history in list(self._rows.items()):
            history.extend([{}] * min(passed, HISTORY))
            if not any(row.get("requests") for row in history):
                del self._rows[group]

    def read_keys(self, terminal: int) -> None:
        """Read keys and apply them, until `q`."""
        while not self.is_left:
            key = os.read(terminal, 1).decode("latin-1")
            with self._lock:
                if key in map(str, range(1, len(DIMENSIONS) + 1)):
                    self._by = int(key) - 1
                elif key == "s":
                    self._sorted = (self._sorted + 1) % len(SORTED)
                elif key == " ":
                    self.state = "" if self.state else "paused"
                self.is_left = key in {"q", ""}  # nothing is read from a terminal that was closed
                if not self.is_left:
                    self.draw()

    def draw(self) -> None:
        """Draw the whole screen."""
        with self._lock:
            size = os.get_terminal_size(self._environment.stdout.fileno())
            since = f"{self._start:%H:%M:%S}" if self._start else "no interval is over yet"
            heading = f"{since}  {TABLES}  {self.state}"
            keys = f"1-{len(DIMENSIONS)} table  s sorted by {SORTED[self._sorted].heading}  space pause  q quit"
            text = answer_text(Answer("", [self._table()]), size.columns, colour=self._environment.in_colour)
            lines = [heading[: size.columns], "", *text.splitlines()][: size.lines - 1]
            lines += [""] * (size.lines - 1 - len(lines))
            drawn = "".join(f"{line}\x1b[K\r\n" for line in lines)
            self._environment.write_bytes(f"\x1b[H{drawn}{keys[: size.columns]}\x1b[K".encode())
            self._environment.flush()

    def _table(self) -> Table:
        by = DIMENSIONS[self._by]
        rows: list[tuple[Any, ...]] = []
        for (kind, name), history in self._rows.items():
            if kind == by:
                requests = [row.get("requests", 0) for row in history]
                rows.append((name, requests, *(history[-1].get(column.name) for column in COLUMNS)))
        rows.sort(key=lambda row: -(row[2 + COLUMNS.index(SORTED[self._sorted])] or 0))
        heads = (Column(by, absent=UNSAID), Column("requests", "spark", title="requests over time"))
        return Table(by, (*heads, *COLUMNS), rows)
