"""The timeline of a group: its events, rebalances, members and assignments.

Fields and properties have the names of the columns in `groups/tables`, which `groups/rows` takes from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.groups.causes import GRAVE
from kwire_cli.analysis.groups.members import Member, shared_labels, short
from kwire_cli.analysis.groups.moves import CONNECT, UNTIMED, Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.causes import Cause
    from kwire_cli.analysis.groups.moves import Move, Partition


class Event(NamedTuple):
    """Something that happened in a group."""

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

    @property
    def is_minor(self) -> bool:
        """Whether the event is not displayed, and only part of the output for programs."""
        return self.kind in {"assignment", "epoch", "rebalancing"} or (self.kind == "rejoin" and not self.reason)


class Trigger(NamedTuple):
    """The reason for a rebalance: its cause, the member that caused it, and a description."""

    time: float
    cause: Cause
    text: str
    place: Evidence
    member: str = ""
    client: str = ""

    @classmethod
    def of(cls, move: Move, cause: Cause, text: str) -> Trigger:
        """Return the trigger of a move."""
        return cls(move.time, cause, text, move.place, move.member, move.client)

    @property
    def is_grave(self) -> bool:
        """Whether a healthy group does not have the cause even once."""
        return self.cause in GRAVE

    @property
    def deed(self) -> str:
        """The description of the trigger, which begins with a verb."""
        is_deed = self.text.startswith(("joins", "removed", "leaves", "subscribes", "left"))
        return self.text if is_deed else f"leaves: {self.text}"


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

    It lasts from the first JoinGroup since the group was stable or empty to the last response to SyncGroup. If the
    coordinator assigns partitions, it lasts from the first trigger to the last reaction of a member.

    `moved` contains the partitions that another client has now. It is None if the previous assignments are unknown.
    `is_forming` is set if the group had no members. `away` contains the seconds without partitions by member, and
    `stopped_s` is the number of seconds in which no member had partitions. `timed` is False if the input contains no
    JoinGroup of the rebalance, because a record is only written at its end.
    """

    start_time: float
    end_time: float
    generation_before: int | None
    generation: int | None
    triggers: list[Trigger]
    place: Evidence
    members: int = 0
    moved: Assignment | None = None
    is_forming: bool = False
    is_unchanged: bool = False
    away: dict[str, float] = field(default_factory=dict)
    stopped_s: float = 0.0
    timed: bool = True

    @property
    def seconds(self) -> float | None:
        """The duration. None if the start is unknown, or if calls have an order and no times."""
        return max(self.end_time - self.start_time, 0.0) if self.timed and self.start_time >= UNTIMED else None

    @property
    def first(self) -> Trigger | None:
        """The first trigger."""
        return self.triggers[0] if self.triggers else None


@dataclass
class Timeline:
    """The history and the state of a group. Events are sorted by time."""

    group_id: str
    protocol: str = ""
    protocol_type: str = ""
    """The protocol type of a classic group, such as consumer or connect. Empty if no call contains it."""
    assignor: str = ""
    nodes: dict[str, int | None] = field(default_factory=dict)
    """Node ids of the coordinators by address, None if unknown."""
    members: dict[str, Member] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    first_generation: int | None = None
    last_generation: int | None = None

    def meet(self, broker: str, node: int | None) -> None:
        """Add a coordinator, with its node id if known."""
        self.nodes[broker] = self.nodes.get(broker) if node is None else node

    def member(self, member: str) -> Member:
        """Return the member with an id. Create it on the first call."""
        return self.members.setdefault(member, Member(member))

    def name(self, member: str) -> str:
        """Return a member's name for display: its client id, with its member id if several have that client id."""
        label = self.member(member).label
        if label == member:
            return short(member)
        return f"{label} ({short(member, label)})" if label in self._shared_labels else label

    @cached_property
    def _shared_labels(self) -> set[str]:
        return shared_labels(self.members.values())

    @property
    def unit(self) -> str:
        """The name of the units that are assigned to members."""
        return "task" if self.protocol_type == CONNECT else "partition"

    @property
    def is_consuming(self) -> bool:
        """Whether the members are consumers, which they are if the input has no other protocol type."""
        return self.protocol_type in {"", "consumer"}

    @property
    def coordinators(self) -> list[dict[str, Any]]:
        """The coordinators as rows."""
        return [{"address": address, "broker": node} for address, node in sorted(self.nodes.items())]

    def reach(self, generation: int) -> None:
        """Update the first and last generation."""
        if generation >= 0:
            self.first_generation = generation if self.first_generation is None else self.first_generation
            self.last_generation = generation

    @property
    def span(self) -> tuple[float, float]:
        """The times of the first and the last event or call of the group."""
        times = [event.time for event in self.events]
        for member in self.members.values():
            times += (time for time in (member.first_time, member.last_time) if time is not None)
        return (min(times), max(times)) if times else (0.0, 0.0)


def moved_between(
    before: Mapping[str, Assignment], after: Mapping[str, Assignment], members: Mapping[str, Member]
) -> Assignment:
    """Return the partitions whose client changed, including partitions with a client only before or only after.

    Partitions of a client that came back as another member count as unchanged.
    """
    owners: dict[Partition, tuple[set[str], set[str]]] = {}
    for side, assignments in enumerate((before, after)):
        for name, assignment in assignments.items():
            client = members[name].client if name in members else ""
            who = name if name in before and name in after else f"client {client or name}"
            for partition in assignment:
                owners.setdefault(partition, (set(), set()))[side].add(who)
    return frozenset(partition for partition, (old, new) in owners.items() if old != new)
