"""Generations of a classic group, and what they add to its timeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.moves import NOTHING, Assignment
from kwire_cli.analysis.groups.timeline import Assigned, Event, Rebalance, Timeline, Trigger, names

if TYPE_CHECKING:
    from kwire_cli.analysis.groups.moves import Move

COOPERATIVE = "cooperative"
"""Part of the names of assignors whose members keep their partitions while they rebalance (KIP-429)."""


@dataclass
class Generation:
    """A generation of a classic group: who joined it, who got which assignment."""

    number: int
    joins: dict[str, Move] = field(default_factory=dict)
    syncs: dict[str, Move] = field(default_factory=dict)
    assigned: dict[str, Assignment] = field(default_factory=dict)
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
    end: float | None = None
    """The last answer to a SyncGroup of those."""

    @property
    def assignments(self) -> dict[str, Assignment]:
        """The partitions of each member: those of the leader's request, or of the answer to its own SyncGroup."""
        return self.assigned | {member: sync.assignment or NOTHING for member, sync in self.syncs.items()}


def add_away(timeline: Timeline, rebalance: Rebalance, current: Generation, before: dict[str, Assignment]) -> None:
    """Add up how long members had no partitions: eager ones give theirs up before they join."""
    eager = COOPERATIVE not in current.assignor
    stops, starts = [], []
    for member, sync in current.syncs.items():
        join = current.joins.get(member)
        if join is None or not (eager or not before.get(member)):
            continue
        away = max(sync.at - join.time, 0.0)
        if before.get(member):
            rebalance.away[member] = away
            stops.append(join.time)
        if sync.assignment:
            starts.append(sync.at)
        timeline.member(member).without += away
    if eager and stops and starts:
        rebalance.stopped = max(min(starts) - max(stops), 0.0)


def add_assignments(
    timeline: Timeline,
    current: Generation,
    before: dict[str, Assignment],
    after: dict[str, Assignment],
    clients: dict[str, str],
) -> None:
    """Add what each member has in a generation, and how that differs from what it had."""
    for member, assignment in sorted(after.items()):
        sync = current.syncs.get(member, current.place)
        if sync is None:
            continue
        had = before.get(member, NOTHING)
        row = Assigned(
            sync.at,
            current.number,
            member,
            clients.get(member, ""),
            assignment,
            assignment - had,
            had - assignment,
            sync.place,
        )
        timeline.assigned.append(row)
        own = timeline.member(member)
        own.partitions, own.held = assignment, own.held or bool(assignment)
        own.client = own.client or row.client
        detail = changes(row)
        timeline.events.append(
            Event(
                sync.at,
                "assignment",
                sync.place,
                current.number,
                member,
                row.client,
                "",
                detail,
                None,
                len(assignment),
                minor=True,
            )
        )


def add_idle(timeline: Timeline) -> None:
    """Count the time without partitions up to the last sign of members whose assignment is empty."""
    last = {row.member: row for row in timeline.assigned}
    for member, row in last.items():
        own = timeline.member(member)
        until = own.ended if own.ended is not None else own.last
        if not row.partitions and until is not None:
            own.without += max(until - row.time, 0.0)


def changes(row: Assigned) -> str:
    """Return an assignment as text, with what it gained and lost."""
    parts = [names(row.partitions) or "nothing"]
    if row.gained and row.gained != row.partitions:
        parts.append(f"gains {names(row.gained)}")
    if row.lost:
        parts.append(f"loses {names(row.lost)}")
    return "; ".join(parts)
