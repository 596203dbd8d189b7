"""Statistics over a capture: counts, sizes, latencies and errors by api, client, topic and broker. Memory grows with these, not with the frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.captured import WAITING

if TYPE_CHECKING:
    from kwire_cli.source.kafka.captured import Captured

GROUPS = ("api", "client", "topic", "broker")
STEPS = 96
"""Buckets for each doubling of a latency: a percentile is off by at most 1.1 %."""


@dataclass
class Histogram:
    """Latencies in buckets of equal ratio."""

    buckets: Counter[int] = field(default_factory=Counter)
    count: int = 0
    largest: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one latency."""
        self.count += 1
        self.largest = max(self.largest, seconds)
        mantissa, exponent = frexp(max(seconds, 1e-9))
        self.buckets[exponent * STEPS + int((mantissa - 0.5) * 2 * STEPS)] += 1

    def percentile(self, share: float) -> float | None:
        """The latency that this share of all do not exceed; None where there are none."""
        if not self.count:
            return None
        left = share * self.count
        for bucket in sorted(self.buckets):
            left -= self.buckets[bucket]
            if left <= 0:
                exponent, step = divmod(bucket, STEPS)
                return min(ldexp(0.5 + (step + 1) / (2 * STEPS), exponent), self.largest)
        return self.largest


@dataclass
class Group:
    """What is counted for one api, client or topic. Latencies of apis whose answers wait on purpose are kept apart.

    `throttled` counts the responses that ask the client to wait, `throttle_ms` adds up for how long; `most_in_flight` is the most requests of one
    connection that waited for their responses at a time; `software` is what the client says that it is; `node` is a broker's node id.
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

    def add(self, line: Captured, counted: _Counted) -> None:
        """Count a request or response."""
        if line.kind == "request":
            self.requests += 1
            self.request_bytes += line.seen.size
            self.most_in_flight = max(self.most_in_flight, line.seen.in_flight or 0)
        else:
            self.responses += 1
            self.response_bytes += line.seen.size
            self.errors.update(counted.errors)
            if counted.latency is not None:
                (self.waits if line.api in WAITING else self.latency).add(counted.latency)
            if counted.throttle > 0:
                self.throttled += 1
                self.throttle_ms += counted.throttle
        if counted.software:
            self.software.add(counted.software)

    def to_json(self) -> dict[str, Any]:
        """All numbers; latencies in milliseconds."""
        out: dict[str, Any] = {"requests": self.requests, "responses": self.responses}
        out |= {"requestBytes": self.request_bytes, "responseBytes": self.response_bytes}
        out |= {"throttled": self.throttled, "throttleMs": self.throttle_ms, "mostInFlight": self.most_in_flight}
        if self.node is not None:
            out["nodeId"] = self.node
        if self.software:
            out["software"] = sorted(self.software)
        for name, histogram in (("latencyMs", self.latency), ("waitMs", self.waits)):
            if histogram.count:
                points = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
                out[name] = {"count": histogram.count} | {key: _ms(histogram.percentile(share)) for key, share in points.items()}
                out[name]["max"] = _ms(histogram.largest)
        return out | {"errors": {str(name): count for name, count in self.errors.most_common()}}


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a line adds to each of its groups."""

    latency: float | None
    errors: list[str | int]
    throttle: int
    software: str | None
    broker: int | None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


@dataclass
class Stats:
    """The groups, and what was counted besides: lines by kind, anomalies by code."""

    groups: dict[str, dict[str, Group]] = field(default_factory=lambda: {name: {} for name in GROUPS})
    kinds: Counter[str] = field(default_factory=Counter)
    anomalies: Counter[str] = field(default_factory=Counter)

    def add(self, line: Captured) -> None:
        """Count a line."""
        self.kinds[line.kind] += 1
        self.anomalies.update(line.anomalies)
        if not line.is_frame or line.guess:
            return
        keys = {
            "api": [f"{line.api or line.api_key} {line.api_version}"],
            "client": [line.client_id or ""],
            "topic": line.topics,
            "broker": [line.dst if line.kind == "request" else line.src],
        }
        counted = _Counted(line.latency, line.errors, line.throttle or 0, line.software, line.broker)
        for group, names in keys.items():
            for name in names:
                groups = self.groups[group]
                if name not in groups:
                    groups[name] = Group()
                groups[name].add(line, counted)
                if group == "broker":
                    groups[name].node = counted.broker

    def to_json(self) -> dict[str, Any]:
        """Everything, the busiest first."""
        out: dict[str, Any] = {"kinds": dict(self.kinds), "anomalies": dict(self.anomalies)}
        for name, groups in self.groups.items():
            ranked = sorted(groups.items(), key=lambda item: -(item[1].request_bytes + item[1].response_bytes))
            out[name] = {key: group.to_json() for key, group in ranked}
        return out
