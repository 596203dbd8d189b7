"""Traffic as it goes by: a line for a few seconds of it, and the head of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.stats import Histogram, by_count
from kwire_cli.errors import counted
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.stats import Stats
    from kwire_cli.view.lines import Line


TABLES = 4


HEAD, BESIDE, LEAST = 5, 3, 5
"""Rows of the screen above the tables, rows of a table beside its entries, and the fewest entries of each."""
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def interval_line(stats: Stats, seconds: float, time: str) -> Line:
    """Return the line for an interval of so many seconds: rates, latencies and errors."""
    groups = stats.groups["api"].values()
    requests, size = (
        sum(api_group.requests for api_group in groups),
        sum(api_group.request_bytes + api_group.response_bytes for api_group in groups),
    )
    line: Line = [(time[11:19], "dim"), (f"  {requests / seconds:8.1f} req/s  {rate(size / seconds):>10}", "number")]
    latency, errors = Histogram(), sum((sum(api_group.errors.values()) for api_group in groups), 0)
    for group in groups:
        latency.merge(group.latency)
    points = [(name, latency.percentile(share)) for name, share in _SHARES.items()]
    line += [(f"  {name} {'-' if point is None else f'{point * 1000:.2f}ms':>9}", "number") for name, point in points]
    line.append(
        (f"  {counted(len(stats.groups['client']), 'client')}  {counted(len(stats.groups['topic']), 'topic')}", "")
    )
    if errors:
        named = [name for name, _ in by_count(sum((api_group.errors for api_group in groups), type(stats.kinds)()))]
        line.append((f"  {counted(errors, 'error')}: {', '.join(map(text_of, named[:3]))}", "warning"))
    if stats.anomalies:
        line.append((f"  odd: {', '.join(name for name, _ in by_count(stats.anomalies)[:3])}", "warning"))
    return line


def rate(size: float) -> str:
    """Bytes a second for eyes."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), (1, "B"))
    return f"{size / unit:.1f} {name}/s"


def screen_head(recent: Line, where: str, elapsed: float) -> Iterator[Line]:
    """Yield the first lines of a screen: where, for how long, and the last seconds."""
    minutes, seconds = divmod(int(elapsed), 60)
    yield [
        (f"{where}  ", "title"),
        (f"{minutes // 60}:{minutes % 60:02}:{seconds:02}  ", "number"),
        ("Ctrl-C ends it and shows the totals", "dim"),
    ]
    yield recent
    yield []


def rows_for(height: int) -> int:
    """Return how many rows of each table a screen of a height has room for."""
    return max((height - HEAD) // TABLES - BESIDE, LEAST)
