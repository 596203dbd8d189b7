"""Statistics as charts: what is most of the bytes, how long brokers took, and what they answered that went wrong."""

from __future__ import annotations

from collections import Counter
from math import ceil, log10
from typing import TYPE_CHECKING

from kwire_cli.source.kafka.stats import Histogram, by_count
from kwire_cli.view.html.blocks import bars, facts, histogram
from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.kafka.stats import Group, Stats
    from kwire_cli.view.html.blocks import Block

MOST_BARS = 20
STEPS = (1.0, 2.0, 5.0, 10.0)
"""Where latencies are parted, in each power of ten."""
WAITS = "Latency where brokers wait on purpose (Fetch, JoinGroup, SyncGroup)"


def charts(stats: Stats) -> list[Block]:
    """The charts of statistics; none of what was not counted."""
    out = [facts([*by_count(stats.kinds), *((f"anomalies: {code}", count) for code, count in by_count(stats.anomalies))])]
    apis = stats.groups.get("api", {})
    for title, part in (("Latency of responses", "latency"), (WAITS, "waits")):
        merged = Histogram()
        for group in apis.values():
            merged.merge(getattr(group, part))
        if merged.count:
            out.append(histogram(title, "responses", _parted(merged)))
    for kind, ranked in stats.ranked():
        out += _of_groups(kind, ranked)
    errors: Counter[str | int] = Counter()
    for group in apis.values():
        errors.update(group.errors)
    if errors:
        out.append(bars("Errors in responses", ((str(name), count) for name, count in by_count(errors)[:MOST_BARS]), unit="response"))
    return out


def _of_groups(kind: str, ranked: list[tuple[str, Group]]) -> Iterator[Block]:
    shown = [(escaped(name) or '""', group) for name, group in ranked[:MOST_BARS]]
    if len(shown) > 1:
        if all(group.sized for _, group in shown):
            yield bars(f"Bytes by {kind}", [(name, group.request_bytes + group.response_bytes) for name, group in shown])
        else:
            yield bars(f"Requests by {kind}", [(name, group.requests) for name, group in shown], unit="request")
    slowest = sorted(((name, group.latency.percentile(0.99)) for name, group in shown), key=lambda item: -(item[1] or 0))
    if kind in {"api", "broker"} and (timed := [(name, round(1000 * took, 3)) for name, took in slowest if took]):
        yield bars(f"Latency by {kind}: 99 of 100 responses were no slower", timed, unit="ms")


def _parted(found: Histogram) -> list[tuple[str, int]]:
    """How many latencies are in each step up to a bound of milliseconds, from the smallest to the largest that there is any of."""
    counts: Counter[int] = Counter()
    for seconds, count in found.amounts():
        counts[_step(1000 * seconds)] += count
    return [(f"≤ {_bound(step):g} ms", counts[step]) for step in range(min(counts), max(counts) + 1)]


def _step(value: float) -> int:
    """The number of the first bound that is not below a value."""
    power = ceil(log10(max(value, 1e-6))) - 1
    within = next(number for number, bound in enumerate(STEPS) if value <= bound * 10**power * (1 + 1e-9))
    return (len(STEPS) - 1) * power + within


def _bound(step: int) -> float:
    power, within = divmod(step, len(STEPS) - 1)
    return STEPS[within] * 10.0**power
