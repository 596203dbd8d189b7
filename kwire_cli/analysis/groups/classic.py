"""The timeline of a classic group: generations of JoinGroup and SyncGroup, or the records of its coordinator.

The replay collects the moves of one generation, and the causes for the next one. A generation is complete when a move
of a later generation arrives or the input ends. Only then is it known which members left, joined or were removed,
because the coordinator does not announce a removal: the member is missing in the next generation.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.causes import (
    LATE,
    LEFT_IN_LOG,
    POLL,
    REBALANCING,
    JoinCause,
    subscribes,
    why_left,
)
from kwire_cli.analysis.groups.generations import Generation, gives_up, stopped_seconds
from kwire_cli.analysis.groups.moves import NOTHING, lapse
from kwire_cli.analysis.groups.protocol import ProtocolReplay
from kwire_cli.analysis.groups.reading import MEMBER_ID_REQUIRED
from kwire_cli.analysis.groups.timeline import Event, Rebalance, Trigger
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from kwire_cli.analysis.groups.causes import Cause
    from kwire_cli.analysis.groups.moves import Move
    from kwire_cli.analysis.groups.timeline import Timeline


PASSED_OVER = 2
"""Difference to the number of the next generation if the group had no members in between."""


class ClassicReplay(ProtocolReplay):
    """Replays the moves of a classic group into its timeline."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._previous = Generation()
        self._current = Generation()
        self._next = Generation()
        """The parts of the next generation that are known already."""
        self._assigned_ids: dict[str, Move] = {}
        """The first JoinGroup of each new member, by the member id in the response (KIP-394)."""
        self._join_causes: dict[str, JoinCause] = {}
        self._instances: dict[str, str] = {}
        """The member that has a group.instance.id."""
        self._subscribed: dict[str, tuple[str, ...]] = {}

    def _take(self, move: Move, back: float | None) -> None:
        match move.kind:
            case "join":
                self._join(move)
            case "generation":
                self._record(move)
            case "gone":
                self._event(move, "removed group", detail="the group is deleted")
                self._complete()
                self._current = Generation()
            case _ if move.error:
                self._refused(move)
            case "sync":
                self._sync(move)
            case "leave":
                sync = self._current.syncs.get(move.member)
                since = lapse(sync.at, move.time) if sync else None
                cause, text = why_left(move, back, since, self.timeline.member(move.member))
                self._next.left[move.member] = move.time
                self._next.triggers.append(self._end(move, cause, text))
            case "heartbeat" if move.until is not None and move.generation is not None:
                if move.generation > self._current.number:
                    self._generation(move.generation, move)
                if move.generation == self._current.number:
                    self._current.members.add(move.member)

    def _finish(self) -> None:
        self._complete()
        for member in self.timeline.members.values():
            until = member.ended if member.ended is not None else member.last_time
            member.regain(until if member.partitions is not None else None)

    def _number(self, move: Move) -> int | None:
        number = move.reached if move.reached is not None and move.reached >= 0 else move.generation
        return self._current.number if number is None and self._current.number >= 0 else number

    def _refused(self, move: Move) -> None:
        if move.error == REBALANCING and move.kind != "leave":
            self._next.rejoin_requests.setdefault(move.member, move.at)
            if move.kind == "sync":
                self._current.is_interrupted |= move.generation == self._current.number
            else:
                self._event(move, "rebalancing", "told to join again" if move.kind == "heartbeat" else "")
        if move.error != REBALANCING or move.kind != "heartbeat":
            self._refuse(move, move.connection)

    def _join(self, move: Move) -> None:
        if move.error == MEMBER_ID_REQUIRED:
            self._assigned_ids[move.member] = move
            return
        if move.error:
            self._refuse(move, move.connection)
        if move.error or move.until is None or move.reached is None:
            return
        current = self._generation(move.reached, move)
        previous = self._previous
        if previous.number < 0 and move.reached > 1 and move.has_id and move.member not in self._assigned_ids:
            previous.members.add(move.member)
        replaces = self._replaced(move, current) if move.instance else ""
        began = self._assigned_ids.pop(move.member, move).time
        if move.member in previous.members:
            self._event(move, "rejoin", move.real_reason)
        elif move.member not in current.joins:
            member = self.timeline.member(move.member)
            member.joined = began if member.joined is None else member.joined
            join_cause = self._join_cause(move, began, move.connection)
            self._join_causes[move.member] = join_cause
            self._event(move._replace(time=began), "join", move.real_reason, replaces or join_cause.detail)
        if not replaces:
            first = current.joins.get(move.member)
            current.joins[move.member] = move._replace(time=began if first is None else min(began, first.time))
        current.assignor = move.assignor or current.assignor
        current.members.add(move.member)
        if move.everybody is not None:
            current.members = {member for member, _ in move.everybody}
            current.is_complete = True
        for name, owned in (*(move.everybody or ()), (move.member, move.owned)):
            if owned is not None:
                current.owned[name] = owned

    def _replaced(self, move: Move, current: Generation) -> str:
        """Remove the member whose group.instance.id another member has taken over (KIP-345).

        Return the detail of the event. It is empty if no member was replaced.
        """
        old = self._instances.get(move.instance or "")
        self._instances[move.instance or ""] = move.member
        if old is None or old == move.member or self.timeline.member(old).ended is not None:
            return ""
        member = self.timeline.member(old)
        member.ended = move.at
        member.ending = f"replaced by {move.client}"
        current.members.discard(old)
        self._previous.members.discard(old)
        current.assignments.pop(old, None)
        current.syncs.pop(old, None)
        return f"replaces {member.client} as {move.instance}"

    def _sync(self, move: Move) -> None:
        if move.until is None or move.generation is None:
            return
        current = self._generation(move.generation, move)
        before = self._previous.assignments
        for member, assignment, revoked in move.leader_assignments:
            current.give(member, assignment, revoked, before.get(member, NOTHING))
        if move.assignment is not None:
            has = current.give(move.member, move.assignment, move.revoked, before.get(move.member, NOTHING))
            if move.member not in current.syncs and (move.member in current.joins or not current.joins):
                current.last = move
            current.syncs[move.member] = move
            current.responses.append(move._replace(assignment=has))
            current.members.add(move.member)

    def _generation(self, number: int, move: Move) -> Generation:
        """Return the generation `number`, and complete the current generation if it is another one.

        A smaller number than before means that the group was deleted and created again.
        """
        if self._current.number == number:
            return self._current
        if self._previous.number == number and move.kind != "join":
            return self._previous  # a delayed response
        self._complete()
        if self._current.is_unfinished:
            self._next.begin_with(self._current)
        else:
            self._previous = self._empty(number) or self._current
        self._current = self._next
        self._next = Generation()
        self._current.number = number
        self._current.place = move
        self.timeline.reach(number)
        return self._current

    def _empty(self, number: int) -> Generation | None:
        """Return the generation without members before generation `number`, or None if there was no such generation.

        It exists if all members had left, and if its number was skipped.
        """
        current = self._current
        left = self._next.left
        is_left = current.is_complete and current.members and {*left} >= current.members
        if not is_left or number < current.number + PASSED_OVER:
            return None
        last = max(left, key=lambda member: left[member])
        place = next(trigger.place for trigger in self._next.triggers if trigger.member == last)
        self.timeline.events.append(Event(left[last], "empty", place, current.number + 1, detail="the group is empty"))
        return Generation(current.number + 1, is_complete=True)

    def _record(self, move: Move) -> None:
        """Process the record of a generation, which contains all members and their assignments."""
        if move.reached is None or move.listed is None:
            return
        current = self._generation(move.reached, move)
        rows = {row.member: row for row in move.listed}
        before = self._previous.members | current.members
        current.members = set(rows)
        current.is_complete = True
        current.assignor = move.assignor
        current.assignments = {row.member: row.assignment or NOTHING for row in move.listed}
        for row in move.listed:
            member = self.timeline.member(row.member)
            member.describe(row)
            member.see(row.time)
            if row.member not in before:
                member.joined = row.time if member.joined is None else member.joined
                join_cause = self._join_cause(row, row.time)
                self._event(row, "join", detail=join_cause.detail)
                current.triggers.append(Trigger.of(row, join_cause.cause, join_cause.text))
        for gone in sorted(before - {*rows} - {*current.left}):
            current.left[gone] = move.time
            leaves = move._replace(member=gone, client=self.timeline.member(gone).client)
            current.triggers.append(self._end(leaves, "leave", LEFT_IN_LOG))

    def _complete(self) -> None:
        """Complete the current generation, and add its rebalance to the timeline."""
        current = self._current
        previous = self._previous
        place = current.last or current.place
        if current.is_unfinished or place is None or not (current.joins or current.syncs or current.assignments):
            return
        self.timeline.assignor = current.assignor or self.timeline.assignor
        joins = [join.time for join in current.joins.values()]
        logged = current.place.time if current.place is not None else 0.0
        end = current.last.at if current.last else max((join.at for join in current.joins.values()), default=logged)
        triggers = self._causes(current, previous, min(joins, default=end))
        after = current.assignments
        before = previous.assignments
        stay = previous.members - {*current.left}
        if not stay:
            triggers.sort(key=lambda trigger: trigger.member in current.left)  # joins come first: they form the group
        rebalance = Rebalance(
            min(joins, default=end),
            end,
            previous.number if previous.number >= 0 else None,
            current.number,
            triggers,
            place.place,
            len(current.members),
            is_forming=not stay,
            timed=bool(joins),
        )
        self._add_absences(rebalance, current, previous)
        had = dict(before)
        for member, assignment, move in current.rows():
            own = move._replace(member=member, client=self.timeline.member(member).client)
            self._assign(own, current.number, assignment, had.get(member, NOTHING))
            had[member] = assignment
        is_whole = {*after} >= current.members and {*before} >= previous.members
        self._rebalanced(rebalance, before, after, is_whole=is_whole)

    def _add_absences(self, rebalance: Rebalance, current: Generation, previous: Generation) -> None:
        """Add the times without partitions that end in a generation, and store the start of those that begin in it."""
        before = previous.assignments
        stays = previous.members
        given_up: list[float] = []
        keepers = 0
        for name, join in current.joins.items():
            had = before.get(name)
            if name in stays and not gives_up(join, current.assignor, had):
                keepers += 1
                continue
            self.timeline.member(name).lose(join.time)
            if name in stays and had != NOTHING:
                given_up.append(join.time)
        for name, assignment, move in current.rows():
            member = self.timeline.member(name)
            if not assignment:
                member.lose(move.at)
                continue
            away = member.regain(move.at)
            if away is not None and move is not current.place and name in stays and before.get(name) != NOTHING:
                rebalance.away[name] = away
        if given_up and not keepers:
            rebalance.stopped_s = stopped_seconds(rebalance, current, given_up)

    def _causes(self, current: Generation, previous: Generation, first_join: float) -> list[Trigger]:
        """Return the triggers of a rebalance by time: members that left, joined, were removed, or joined again."""
        triggers = current.triggers
        before = previous.members
        newcomers = [join.time for member, join in current.joins.items() if member not in before]
        first = min([*newcomers, *(trigger.time for trigger in triggers)], default=inf)
        for member, join in current.joins.items():
            was_requested = member in current.rejoin_requests
            topics = join.topics
            earlier = self._subscribed.get(member)
            if topics is not None:
                self._subscribed[member] = topics
            cause: Cause = "metadata"
            if member not in before:
                join_cause = self._join_causes.pop(member, JoinCause())
                cause = join_cause.cause
                text = f"{join_cause.text}: {join.real_reason}" if join.real_reason else join_cause.text
            elif topics is not None and earlier is not None and topics != earlier:
                cause = "subscription"
                text = subscribes(topics, earlier)
            elif join.real_reason and not was_requested:
                text = f"joins again: {join.real_reason}"
            elif not was_requested and previous.number >= 0 and join.time < first:
                text = "joins again by itself"
            else:
                continue
            triggers.append(Trigger.of(join, cause, text))
        if previous.is_complete and current.is_complete:
            begin = min([first_join, *current.rejoin_requests.values()])
            for member in sorted(before - current.members - {*current.left}):
                triggers.append(self._removed(member, begin, current))
        return sorted(triggers, key=lambda trigger: trigger.time)

    def _removed(self, name: str, time: float, current: Generation) -> Trigger:
        """Return the trigger of a member that the broker removed, as no LeaveGroup was sent for it."""
        member = self.timeline.member(name)
        last_seen = member.last_call_before(time)
        silence = lapse(last_seen, time) if last_seen is not None else None
        timeout = member.session_timeout_s
        cause: Cause = "session"
        began = time
        text = "removed without leaving"
        if member.last_time is None:
            cause = "unknown"
            text = "is not in the group any more; its calls are not in the input"
        elif silence is not None and timeout is not None and silence >= LATE * timeout:
            text += f": silent for {duration(silence)}, session.timeout.ms is {duration(timeout)}"
        elif member.last_time > time:
            cause = "poll"
            text = f"removed: it did not join again in time ({POLL})"
            began = member.last_time
        current.left[name] = time
        join = next(iter(current.joins.values()))
        move = join._replace(time=time, until=None, reached=current.number, member=name, client=member.label)
        trigger = self._end(move, cause, text, "removed", silence)
        trigger.time = began
        return trigger
