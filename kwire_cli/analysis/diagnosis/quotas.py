"""Clients that brokers make wait because of a quota."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import duration, host_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, merge_all, some
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call

THROTTLED = FindingKind(
    "THROTTLED",
    "warning",
    "A broker makes a client wait because of a quota.",
    "The answer comes at once, and says for how long the broker will read nothing from this client. The next request "
    "waits for that time, which looks like a slow broker. Quotas belong to a user, a client id or both.",
    "See kafka-configs.sh --describe --entity-type clients and users: producer_byte_rate and consumer_byte_rate count "
    "compressed bytes, request_percentage counts the time of threads. Raise the quota, compress, or send less.",
    ("KIP-13", "KIP-124", "KIP-219"),
    rank=18,
)
LEAST_SECONDS, LEAST_SHARE = 1.0, 0.05
"""Seconds of waiting in all, or their share of the client's time, from which a throttle is a warning."""


@dataclass
class _Throttled(Tally):
    seconds: float = 0.0
    longest: float = 0.0
    apis: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Throttled):
            self.seconds += other.seconds
            self.longest = max(self.longest, other.longest)
            self.apis += other.apis


class Quotas:
    """Throttles by client and broker: a part of the rule about the speed of brokers."""

    KINDS = (THROTTLED,)

    def __init__(self) -> None:
        self._throttled: Book[tuple[str, str, str], _Throttled] = Book(_Throttled)

    def add(self, call: Call, seconds: float) -> None:
        """Take a call that was throttled."""
        throttled = self._throttled[call.who, host_of(call.client), call.broker]
        throttled.add(call)
        throttled.seconds += seconds
        throttled.longest = max(throttled.longest, seconds)
        throttled.apis[call.api] += 1

    def merge(self, other: Quotas) -> None:
        merge_all(self._throttled, other._throttled)

    def findings(self) -> Iterator[Finding]:
        for (who, _, broker), throttled in self._throttled.items():
            apis = some(f"{api} {count}" for api, count in throttled.apis.items())
            text = (
                f"{broker} throttled {counted(throttled.count, 'request')} ({apis}) for {duration(throttled.seconds)} "
                f"in all, {duration(throttled.longest)} at most"
            )
            long = throttled.seconds >= max(LEAST_SECONDS, LEAST_SHARE * throttled.span)
            yield Finding(
                THROTTLED, f"client {who}", text, throttled.places, throttled.seconds, None if long else "info"
            )
