"""The timeline of a group: its events, rebalances and members.

The classes are the rows of the tables of groups. All rows contain the group id, and numbers in the order of time if
queries compare a row with the next one. If an input has no times, only the order is known: times are null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.groups.causes import GRAVE, Cause
from kwire_cli.analysis.groups.members import Member, OfGroup, name_members
from kwire_cli.analysis.groups.moves import CONNECT, Assignment, Move, Partition
from kwire_cli.analysis.rows import FLAG, NUMBER, PARTITIONS, PLACE, SECONDS, TEXT, TIME, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COORDINATORS = Kind(
    [{"address": "VARCHAR", "broker": "BIGINT"}],
    lambda nodes: [{"address": address, "broker": node} for address, node in sorted(nodes.items())],
)


@dataclass(slots=True)
class Event(OfGroup):
    """Something that happened in a group."""

    time: Annotated[float, TIME, "when it happened"]
    kind: Annotated[str, TEXT, "such as `join`, `leave`, `rebalance`, `assignment`, `error`"]
    place: Annotated[Evidence, PLACE, "place in the input"]
    generation: Annotated[int | None, NUMBER, "generation or epoch"] = None
    member: Annotated[str, TEXT, "member id"] = ""
    client: Annotated[str, TEXT, "client id"] = ""
    reason: Annotated[str, TEXT, "why, or the error"] = ""
    detail: Annotated[str, TEXT, "what else is known"] = ""
    seconds: Annotated[float | None, SECONDS, "how long it took"] = None
    partitions: Annotated[int | None, NUMBER, "how many partitions, records or deliveries it is about"] = None
    assigned: Annotated[Assignment | None, PARTITIONS, "assignment of a member; a connector has the partition -1"] = (
        None
    )
    gained: Annotated[Assignment | None, PARTITIONS, "partitions that are new to the member"] = None
    lost: Annotated[Assignment | None, PARTITIONS, "partitions that the member lost"] = None
    number: Annotated[int, NUMBER, "number of the event in the group"] = 0


@dataclass(slots=True)
class Trigger(OfGroup):
    """The reason for a rebalance: its cause, the member that caused it, and a description."""

    time: Annotated[float, TIME, "when it happened"]
    cause: Annotated[Cause, TEXT, "cause, as in `kwire groups`; `unknown` if the input does not show it"]
    text: Annotated[str, TEXT, "what happened"]
    place: Annotated[Evidence, PLACE, "place in the input"]
    member: Annotated[str, TEXT, "member id"] = ""
    client: Annotated[str, TEXT, "client id"] = ""
    rebalance: Annotated[int, NUMBER, "number of the rebalance"] = 0
    number: Annotated[int, NUMBER, "number of the trigger in the rebalance"] = 0

    @classmethod
    def of(cls, move: Move, cause: Cause, text: str, time: float | None = None) -> Trigger:
        """Return the trigger of a move."""
        return cls(move.time if time is None else time, cause, text, move.place, move.member, move.client)

    @property
    def is_grave(self) -> Annotated[bool, FLAG, "whether the cause is `poll`, `session` or `fenced`"]:
        """Whether a healthy group does not have the cause even once."""
        return self.cause in GRAVE

    @property
    def deed(self) -> str:
        """The description of the trigger, which begins with a verb."""
        is_deed = self.text.startswith(("joins", "removed", "leaves", "subscribes", "left"))
        return self.text if is_deed else f"leaves: {self.text}"


@dataclass(slots=True)
class Rebalance(OfGroup):
    """A rebalance of a group.

    It lasts from the first JoinGroup since the group was stable or empty to the last response to SyncGroup. If the
    coordinator assigns partitions, it lasts from the first trigger to the last reaction of a member.

    `away` contains the seconds without partitions by member. `timed` is False if the input contains no JoinGroup of the
    rebalance, because a record is only written at its end.
    """

    start_time: Annotated[float, TIME, "when it began"]
    end_time: Annotated[float, TIME, "when the last member had its assignment"]
    generation_before: Annotated[int | None, NUMBER, "generation or epoch before it"]
    generation: Annotated[int | None, NUMBER, "generation or epoch after it"]
    all_triggers: list[Trigger]
    place: Annotated[Evidence, PLACE, "place in the input"]
    members: Annotated[int, NUMBER, "members after it"] = 0
    moved: Annotated[Assignment | None, PARTITIONS, "partitions that changed hands; null if unknown"] = None
    is_forming: Annotated[bool, FLAG, "whether the group had no members before"] = False
    is_unchanged: Annotated[bool, FLAG, "whether all members have the same assignment as before"] = False
    away: dict[str, float] = field(default_factory=dict)
    stopped_s: Annotated[float, SECONDS, "seconds in which no member had partitions"] = 0.0
    timed: bool = True
    number: Annotated[int, NUMBER, "number of the rebalance in the group"] = 0
    triggers: Annotated[int, NUMBER, "how many triggers it has"] = 0
    cause: Annotated[Cause | None, TEXT, "cause of its gravest trigger, as in `rebalance_triggers`"] = None
    client: Annotated[str, TEXT, "client of this trigger, or its member"] = ""
    reason: Annotated[str, TEXT, "what this client did, as text"] = ""
    is_grave: Annotated[bool, FLAG, "whether a healthy group does not have this cause even once"] = False
    trigger_place: Annotated[Evidence | None, PLACE, "place of its first trigger"] = None
    away_s: Annotated[
        float | None, SECONDS, "seconds that a member had no partitions, at most; null if none lost any"
    ] = None
    away_member: Annotated[str, TEXT, "name of this member"] = ""

    @property
    def seconds(self) -> Annotated[float | None, SECONDS, "how long it took; null if its begin is not in the input"]:
        """The duration. None if the start is unknown, or if calls have an order and no times."""
        return max(self.end_time - self.start_time, 0.0) if self.timed and self.start_time >= 0 else None

    def complete(self, names: Mapping[str, str]) -> None:
        """Set the columns about triggers and members. `names` contains the names of members."""
        triggers = self.all_triggers
        self.triggers = len(triggers)
        gravest = next((trigger for trigger in triggers if trigger.is_grave), triggers[0] if triggers else None)
        if gravest:
            self.cause = gravest.cause
            self.client = gravest.client or gravest.member
            self.reason = gravest.deed
            self.is_grave = gravest.is_grave
            self.trigger_place = triggers[0].place
        if self.away:
            self.away_s, member = max((seconds, member) for member, seconds in self.away.items())
            self.away_member = names[member]


@dataclass(slots=True)
class Timeline(OfGroup):
    """The history and the state of a group. Events are sorted by time."""

    protocol: Annotated[str, TEXT, "`classic`, `consumer`, `share` or `streams`"] = ""
    protocol_type: Annotated[str, TEXT, "of a classic group, such as `consumer` or `connect`"] = ""
    assignor: Annotated[str, TEXT, "the assignor of the last generation"] = ""
    first_generation: Annotated[int | None, NUMBER, "the first generation, or group epoch"] = None
    last_generation: Annotated[int | None, NUMBER, "the last one"] = None
    first_time: Annotated[float, TIME, "the first sign of the group"] = 0.0
    last_time: Annotated[float, TIME, "the last one"] = 0.0
    coordinators: Annotated[dict[str, int | None], COORDINATORS, "brokers that got requests of the group"] = field(
        default_factory=dict
    )
    members: dict[str, Member] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)

    def member(self, member: str) -> Member:
        """Return the member with an id. Create it on the first call."""
        return self.members.setdefault(member, Member(member))

    @property
    def unit(self) -> Annotated[str, TEXT, "the unit of an assignment: `partition` or `task`"]:
        """The name of the units that are assigned to members."""
        return "task" if self.protocol_type == CONNECT else "partition"

    @property
    def is_consuming(self) -> Annotated[bool, FLAG, "whether members consume, if the input shows it"]:
        """Whether the members are consumers, which they are if the input has no other protocol type."""
        return self.protocol_type in {"", "consumer"}

    def reach(self, generation: int) -> None:
        """Update the first and last generation."""
        if generation >= 0:
            self.first_generation = generation if self.first_generation is None else self.first_generation
            self.last_generation = generation

    def rows(self) -> Iterator[OfGroup]:
        """Complete and yield the rows of the group."""
        names = name_members(self.members.values())
        times = [event.time for event in self.events]
        for member in self.members.values():
            times += (time for time in (member.first_time, member.last_time) if time is not None)
        self.first_time = min(times, default=0.0)
        self.last_time = max(times, default=0.0)
        yield self
        yield from self.members.values()
        for number, event in enumerate(self.events):
            event.number = number
            yield event
        for number, rebalance in enumerate(self.rebalances):
            rebalance.number = number
            rebalance.complete(names)
            yield rebalance
            for at, trigger in enumerate(rebalance.all_triggers):
                trigger.rebalance = number
                trigger.number = at
                yield trigger


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
