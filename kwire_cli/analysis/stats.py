"""Statistics over a capture or a request log: counts, sizes, latencies and errors by api, client, topic and broker.

Memory grows with these, not with the frames. What was counted of parts can be merged, in any order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.captured import WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange

GROUPS = ("api", "client", "topic", "broker")
OTHERS = "(others)"
"""The group of all that have none of their own."""
STEPS = 96
"""Buckets for each doubling of a latency: a percentile is off by at most 1.1 %."""


def bucket_of(seconds: float) -> int:
    """The bucket of a latency; to be found once for all who count it."""
    mantissa, exponent = frexp(max(seconds, 1e-9))
    return exponent * STEPS + int((mantissa - 0.5) * 2 * STEPS)


@dataclass
class Histogram:
    """Latencies in buckets of equal ratio."""

    buckets: Counter[int] = field(default_factory=Counter)
    count: int = 0
    largest: float = 0.0

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

    def amounts(self) -> Iterator[tuple[float, int]]:
        """Each latency that occurred, which stands for those of its bucket, and how often; the shortest first."""
        for bucket in sorted(self.buckets):
            exponent, step = divmod(bucket, STEPS)
            yield min(ldexp(0.5 + (step + 1) / (2 * STEPS), exponent), self.largest), self.buckets[bucket]


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
        if exchange.total_ms is not None:
            (self.waits if exchange.api in WAITING else self.latency).add(exchange.total_ms / 1000)
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
        self.node = other.node if self.node is None else self.node
        self.logged += other.logged
        self.stages.update(other.stages)

    def to_json(self) -> dict[str, Any]:
        """All numbers; durations in seconds, stages over all exchanges."""
        out: dict[str, Any] = {"requests": self.requests, "responses": self.responses}
        if self.sized:
            out |= {"requestBytes": self.request_bytes, "responseBytes": self.response_bytes}
        out |= {"throttled": self.throttled, "throttleSeconds": self.throttle_ms / 1000}
        if self.sized:
            out["mostInFlight"] = self.most_in_flight
        if self.node is not None:
            out["nodeId"] = self.node
        if self.software:
            out["software"] = sorted(self.software)
        for name, histogram in (("latencySeconds", self.latency), ("waitSeconds", self.waits)):
            if histogram.count:
                points = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
                out[name] = {"count": histogram.count} | {
                    key: _rounded(histogram.percentile(share)) for key, share in points.items()
                }
                out[name]["max"] = _rounded(histogram.largest)
        if self.stages:
            out["stagesSeconds"] = {
                name.removesuffix("Ms").removesuffix("Time"): took / 1_000_000 for name, took in self.stages.items()
            }
        return out | {"errors": {str(name): count for name, count in by_count(self.errors)}}


_Timed = tuple[float, int, bool]
"""Seconds from a request to its response, their bucket, and whether the broker may have waited on purpose."""


def by_count(counter: Counter[Any]) -> list[tuple[Any, int]]:
    """Return the counts, the largest first, and equal counts by name.

    The order of counting does not matter, since parts that are merged come in any order.
    """
    return sorted(counter.items(), key=lambda item: (-item[1], str(item[0])))


def _api(name: str | None, key: int | None, version: int | None) -> str:
    return f"{name or key} {version}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


@dataclass
class Stats:
    """The groups, and what was counted besides: lines by kind, anomalies (and faults of request logs) by code.

    `named` are topic ids of request logs with their names: whatever was counted under an id that has one is shown under
    its name. There are at most so many groups of a kind as `most` says; who comes later is counted among OTHERS.
    """

    groups: dict[str, dict[str, Group]] = field(default_factory=lambda: {name: {} for name in GROUPS})
    kinds: Counter[str] = field(default_factory=Counter)
    anomalies: Counter[str] = field(default_factory=Counter)
    named: dict[str, str] = field(default_factory=dict)
    most: int | None = None

    def add(self, line: Captured) -> None:
        """Count a line."""
        kind = line.kind
        self.kinds[kind] += 1
        if anomalies := line.anomalies:
            self.anomalies.update(anomalies)
        if kind not in {"request", "response"} or line.guess:
            return
        groups = [
            self._group("api", _api(line.api, line.api_key, line.api_version)),
            self._group("client", line.client_id or ""),
        ]
        groups += [self._group("topic", topic) for topic in line.topics]
        broker = self._group("broker", line.dst if kind == "request" else line.src)
        broker.node = line.broker
        size = line.seen.size
        if kind == "request":
            in_flight = line.seen.in_flight or 0
            for group in (*groups, broker):
                group.add_request(size, in_flight)
        else:
            latency, errors, throttle = line.latency, line.errors, line.throttle or 0
            timed = None if latency is None else (latency, bucket_of(latency), line.api in WAITING)
            for group in (*groups, broker):
                group.add_response(size, timed, errors, throttle)
        if software := line.software:
            for group in (*groups, broker):
                group.software.add(software)

    def add_exchange(self, exchange: Exchange) -> None:
        """Count a line of a request log."""
        self.kinds["request"] += 1
        if exchange.response is not None:
            self.kinds["response"] += 1
        self.named.update(exchange.named)
        keys = {
            "api": [_api(exchange.api, exchange.api_key, exchange.api_version)],
            "client": [exchange.client_id or ""],
            "topic": exchange.topics,
            "broker": [exchange.broker] if exchange.broker else [],
        }
        for group, names in keys.items():
            for name in names:
                self._group(group, name).add_exchange(exchange)

    def add_fault(self, code: str) -> None:
        """Count a damaged line of a request log."""
        self.anomalies[code] += 1

    def _group(self, kind: str, name: str) -> Group:
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
        self.named.update(other.named)
        for kind, groups in other.groups.items():
            for name, group in groups.items():
                self._group(kind, name).merge(group)

    def ranked(self) -> Iterator[tuple[str, list[tuple[str, Group]]]]:
        """The groups of each kind, the busiest first, topics by their names where these are known."""
        for kind, groups in self.groups.items():
            if kind == "topic" and self.named:
                groups = self._by_topic_name(groups)  # noqa: PLW2901 - the same groups
            yield kind, sorted(groups.items(), key=lambda item: (item[1].rank, item[0]))

    def _by_topic_name(self, groups: dict[str, Group]) -> dict[str, Group]:
        named: dict[str, Group] = {}
        for topic, group in groups.items():
            named.setdefault(self.named.get(topic, topic), Group()).merge(group)
        return named

    def to_json(self) -> dict[str, Any]:
        """Everything, the busiest first."""
        out: dict[str, Any] = {"kinds": dict(by_count(self.kinds)), "anomalies": dict(by_count(self.anomalies))}
        for name, ranked in self.ranked():
            out[name] = {key: group.to_json() for key, group in ranked}
        return out
