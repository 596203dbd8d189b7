"""The timeline of a group: its events, rebalances, members and assignments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire_cli.analysis.groups.members import Member, most_at_once, short
from kwire_cli.analysis.groups.moves import CONNECT, NOTHING, Assignment, lapse
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.moves import Move, Partition

Cause = Literal[
    "join",
    "restart",
    "leave",
    "closed",
    "poll",
    "session",
    "resubscribed",
    "fenced",
    "subscription",
    "metadata",
    "unknown",
]
"""Causes of rebalances.

restart: a client that left in good order is there again; poll: max.poll.interval.ms exceeded; session: the broker heard
nothing of the member for its session timeout; resubscribed: left and came back at once; fenced: thrown out, and back;
metadata: a member joins again by itself; unknown: the input does not show the cause.
"""
FENCED = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"})
"""Errors that tell a member that it is none, or not of this generation."""
STATIC = frozenset({"FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"})
"""Errors of two members with one group.instance.id."""
INCONSISTENT = "INCONSISTENT_GROUP_PROTOCOL"
"""The error of a member without an assignor that all others have."""
REBALANCING = "REBALANCE_IN_PROGRESS"
POLL = "max.poll.interval.ms exceeded"
LATE = 0.9
"""The part of a timeout behind which it counts as over: clients and brokers look at clocks at other moments."""
UNSAID = ("group is already rebalancing", "need to re-join with the given member-id")
"""Beginnings of reasons in JoinGroup requests that say nothing about the cause of a rebalance."""


class Event(NamedTuple):
    """Something that happened in a group. `minor` events are left to programs."""

    time: float
    kind: str
    place: Evidence
    generation: int | None = None
    member: str = ""
    client: str = ""
    reason: str = ""
    detail: str = ""
    seconds: float | None = None
    partitions: int | None = None
    minor: bool = False


class Trigger(NamedTuple):
    """The reason why a group rebalances: who did what, and the text of it."""

    time: float
    cause: Cause
    text: str
    place: Evidence
    member: str = ""
    client: str = ""


class Coming(NamedTuple):
    """How a member comes into a group: the cause of the rebalance, its text, and what an event says of it."""

    cause: Cause = "join"
    text: str = "joins"
    detail: str = ""


class Gone:
    """Clients that left a group, by client id and host, to tell when they are there again."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], tuple[float, Cause]] = {}

    def add(self, client: str, host: str, time: float, cause: Cause) -> None:
        """Note that a member of a client left, or was removed."""
        self._left[client, host] = time, cause

    def coming(self, move: Move, began: float, fenced: str) -> Coming:
        """Return how a member comes that joins; `fenced` says why it was fenced before, if it was."""
        time, cause = self._left.pop((move.client, move.host), (None, "join"))
        detail = ""
        if time is not None and began >= time:
            went = "was removed" if cause == "session" else "left"
            after = lapse(time, began)
            detail = f"comes back {'' if after is None else f'{duration(after)} '}after it {went}"
        if fenced:
            return Coming("fenced", f"joins anew, as it was fenced: {fenced}", detail)
        if detail and cause in {"closed", "leave"}:
            return Coming("restart", "joins again", detail)
        return Coming("join", "joins", detail)


class Assigned(NamedTuple):
    """An assignment of a member, and its difference from the one before."""

    time: float
    generation: int | None
    member: str
    client: str
    partitions: Assignment
    gained: Assignment
    lost: Assignment
    place: Evidence


@dataclass
class Rebalance:
    """A rebalance of a group.

    It lasts from the first JoinGroup since the group was stable or empty to the last answer to SyncGroup. Where the
    coordinator assigns, it lasts from the first trigger to the last member that followed.

    `moved` are partitions that another client has now; it is `compared` if the assignments before are known. A group
    `forms` if it had no members. `away` are seconds without partitions by member, `stopped` the seconds in which no
    member of the group had any. A rebalance is not `timed` if no JoinGroup of it is in the input: a record is written
    at its end.
    """

    start: float
    end: float
    before: int | None
    after: int | None
    triggers: list[Trigger]
    place: Evidence
    members: int = 0
    moved: Assignment = NOTHING
    forms: bool = False
    unchanged: bool = False
    compared: bool = True
    away: dict[str, float] = field(default_factory=dict)
    stopped: float = 0.0
    timed: bool = True

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(self.end - self.start, 0.0)


@dataclass
class Timeline:
    """All that is known of a group, events by time."""

    group: str
    protocol: str = ""
    protocol_type: str = ""
    """The protocol type of a classic group, such as consumer or connect; empty if no call has it."""
    assignor: str = ""
    coordinators: dict[str, int | None] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    generations: list[int] = field(default_factory=list)
    """The first and the last generation."""
    dropped: int = 0

    def meet(self, broker: str, node: int | None) -> None:
        """Note a coordinator, and its node id if that is known."""
        nodes = [number for number in (self.coordinators.get(broker), node) if number is not None]
        self.coordinators[broker] = max(nodes, default=None)

    def member(self, member: str) -> Member:
        """Return a member, which is new the first time."""
        return self.members.setdefault(member, Member(member))

    def name(self, member: str) -> str:
        """Return a member's name for people: its client id, with its member id if several have that client id."""
        label = self.member(member).label
        if label == member:
            return short(member)
        return label if self.clients.get(label, 1) <= 1 else f"{label} ({short(member, label)})"

    @property
    def unit(self) -> str:
        """What members are given."""
        return "task" if self.protocol_type == CONNECT else "partition"

    @property
    def consumes(self) -> bool:
        """Whether the members are consumers, which they are if the input has no other protocol type."""
        return self.protocol_type in {"", "consumer"}

    @property
    def clients(self) -> dict[str, int]:
        """How many members have a client id at the same time, at most."""
        if self._clients is None:
            self._clients = most_at_once(self.members.values())
        return self._clients

    _clients: dict[str, int] | None = None

    def rebalanced(self, rebalance: Rebalance) -> None:
        """Add a rebalance that has ended, and its event."""
        self.rebalances.append(rebalance)
        first = rebalance.triggers[0] if rebalance.triggers else None
        self.events.append(
            Event(
                rebalance.end,
                "rebalance",
                rebalance.place,
                rebalance.after,
                first.member if first else "",
                first.client if first else "",
                first.text if first else "",
                seconds=rebalance.seconds if rebalance.timed else None,
                partitions=len(rebalance.moved) if rebalance.compared else None,
            )
        )

    def reach(self, generation: int | None) -> None:
        """Note a generation."""
        if generation is not None and generation >= 0:
            self.generations = [self.generations[0] if self.generations else generation, generation]

    @property
    def span(self) -> tuple[float, float]:
        """The times of the first and the last sign of the group."""
        times = [time for member in self.members.values() for time in (member.first, member.last) if time is not None]
        times += [event.time for event in self.events]
        return (min(times), max(times)) if times else (0.0, 0.0)


def in_effect(moves: Sequence[Move]) -> Iterator[tuple[Move, float | None]]:
    """Yield moves by when they count, each with the time when the member came back, if it is one that left."""
    back = _returns(moves)
    points = sorted(enumerate(moves), key=lambda point: point[1].time if point[1].kind == "leave" else point[1].at)
    for at, move in points:
        yield move, back.get(at)


def _returns(moves: Iterable[Move]) -> dict[int, float]:
    """Return when members that left came back, by the number of the move: under their member id or on their connection.

    The process of a member that comes back on the connection on which it left was not restarted.
    """
    back: dict[int, float] = {}
    open_: dict[object, list[int]] = {}
    for at, move in enumerate(moves):
        keys = [move.member] if move.member else []
        keys += [move.connection] if move.connection not in {None, ""} else []  # type: ignore[list-item] # any key
        if move.kind == "leave":
            for key in keys:
                open_.setdefault(key, []).append(at)
        elif move.kind == "join":
            for key in keys:
                for number in open_.pop(key, ()):
                    back.setdefault(number, move.time)
    return back


def why_left(
    move: Move, back: float | None, since: float | None, timeout: float | None, *, by_admin: bool
) -> tuple[Cause, str]:
    """Return the cause of a member's leaving, and its text.

    `back` is the time at which it came back, `since` are the seconds since it got its assignment, `timeout` its
    max.poll.interval.ms. `by_admin` says that it is taken out by somebody else (its request names other members).
    """
    reason = move.reason
    if "poll timeout" in reason or "max.poll.interval" in reason:
        return "poll", f"{POLL} (the client says: {reason})"
    if reason:
        return ("closed" if "clos" in reason else "resubscribed" if back is not None else "leave"), reason
    if back is None:
        return ("leave", "taken out by an admin client") if by_admin else ("closed", "leaves")
    away = lapse(move.time, back)
    if away is None:
        return "unknown", "left and came back, without a restart"
    if timeout is not None and since is not None and since >= LATE * timeout:
        return "poll", f"{POLL}, probably ({duration(since)} of {duration(timeout)})"
    return "resubscribed", f"left and came back after {duration(away)}, without a restart"


def subscribes(topics: Sequence[str], before: Sequence[str]) -> str:
    """Return a change of topics as text."""
    return f"subscribes to {', '.join(topics[:3]) or 'nothing'}, before to {', '.join(before[:3]) or 'nothing'}"


def moved_between(
    before: Mapping[str, Assignment], after: Mapping[str, Assignment], clients: Mapping[str, str]
) -> Assignment:
    """Return the partitions that went to another client, were taken on, or were given up.

    A client that came back as another member keeps what it had.
    """
    owners: dict[Partition, tuple[set[str], set[str]]] = {}
    for side, assignments in enumerate((before, after)):
        for member, assignment in assignments.items():
            stays = member in before and member in after
            who = member if stays else f"client {clients.get(member) or member}"
            for partition in assignment:
                owners.setdefault(partition, (set(), set()))[side].add(who)
    return frozenset(partition for partition, (old, new) in owners.items() if old != new)


def refusal(move: Move) -> tuple[str, str, str]:
    """Return an answer with an error as the kind of an event, its reason and its detail."""
    detail = f"at {move.place.what.partition(' ')[0]}"
    if move.silence is not None and move.error in FENCED:
        detail += f", {duration(move.silence)} after its call before"
    if move.error == INCONSISTENT and move.detail:
        detail += f" with {move.detail}"
    return ("fenced" if move.error in FENCED or move.error in STATIC else "error"), move.error, detail
