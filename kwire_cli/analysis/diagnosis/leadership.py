"""Clients that ask brokers for partitions that these do not lead, and brokers that share one advertised address."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.call import host_of, parts
from kwire_cli.analysis.diagnosis.fetches import is_replica
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import (
    Book,
    Tally,
    earliest,
    merge_all,
    part_errors,
    some,
    whole,
)
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration
from kwire_cli.source.kafka.captured import address_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity

ONE_ADDRESS = FindingKind(
    "ALL_BROKERS_ONE_ADDRESS",
    "error",
    "Several brokers advertise one address.",
    "Clients send requests for any of these brokers to the one address, and reach whichever broker is behind it. The "
    "address is that of a load balancer or a forwarded port, or was copied with a configuration.",
    "Give each broker an address of its own in advertised.listeners. A load balancer in front of all brokers is good "
    "for bootstrap.servers only.",
    ("KIP-103",),
    rank=2,
)
LOOP = FindingKind(
    "LEADERSHIP_LOOP",
    "warning",
    "A client keeps asking a broker for partitions that the broker does not lead.",
    "One such error is normal when leadership moves: the client asks for Metadata and goes to the new leader. A loop "
    "means that Metadata is outdated or wrong, or that the addresses in it lead to another broker.",
    "See whether each broker has its own advertised address that leads to it. Compare leaderEpoch in the Metadata of "
    "several brokers: a broker that is cut off from the controller repeats what it knew last.",
    ("KIP-320", "KIP-951"),
    rank=20,
)
NAMES = {6: "NOT_LEADER_OR_FOLLOWER", 74: "FENCED_LEADER_EPOCH", 75: "UNKNOWN_LEADER_EPOCH"}
LEAST_REFUSED = 4
LEAST_SECONDS = 2.0
"""Refusals of one partition, and their time: a client that follows a new leader has one or two within a second."""
MANY_REFUSED, LONG_REFUSED = 30, 30.0
"""From here on the loop is an error: no election takes so long."""
MOST_CLUSTERS = 64


ABOUT_PARTITIONS = frozenset({"Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords"})


@dataclass
class _Refused(Tally):
    codes: set[int] = field(default_factory=set)
    leaders: set[int] = field(default_factory=set)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Refused):
            self.codes |= other.codes
            self.leaders |= other.leaders


class Leadership(Rule):
    """Refusals of partitions by client and broker, and the addresses of brokers in Metadata."""

    KINDS = (ONE_ADDRESS, LOOP)
    apis: ClassVar[frozenset[str]] = frozenset({"Metadata"})
    unusual_only = True

    def __init__(self) -> None:
        self._refused: Book[tuple[str, str, str, str, int | None], _Refused] = Book(_Refused)
        self._shared: Book[tuple[str, tuple[int, ...], int], Tally] = Book(Tally, MOST_CLUSTERS)

    def call(self, call: Call) -> None:
        """Take a call: of Metadata the addresses, of others the refusals."""
        api = call.api
        if api == "Metadata":
            self._take_addresses(call)
            return
        if api not in ABOUT_PARTITIONS or not any(name in call.errors for name in NAMES.values()):
            return
        if api == "Fetch" and is_replica(call.request):
            return  # replicas follow leaders in ways of their own
        done: set[tuple[str, int | None]] = set()
        for topic, index, code, part in part_errors(call):
            if code not in NAMES or (topic, index) in done:
                continue
            done.add((topic, index))
            refused = self._refused[call.who, host_of(call.client), call.broker, topic, index]
            refused.add(call)
            refused.codes.add(code)
            leader = part.get("currentLeader")
            node = whole(leader.get("leaderId")) if isinstance(leader, dict) else None
            if node is not None and node >= 0 and len(refused.leaders) < 8:
                refused.leaders.add(node)

    def _take_addresses(self, call: Call) -> None:
        nodes: dict[str, set[int]] = {}
        count = 0
        for (broker,) in parts(call.response, "brokers"):
            host, port, node = broker.get("host"), whole(broker.get("port")), whole(broker.get("nodeId"))
            if isinstance(host, str) and host and port is not None and node is not None:
                count += 1
                nodes.setdefault(address_of(host, port), set()).add(node)
        if len(nodes) < count:
            for address, sharing in nodes.items():
                if len(sharing) > 1:
                    self._shared[address, tuple(sorted(sharing)), count].add(call)

    def merge(self, other: Leadership) -> None:
        merge_all(self._refused, other._refused)
        merge_all(self._shared, other._shared)

    def findings(self) -> Iterator[Finding]:
        for (address, nodes, count), tally in self._shared.items():
            names = ", ".join(map(str, nodes[:8])) + (", ..." if len(nodes) > 8 else "")
            text = (
                f"{len(nodes)} of {count} brokers ({names}) have the address {address} in "
                f"{counted(tally.count, 'Metadata response')}"
            )
            yield Finding(ONE_ADDRESS, f"address {address}", text, tally.places, tally.count)
        loops: dict[tuple[str, str, str], list[tuple[str, _Refused]]] = {}
        for (who, host, broker, topic, index), refused in self._refused.items():
            if refused.count >= LEAST_REFUSED and refused.span >= LEAST_SECONDS:
                name = topic if index is None else f"{topic}-{index}"
                loops.setdefault((who, host, broker), []).append((name, refused))
        for (who, _, broker), its in loops.items():
            total = sum(refused.count for _, refused in its)
            codes = {code for _, refused in its for code in refused.codes}
            span = max(refused.span for _, refused in its)
            text = (
                f"{broker} refused {some(name for name, _ in its)} {total} times in {duration(span)}: "
                f"{some(NAMES[code] for code in codes)}"
            )
            if leaders := {leader for _, refused in its for leader in refused.leaders}:
                text += f"; it named {some(leaders)} as leader{'s' if len(leaders) > 1 else ''}"
            level: Severity | None = "error" if total >= MANY_REFUSED * len(its) or span >= LONG_REFUSED else None
            places = earliest(place for _, refused in its for place in refused.places)
            yield Finding(LOOP, f"client {who}", text, places, total, level)
