"""Replaying the moves of a group into its timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.classic import ClassicReplay
from kwire_cli.analysis.groups.modern import ModernReplay
from kwire_cli.analysis.groups.moves import UNTIMED
from kwire_cli.analysis.groups.timeline import Member, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.analysis.groups.moves import Assignment, GroupMoves, Move

LOGGED = frozenset({"generation", "member", "gone", "epoch", "assigned"})
"""Moves that come from records."""
MODERN = ("consumer", "share", "streams")


def replay(group: str, moves: GroupMoves, topics: Mapping[str, str]) -> Timeline:
    """Return the timeline of a group; `topics` are names by topic id.

    Where both calls and records are there, rebalances are those of calls, and so is the time without partitions of
    members that are heard of in calls.
    """
    ordered = sorted((_named(move, topics) for move in moves.moves), key=_order)
    timeline = _begin(group, moves, ordered)
    calls = [move for move in ordered if move.kind not in LOGGED]
    records = [move for move in ordered if move.kind in LOGGED]
    types = moves.types or moves.refused_types
    timeline.protocol = next((name for name in (*MODERN, "classic") if name in types), "")
    intervals = {name: signs.interval for name, signs in moves.members.items() if signs.interval is not None}
    for part, logged in ((records, True), (calls, False)):
        if not part:
            continue
        if timeline.rebalances and not logged:
            timeline.rebalances, timeline.assigned = [], []
            timeline.events = [event for event in timeline.events if event.kind != "rebalance"]
        if not logged:
            for name in moves.members:
                timeline.members[name].without = 0.0
        if timeline.protocol in MODERN:
            ModernReplay(timeline, intervals, logged=logged).run(part)
        else:
            ClassicReplay(timeline).run(part)
    timeline.events.sort(key=lambda event: (event.time, event.kind == "rebalance", event.place.frame or 0))
    for rebalance in timeline.rebalances:
        rebalance.timed &= rebalance.start >= UNTIMED
    return timeline


def _begin(group: str, moves: GroupMoves, ordered: Iterable[Move]) -> Timeline:
    """Return the timeline of a group before its moves are replayed: the members that were heard of.

    `ordered` are the moves in the order of their times, with the silence before each.
    """
    timeline = Timeline(
        group,
        protocol_type=moves.protocol_type,
        coordinators=dict(moves.coordinators),
        dropped=moves.moves.dropped,
    )
    for member, signs in sorted(moves.members.items()):
        timeline.members[member] = Member(
            member,
            *signs.caller,
            signs.instance,
            rebalance_timeout=signs.rebalance_timeout,
            session_timeout=signs.session_timeout,
            first=signs.first,
            last=signs.last,
            accepted=signs.accepted,
            refused=signs.refused,
        )
    for move in ordered:
        if move.silence is not None and move.member in timeline.members:
            timeline.members[move.member].gaps.append((move.time - move.silence, move.time))
    return timeline


def _order(move: Move) -> tuple[float, int, int, int]:
    place = move.place
    return move.time, place.frame or place.offset or 0, place.packet or 0, place.stream or 0


def _named(move: Move, topics: Mapping[str, str]) -> Move:
    """Return a move with the names of topics in place of their ids, as far as they are known."""
    if not topics or (move.assignment is None and move.owned is None):
        return move
    return move._replace(assignment=_renamed(move.assignment, topics), owned=_renamed(move.owned, topics))


def _renamed(assignment: Assignment | None, topics: Mapping[str, str]) -> Assignment | None:
    return assignment and frozenset((topics.get(topic, topic), number) for topic, number in assignment)
