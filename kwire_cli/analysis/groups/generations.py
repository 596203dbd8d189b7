"""Generations of a classic group, and what they add to its timeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.moves import NOTHING, Assignment
from kwire_cli.analysis.groups.timeline import Assigned, Event, Rebalance, Timeline, Trigger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.groups.moves import Move

COOPERATIVE = "cooperative"
"""Part of the names of assignors whose members keep their partitions while they rebalance (KIP-429)."""
STREAMS = "stream"
"""The assignor of Kafka Streams, which is cooperative from 2.4 on."""


@dataclass
class Generation:
    """A generation of a classic group: who joined it, who got which assignment."""

    number: int
    joins: dict[str, Move] = field(default_factory=dict)
    syncs: dict[str, Move] = field(default_factory=dict)
    given: list[Move] = field(default_factory=list)
    """All answers to SyncGroup with an assignment. `syncs` lacks members that were replaced."""
    assignments: dict[str, Assignment] = field(default_factory=dict)
    """The partitions of each member, by the leader's request or by the answer to the member's SyncGroup."""
    owned: dict[str, Assignment] = field(default_factory=dict)
    """The partitions that members had when they joined, by their JoinGroup."""
    members: set[str] = field(default_factory=set)
    whole: bool = False
    """Whether all members are known, which the leader's answer and records tell."""
    assignor: str = ""
    place: Move | None = None
    triggers: list[Trigger] = field(default_factory=list)
    told: dict[str, float] = field(default_factory=dict)
    """When members were told to join it."""
    left: dict[str, float] = field(default_factory=dict)
    """When members left, between the generation before and this one."""
    join_times: list[float] = field(default_factory=list)
    """When members asked to join. Static members that take another's place later are not among them."""
    last: Move | None = None
    """The last answer to a SyncGroup of those."""
    broken: bool = False
    """Whether a SyncGroup was refused because the group rebalances again."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the next rebalance began before anybody got an assignment in this one."""
        return self.broken and not self.syncs

    def give(self, member: str, assignment: Assignment, revoked: Assignment | None, before: Assignment) -> Assignment:
        """Note an assignment of a member and return its partitions. `before` counts if JoinGroup does not name any."""
        if revoked is not None:
            assignment |= self.owned.get(member, before) - revoked
        self.assignments[member] = assignment
        return assignment

    def rows(self) -> Iterator[tuple[str, Assignment, Move]]:
        """Yield what each member has: from answers to SyncGroup, then of other members at the generation's place."""
        for move in self.given:
            yield move.member, move.assignment or NOTHING, move
        known = {move.member for move in self.given}
        for member, assignment in sorted(self.assignments.items()):
            if member not in known and self.place is not None:
                yield member, assignment, self.place

    def begin_with(self, unfinished: Generation) -> None:
        """Take over what happened since the group was stable, from a generation that came to nothing."""
        self.joins |= unfinished.joins
        self.triggers = unfinished.triggers + self.triggers
        self.told = unfinished.told | self.told
        self.left = unfinished.left | self.left
        self.join_times = unfinished.join_times + self.join_times


class Absence:
    """The time that each member of a classic group is without partitions."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._since: dict[str, float] = {}
        """When members that have no partitions had some last, or joined."""

    def add(self, rebalance: Rebalance, current: Generation, previous: Generation | None) -> None:
        """Add up the absences that end in a generation, and note those that begin in it."""
        before = previous.assignments if previous else {}
        stays = previous.members if previous else set()
        given_up: list[float] = []
        keepers = 0
        for member, join in current.joins.items():
            had = before.get(member)
            if member in stays and not _gives_up(join, current.assignor, had):
                keepers += 1
                continue
            self._since.setdefault(member, join.time)
            if member in stays and had != NOTHING:
                given_up.append(join.time)
        for member, assignment, place in current.rows():
            if not assignment:
                self._since.setdefault(member, place.at)
                continue
            since = self._since.pop(member, None)
            if since is None:
                continue
            away = max(place.at - since, 0.0)
            self._timeline.member(member).without += away
            if place is not current.place and member in stays and before.get(member) != NOTHING:
                rebalance.away[member] = away
        if given_up and not keepers:
            rebalance.stopped = _stopped(rebalance, current, given_up)

    def finish(self) -> None:
        """Add up absences that last until a member's end, or until the last sign of it."""
        for member, since in self._since.items():
            own = self._timeline.member(member)
            until = own.ended if own.ended is not None else own.last
            if own.partitions is not None and until is not None:
                own.without += max(until - since, 0.0)


def _gives_up(join: Move, assignor: str, had: Assignment | None) -> bool:
    """Return whether a member that joins again has given up its partitions: by KIP-429, or because it is eager."""
    if join.owned is not None:
        return not join.owned
    return not had or COOPERATIVE not in assignor


def _stopped(rebalance: Rebalance, current: Generation, given_up: list[float]) -> float:
    """Return the seconds in which no member had partitions; 0 if they are not known.

    `given_up` are the times at which members gave their partitions up. A member that left had its partitions until
    then, and one that did not join again in time until it was removed. If JoinGroups of other members are not in the
    input, an answer to JoinGroup shows that all have joined.
    """
    starts = [sync.at for member, sync in current.syncs.items() if current.assignments.get(member)]
    joins = {member: join for member, join in current.joins.items() if member in current.members}
    if not starts:
        return 0.0
    if current.whole and current.members <= joins.keys():
        removed = [trigger.time for trigger in rebalance.triggers if trigger.cause == "poll"]
        end = max([*given_up, *current.left.values(), *removed])
    elif COOPERATIVE in current.assignor or current.assignor == STREAMS:
        return 0.0
    else:
        end = min(join.at for join in joins.values())
    return max(min(starts) - end, 0.0)


def add_assignments(
    timeline: Timeline, current: Generation, before: dict[str, Assignment], clients: dict[str, str]
) -> None:
    """Add what each member has in a generation, and how that differs from what it had."""
    had = dict(before)
    for member, assignment, place in current.rows():
        held = had.get(member, NOTHING)
        row = Assigned(
            place.at,
            current.number,
            member,
            clients.get(member, ""),
            assignment,
            assignment - held,
            held - assignment,
            place.place,
        )
        had[member] = assignment
        timeline.assigned.append(row)
        own = timeline.member(member)
        own.partitions, own.held = assignment, own.held or bool(assignment)
        own.client = own.client or row.client
        timeline.events.append(
            Event(
                place.at,
                "assignment",
                place.place,
                current.number,
                member,
                row.client,
                partitions=len(assignment),
                minor=True,
            )
        )
