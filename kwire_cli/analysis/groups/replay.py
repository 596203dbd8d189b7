"""The replay of groups: calls and batches of logs become moves, and the moves of a group become its timeline.

Moves are stored until the inputs end, because records and calls of one group come from several inputs. Calls and
records are replayed separately. Moves without times are replayed in the order of the input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import ReplayedTables, calls_in
from kwire_cli.analysis.groups.causes import REBALANCING
from kwire_cli.analysis.groups.classic import ClassicReplay
from kwire_cli.analysis.groups.logged import logged_moves, topic_names
from kwire_cli.analysis.groups.members import Member
from kwire_cli.analysis.groups.modern import ModernReplay
from kwire_cli.analysis.groups.reading import QUERY, moves_of
from kwire_cli.analysis.groups.timeline import Event, Rebalance, Timeline, Trigger

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.groups.members import OfGroup
    from kwire_cli.analysis.groups.moves import Assignment, Move
    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.log_inputs import LogItem

MOST_MOVES = 1 << 17
"""Maximum number of moves of all groups, without heartbeats that are not news. Further moves are dropped.

A move takes a few hundred bytes.
"""
MOST_NAMES = 1 << 16
"""Maximum number of topic names."""
MODERN = ("consumer", "share", "streams")


@dataclass
class GroupMoves:
    """The moves of a group, and its timeline before the replay, with members and coordinators."""

    timeline: Timeline
    moves: list[Move] = field(default_factory=list)
    connections: dict[Hashable, str] = field(default_factory=dict)
    """The member on each connection. librdkafka may send no member id before it receives the error that fences it."""
    types: set[str] = field(default_factory=set)
    """Protocols in accepted calls and in records: classic, consumer, share, streams."""
    refused_types: set[str] = field(default_factory=set)
    """Protocols of calls that were answered with errors. They count only if there are no other calls."""

    def observe(self, call: Call, move: Move) -> Move | None:
        """Update the member of a move. Return the move with its member, or None if the move is not news."""
        timeline = self.timeline
        if move.kind != "commit":
            (self.refused_types if move.error else self.types).add(move.protocol)
            known = timeline.coordinators.get(call.broker)
            timeline.coordinators[call.broker] = known if call.node is None else call.node
            timeline.protocol_type = call.request.get("protocolType") or timeline.protocol_type
        if not move.member and move.kind != "join":
            move = move._replace(member=self.connections.get(move.connection, ""))
        elif move.member and move.kind != "leave":
            self.connections[move.connection] = move.member
        if not move.member:
            return move
        member = timeline.members.setdefault(move.member, Member(move.member, is_refused=True))
        member.learn(move)
        silence = member.observe(move)
        number = move.reached if move.reached is not None else move.generation
        is_news = move.is_news or member.reached != (move.connection, number)
        if is_news and silence is not None:
            member.gaps.append((move.time - silence, move.time))
        if move.error in ("", REBALANCING):
            member.is_refused = False
        if not move.error and number is not None and move.until is not None:
            member.reached = move.connection, number
        return move._replace(silence=silence) if is_news else None


class GroupReplay:
    """The moves of all groups, and the rows for their tables."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupMoves] = {}
        self.moves = 0
        self.dropped = 0
        """Number of moves beyond MOST_MOVES."""
        self.topics: dict[str, str] = {}
        """Topic names by id, from the metadata log."""

    def read(self, tables: Tables) -> None:
        """Add the calls in tables."""
        for call in calls_in(tables, QUERY):
            self._call(call)

    def _call(self, call: Call) -> None:
        for move in moves_of(call):
            self._add(move, call)

    def log_item(self, item: LogItem) -> None:
        """Add a batch of a coordinator's log, or of the metadata log, which contains the names of topics."""
        if len(self.topics) < MOST_NAMES:
            self.topics.update(topic_names(item))
        for move in logged_moves(item):
            self._add(move)

    def _add(self, move: Move, call: Call | None = None) -> None:
        if self.moves >= MOST_MOVES:
            self.dropped += 1
            return
        group = self.groups.setdefault(move.group, GroupMoves(Timeline(group_id=move.group)))
        if call is None:
            group.types.add(move.protocol)
        news = move if call is None else group.observe(call, move)
        if news:
            self.moves += 1
            group.moves.append(news)

    def timelines(self) -> list[Timeline]:
        """Replay all groups, and return their timelines by name."""
        return [replay(moves, self.topics) for _, moves in sorted(self.groups.items())]

    def rows(self) -> Iterator[OfGroup]:
        """Yield the rows of all groups."""
        for timeline in self.timelines():
            for row in timeline.rows():
                row.group_id = timeline.group_id
                yield row


ROWS = {
    "groups": Timeline,
    "group_events": Event,
    "rebalances": Rebalance,
    "rebalance_triggers": Trigger,
    "group_members": Member,
}
"""The rows of each table."""
REPLAYED = ReplayedTables(ROWS, QUERY, GroupReplay)


def replay(group: GroupMoves, topics: Mapping[str, str]) -> Timeline:
    """Replay the moves of a group into its timeline, and return it. `topics` contains topic names by id.

    If there are both calls and records, the calls determine the rebalances, the assignments, and the time without
    partitions of members with calls. A member that is only known from requests to leave has no client.
    """
    timeline = group.timeline
    timeline.members = dict(sorted(timeline.members.items()))
    members_with_calls = list(timeline.members.values())
    for member in members_with_calls:
        if not member.has_called:
            member.client = member.host = ""
    types = group.types or group.refused_types
    timeline.protocol = next((name for name in (*MODERN, "classic") if name in types), "")
    moves = sorted((_with_topic_names(move, topics) for move in group.moves), key=_order)
    for part in ([move for move in moves if not move.is_call], [move for move in moves if move.is_call]):
        if part and part[0].is_call:
            for member in members_with_calls:
                member.without_s = 0.0
            if timeline.rebalances:
                timeline.rebalances = []
                timeline.events = [event for event in timeline.events if event.kind not in {"rebalance", "assignment"}]
        if part:
            (ModernReplay if timeline.protocol in MODERN else ClassicReplay)(timeline).run(part)
    timeline.events.sort(key=lambda event: (event.time, event.kind == "rebalance", event.place.frame or 0))
    return timeline


def _order(move: Move) -> tuple[float, int, int, int]:
    place = move.place
    return move.time, place.frame or place.offset or 0, place.packet or 0, place.stream or 0


def _with_topic_names(move: Move, topics: Mapping[str, str]) -> Move:
    """Return a move with topic names in place of topic ids. Ids without a known name are unchanged."""

    def named(assignment: Assignment | None) -> Assignment | None:
        return assignment and frozenset((topics.get(topic, topic), number) for topic, number in assignment)

    return move._replace(assignment=named(move.assignment), owned=named(move.owned)) if topics else move
