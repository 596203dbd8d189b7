"""Generations of a classic group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.moves import NOTHING, Assignment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.groups.moves import Move
    from kwire_cli.analysis.groups.timeline import Rebalance, Trigger

COOPERATIVE = "cooperative"
"""Part of the names of assignors whose members keep their partitions while they rebalance (KIP-429)."""
STREAMS = "stream"
"""The assignor of Kafka Streams, which is cooperative from 2.4 on."""


@dataclass
class Generation:
    """A generation of a classic group: who joined it, who got which assignment.

    Its number is -1 if nothing is known of it: before the input, or before the group had members.
    """

    number: int = -1
    joins: dict[str, Move] = field(default_factory=dict)
    """The first request of each member. Static members that take another's place later are not among them."""
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
    last: Move | None = None
    """The last answer with an assignment of a member that joined."""
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


def gives_up(join: Move, assignor: str, had: Assignment | None) -> bool:
    """Return whether a member that joins again has given up its partitions: by KIP-429, or because it is eager."""
    if join.owned is not None:
        return not join.owned
    return not had or COOPERATIVE not in assignor


def stopped_seconds(rebalance: Rebalance, current: Generation, given_up: list[float]) -> float:
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
