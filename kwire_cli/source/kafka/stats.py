"""Statistics over a capture: counts, sizes, latencies and errors by api, client and topic. Memory grows with the groups, not with the frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

from kwire_cli.message.roles import top_value
from kwire_cli.source.kafka.columns import COLUMNS
from kwire_cli.source.kafka.traffic import WAITING

if TYPE_CHECKING:
    from kwire_cli.source.kafka.traffic import Captured

GROUPS = ("api", "client", "topic")
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
    """What is counted for one api, client or topic. Latencies of apis whose answers wait on purpose are kept apart."""

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    latency: Histogram = field(default_factory=Histogram)
    waits: Histogram = field(default_factory=Histogram)
    errors: Counter[str] = field(default_factory=Counter)
    throttled: int = 0

    def add(self, line: Captured) -> None:
        """Count a request or response."""
        if line.kind == "request":
            self.requests += 1
            self.request_bytes += line.seen.size
            return
        self.responses += 1
        self.response_bytes += line.seen.size
        self.errors.update(line.errors)
        if line.latency is not None:
            waits = line.frame is not None and line.frame.api in WAITING
            (self.waits if waits else self.latency).add(line.latency)
        if line.frame and line.frame.body and not line.frame.body.guess and (top_value(line.frame.body, "throttleTimeMs") or 0) > 0:
            self.throttled += 1

    def to_json(self) -> dict[str, Any]:
        """All numbers; latencies in milliseconds."""
        out: dict[str, Any] = {"requests": self.requests, "responses": self.responses}
        out |= {"requestBytes": self.request_bytes, "responseBytes": self.response_bytes, "throttled": self.throttled}
        for name, histogram in (("latencyMs", self.latency), ("waitMs", self.waits)):
            if histogram.count:
                points = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
                out[name] = {"count": histogram.count} | {key: _ms(histogram.percentile(share)) for key, share in points.items()}
                out[name]["max"] = _ms(histogram.largest)
        return out | {"errors": dict(self.errors.most_common())}


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
        self.anomalies.update(COLUMNS["anomaly"](line))
        if line.frame is None or line.frame.guess:
            return
        keys = {
            "api": [f"{line.frame.api or line.frame.api_key} {line.frame.api_version}"],
            "client": [COLUMNS["clientId"](line) or ""],
            "topic": line.topics,
        }
        for group, names in keys.items():
            for name in names:
                self.groups[group].setdefault(name, Group()).add(line)

    def to_json(self) -> dict[str, Any]:
        """Everything, the busiest first."""
        out: dict[str, Any] = {"kinds": dict(self.kinds), "anomalies": dict(self.anomalies)}
        for name, groups in self.groups.items():
            ranked = sorted(groups.items(), key=lambda item: -(item[1].request_bytes + item[1].response_bytes))
            out[name] = {key: group.to_json() for key, group in ranked}
        return out
