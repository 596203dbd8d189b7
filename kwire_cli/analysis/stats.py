"""Statistics of traffic: requests, bytes, latencies and errors by api, client, topic and other dimensions.

The queries in `questions/stats` count messages in tables. This module defines the columns of the answer and the charts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Table, by_count
from kwire_cli.questions.traffic import Traffic, queries_in, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from kwire_cli.answer import Block
    from kwire_cli.message.redaction import Redaction

    Groups = Sequence[Mapping[str, Any]]
    """Groups of a dimension, the busiest first."""

DIMENSIONS = ("api", "client", "topic", "broker", "group", "software")
"""The dimensions of messages, which are the cases of `questions/stats/groups.sql`."""
GROUPS = ("api", "client", "topic", "broker")
"""The dimensions that are counted by default."""
UNSAID = "-"
"""The text that is displayed if a client has no client id or software name."""
MOST_BARS = 20
BOUNDS = (1, 2, 5)
"""Bounds of latencies in a chart, in each power of ten."""
WAITS = "Latency where brokers wait on purpose (such as Fetch and JoinGroup), and behind that"


class Stats(Traffic):
    """Counts of traffic by dimension. `kinds` are the dimensions."""

    def __init__(self, redaction: Redaction, kinds: Sequence[str] = GROUPS) -> None:
        self.kinds = tuple(dict.fromkeys(kinds))
        super().__init__(redaction, queries())

    def answer(self) -> Answer:
        """Return the counts. Nothing can be added afterwards."""
        with self.filled():
            groups = {kind: groups_of(self, kind) for kind in self.kinds}
            tables = [_table(kind, rows) for kind, rows in groups.items()]
            return Answer("statistics", [Facts([*kinds_of_frames(self)]), *_charts(self, groups), *tables])


def queries() -> Mapping[str, str]:
    """Return the queries by name."""
    of_summary = queries_in("summary")
    return {**queries_in("stats"), **{name: of_summary[name] for name in ("kinds", "anomalies")}}


def groups_of(
    traffic: Traffic, by: str, width_us: int | None = None, busiest: int | None = None, until: datetime | None = None
) -> Groups:
    """Return the groups of a dimension, or their intervals of a width: the busiest groups, then one for the rest.

    With `until`, only messages before that time count, and each interval has its own order of groups.
    """
    return traffic.rows("groups", by=by, width_us=width_us, busiest=busiest, until=until)


def kinds_of_frames(traffic: Traffic) -> Iterator[Fact]:
    """Yield the number of frames by kind, and of anomalies by code."""
    anomalies = Counter({row["code"]: row["occurrences"] for row in traffic.rows("anomalies")}) + traffic.faults
    yield Fact("frames", {row["kind"]: row["lines"] for row in traffic.rows("kinds")}, "map")
    yield Fact("anomalies", dict(by_count(anomalies)), "map", level="error")


# Tables.

_TIMES = (("p50", 5), ("p95", 7), ("p99", 0), ("max", 3))
"""Percentiles and the largest latency. The number determines which columns a narrow terminal leaves out first."""


def _columns(kind: str) -> tuple[Column, ...]:
    return (
        Column("requests", "count"),
        Column("responses", "count", keep=6),
        Column("requestBytes", "bytes", title="req bytes", keep=3),
        Column("responseBytes", "bytes", title="resp bytes", keep=4),
        *_time_columns("latency", "", 1),
        *_time_columns("wait", "wait ", 2),
        Column("mostInFlight", "count", title="in flight", keep=7, sparse=True),
        Column("throttled", "count", wide=True),
        Column("throttleSeconds", "duration", title="throttled", unit="ms", keep=8, sparse=True),
        Column("nodeId", "id", title="node", keep=5, wide=kind != "broker"),
        Column("software", "list", keep=8, wide=kind != "client"),
        Column("errors", "map", level="error"),
        Column("stagesSeconds", "map", unit="s", wide=True),
    )


def _time_columns(name: str, title: str, keep: int) -> Iterator[Column]:
    yield Column(f"{name}Count", "count", wide=True)
    for point, further in _TIMES:
        yield Column(
            f"{name}{point.capitalize()}Seconds", "duration", title=f"{title}{point}", unit="ms", keep=keep + further
        )


def _table(kind: str, groups: Groups) -> Table:
    columns = [column for column in _columns(kind) if column.name != kind]  # a name of software has no further columns
    rows = zip(groups, rows_of(columns, groups), strict=True)
    name = Column(kind, absent=UNSAID)
    return Table(kind, (name, *columns), [(group["name"], *row) for group, row in rows])


# Charts.


def _charts(traffic: Traffic, groups: Mapping[str, Groups]) -> Iterator[Block]:
    if "api" in groups:
        steps = traffic.rows("steps")
        for title, is_wait in (("Latency of responses", False), (WAITS, True)):
            if own := {row["step"]: row["latencies"] for row in steps if row["is_wait"] == is_wait}:
                yield Chart("histogram", title, _bars(own), unit="responses")
    for kind, rows in groups.items():
        yield from _group_charts(kind, rows)
    errors: Counter[str] = Counter()
    for group in groups.get("api", ()):
        errors.update(group["errors"])
    if errors:
        yield Chart("bars", "Errors in responses", by_count(errors)[:MOST_BARS], unit="response")


def _group_charts(kind: str, groups: Groups) -> Iterator[Block]:
    named = [(UNSAID if group["name"] is None else group["name"] or '""', group) for group in groups[:MOST_BARS]]
    if len(named) > 1:
        if all(group["is_sized"] for _, group in named):
            sizes = [(name, group["bytes"]) for name, group in named]
            yield Chart("bars", f"Bytes by {kind}", sizes)
        else:
            requests = [(name, group["requests"]) for name, group in named]
            yield Chart("bars", f"Requests by {kind}", requests, unit="request")
    slowest = sorted(((name, group["latency_p99_seconds"] or 0) for name, group in named), key=lambda item: -item[1])
    timed = [(name, seconds * 1000) for name, seconds in slowest if seconds > 0]
    if kind in {"api", "broker"} and timed:
        yield Chart("bars", f"Latency by {kind}: 99 of 100 responses were no slower", timed, unit="ms")


def _bars(steps: Mapping[int, int]) -> list[tuple[str, int]]:
    """Return the number of latencies in each step, from the smallest to the largest step with latencies."""
    bounded = [step for step in steps if step >= 0]
    bars = [
        (f"≤ {bound_of(step):g} ms", steps.get(step, 0))
        for step in range(min(bounded, default=0), max(bounded, default=-1) + 1)
    ]
    return [("< 0 ms", steps[-1]), *bars] if -1 in steps else bars


def bound_of(step: int) -> float:
    """Return the bound of a step of `questions/stats/steps.sql` in milliseconds."""
    power, within = divmod(step, len(BOUNDS))
    return float(BOUNDS[within] * 10**power / 1000)
