"""The base class of the replays of groups: events, members that join and leave, and their assignments.

Moves are replayed in the order in which they take effect. A subclass implements one protocol. It determines the events,
causes and rebalances of a move, and this class adds them to the timeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.causes import FENCED, JoinCause, refusal
from kwire_cli.analysis.groups.moves import lapse
from kwire_cli.analysis.groups.timeline import Event, Trigger, moved_between
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.groups.causes import Cause
    from kwire_cli.analysis.groups.moves import Assignment, Move
    from kwire_cli.analysis.groups.timeline import Rebalance, Timeline


class ProtocolReplay:
    """Replays the moves of a group into its timeline. A subclass implements the protocol."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._left: dict[tuple[str, str], tuple[float, Cause]] = {}
        """The time and the reason when clients left, by client id and host."""
        self._fenced: dict[Hashable, str] = {}
        """Errors of members that were fenced."""

    def run(self, moves: Sequence[Move]) -> None:
        """Replay moves. They must be sorted by time."""
        for move, back in in_effect(moves):
            self._take(move, back)
        self._finish()

    def _take(self, move: Move, back: float | None) -> None:
        """Process a move. `back` is the time at which a member that leaves came back."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Complete open rebalances after the last move."""
        raise NotImplementedError

    def _number(self, move: Move) -> int | None:
        """Return the generation or the epoch for the event of a move."""
        raise NotImplementedError

    def _event(
        self,
        move: Move,
        kind: str,
        reason: str = "",
        detail: str = "",
        seconds: float | None = None,
        count: int | None = None,
    ) -> None:
        time = move.time if kind in {"join", "leave"} else move.at
        number = self._number(move)
        event = Event(time, kind, move.place, number, move.member, move.client, reason, detail, seconds, count)
        self.timeline.events.append(event)

    def _refuse(self, move: Move, key: Hashable) -> None:
        """Process a call whose response has an error. `key` identifies the client if it joins again."""
        if move.error in FENCED and move.kind != "leave":
            self._fenced[key] = move.error
        self._event(move, *refusal(move), seconds=move.silence)

    def _join_cause(self, move: Move, began: float, key: Hashable = None) -> JoinCause:
        """Return the cause of a join. `key` identifies a client that was fenced before."""
        time, cause = self._left.pop((move.client, move.host), (None, "join"))
        fenced = self._fenced.pop(key, "")
        detail = ""
        if time is not None and began >= time:
            went = "was removed" if cause == "session" else "left"
            after = lapse(time, began)
            detail = f"comes back {'' if after is None else f'{duration(after)} '}after it {went}"
        if fenced:
            return JoinCause("fenced", f"joins anew, as it was fenced: {fenced}", detail)
        if detail and cause in {"closed", "leave"}:
            return JoinCause("restart", "joins again", detail)
        return JoinCause("join", "joins", detail)

    def _end(self, move: Move, cause: Cause, text: str, kind: str = "leave", silence: float | None = None) -> Trigger:
        """End the member of a move, and return the resulting trigger of a rebalance."""
        member = self.timeline.member(move.member)
        member.ended = move.time
        member.ending = text.partition(" (")[0] if kind == "leave" else text
        self._left[move.client, member.host or move.host] = move.time, cause
        self._event(move, kind, text, seconds=silence)
        return Trigger.of(move, cause, text)

    def _rebalanced(
        self,
        rebalance: Rebalance,
        before: Mapping[str, Assignment],
        after: Mapping[str, Assignment],
        *,
        is_whole: bool = True,
    ) -> None:
        """Complete a rebalance. `is_whole` is set if the assignments before and after contain all members."""
        if before or rebalance.is_forming:
            rebalance.moved = moved_between(before, after, self.timeline.members)
        rebalance.is_unchanged = is_whole and any(before.values()) and any(after.values()) and not rebalance.moved
        self.timeline.rebalances.append(rebalance)
        first = rebalance.all_triggers[:1]
        who = (first[0].member, first[0].client, first[0].text) if first else ("", "", "")
        moved = None if rebalance.moved is None else len(rebalance.moved)
        event = Event(
            rebalance.end_time, "rebalance", rebalance.place, rebalance.generation, *who, "", rebalance.seconds, moved
        )
        self.timeline.events.append(event)

    def _assign(self, move: Move, number: int | None, assignment: Assignment, had: Assignment) -> None:
        """Add the assignment of the member of a move."""
        member = self.timeline.member(move.member)
        member.partitions = assignment
        member.has_held = member.has_held or bool(assignment)
        event = Event(move.at, "assignment", move.place, number, move.member, move.client or member.client)
        event.partitions = len(assignment)
        event.assigned = assignment
        event.gained = assignment - had
        event.lost = had - assignment
        self.timeline.events.append(event)


def in_effect(moves: Sequence[Move]) -> Iterator[tuple[Move, float | None]]:
    """Yield moves in the order in which they take effect. A leave comes with the time when the member came back."""
    back = _returns(moves)
    points = sorted(enumerate(moves), key=lambda point: point[1].time if point[1].kind == "leave" else point[1].at)
    for at, move in points:
        yield move, back.get(at)


def _returns(moves: Iterable[Move]) -> dict[int, float]:
    """Return the times at which members that left came back, by the index of the move.

    A member comes back with the same member id, or on the same connection, which shows that its process was not
    restarted.
    """
    back: dict[int, float] = {}
    open_: dict[Hashable, list[int]] = {}
    for at, move in enumerate(moves):
        keys = [key for key in (move.member, move.connection) if key not in {None, ""}]
        if move.kind == "leave":
            for key in keys:
                open_.setdefault(key, []).append(at)
        elif move.kind == "join":
            for key in keys:
                for number in open_.pop(key, ()):
                    back.setdefault(number, move.time)
    return back
