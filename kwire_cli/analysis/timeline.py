"""Statistics over time: requests, bytes, latencies and errors in each interval, for all traffic or by dimension.

All intervals have the same width. It is doubled until there are at most MOST_INTERVALS intervals. For live traffic,
`take` returns the rows of completed intervals and drops them, so that memory does not grow.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import instant
from kwire_cli.analysis.stats import UNSAID, groups_of, kinds_of_frames, queries
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.questions.traffic import Traffic, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.message.redaction import Redaction

    Group = Mapping[str, Any]
    """A row of `questions/stats/groups.sql`."""

BUSIEST = 10
"""The default number of groups that are listed separately. Further groups are counted together."""
MOST_INTERVALS = 10_000
"""Maximum number of intervals from the first to the last. It allows intervals of one hour for a year."""
END = datetime.max.replace(tzinfo=UTC)
"""A time after all others."""


class Timeline(Traffic):
    """Counts of traffic by interval and group.

    `every` is the width of an interval in milliseconds, and `kinds` are the dimensions. Intervals start at multiples of
    their width since 1970. A message counts in the interval of its last byte. A request of a request log counts when
    the broker received it, and a response when the broker had completed it.
    """

    def __init__(self, redaction: Redaction, every: int, kinds: Sequence[str] = (), busiest: int = BUSIEST) -> None:
        self.width_us = every * 1000
        super().__init__(redaction, queries())
        self._kinds = tuple(dict.fromkeys(kinds)) or ("",)
        self._busiest = busiest

    def take(self, until: datetime) -> Table:
        """Return the rows of the intervals before a time, and drop their frames.

        Intervals without traffic have no rows.
        """
        self.finish()
        found: list[tuple[str, Group]] = []
        for kind in self._kinds:
            found += [(kind, group) for group in self._groups(kind, self.width_us, until)]
        self.forget(until)
        return self._intervals(sorted(found, key=lambda each: each[1]["number"]), self.width_us)

    def answer(self) -> Answer:
        """Return a table with a row for each group, and one with a row for each interval of a group.

        Nothing can be added afterwards.
        """
        with self.filled():
            return Answer("statistics over time", [*self._blocks()])

    def _blocks(self) -> Iterator[Block]:
        span = next(iter(self.rows("span")), {"first_us": None, "last_us": None, "without_time": 0})
        width_us, numbers = _cut(span, self.width_us)
        yield Facts(
            [
                *kinds_of_frames(self),
                Fact("everySeconds", width_us / 1e6, "duration", title="every"),
                Fact("withoutTime", span["without_time"] or None, "count"),
            ]
        )
        if width_us != self.width_us:
            text = f"intervals are {width_us / 1e6:g} s wide, not {self.width_us / 1e6:g} s"
            yield Note(f"{text}: {MOST_INTERVALS} intervals are the most that are counted", "warning")
        if span["without_time"] and not numbers:
            yield Note("nothing in this has a time, so there are no intervals; kwire stats counts it", "warning")
        totals: list[Row] = []
        intervals: list[tuple[str, Group]] = []
        for kind in self._kinds:
            cells: dict[int, dict[int, Group]] = {}
            for group in self._groups(kind, width_us):
                cells.setdefault(group["place"], {})[group["number"]] = group
            for total in self._groups(kind, None, END):
                own = cells[total["place"]]
                totals.append((kind or None, *_over_time(total, [own.get(number) for number in numbers])))
                every = own if kind else numbers
                intervals += [(kind, own.get(number) or _empty(total, number)) for number in every]
        yield Table("overTime", (*self._heads, *OVER_TIME), totals)
        yield self._intervals(intervals, width_us)

    def _groups(self, kind: str, width_us: int | None, until: datetime | None = None) -> Sequence[Group]:
        return groups_of(self, kind, width_us, self._busiest, until)

    @property
    def _heads(self) -> tuple[Column, ...]:
        kinds = self._kinds
        title = kinds[0] if len(kinds) == 1 and kinds[0] else "name"
        return (
            Column("by", wide=len(kinds) == 1),
            Column("name", title=title, absent=UNSAID, wide=not kinds[0]),
        )

    def _intervals(self, groups: Sequence[tuple[str, Group]], width_us: int) -> Table:
        start = Column("start", "instant", digits=0 if width_us >= 1_000_000 else 3)
        found = rows_of(INTERVALS, [group for _, group in groups])
        rows = []
        for (kind, group), values in zip(groups, found, strict=True):
            begin = instant(group["number"] * width_us / 1e6, is_local=self.is_local)
            rows.append((begin, kind or None, group["name"], *values))
        return Table("intervals", (start, *self._heads, *INTERVALS), rows, shown=MOST_ROWS)


def _cut(span: Mapping[str, int | None], width_us: int) -> tuple[int, range]:
    """Return the width at which a span of time has at most MOST_INTERVALS intervals, and their numbers."""
    first = span["first_us"]
    last = span["last_us"]
    if first is None or last is None:
        return width_us, range(0)
    while last // width_us - first // width_us >= MOST_INTERVALS:
        width_us *= 2
    return width_us, range(first // width_us, last // width_us + 1)


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
"""The counts of a group in an interval. `wait` are latencies of apis whose responses brokers delay on purpose."""


def _over_time(total: Group, cells: Sequence[Group | None]) -> Row:
    """Return the name and the numbers of a group. A cell is None if its interval has no traffic of the group."""
    errors = [cell["error_count"] if cell else 0 for cell in cells]
    is_timed = total["latency_count"] is not None
    lists = {
        "requests_over_time": [cell["requests"] if cell else 0 for cell in cells],
        "bytes_over_time": [(cell["bytes"] if cell else 0) for cell in cells] if total["is_sized"] else None,
        "latency_p99_over_time": [cell and cell["latency_p99_seconds"] for cell in cells] if is_timed else None,
        "errors_over_time": errors if any(errors) else None,
    }
    [row] = rows_of(OVER_TIME, [{**total, **lists}])
    return (total["name"], *row)


def _empty(total: Group, number: int) -> Group:
    """Return the interval of a group without traffic."""
    same = {name: total[name] for name in ("name", "is_sized")}
    counts = dict.fromkeys(("requests", "responses", "error_count"), 0)
    sizes = dict.fromkeys(("request_bytes", "response_bytes", "bytes"), 0) if total["is_sized"] else {}
    rates = {"requests_per_second": 0.0, "bytes_per_second": 0.0 if total["is_sized"] else None}
    return {**dict.fromkeys(total), **same, **counts, **sizes, **rates, "number": number, "errors": {}}
