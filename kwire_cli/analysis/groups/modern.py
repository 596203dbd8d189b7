"""The timeline of a group whose coordinator assigns: consumer groups (KIP-848), share groups, streams groups.

Each heartbeat response contains the member epoch. A higher epoch than before means that the group changed. The replay
opens a rebalance at the trigger, which is a join, a leave, a new subscription or a removed member, and closes it when
the next trigger arrives after other members reacted. The coordinator does not report removals, so a rise of the epoch
without a known trigger is explained by a member that has stopped to send heartbeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.causes import LEFT_IN_LOG, subscribes, why_left
from kwire_cli.analysis.groups.moves import NOTHING, Assignment, lapse
from kwire_cli.analysis.groups.protocol import ProtocolReplay
from kwire_cli.analysis.groups.timeline import Rebalance, Trigger
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from kwire_cli.analysis.groups.causes import Cause
    from kwire_cli.analysis.groups.moves import Move
    from kwire_cli.analysis.groups.timeline import Timeline

MISSED = 2.5
"""Number of heartbeat intervals after which a member counts as silent."""
INTERVAL = 5.0
"""The default of group.consumer.heartbeat.interval.ms in seconds, if no response contains the interval."""


@dataclass
class _State:
    epoch: int = -1
    assignment: Assignment | None = None
    assigned_at: float | None = None
    owned: Assignment | None = None
    topics: tuple[str, ...] | None = None


class ModernReplay(ProtocolReplay):
    """Replays the moves of a group into its timeline: heartbeats with news, or records of its coordinator."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._members: dict[str, _State] = {}
        self._epoch: int | None = None
        self._open: Rebalance | None = None
        self._is_noticed = False
        """Whether another member has received the epoch of the open rebalance."""
        self._unseen = 0
        """Number of triggers that have not raised the group epoch yet."""
        self._before: dict[str, Assignment] = {}

    def _take(self, move: Move, back: float | None) -> None:
        match move.kind:
            case "share":
                times = f"delivered {move.times} times" if move.reason == "redelivery" else f"{move.times} records"
                where = ", ".join(f"{topic}-{number}" for topic, number in move.owned or ())
                self._event(move, move.reason, "", f"{where} {move.detail}: {times}", count=move.times)
            case "epoch":
                self._reach(move)
            case "gone":
                self._leave(move, "leave", LEFT_IN_LOG)
            case _ if move.error:
                self._refuse(move, move.member)
            case "leave":
                state = self._members.get(move.member)
                since = lapse(state.assigned_at, move.time) if state and state.assigned_at else None
                self._leave(move, *why_left(move, back, since, self.timeline.member(move.member)))
            case "join" if move.until is not None:
                self._join(move)
            case "member":
                self._describe(move)
            case "heartbeat" | "assigned":
                self._heartbeat(move)

    def _finish(self) -> None:
        self._close()
        for name, state in self._members.items():
            self._regain(name, state, self.timeline.member(name).last_time)

    def _number(self, move: Move) -> int | None:
        return move.reached if (move.reached or -1) >= 0 else self._epoch

    def _trigger(self, trigger: Trigger) -> None:
        """Start a rebalance, or add the trigger to the open rebalance if no other member has reacted to it."""
        if self._open is None or self._is_noticed or self._settled():
            self._close()
            self._before = self._assignments()
            forms = not self._members
            epoch = self._epoch
            time = trigger.time
            self._open = Rebalance(time, time, epoch, epoch, [], trigger.place, is_forming=forms)
            self._is_noticed = False
        self._open.all_triggers.append(trigger)
        self._unseen += trigger.cause not in {"session", "unknown"}

    def _assignments(self) -> dict[str, Assignment]:
        return {name: state.assignment for name, state in self._members.items() if state.assignment is not None}

    def _settled(self) -> bool:
        """Return whether all members have reached the epoch of the group.

        In a group that is forming, a member must have partitions too.
        """
        states = self._members.values()
        if self._unseen or not states or any(state.epoch != self._epoch for state in states):
            return False
        return not (self._open and self._open.is_forming) or any(state.assignment for state in states)

    def _describe(self, move: Move) -> None:
        """Process the record of a new or changed member."""
        member = self.timeline.member(move.member)
        member.describe(move)
        member.first_time = move.time if member.first_time is None else member.first_time
        state = self._members.get(move.member)
        if state is None:
            self._join(move)
        else:
            self._subscribe(move, state)

    def _join(self, move: Move) -> None:
        member = self.timeline.member(move.member)
        join_cause = self._join_cause(move, move.time, move.member)
        self._trigger(Trigger.of(move, join_cause.cause, join_cause.text))
        self._event(move, "join", join_cause.text if join_cause.cause == "fenced" else "", join_cause.detail)
        if move.detail:
            self._event(move, "status", move.detail, move.reason)
        member.joined = move.time if member.joined is None else member.joined
        member.ended = None
        member.ending = ""
        member.empty_since = move.time
        state = self._members.setdefault(move.member, _State())
        state.topics = move.topics
        state.owned = NOTHING
        self._reach(move, joins=True)
        self._give(move, state)

    def _leave(self, move: Move, cause: Cause, text: str) -> None:
        client = move.client or self.timeline.member(move.member).client
        self._trigger(self._end(move._replace(client=client, reached=None), cause, text))
        if state := self._members.pop(move.member, None):
            self._regain(move.member, state, move.time)

    def _subscribe(self, move: Move, state: _State) -> None:
        """Process the subscription of a move, if it contains one."""
        if move.topics is None:
            return
        if state.topics is not None and move.topics != state.topics:
            text = subscribes(move.topics, state.topics)
            self._trigger(Trigger.of(move, "subscription", text))
            self._event(move, "subscription", text)
        state.topics = move.topics

    def _heartbeat(self, move: Move) -> None:
        # A member that is not known yet is from before the capture.
        state = self._members.setdefault(move.member, _State())
        self._subscribe(move, state)
        if move.detail:
            self._event(move, "status", move.detail, move.reason)
        self._reach(move)
        self._give(move, state)

    def _reach(self, move: Move, *, joins: bool = False) -> None:
        """Process the epoch of a response. A higher epoch shows changes by the coordinator since the last response."""
        epoch = move.reached
        if epoch is None or epoch < 0:
            return
        before = self._epoch
        if before is None or epoch > before:
            if before is not None and epoch - before > self._unseen + joins and move.is_call:
                removed = self._remove_silent(move)
                if not removed and not self._unseen and not joins and self._settled():
                    text = "is told of a new assignment: topics changed, or a member that is not seen here"
                    self._trigger(Trigger.of(move, "unknown", text, move.at))
            self._epoch = epoch
            self._unseen = 0
            self.timeline.reach(epoch)
        if move.kind == "epoch":
            self._event(move, "epoch")
        state = self._members.get(move.member)
        if state is not None and state.epoch != epoch:
            if state.epoch >= 0 and not joins:
                self._event(move, "epoch", detail=f"member epoch {state.epoch} to {epoch}")
            state.epoch = epoch
        if self._open is not None:
            self._open.generation = self._epoch
            if not joins and state is not None:
                self._is_noticed = True
                self._open.end_time = max(self._open.end_time, move.at)

    def _remove_silent(self, move: Move) -> bool:
        """Remove the silent members, after the epoch rose without a join or leave. Return whether there were any."""
        before = len(self._members)
        for name in [*self._members]:
            member = self.timeline.member(name)
            last_seen = None if name == move.member else member.last_call_before(move.at)
            silence = 0.0 if last_seen is None else move.at - last_seen
            if silence < MISSED * (member.interval or INTERVAL):
                continue
            removed = move._replace(time=move.at, until=None, member=name, client=member.label)
            text = f"removed without leaving: silent for {duration(silence)}"
            self._trigger(self._end(removed, "session", text, "removed", silence))
            self._regain(name, self._members.pop(name), last_seen)
        return len(self._members) < before

    def _give(self, move: Move, state: _State) -> None:
        """Process the assignment in a response, and the owned partitions in a request."""
        if move.owned is not None and move.kind == "heartbeat" and move.owned != state.owned:
            state.owned = move.owned
            if self._open is not None:
                self._open.end_time = max(self._open.end_time, move.time)
        assignment = move.assignment
        if assignment is None:
            return
        had = state.assignment
        state.assignment = assignment
        state.assigned_at = move.at
        if self._open is not None:
            self._open.end_time = max(self._open.end_time, move.at)
            self._is_noticed |= move.kind != "join"
        if had == assignment and move.kind != "join":
            return
        if assignment:
            self._regain(move.member, state, move.at)
        else:
            self.timeline.member(move.member).lose(move.at)
        self._assign(move, state.epoch, assignment, had or NOTHING)

    def _regain(self, name: str, state: _State, until: float | None) -> None:
        """Add the time without partitions of a member that has received some, or that has ended."""
        away = self.timeline.member(name).regain(until)
        if away is not None and self._open is not None and state.assignment:
            self._open.away[name] = away

    def _close(self) -> None:
        """Complete the open rebalance, and add it to the timeline."""
        rebalance = self._open
        self._open = None
        if rebalance is not None and self._members:  # no rebalance follows when the last member has left
            rebalance.members = len(self._members)
            self._rebalanced(rebalance, self._before, self._assignments())
