"""Moves of group members: calls and records of coordinators in one small form, which can be merged and replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.subjects import Bounded

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from kwire_cli.analysis.calls import Evidence

MOST_MEMBERS = 1 << 14
"""Members of a group that are kept: a member that restarts is another one each time."""
MOST_PARTITIONS = 1 << 14
"""Partitions of an assignment that are kept."""
UNTIMED = 1e6
"""Seconds below which a time is none: calls without a time are put in order by frame or line, a microsecond each."""
Partition = tuple[str, int]
"""A topic and a partition; a connector and a task of Connect, a subtopology and a task of Streams."""
Assignment = frozenset[Partition]
NOTHING: Assignment = frozenset()


class LoggedMember(NamedTuple):
    """A member as the record of a classic group has it."""

    member: str
    client: str
    host: str
    instance: str | None
    rebalance_timeout: float | None
    session_timeout: float | None
    assignment: Assignment


class Move(NamedTuple):
    """A step of a member of a group, or a record about it.

    `kind` is join, sync, heartbeat, leave, commit or share of calls, and generation, member, gone, epoch or assigned of
    records. `time` is when it was asked or written, `until` when it was answered, in seconds. `generation` is the
    member's own, `reached` the one in the answer: generations of classic groups, member epochs of others.

    `assignment` is what the member was given, `owned` what it says that it has; both None if the message does not say.
    `everybody` are the members as the leader gets them, None for whoever is not the leader.
    """

    kind: str
    time: float
    until: float | None
    place: Evidence
    member: str = ""
    client: str = ""
    host: str = ""
    connection: Hashable = None
    instance: str | None = None
    generation: int | None = None
    reached: int | None = None
    error: str = ""
    reason: str = ""
    detail: str = ""
    assignor: str = ""
    rebalance_timeout: float | None = None
    session_timeout: float | None = None
    topics: tuple[str, ...] | None = None
    assignment: Assignment | None = None
    owned: Assignment | None = None
    everybody: tuple[str, ...] | None = None
    leader_assignments: tuple[tuple[str, Assignment], ...] = ()
    """The assignments that the leader of a classic group sends, by member."""
    listed: tuple[LoggedMember, ...] | None = None
    times: int = 0
    """The delivery count of a `share` move, or the number of records that it gives back."""
    silence: float | None = None
    """Seconds since the member's last call."""

    @property
    def at(self) -> float:
        """When its effect is there: with the answer."""
        return self.time if self.until is None else self.until


@dataclass(slots=True)
class Signs:
    """When a member was heard of, and who it is."""

    first: float
    last: float
    count: int = 0
    client: str = ""
    host: str = ""
    instance: str | None = None
    interval: float | None = None
    """Seconds between heartbeats, as the broker wants them."""
    generation: int | None = None
    """The generation that was noted last, so that heartbeats in it are no news."""
    rebalance_timeout: float | None = None
    session_timeout: float | None = None
    accepted: bool = False
    """Whether the coordinator took it for a member at any time."""

    def merge(self, other: Signs) -> None:
        """Take in when the member was heard of elsewhere."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.count += other.count
        self.accepted |= other.accepted
        self.client, self.host = self.client or other.client, self.host or other.host
        self.instance, self.interval = self.instance or other.instance, self.interval or other.interval
        self.rebalance_timeout = self.rebalance_timeout or other.rebalance_timeout
        self.session_timeout = self.session_timeout or other.session_timeout


@dataclass
class GroupMoves:
    """The moves of a group, and its members."""

    moves: Bounded = field(default_factory=Bounded)
    members: dict[str, Signs] = field(default_factory=dict)
    coordinators: dict[str, int | None] = field(default_factory=dict)
    connections: dict[Hashable, str] = field(default_factory=dict)
    """The member on each connection: librdkafka forgets its id before the answer that fences it has come."""
    types: set[str] = field(default_factory=set)
    """Protocols that the group was seen to speak: classic, consumer, share, streams."""

    def sign(self, member: str, time: float) -> tuple[Signs, float | None]:
        """Note that a member was heard of; return its signs, and the seconds since the sign before."""
        signs = self.members.get(member)
        if signs is None:
            signs = Signs(time, time)
            if len(self.members) < MOST_MEMBERS:
                self.members[member] = signs
            silence = None
        else:
            silence = time - signs.last
            signs.first, signs.last = min(signs.first, time), max(signs.last, time)
        signs.count += 1
        return signs, silence

    def merge(self, other: GroupMoves) -> None:
        """Take in the moves of another part."""
        self.moves.merge(other.moves)
        for member, signs in other.members.items():
            if own := self.members.get(member):
                own.merge(signs)
            elif len(self.members) < MOST_MEMBERS:
                self.members[member] = signs
        self.coordinators |= other.coordinators
        self.connections |= other.connections
        self.types |= other.types


def text(value: Any) -> str:
    """Return a text of a body; empty if it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Return a number of a body; None if it is none."""
    return value if type(value) is int else None


def span_of(milliseconds: Any) -> float | None:
    """Return a timeout of a body in seconds; None if it says none."""
    return milliseconds / 1000 if type(milliseconds) is int and milliseconds > 0 else None


def partitions(rows: Iterable[tuple[str, Any]]) -> Assignment:
    """Return an assignment of pairs of a topic and a list of partitions."""
    pairs = (
        (topic, partition)
        for topic, numbers in rows
        if isinstance(numbers, list)
        for partition in numbers
        if type(partition) is int
    )
    return frozenset(islice(pairs, MOST_PARTITIONS))
