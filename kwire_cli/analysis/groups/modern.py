"""The timeline of a group whose coordinator assigns: consumer groups (KIP-848), share groups, streams groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.moves import NOTHING, Assignment, lapse
from kwire_cli.analysis.groups.timeline import (
    FENCED,
    Assigned,
    Event,
    Gone,
    Rebalance,
    Timeline,
    Trigger,
    in_effect,
    moved_between,
    refusal,
    subscribes,
    why_left,
)
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.analysis.groups.moves import Move
    from kwire_cli.analysis.groups.timeline import Cause

MISSED = 2.5
"""Heartbeats that a member may miss before it counts as silent."""
INTERVAL = 5.0
"""group.consumer.heartbeat.interval.ms where no answer said it, in seconds."""


@dataclass
class _State:
    epoch: int = -1
    assignment: Assignment | None = None
    assigned_at: float = 0.0
    owned: Assignment | None = None
    topics: tuple[str, ...] | None = None
    empty_since: float | None = None


class ModernReplay:
    """Replays the moves of a group into its timeline: heartbeats with news, or records of its coordinator."""

    def __init__(self, timeline: Timeline, *, logged: bool) -> None:
        self.timeline = timeline
        self._logged = logged
        self._members: dict[str, _State] = {}
        self._epoch: int | None = None
        self._open: Rebalance | None = None
        self._told = False
        """Whether another member was told of the open rebalance."""
        self._unseen = 0
        """Triggers that the group's epoch was not seen to count yet."""
        self._before: dict[str, Assignment] = {}
        self._clients: dict[str, str] = {}
        self._gone = Gone()
        self._fenced: dict[str, str] = {}
        """Errors of members that were fenced."""

    def run(self, moves: Sequence[Move]) -> None:
        """Replay moves, which are in the order of their times."""
        for move, back in in_effect(moves):
            if move.client and move.member:
                self._clients[move.member] = move.client
            match move.kind:
                case "share":
                    self._share(move)
                case "epoch":
                    self._reach(move)
                case "gone":
                    self._leaves(move, "leave", "left, or its session timed out")
                case _ if move.error:
                    self._error(move)
                case "leave":
                    self._leave(move, back)
                case "join" | "member":
                    self._join(move)
                case "heartbeat" | "assigned":
                    self._heartbeat(move)
        self._close()
        for member, state in self._members.items():
            self._settle_empty(member, state, self.timeline.member(member).last)

    def _event(
        self,
        move: Move,
        kind: str,
        reason: str = "",
        detail: str = "",
        *,
        count: int | None = None,
        seconds: float | None = None,
        minor: bool = False,
    ) -> None:
        time = move.time if kind in {"join", "leave"} else move.at
        generation = move.reached if (move.reached or -1) >= 0 else self._epoch
        self.timeline.events.append(
            Event(time, kind, move.place, generation, move.member, move.client, reason, detail, seconds, count, minor)
        )

    def _error(self, move: Move) -> None:
        if move.error in FENCED:
            self._fenced[move.member] = move.error
        self._event(move, *refusal(move), seconds=move.silence)

    def _share(self, move: Move) -> None:
        times = f"delivered {move.times} times" if move.reason == "redelivery" else f"{move.times} records"
        where = ", ".join(f"{topic}-{number}" for topic, number in move.owned or ())
        self._event(move, move.reason, "", f"{where} {move.detail}: {times}", count=move.times)

    def _trigger(self, trigger: Trigger) -> None:
        """Begin a rebalance, or add to the one that nobody was told of yet."""
        if self._open is None or self._told or self._settled():
            self._close()
            self._before = {
                member: state.assignment for member, state in self._members.items() if state.assignment is not None
            }
            forms = not self._members
            self._open = Rebalance(trigger.time, trigger.time, self._epoch, self._epoch, [], trigger.place, forms=forms)
            self._told = False
        self._open.triggers.append(trigger)
        self._unseen += trigger.cause not in {"session", "unknown"}

    def _settled(self) -> bool:
        """Return whether all members have come to the epoch of the group, and have partitions if it has just formed."""
        states = self._members.values()
        if self._unseen or not states or any(state.epoch != self._epoch for state in states):
            return False
        return not (self._open and self._open.forms) or any(state.assignment for state in states)

    def _join(self, move: Move) -> None:
        if move.kind == "join" and move.until is None:
            return
        member = self.timeline.member(move.member)
        state = self._members.get(move.member)
        if move.kind == "member":
            member.client, member.host, member.instance = move.client, move.host, move.instance
            member.rebalance_timeout = move.rebalance_timeout
            member.first = move.time if member.first is None else member.first
        if state is not None and move.kind == "member":
            if move.topics is not None and state.topics is not None and move.topics != state.topics:
                self._subscribes(move, state)
            return
        coming = self._gone.coming(move, move.time, self._fenced.pop(move.member, ""))
        self._trigger(Trigger(move.time, coming.cause, coming.text, move.place, move.member, move.client))
        self._event(move, "join", coming.text if coming.cause == "fenced" else "", coming.detail)
        if move.detail:
            self._event(move, "status", move.detail, move.reason)
        member.joined = move.time if member.joined is None else member.joined
        member.ended, member.end = None, ""
        state = self._members.setdefault(move.member, _State())
        state.topics, state.owned, state.empty_since = move.topics, NOTHING, move.time
        self._reach(move, joins=True)
        self._take(move, state)

    def _leave(self, move: Move, back: float | None) -> None:
        member = self.timeline.member(move.member)
        state = self._members.get(move.member)
        since = lapse(state.assigned_at, move.time) if state and state.assigned_at else None
        cause, text = why_left(move, back, since, member.rebalance_timeout, by_admin=False)
        self._leaves(move, cause, text)

    def _leaves(self, move: Move, cause: Cause, text: str) -> None:
        member = self.timeline.member(move.member)
        move = move._replace(client=move.client or member.client)
        self._trigger(Trigger(move.time, cause, text, move.place, move.member, move.client))
        if state := self._members.pop(move.member, None):
            self._settle_empty(move.member, state, move.time)
        member.ended, member.end = move.time, text.partition(" (")[0]
        self._gone.add(move.client, member.host or move.host, move.time, cause)
        self._event(move._replace(reached=None), "leave", text)

    def _subscribes(self, move: Move, state: _State) -> None:
        text = subscribes(move.topics or (), state.topics or ())
        self._trigger(Trigger(move.time, "subscription", text, move.place, move.member, move.client))
        self._event(move, "subscription", text)
        state.topics = move.topics

    def _heartbeat(self, move: Move) -> None:
        state = self._members.get(move.member)
        if state is None:  # the capture begins in the middle
            state = self._members[move.member] = _State(topics=move.topics)
        if move.topics is not None and state.topics is not None and move.topics != state.topics:
            self._subscribes(move, state)
        state.topics = move.topics if move.topics is not None else state.topics
        if move.detail:
            self._event(move, "status", move.detail, move.reason)
        self._reach(move)
        self._take(move, state)

    def _reach(self, move: Move, *, joins: bool = False) -> None:
        """Take the epoch of an answer, which tells what the coordinator did meanwhile."""
        epoch = move.reached
        if epoch is None or epoch < 0:
            return
        before = self._epoch
        if before is None or epoch > before:
            if before is not None and epoch - before > self._unseen + joins and not self._logged:
                removed = self._removed(move)
                if not removed and not self._unseen and not joins and self._settled():
                    text = "is told of a new assignment: topics changed, or a member that is not seen here"
                    self._trigger(Trigger(move.at, "unknown", text, move.place, move.member, move.client))
            self._epoch, self._unseen = epoch, 0
            self.timeline.reach(epoch)
        if move.kind == "epoch":
            self._event(move, "epoch", minor=True)
        state = self._members.get(move.member)
        if state is not None and state.epoch != epoch:
            if state.epoch >= 0 and not joins:
                self._event(move, "epoch", detail=f"member epoch {state.epoch} to {epoch}", minor=True)
            state.epoch = epoch
        if self._open is not None:
            self._open.after = self._epoch
            if not joins and state is not None:
                self._told, self._open.end = True, max(self._open.end, move.at)

    def _removed(self, move: Move) -> bool:
        """Find who was removed by the coordinator: the epoch rose, and nobody was seen to join or leave."""
        before = len(self._members)
        for name in [*self._members]:
            member = self.timeline.member(name)
            least = MISSED * (member.interval or INTERVAL)
            heard = None if name == move.member else member.heard(move.at)
            silence = None if heard is None else move.at - heard
            if silence is None or silence < least:
                continue
            text = f"removed without leaving: silent for {duration(silence)}"
            self._trigger(Trigger(move.at, "session", text, move.place, name, member.client))
            self._settle_empty(name, self._members.pop(name), heard)
            member.ended, member.end = move.at, text
            self._gone.add(member.client, member.host, move.at, "session")
            self.timeline.events.append(
                Event(move.at, "removed", move.place, move.reached, name, member.client, text, seconds=silence)
            )
        return len(self._members) < before

    def _take(self, move: Move, state: _State) -> None:
        """Take an assignment, and what a member says that it has."""
        if move.owned is not None and move.kind == "heartbeat" and move.owned != state.owned:
            state.owned = move.owned
            if self._open is not None:
                self._open.end = max(self._open.end, move.time)
        assignment = move.assignment
        if assignment is None:
            return
        had = state.assignment if state.assignment is not None else NOTHING
        again = state.assignment == assignment and move.kind != "join"
        state.assignment, state.assigned_at = assignment, move.at
        if self._open is not None:
            self._open.end = max(self._open.end, move.at)
            if move.kind != "join":
                self._told = True
        if again:
            return
        member = self.timeline.member(move.member)
        member.partitions, member.held = assignment, member.held or bool(assignment)
        if assignment:
            self._settle_empty(move.member, state, move.at)
        elif state.empty_since is None:
            state.empty_since = move.at
        client = move.client or member.client
        self.timeline.assigned.append(
            Assigned(
                move.at, state.epoch, move.member, client, assignment, assignment - had, had - assignment, move.place
            )
        )
        self._event(move._replace(client=client), "assignment", count=len(assignment), minor=True)

    def _settle_empty(self, name: str, state: _State, until: float | None) -> None:
        """Add up the time without partitions of a member that has some now, or ends."""
        if state.empty_since is not None and until is not None:
            away = max(until - state.empty_since, 0.0)
            self.timeline.member(name).without += away
            if self._open is not None and state.assignment:
                self._open.away[name] = away
        state.empty_since = None

    def _close(self) -> None:
        """End the open rebalance: what it changed is known now."""
        rebalance = self._open
        if rebalance is None:
            return
        self._open = None
        after = {name: state.assignment for name, state in self._members.items() if state.assignment is not None}
        rebalance.members = len(self._members)
        rebalance.moved = moved_between(self._before, after, self._clients)
        rebalance.unchanged = any(self._before.values()) and any(after.values()) and not rebalance.moved
        if not self._members:
            return  # the last one left: nobody was there to follow
        self.timeline.rebalanced(rebalance)
