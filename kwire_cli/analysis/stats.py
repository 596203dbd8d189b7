"""Statistics over a capture or a request log: counts, sizes, latencies and errors by api, client, topic and so on.

Memory grows with these, not with the frames. What was counted of parts can be merged, in any order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil, floor, frexp, inf, ldexp, log10
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.dimensions import OF_EXCHANGES, OF_LINES, Name
from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Table
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.fold import Traffic
    from kwire_cli.answer import Block, Row
    from kwire_cli.source.kafka.captured import Captured

GROUPS = ("api", "client", "topic", "broker")
"""The dimensions that are counted by default, of those in `dimensions`."""
OTHERS = "(others)"
"""The group of all that have none of their own."""
UNSAID = "-"
"""The text for people in place of a client id or software that a client does not name."""
SHARES = (0.5, 0.95, 0.99)
"""The percentiles that are told."""
STEPS = 96
"""Buckets for each doubling of a latency: a percentile is off by at most 1.1 %."""


NANOSECOND = 9
"""Digits of seconds behind the point, as exact as captures tell times."""
_NEGATIVE = 1 << 20
"""Buckets of negative latencies are at most minus half of this, below those of all others."""


def bucket_of(seconds: float) -> int:
    """Return the bucket of a latency; to be found once for all who count it.

    A latency is negative if the clock of the capture was set back, or if packets are out of order.
    """
    if seconds < 0:
        return -_NEGATIVE - bucket_of(-seconds)
    mantissa, exponent = frexp(max(1e-09, seconds))
    return exponent * STEPS + int((mantissa - 0.5) * 2 * STEPS)


def _value_of(bucket: int) -> float:
    """Return the end of a bucket: no latency in it is larger."""
    is_negative = bucket < -_NEGATIVE // 2
    exponent, step = divmod(-_NEGATIVE - bucket if is_negative else bucket, STEPS)
    end = ldexp(0.5 + (step + (not is_negative)) / (2 * STEPS), exponent)
    return -end if is_negative else end


@dataclass
class Histogram:
    """Latencies in buckets of equal ratio."""

    buckets: Counter[int] = field(default_factory=Counter)
    count: int = 0
    largest: float = -inf

    def add(self, seconds: float, bucket: int | None = None) -> None:
        """Count one latency; `bucket` is `bucket_of` it, where that is known."""
        self.count += 1
        self.largest = max(self.largest, seconds)
        self.buckets[bucket_of(seconds) if bucket is None else bucket] += 1

    def merge(self, other: Histogram) -> None:
        """Count what another one has."""
        self.count += other.count
        self.largest = max(self.largest, other.largest)
        self.buckets.update(other.buckets)

    def percentile(self, share: float) -> float | None:
        """The latency that this share of all do not exceed; None where there are none."""
        if not self.count:
            return None
        left = share * self.count
        for seconds, count in self.amounts():
            left -= count
            if left <= 0:
                return seconds
        return self.largest

    def estimate(self, share: float) -> float | None:
        """Return a percentile with the digits that it is good for: all if it is the largest latency, else those down to
        the microsecond, and four below a millisecond.
        """
        seconds = self.percentile(share)
        if seconds is None:
            return None
        most = round(self.largest, NANOSECOND)
        if seconds == self.largest:
            return most
        digits = min(max(6, 3 - floor(log10(abs(seconds)))), NANOSECOND)
        return min(round(seconds, digits), most)

    def points(self) -> tuple[int | float | None, ...]:
        """Return how many latencies there are, their percentiles 50, 95 and 99, and the largest one, to the
        nanosecond.
        """
        if not self.count:
            return (None,) * 5
        return self.count, *map(self.estimate, SHARES), round(self.largest, NANOSECOND)

    def amounts(self) -> Iterator[tuple[float, int]]:
        """Each latency that occurred, which stands for those of its bucket, and how often; the shortest first."""
        for bucket in sorted(self.buckets):
            yield min(_value_of(bucket), self.largest), self.buckets[bucket]


@dataclass
class Group:
    """The counts of one api, client or topic.

    Latencies of apis whose answers wait on purpose are kept apart. `throttled` counts the responses that ask the
    client to wait, and `throttle_ms` adds up for how long. `most_in_flight` is the largest number of requests of one
    connection that were pending at a time. `software` is what the client says that it is. `node` is a broker's node
    id. `logged` counts the exchanges of a request log, whose bytes nobody counted. `stages` are the microseconds that
    these exchanges took in each stage of the broker.
    """

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    latency: Histogram = field(default_factory=Histogram)
    waits: Histogram = field(default_factory=Histogram)
    errors: Counter[str | int] = field(default_factory=Counter)
    throttled: int = 0
    throttle_ms: int = 0
    most_in_flight: int = 0
    software: set[str] = field(default_factory=set)
    node: int | None = None
    logged: int = 0
    stages: Counter[str] = field(default_factory=Counter)

    @property
    def sized(self) -> bool:
        """Return whether the bytes of anything in the group are known."""
        return self.logged < self.requests or not self.logged

    @property
    def rank(self) -> tuple[int, int]:
        """The busier, the lower: by bytes, and where these are not known by requests."""
        return -(self.request_bytes + self.response_bytes), -self.requests

    def meet(self, node: int | None) -> None:
        """Note the broker's node id, if it is known. Of several, the largest stays: parts come in any order."""
        if node is not None:
            self.node = node if self.node is None else max(self.node, node)

    def add_request(self, size: int, in_flight: int) -> None:
        """Count a request of so many bytes, when so many waited on its connection."""
        self.requests += 1
        self.request_bytes += size
        self.most_in_flight = max(self.most_in_flight, in_flight)

    def add_response(self, size: int, timed: _Timed | None, errors: list[str | int], throttle: int) -> None:
        """Count a response of so many bytes, with these errors, that asks to wait for so many milliseconds."""
        self.responses += 1
        self.response_bytes += size
        if timed is not None:
            seconds, bucket, waits = timed
            (self.waits if waits else self.latency).add(seconds, bucket)
        if errors:
            self.errors.update(errors)
        if throttle > 0:
            self.throttled += 1
            self.throttle_ms += throttle

    def add_exchange(self, exchange: Exchange) -> None:
        """Count an exchange of a request log: the time that the broker took for it stands for its latency."""
        self.requests += 1
        self.logged += 1
        self.responses += exchange.response is not None
        self.errors.update(exchange.errors)
        if (seconds := exchange.seconds) is not None:
            (self.waits if exchange.delayed else self.latency).add(seconds)
        for stage, took in exchange.stages.items():
            self.stages[stage] += round(took * 1000)
        if (throttle := exchange.stages.get("throttleTimeMs", 0)) > 0:
            self.throttled += 1
            self.throttle_ms += round(throttle)
        if exchange.software:
            self.software.add(exchange.software)

    def merge(self, other: Group) -> None:
        """Count what another one has."""
        self.requests += other.requests
        self.responses += other.responses
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.latency.merge(other.latency)
        self.waits.merge(other.waits)
        self.errors.update(other.errors)
        self.throttled += other.throttled
        self.throttle_ms += other.throttle_ms
        self.most_in_flight = max(self.most_in_flight, other.most_in_flight)
        self.software |= other.software
        self.meet(other.node)
        self.logged += other.logged
        self.stages.update(other.stages)

    def row(self, name: Name) -> Row:
        """Return the row of a group in the columns of `group_columns`."""
        sized = self.sized
        stages = {name.removesuffix("Ms").removesuffix("Time"): us / 1_000_000 for name, us in self.stages.items()}
        return (
            name,
            self.requests,
            self.responses,
            self.request_bytes if sized else None,
            self.response_bytes if sized else None,
            *self.latency.points(),
            *self.waits.points(),
            self.most_in_flight if sized else None,
            self.throttled,
            self.throttle_ms / 1000,
            self.node,
            sorted(self.software),
            {str(code): count for code, count in by_count(self.errors)},
            stages,
        )


Ranked = list[tuple[Name, Group]]
"""Groups of a kind by name, the busiest first."""
_Timed = tuple[float, int, bool]
"""Seconds from a request to its response, their bucket, and whether the broker may have waited on purpose."""


def by_name(name: Name) -> tuple[bool, str]:
    """Return the key that sorts names, None last."""
    return name is None, name or ""


def by_count(counter: Counter[Any]) -> list[tuple[Any, int]]:
    """Return the counts, the largest first, and equal counts by name.

    The order of counting does not matter, since parts that are merged come in any order.
    """
    return sorted(counter.items(), key=lambda item: (-item[1], str(item[0])))


def add_line(line: Captured, groups: Sequence[Group]) -> None:
    """Count a request or a response of a capture in each of some groups."""
    size = line.seen.size
    if line.kind == "request":
        in_flight = line.seen.in_flight or 0
        for group in groups:
            group.add_request(size, in_flight)
    else:
        latency, errors, throttle = line.latency, line.errors, line.throttle or 0
        timed = None if latency is None else (latency, bucket_of(latency), line.delayed)
        for group in groups:
            group.add_response(size, timed, errors, throttle)
    if software := line.software:
        for group in groups:
            group.software.add(software)


@dataclass
class Stats:
    """The groups, and what was counted besides: frames by kind, anomalies (and faults of request logs) by code, and
    frames that are `cut`.

    `named` are topic ids of request logs with their names: whatever was counted under an id that has one is shown under
    its name. There are at most so many groups of a kind as `most` says; who comes later is counted among OTHERS.
    """

    groups: dict[str, dict[Name, Group]] = field(default_factory=lambda: {name: {} for name in GROUPS})
    kinds: Counter[str] = field(default_factory=Counter)
    anomalies: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    named: dict[str, str] = field(default_factory=dict)
    most: int | None = None

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
        self.kinds[kind] += 1
        if anomalies := line.anomalies:
            self.cut += not line.code and "TRUNCATED" in anomalies and "UNKNOWN_VERSION" not in anomalies
        self.anomalies.update(anomaly_codes(line, deep=False))
        if kind not in {"request", "response"} or line.guess:
            return
        groups = []
        for of in self.groups:
            for name in OF_LINES[of](line):
                group = self._group(of, name)
                if of == "broker":
                    group.meet(line.broker)
                groups.append(group)
        add_line(line, groups)

    def add_group(self, kind: str, group: Group, names: Sequence[tuple[str, Name]], node: int | None) -> None:
        """Add the counts of lines of a kind (request or response) to groups by dimension and name."""
        self.kinds[kind] += group.requests + group.responses
        for of, name in names:
            own = self._group(of, name)
            own.merge(group)
            if of == "broker":
                own.meet(node)

    def _add_exchange(self, exchange: Exchange) -> None:
        self.kinds["request"] += 1
        if exchange.response is not None:
            self.kinds["response"] += 1
        self.named.update(exchange.named)
        for kind in self.groups:
            for name in OF_EXCHANGES[kind](exchange):
                self._group(kind, name).add_exchange(exchange)

    def _group(self, kind: str, name: Name) -> Group:
        groups = self.groups[kind]
        group = groups.get(name)
        if group is None:
            if self.most is not None and len(groups) >= self.most:
                name = OTHERS
            group = groups[name] = groups.get(name) or Group()
        return group

    def merge(self, other: Stats) -> None:
        """Count what another one has."""
        self.kinds.update(other.kinds)
        self.anomalies.update(other.anomalies)
        self.cut += other.cut
        self.named.update(other.named)
        for kind, groups in other.groups.items():
            for name, group in groups.items():
                self._group(kind, name).merge(group)

    def ranked(self) -> Iterator[tuple[str, Ranked]]:
        """The groups of each kind, the busiest first, topics by their names where these are known."""
        for kind, groups in self.groups.items():
            if kind == "topic" and self.named:
                groups = self._by_topic_name(groups)  # noqa: PLW2901 - the same groups
            yield kind, sorted(groups.items(), key=lambda item: (item[1].rank, by_name(item[0])))

    def apis(self) -> dict[str, Group]:
        """Return the groups of apis by name."""
        return {name: group for name, group in self.groups["api"].items() if name is not None}

    def _by_topic_name(self, groups: dict[Name, Group]) -> dict[Name, Group]:
        named: dict[Name, Group] = {}
        for topic, group in groups.items():
            named.setdefault(self.named.get(topic or "", topic), Group()).merge(group)
        return named

    def answer(self) -> Answer:
        """Return the counts, the busiest first."""
        facts = [
            Fact("frames", dict(by_count(self.kinds)), "map"),
            Fact("anomalies", dict(by_count(self.anomalies)), "map", level="error"),
        ]
        ranked = dict(self.ranked())
        tables = [_table(kind, groups) for kind, groups in ranked.items()]
        return Answer("statistics", [Facts(facts), *charts(ranked), *tables])


# The answer: a table of each kind of group, and charts.


def group_columns(kind: str) -> tuple[Column, ...]:
    """Return the columns of the groups of a kind, such as client."""
    return (
        Column(kind, absent=UNSAID),
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
    for point, further in (("p50", 5), ("p95", 7), ("p99", 0), ("max", 3)):
        yield Column(
            f"{name}{point.capitalize()}Seconds", "duration", title=f"{title}{point}", unit="ms", keep=keep + further
        )


def _table(kind: str, ranked: Ranked) -> Table:
    columns = group_columns(kind)
    own = [at for at, column in enumerate(columns) if at == 0 or column.name != kind]  # software has its name alone
    rows = [tuple(row[at] for at in own) for row in (group.row(name) for name, group in ranked)]
    return Table(kind, [columns[at] for at in own], rows)


MOST_BARS = 20
BOUNDS = (1.0, 2.0, 5.0, 10.0)
"""Bounds of latencies in a chart, in each power of ten."""
WAITS = "Latency where brokers wait on purpose (such as Fetch and JoinGroup), and behind that"


def charts(ranked: dict[str, Ranked]) -> Iterator[Block]:
    """Yield the charts of the groups of each kind; what was not counted has none."""
    apis = [group for _, group in ranked.get("api", [])]
    for title, part in (("Latency of responses", "latency"), (WAITS, "waits")):
        merged = Histogram()
        for group in apis:
            merged.merge(getattr(group, part))
        if merged.count:
            yield Chart("histogram", title, _in_steps(merged), unit="responses")
    for kind, groups in ranked.items():
        yield from _group_charts(kind, groups)
    errors: Counter[str | int] = Counter()
    for group in apis:
        errors.update(group.errors)
    if errors:
        rows = [(str(name), count) for name, count in by_count(errors)[:MOST_BARS]]
        yield Chart("bars", "Errors in responses", rows, unit="response")


def _group_charts(kind: str, ranked: Ranked) -> Iterator[Block]:
    groups = [(UNSAID if name is None else name or '""', group) for name, group in ranked[:MOST_BARS]]
    if len(groups) > 1:
        if all(group.sized for _, group in groups):
            sizes = [(name, group.request_bytes + group.response_bytes) for name, group in groups]
            yield Chart("bars", f"Bytes by {kind}", sizes)
        else:
            requests = [(name, group.requests) for name, group in groups]
            yield Chart("bars", f"Requests by {kind}", requests, unit="request")
    slowest = sorted(((name, group.latency.estimate(0.99)) for name, group in groups), key=lambda item: -(item[1] or 0))
    if kind in {"api", "broker"} and (
        timed := [(name, round(1000 * seconds, 6)) for name, seconds in slowest if seconds and seconds > 0]
    ):
        yield Chart("bars", f"Latency by {kind}: 99 of 100 responses were no slower", timed, unit="ms")


def _in_steps(histogram: Histogram) -> list[tuple[str, int]]:
    """Return the number of latencies in each step up to a bound in milliseconds.

    The steps run from the smallest to the largest one that has any latency.
    """
    counts: Counter[int] = Counter()
    negative = 0
    for seconds, count in histogram.amounts():
        if seconds < 0:
            negative += count
        else:
            counts[step_of(1000 * seconds)] += count
    steps = range(min(counts), max(counts) + 1) if counts else ()
    rows = [(f"≤ {bound_of(step):g} ms", counts[step]) for step in steps]
    return [("< 0 ms", negative), *rows] if negative else rows


def step_of(value: float) -> int:
    """Return the number of the first bound that is not below a value."""
    power = ceil(log10(max(value, 1e-6))) - 1
    within = next(number for number, bound in enumerate(BOUNDS) if value <= bound * 10**power * (1 + 1e-9))
    return (len(BOUNDS) - 1) * power + within


def bound_of(step: int) -> float:
    """Return the bound of a number."""
    power, within = divmod(step, len(BOUNDS) - 1)
    return BOUNDS[within] * 10.0**power
