"""The question what goes on in groups: calls and logs of coordinators, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import Replayed, ReplayedTables
from kwire_cli.analysis.groups.answer import answer_of
from kwire_cli.analysis.groups.logged import logged_moves, topic_names
from kwire_cli.analysis.groups.moves import MOST_MEMBERS, GroupMoves, span_of, text
from kwire_cli.analysis.groups.reading import HEARTBEATS, QUERY, SHARES, moves_of
from kwire_cli.analysis.groups.replay import replay
from kwire_cli.analysis.groups.tables import TABLES, table_rows
from kwire_cli.analysis.groups.timeline import REBALANCING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.groups.moves import Move
    from kwire_cli.analysis.groups.timeline import Timeline
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.answer import Answer
    from kwire_cli.message.redaction import Redaction

MOST_GROUPS = 1 << 12
"""Groups that are kept."""
MOST_MOVES = 1 << 17
"""Moves of all groups that are kept, some hundred bytes each: the first ones. Heartbeats without news are none."""
MOST_NAMES = 1 << 16
"""Topics whose names are kept."""


class GroupState:
    """The moves of all groups so far."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupMoves] = {}
        self.moves = 0
        self.lost_groups = 0
        """Moves of groups beyond MOST_GROUPS."""
        self.topics: dict[str, str] = {}
        """Names of topics by id, of the metadata log."""

    def call(self, call: Call) -> None:
        """Take one of the calls of QUERY, in the order of time."""
        protocol = HEARTBEATS.get(call.api) or ("share" if call.api in SHARES else "classic")
        for name, move in moves_of(call):
            group = self._group(name)
            if group is None:
                continue
            if move.kind != "commit":
                (group.refused_types if move.error else group.types).add(protocol)
                group.meet(call.broker, call.node)
                group.protocol_type = text(call.request.get("protocolType")) or group.protocol_type
            kept = _with_member(group, move)
            if kept.member:
                kept = self._sign(group, kept, call)
            if _is_news(group, kept):
                self._keep(group, kept)
            self._note(group, kept)

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a coordinator's log, or of the metadata log, which has the names of topics."""
        if len(self.topics) < MOST_NAMES:
            self.topics.update(topic_names(item))
        for name, protocol, move in logged_moves(item):
            group = self._group(name)
            if group is not None:
                group.types.add(protocol)
                self._keep(group, move)

    def _group(self, name: str) -> GroupMoves | None:
        group = self.groups.get(name)
        if group is None:
            if len(self.groups) >= MOST_GROUPS:
                self.lost_groups += 1
                return None
            group = self.groups[name] = GroupMoves()
        return group

    def _keep(self, group: GroupMoves, move: Move) -> None:
        if self.moves < MOST_MOVES:
            self.moves += 1
            group.moves.append(move)
        else:
            group.moves.dropped += 1

    @staticmethod
    def _sign(group: GroupMoves, move: Move, call: Call) -> Move:
        """Note that the member was heard of."""
        signs = group.signs(move.member)
        interval = span_of((call.response or {}).get("heartbeatIntervalMs"))
        signs.learn(move.instance, interval, move.rebalance_timeout, move.session_timeout)
        return move._replace(silence=signs.hear(move))

    @staticmethod
    def _note(group: GroupMoves, move: Move) -> None:
        signs = group.members.get(move.member)
        reached = move.reached if move.reached is not None else move.generation
        if signs is not None and move.error in ("", REBALANCING):
            signs.refused = False
        if signs is not None and not move.error and reached is not None and move.until is not None:
            signs.accepted = True
            signs.reached = move.connection, reached

    def timelines(self, names: Collection[str] = ()) -> list[Timeline]:
        """Return the timelines of groups by name, by default of all."""
        return [
            replay(name, moves, self.topics)
            for name, moves in sorted(self.groups.items())
            if not names or name in names
        ]

    def rows(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the rows of all groups for their tables, each with the name of the table."""
        return table_rows(self.timelines())


REPLAYED = ReplayedTables(TABLES, QUERY, GroupState)


def _with_member(group: GroupMoves, move: Move) -> Move:
    """Return a move with the member that its connection was seen to have, if it does not say its own."""
    if move.member:
        if move.kind != "leave" and len(group.connections) < MOST_MEMBERS:
            group.connections[move.connection] = move.member
        return move
    return move._replace(member=group.connections.get(move.connection, "")) if move.kind != "join" else move


def _is_news(group: GroupMoves, move: Move) -> bool:
    if move.kind != "heartbeat" or move.error or move.detail:
        return True
    if move.assignment is not None or move.owned is not None or move.topics is not None:
        return True
    signs = group.members.get(move.member)
    reached = move.reached if move.reached is not None else move.generation
    return signs is None or signs.reached != (move.connection, reached)


class Groups(Replayed[GroupState]):
    """A timeline of each group: a fold over captures, request logs and the logs of coordinators."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(redaction, QUERY, GroupState())

    def names(self) -> list[str]:
        """Return the names of the groups."""
        return sorted(self.state.groups)

    def answer(self, names: Collection[str] = ()) -> Answer:
        """Return the groups of these names, by default all, with their events, members and assignments."""
        state = self.state
        return answer_of(state.timelines(names), lost=state.lost_groups, chosen=bool(names))
