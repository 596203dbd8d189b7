"""Statistics over time: requests, bytes, latencies and errors in each interval, for all traffic or by dimension.

Memory is bounded: intervals double their width when there are too many of them, and further groups share one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import LocalTime, instant, moment, nanoseconds
from kwire_cli.analysis.dimensions import OF_EXCHANGES, OF_LINES, Name
from kwire_cli.analysis.stats import OTHERS, UNSAID, Group, add_line, by_count, by_name
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.fold import Traffic
    from kwire_cli.answer import Block, Row
    from kwire_cli.source.kafka.captured import Captured

ALL = "(all)"
"""The group of all traffic, where no dimension is asked for."""
BUSIEST = 10
"""Groups that have rows of their own by default."""
MOST_GROUPS = 2_000
"""Groups of a dimension. Traffic of further groups counts as OTHERS: ids from outside can have any number of values."""
MOST_NAMES = 1 << 16
"""Names of topics by id that are learnt: more than groups, as each may be that of a group."""
MOST_INTERVALS = 10_000
"""Intervals from the first to the last one. A year needs intervals of an hour: more rows than that serve nobody."""
MOST_CELLS = 20_000
"""Intervals of all groups together that have any traffic, each 1 to 10 kB: more than all groups of all dimensions."""
_NS = 1_000_000_000
_MS = 1_000_000

Key = tuple[str, Name]
"""A dimension and the name of a group."""


class Timeline:
    """Counts of traffic by interval and group: a fold.

    `every` is the width of an interval in milliseconds, `kinds` are the dimensions. Intervals begin at multiples of
    their width since 1970. `width` is the width in nanoseconds that the intervals have by now: `every`, doubled until
    the counts fit. A message counts in the interval of its last byte, an exchange of a request log in that of its line.
    `is_local` says that times are those of clocks without a zone.
    """

    def __init__(self, every: int, kinds: Sequence[str] = (), busiest: int = BUSIEST) -> None:
        self.every, self.kinds, self.busiest = every, tuple(kinds), busiest
        self.width = every * _MS
        self.cells: dict[Key, dict[int, Group]] = {}
        self.frames: Counter[str] = Counter()
        self.anomalies: Counter[str] = Counter()
        self.named: dict[str, str] = {}
        self.untimed = 0
        self.is_local = False
        self._count = 0
        self._sizes: Counter[str] = Counter()
        self._first: int | None = None
        self._last: int | None = None

    def add(self, subject: Traffic) -> None:
        """Count a line of a capture, or an exchange or a damaged line of a request log."""
        if isinstance(subject, Exchange):
            self._add_exchange(subject)
        elif isinstance(subject, LineFault):
            self.anomalies[subject.code] += 1
        else:
            self._add_line(subject)

    def _add_line(self, line: Captured) -> None:
        kind = line.kind
        self.frames[kind] += 1
        self.anomalies.update(anomaly_codes(line, deep=False))
        if kind not in {"request", "response"} or line.guess:
            return
        time = line.seen.time
        if time is None:
            self.untimed += 1
            return
        keys = [(kind, name) for kind in self.kinds for name in OF_LINES[kind](line)] if self.kinds else [("", ALL)]
        add_line(line, self._cells(time, keys))

    def _add_exchange(self, exchange: Exchange) -> None:
        self.frames["request"] += 1
        if exchange.response is not None:
            self.frames["response"] += 1
        if len(self.named) < MOST_NAMES:
            self.named.update(exchange.named)
        time = moment(exchange.time)
        if time is None:
            self.untimed += 1
            return
        kinds = self.kinds
        keys = [(kind, name) for kind in kinds for name in OF_EXCHANGES[kind](exchange)] if kinds else [("", ALL)]
        self.is_local = self.is_local or isinstance(time, LocalTime)
        for cell in self._cells(nanoseconds(time), keys):
            cell.add_exchange(exchange)

    def _cells(self, time: int, keys: Sequence[Key]) -> list[Group]:
        """Return the counts of some groups in the interval of a time."""
        self._span(time // self.width, time // self.width)
        cells = [self._cell(key, time // self.width) for key in keys]
        if self._count <= MOST_CELLS:
            return cells
        self._fit()
        return [self._cell(key, time // self.width) for key in keys]

    def _span(self, first: int, last: int) -> None:
        """Extend the time from the first to the last interval, and widen the intervals until there are few enough."""
        self._first = first if self._first is None else min(self._first, first)
        self._last = last if self._last is None else max(self._last, last)
        while self._last - self._first >= MOST_INTERVALS:
            self._widen()

    def _fit(self) -> int:
        """Widen the intervals until there are few enough cells, or but one interval; return how often they doubled."""
        times = 0
        while self._count > MOST_CELLS and self._first != self._last:
            self._widen()
            times += 1
        return times

    def _widen(self) -> None:
        self.width *= 2
        self._first = None if self._first is None else self._first // 2
        self._last = None if self._last is None else self._last // 2
        self._count = 0
        for intervals in self.cells.values():
            old = [*intervals.items()]
            intervals.clear()
            for number, cell in old:
                if before := intervals.get(number // 2):
                    before.merge(cell)
                else:
                    intervals[number // 2] = cell
            self._count += len(intervals)

    def _cell(self, key: Key, number: int) -> Group:
        intervals = self.cells.get(key)
        if intervals is None:
            if self._sizes[key[0]] >= MOST_GROUPS:
                key = key[0], OTHERS
            if key not in self.cells:
                self._sizes[key[0]] += 1
            intervals = self.cells.setdefault(key, {})
        cell = intervals.get(number)
        if cell is None:
            cell = intervals[number] = Group()
            self._count += 1
        return cell

    def merge(self, other: Timeline) -> None:
        """Count what another one has, in the wider intervals of the two."""
        self.frames.update(other.frames)
        self.anomalies.update(other.anomalies)
        self.named.update(other.named)
        self.untimed += other.untimed
        self.is_local = self.is_local or other.is_local
        if other._first is None or other._last is None:
            return
        while self.width < other.width:
            self._widen()
        shift = (self.width // other.width).bit_length() - 1
        width = self.width
        self._span(other._first >> shift, other._last >> shift)
        shift += (self.width // width).bit_length() - 1
        for key, intervals in other.cells.items():
            for number, cell in intervals.items():
                self._cell(key, number >> shift).merge(cell)
                shift += self._fit()

    # The answer.

    def answer(self) -> Answer:
        """Return the counts over time: a row for each group with its numbers in a line, then one for each interval."""
        groups = [*self._ranked()]
        first, last = self._first or 0, self._last or 0
        seconds = self.width / _NS
        start = Column("start", "instant", digits=0 if seconds >= 1 else 3)
        kinds, name = len(self.kinds) > 1, self.kinds[0] if len(self.kinds) == 1 else "name"
        heads = (Column("by", wide=not kinds), Column("name", title=name, absent=UNSAID, wide=not self.kinds))
        every = (not self.kinds and self._first is not None and range(first, last + 1)) or None
        over_time = [_over_time(kind, of, cells, range(first, last + 1)) for kind, of, cells in groups]
        rows = (
            (self._start(number), kind or None, of, *_interval(cells.get(number) or Group(), seconds))
            for kind, of, cells in groups
            for number in every or sorted(cells)
        )
        facts = [
            Fact("frames", dict(by_count(self.frames)), "map"),
            Fact("anomalies", dict(by_count(self.anomalies)), "map", level="error"),
            Fact("everySeconds", seconds, "duration", title="every"),
            Fact("withoutTime", self.untimed or None, "count"),
        ]
        blocks: list[Block] = [Facts(facts)]
        if self.width != self.every * _MS:
            blocks.append(Note(self._widened(), "warning"))
        if self.untimed and self._first is None:
            blocks.append(
                Note("nothing in this has a time, so there are no intervals; kwire stats counts it", "warning")
            )
        blocks.append(Table("overTime", (*heads, *OVER_TIME), over_time))
        blocks.append(Table("intervals", (start, *heads, *INTERVALS), [*rows] if groups else [], shown=MOST_ROWS))
        return Answer("statistics over time", blocks)

    def _widened(self) -> str:
        every, width = self.every / 1000, self.width / _NS
        limits = f"{MOST_INTERVALS} intervals, or {MOST_CELLS} with traffic of all groups"
        return f"intervals are {width:g} s wide, not {every:g} s: {limits}, are the most that are counted"

    def _start(self, number: int) -> str | None:
        return instant(number * self.width / _NS, is_local=self.is_local)

    def _ranked(self) -> Iterator[tuple[str, Name, dict[int, Group]]]:
        """Yield the busiest groups of each dimension with their counts by interval, then OTHERS."""
        for kind in self.kinds or ("",):
            groups: dict[Name, dict[int, Group]] = {}
            for (of, name), cells in self.cells.items():
                if of == kind:
                    _join(groups.setdefault(self.named.get(name or "", name) if kind == "topic" else name, {}), cells)
            rest = groups.pop(OTHERS, {})
            ranked = sorted(groups, key=lambda name: (_total(groups[name]).rank, by_name(name)))
            for name in ranked[: self.busiest]:
                yield kind, name, groups[name]
            for name in ranked[self.busiest :]:
                _join(rest, groups[name])
            if rest:
                yield kind, OTHERS, rest


def _join(cells: dict[int, Group], more: dict[int, Group]) -> None:
    """Add the counts of more cells, which stay as they are."""
    for number, cell in more.items():
        cells.setdefault(number, Group()).merge(cell)


def _total(cells: dict[int, Group]) -> Group:
    total = Group()
    for cell in cells.values():
        total.merge(cell)
    return total


OVER_TIME = (
    Column("requests", "count"),
    Column("requestsOverTime", "spark", title="over time"),
    Column("bytes", "bytes", keep=4),
    Column("bytesOverTime", "spark", title="over time", keep=7),
    Column("latencyP50Seconds", "duration", title="p50", unit="ms", keep=8),
    Column("latencyP99Seconds", "duration", title="p99", unit="ms", keep=1),
    Column("latencyMaxSeconds", "duration", title="max", unit="ms", keep=5),
    Column("latencyP99OverTime", "spark", title="p99 over time", keep=6),
    Column("waitP99Seconds", "duration", title="wait p99", unit="ms", keep=9),
    Column("errorCount", "count", title="errors", keep=2, level="error", sparse=True),
    Column("errorsOverTime", "spark", title="errors over time", level="error", keep=3),
)
"""The totals of a group, and lists with a number for each interval."""

INTERVALS = (
    Column("requests", "count"),
    Column("requestsPerSecond", "number", title="per s", digits=2, keep=1),
    Column("responses", "count", keep=9),
    Column("requestBytes", "bytes", title="req bytes", keep=5),
    Column("responseBytes", "bytes", title="resp bytes", keep=6),
    Column("bytesPerSecond", "number", title="bytes per s", digits=0, keep=7),
    Column("latencyP50Seconds", "duration", title="p50", unit="ms", keep=8),
    Column("latencyP99Seconds", "duration", title="p99", unit="ms"),
    Column("latencyMaxSeconds", "duration", title="max", unit="ms", keep=4),
    Column("waitP50Seconds", "duration", title="wait p50", unit="ms", wide=True),
    Column("waitP99Seconds", "duration", title="wait p99", unit="ms", keep=10),
    Column("waitMaxSeconds", "duration", title="wait max", unit="ms", wide=True),
    Column("errorCount", "count", title="errors", wide=True),
    Column("errors", "map", level="error"),
)
"""The counts of a group in an interval. Latencies of apis whose answers wait on purpose are `wait`."""


def _over_time(kind: str, name: Name, cells: dict[int, Group], numbers: range) -> Row:
    total = _total(cells)
    present = [cells.get(number) for number in numbers]
    errors = [cell.errors.total() if cell else 0 for cell in present]
    _, p50, _, p99, most = total.latency.points()
    return (
        kind or None,
        name,
        total.requests,
        [cell.requests if cell else 0 for cell in present],
        _size(total),
        [_size(cell) or 0 if cell else 0 for cell in present] if total.sized else None,
        p50,
        p99,
        most,
        [cell.latency.estimate(0.99) if cell else None for cell in present] if total.latency.count else None,
        total.waits.estimate(0.99),
        total.errors.total(),
        errors if any(errors) else None,
    )


def _interval(cell: Group, seconds: float) -> tuple[Any, ...]:
    sized = cell.sized
    size = _size(cell)
    _, p50, _, p99, most = cell.latency.points()
    _, wait_p50, _, wait_p99, wait_most = cell.waits.points()
    return (
        cell.requests,
        round(cell.requests / seconds, 3),
        cell.responses,
        cell.request_bytes if sized else None,
        cell.response_bytes if sized else None,
        None if size is None else round(size / seconds, 3),
        p50,
        p99,
        most,
        wait_p50,
        wait_p99,
        wait_most,
        cell.errors.total(),
        {str(code): count for code, count in by_count(cell.errors)},
    )


def _size(cell: Group) -> int | None:
    return cell.request_bytes + cell.response_bytes if cell.sized else None
