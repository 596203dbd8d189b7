"""Moves of group members: calls and records of coordinators in one small form, which can be replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.subjects import Bounded

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from kwire_cli.analysis.call import Evidence

MOST_MEMBERS = 1 << 14
"""Members of a group that are kept: a member that restarts is another one each time."""
MOST_PARTITIONS = 1 << 14
"""Partitions of an assignment that are kept."""
UNTIMED = 1e6
"""Seconds below which a time is none: calls without a time are put in order by frame or line, a microsecond each."""
CONNECT = "connect"
"""The protocol type of workers of Kafka Connect."""
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

    `assignment` are the partitions that the member was given, `owned` those in its request, `revoked` those that it has
    to give up; all None if the message has no such field. With `revoked`, `assignment` is added to `owned`.
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
    revoked: Assignment | None = None
    everybody: tuple[str, ...] | None = None
    has_id: bool = False
    """Whether a JoinGroup has a member id: the member was in the group before, or was given the id."""
    everybody_owned: tuple[tuple[str, Assignment | None], ...] = ()
    """The partitions that the members have, in the answer to the leader."""
    leader_assignments: tuple[tuple[str, Assignment, Assignment | None], ...] = ()
    """What the leader of a classic group sends: each member with its `assignment` and `revoked`."""
    listed: tuple[LoggedMember, ...] | None = None
    times: int = 0
    """The delivery count of a `share` move, or the number of records that it gives back."""
    silence: float | None = None
    """Seconds since the member's call before."""

    @property
    def at(self) -> float:
        """When its effect is there: with the answer."""
        return self.time if self.until is None else self.until


@dataclass(slots=True)
class Signs:
    """When a member was heard of, and who it is. `first` and `last` are the times of its calls.

    Requests to leave count only until a member makes other calls, because an admin client may send them.
    """

    first: float = 0.0
    last: float = 0.0
    client: str = ""
    host: str = ""
    is_known: bool = False
    """Whether a move of the member was noted."""
    has_called: bool = False
    """Whether the member made calls other than requests to leave."""
    reached: tuple[Hashable, int | None] | None = None
    """The connection and the generation that were noted last, so that heartbeats in it are no news."""
    instance: str | None = None
    interval: float | None = None
    """Seconds between heartbeats, as the broker wants them."""
    rebalance_timeout: float | None = None
    session_timeout: float | None = None
    accepted: bool = False
    """Whether the coordinator took it for a member at any time."""
    refused: bool = True
    """Whether all of its calls were answered with errors, apart from those that tell a member to join again."""

    def hear(self, move: Move) -> float | None:
        """Note a move of the member; return the seconds since its move before, None if that is not known."""
        is_call = move.kind != "leave"
        is_own = move.client == self.client
        if self.has_called and not is_call and not is_own:
            return None
        if not self.is_known or (is_call and not self.has_called and not is_own):
            self.is_known, self.has_called = True, is_call
            self.client, self.host = move.client, move.host
            self.first = self.last = move.time
            return None
        silence = max(move.time - self.last, 0.0)
        self.first, self.last = min(self.first, move.time), max(self.last, move.time)
        self.has_called |= is_call
        return silence if move.time >= UNTIMED else None

    def learn(
        self,
        instance: str | None,
        interval: float | None,
        rebalance_timeout: float | None,
        session_timeout: float | None,
    ) -> None:
        """Note what is said of the member: of different values the largest."""
        self.instance = max(self.instance or "", instance or "") or None
        self.interval = max(self.interval or 0.0, interval or 0.0) or None
        self.rebalance_timeout = max(self.rebalance_timeout or 0.0, rebalance_timeout or 0.0) or None
        self.session_timeout = max(self.session_timeout or 0.0, session_timeout or 0.0) or None

    @property
    def caller(self) -> tuple[str, str]:
        """The client and the host of the member, empty if it is only known from requests to leave."""
        return (self.client, self.host) if self.has_called else ("", "")


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
    refused_types: set[str] = field(default_factory=set)
    """Protocols of calls that were answered with errors. They tell the protocol if there are no other calls."""
    protocol_type: str = ""
    """What the members of a classic group do together: consumer, connect, or another word of theirs."""

    def signs(self, member: str) -> Signs:
        """Return the signs of a member, which is new the first time."""
        signs = self.members.get(member)
        if signs is None:
            signs = Signs()
            if len(self.members) < MOST_MEMBERS:
                self.members[member] = signs
        return signs

    def meet(self, broker: str, node: int | None) -> None:
        """Note a coordinator, and its node id if that is known."""
        nodes = [number for number in (self.coordinators.get(broker), node) if number is not None]
        self.coordinators[broker] = max(nodes, default=None)


def lapse(first: float, last: float) -> float | None:
    """Return the seconds between two moments; None if one of them has an order and no time."""
    return None if min(first, last) < UNTIMED else last - first


def text(value: Any) -> str:
    """Return a text of a body; empty if it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Return a number of a body; None if it is none."""
    return value if type(value) is int else None


def offsets_in(row: dict[str, Any]) -> str:
    """Return the offsets of a row of a body as text."""
    first, last = number(row.get("firstOffset")), number(row.get("lastOffset"))
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


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
