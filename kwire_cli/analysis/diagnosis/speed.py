"""Brokers that are slower than their peers, and controllers that are too slow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, merge_all, some
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.source.kafka.traffic import TcpConnection

SLOW = FindingKind(
    "SLOW_BROKER",
    "warning",
    "A broker answers more slowly than its peers.",
    "The same api takes much longer at this broker than at the others, at the same time. Requests that wait on "
    "purpose, such as Fetch, and requests behind them on a connection do not count, nor do requests that a quota "
    "delays.",
    "Look at the broker's disk, network threads, request queue and garbage collection, and at whether it leads more "
    "busy partitions than the others. Produce with acks=all waits for followers: a follower may be the slow one.",
    rank=30,
)
OVERLOAD = FindingKind(
    "CONTROLLER_OVERLOAD",
    "warning",
    "The controller answers slowly or too late.",
    "Requests to the controller wait in one queue: heartbeats of brokers wait behind new topics, changes of "
    "partitions and reassignments. All of them wait if the controller stands still. A broker whose heartbeats are late "
    "is fenced, and its leaders move.",
    "Look at the controller's event queue time, its disk and its garbage collection. Create topics and reassign "
    "partitions in smaller steps. Give controllers nodes of their own.",
    ("KIP-500",),
    rank=17,
)
LEAST_CALLS = 50
"""Calls of an api at each of two brokers, so that a 95th percentile is one."""
TIMES, LEAST_MORE = 3.0, 0.02
"""How much slower: so many times the median of the others, and so many seconds."""
STEPS = 8
"""Steps of a histogram for each doubling: 9 percent."""
CONTROLLER = frozenset(
    {
        "AlterPartition", "CreateTopics", "CreatePartitions", "DeleteTopics", "BrokerHeartbeat", "BrokerRegistration",
        "AllocateProducerIds", "AlterPartitionReassignments", "IncrementalAlterConfigs", "ElectLeaders", "Envelope",
    }
)  # fmt: skip
FROM_BROKERS = frozenset({"AlterPartition", "BrokerHeartbeat", "BrokerRegistration", "AllocateProducerIds", "Envelope"})
"""Apis that only controllers answer. A broker may forward the others, in an Envelope."""
SLOW_SECONDS = 2.0
"""Seconds of a request of brokers to the controller: heartbeats are sent every two seconds, and a broker gives up
after half of broker.session.timeout.ms, which is 4.5."""
SLOW_MAKING = 10.0
"""Seconds of a request for topics: making many at once takes some."""
QUICK = frozenset({"AlterPartition", "BrokerHeartbeat", "AllocateProducerIds"})
LEAST_SLOW = 3
MOST_TIMES = 1 << 10
"""Slow requests of which the times are kept, to tell how many waited at a time."""
MOST_CONNECTIONS = 1 << 12


@dataclass(slots=True)
class _Latencies:
    steps: Counter[int] = field(default_factory=Counter)

    def merge(self, other: _Latencies) -> None:
        self.steps += other.steps

    def quantile(self, share: float) -> float:
        """Return the seconds that a share of calls took at most."""
        left = self.steps.total() * share
        highest = 0
        for step, count in sorted(self.steps.items()):
            highest = step
            left -= count
            if left <= 0:
                break
        return float(2.0 ** (highest / STEPS) * 1e-6)


@dataclass
class _Controller(Tally):
    timed_out: int = 0
    slowest: float = 0.0
    times: list[tuple[float, float]] = field(default_factory=list)
    apis: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Controller):
            self.timed_out += other.timed_out
            self.slowest = max(self.slowest, other.slowest)
            self.times = sorted([*self.times, *other.times])[:MOST_TIMES]
            self.apis += other.apis

    @property
    def pending(self) -> int:
        """How many of the slow requests waited at a time."""
        changes = sorted([(asked, 1) for asked, _ in self.times] + [(answered, -1) for _, answered in self.times])
        most = waiting = 0
        for _, change in changes:
            waiting += change
            most = max(most, waiting)
        return most


class Speed(Rule):
    """Latencies by broker and api, throttles of clients, and slow requests to controllers."""

    KINDS = (SLOW, OVERLOAD)

    def __init__(self) -> None:
        self._latencies: Book[tuple[str, str], _Latencies] = Book(_Latencies)
        self._slowest: Book[tuple[str, str], Tally] = Book(Tally)
        self._controllers: Book[str, _Controller] = Book(_Controller)
        self._throttled: dict[Hashable, float] = {}
        self._nodes: dict[str, int] = {}

    def call(self, call: Call) -> None:
        """Take a call: how long it took, and whether a quota held its client back."""
        api = call.api
        asked, answered = call.asked, call.answered
        throttle = call.throttle
        is_kept = call.connection in self._throttled or len(self._throttled) < MOST_CONNECTIONS
        if throttle > 0 and answered is not None and is_kept:
            self._throttled[call.connection] = answered + throttle
        if call.delayed or asked is None or answered is None:
            return
        seconds, broker = answered - asked, call.broker
        if api in CONTROLLER:
            self._take_controller(call, api, seconds)
        if self._throttled and asked < self._throttled.get(call.connection, 0.0):
            return  # the quota holds it back, not the broker
        key = broker, api
        self._latencies[key].steps[int(log2(seconds * 1e6) * STEPS) if seconds > 1e-6 else 0] += 1
        if seconds > LEAST_MORE:
            if broker not in self._nodes and (node := call.node) is not None and len(self._nodes) < 1 << 12:
                self._nodes[broker] = node
            self._slowest[key].add(call)

    def _take_controller(self, call: Call, api: str, seconds: float) -> None:
        timed_out = "REQUEST_TIMED_OUT" in call.errors
        if timed_out or seconds >= (SLOW_SECONDS if api in QUICK else SLOW_MAKING):
            slow = self._controllers[call.broker]
            slow.add(call)
            slow.timed_out += timed_out
            slow.slowest = max(slow.slowest, seconds)
            slow.apis[api] += 1
            if len(slow.times) < MOST_TIMES:
                slow.times.append((call.asked or 0.0, (call.asked or 0.0) + seconds))

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: nothing is held back on it any more."""
        self._throttled.pop((connection.capture, connection.stream), None)

    def merge(self, other: Speed) -> None:
        merge_all(self._latencies, other._latencies)
        merge_all(self._slowest, other._slowest)
        merge_all(self._controllers, other._controllers)
        self._nodes |= other._nodes

    def findings(self) -> Iterator[Finding]:
        yield from self._slow_brokers()
        for address, slow in self._controllers.items():
            if slow.count < LEAST_SLOW:
                continue
            apis = some(f"{api} {count}" for api, count in slow.apis.items())
            text = f"{counted(slow.count, 'request')} ({apis}) were slow or late, {duration(slow.slowest)} at most"
            text += f"; {slow.pending} waited at a time" if slow.pending > 1 else ""
            text += f"; {slow.timed_out} REQUEST_TIMED_OUT" if slow.timed_out else ""
            forwards = FROM_BROKERS.isdisjoint(slow.apis)
            text += "; a broker that is not the controller forwards these" if forwards else ""
            name = f"{'broker' if forwards else 'controller'} {address}"
            yield Finding(OVERLOAD, name, text, slow.places, slow.count)

    def _slow_brokers(self) -> Iterator[Finding]:
        by_api: dict[str, dict[str, _Latencies]] = {}
        for (broker, api), latencies in self._latencies.items():
            if latencies.steps.total() >= LEAST_CALLS:
                by_api.setdefault(api, {})[broker] = latencies
        slow: dict[str, list[tuple[float, str, str]]] = {}
        for api, brokers in by_api.items():
            high = {broker: latencies.quantile(0.95) for broker, latencies in brokers.items()}
            for broker, its in high.items():
                others = sorted(seconds for peer, seconds in high.items() if peer != broker)
                if not others:
                    continue
                peers = others[len(others) // 2]
                if its >= TIMES * peers and its - peers >= LEAST_MORE:
                    text = (
                        f"{api}: 95 % take {duration(its)} at most "
                        f"({counted(brokers[broker].steps.total(), 'call')}), at the others {duration(peers)}"
                    )
                    slow.setdefault(broker, []).append((its / peers, api, text))
        for broker, apis in slow.items():
            apis.sort(reverse=True)
            node = self._nodes.get(broker)
            name = f"broker {broker}" + ("" if node is None else f" (node {node})")
            places = self._slowest[broker, apis[0][1]].places
            yield Finding(SLOW, name, "; ".join(text for _, _, text in apis[:3]), places, apis[0][0])
