"""Generations of a classic group: the members that joined, their assignments, and the reasons for the next one.

A generation is built from JoinGroup and SyncGroup calls, which may be incomplete, or from a record of the coordinator.
"""

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
    """A generation of a classic group: the members that joined it, and their assignments.

    The number is -1 if the generation is unknown: it was before the input, or before the group had members.
    """

    number: int = -1
    joins: dict[str, Move] = field(default_factory=dict)
    """The first JoinGroup of each member, without static members that replaced another member later."""
    syncs: dict[str, Move] = field(default_factory=dict)
    responses: list[Move] = field(default_factory=list)
    """All responses to SyncGroup with an assignment. `syncs` lacks members that were replaced."""
    assignments: dict[str, Assignment] = field(default_factory=dict)
    """The partitions of each member, from the leader's request or the response to the member's SyncGroup."""
    owned: dict[str, Assignment] = field(default_factory=dict)
    """The partitions of members before they joined, from their JoinGroup."""
    members: set[str] = field(default_factory=set)
    is_complete: bool = False
    """Whether all members are known, from the response to the leader or from a record."""
    assignor: str = ""
    place: Move | None = None
    triggers: list[Trigger] = field(default_factory=list)
    rejoin_requests: dict[str, float] = field(default_factory=dict)
    """The times at which members received the error that requests a JoinGroup."""
    left: dict[str, float] = field(default_factory=dict)
    """The times at which members left, between the previous generation and this one."""
    last: Move | None = None
    """The last response with an assignment of a member that joined."""
    is_interrupted: bool = False
    """Whether a SyncGroup was refused because the group rebalances again."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the next rebalance started before any member received an assignment in this generation."""
        return self.is_interrupted and not self.syncs

    def give(self, member: str, assignment: Assignment, revoked: Assignment | None, before: Assignment) -> Assignment:
        """Store the assignment of a member, and return its partitions.

        `revoked` is set if the assignment is a change of the owned partitions. `before` contains the owned partitions
        if the JoinGroup does not.
        """
        if revoked is not None:
            assignment |= self.owned.get(member, before) - revoked
        self.assignments[member] = assignment
        return assignment

    def rows(self) -> Iterator[tuple[str, Assignment, Move]]:
        """Yield each member with its assignment and a move as its place.

        The move is the response to SyncGroup. For other members it is the first move of the generation.
        """
        for move in self.responses:
            yield move.member, move.assignment or NOTHING, move
        known = {move.member for move in self.responses}
        for member, assignment in sorted(self.assignments.items()):
            if member not in known and self.place is not None:
                yield member, assignment, self.place

    def begin_with(self, unfinished: Generation) -> None:
        """Take over the joins, triggers and leaves of an unfinished generation, since the group was last stable."""
        self.joins |= unfinished.joins
        self.triggers = unfinished.triggers + self.triggers
        self.rejoin_requests = unfinished.rejoin_requests | self.rejoin_requests
        self.left = unfinished.left | self.left


def gives_up(join: Move, assignor: str, had: Assignment | None) -> bool:
    """Return whether a member that joins again has given up its partitions.

    The JoinGroup contains the owned partitions since KIP-429. Without them, members of eager assignors give all up.
    """
    if join.owned is not None:
        return not join.owned
    return not had or COOPERATIVE not in assignor


def stopped_seconds(rebalance: Rebalance, current: Generation, given_up: list[float]) -> float:
    """Return the seconds in which no member had partitions, or 0 if unknown.

    `given_up` contains the times at which members gave up their partitions. A member that left had partitions until
    then, and a member that did not join again in time until it was removed. If the input lacks the JoinGroups of other
    members, the first response to a JoinGroup shows that all members have joined.
    """
    starts = [sync.at for member, sync in current.syncs.items() if current.assignments.get(member)]
    joins = {member: join for member, join in current.joins.items() if member in current.members}
    if not starts:
        return 0.0
    if current.is_complete and current.members <= joins.keys():
        removed = [trigger.time for trigger in rebalance.all_triggers if trigger.cause == "poll"]
        end = max([*given_up, *current.left.values(), *removed])
    elif COOPERATIVE in current.assignor or current.assignor == STREAMS:
        return 0.0
    else:
        end = min(join.at for join in joins.values())
    return max(min(starts) - end, 0.0)
