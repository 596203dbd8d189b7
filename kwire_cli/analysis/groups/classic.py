"""The timeline of a classic group: generations of JoinGroup and SyncGroup, or the records of its coordinator."""

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
from kwire_cli.analysis.groups.timeline import Event, Rebalance, Timeline, Trigger, moved_between
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kwire_cli.analysis.groups.causes import Cause
    from kwire_cli.analysis.groups.moves import Move


PASSED_OVER = 2
"""How many numbers the next generation is ahead if the group was without members in between."""


class ClassicReplay(ProtocolReplay):
    """Replays the moves of a classic group into its timeline."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._current: Generation | None = None
        self._previous: Generation | None = None
        self._next = Generation(-1)
        """The generation to come, as far as it is known."""
        self._given_ids: dict[str, Move] = {}
        """First JoinGroups of members, which were answered with a member id (KIP-394), by this."""
        self._used_ids: set[str] = set()
        self._last_joins: dict[Hashable, float] = {}
        """When a member joined last, by connection."""
        self._comings: dict[str, JoinCause] = {}
        self._instances: dict[str, str] = {}
        """The member that has a group.instance.id."""
        self._subscribed: dict[str, tuple[str, ...]] = {}

    def _take(self, move: Move, back: float | None) -> None:
        match move.kind:
            case "join":
                self._join(move)
            case "sync":
                self._sync(move)
            case "leave":
                self._leave(move, back)
            case "generation":
                self._record(move)
            case "gone":
                self._event(move, "removed group", detail="the group is deleted")
                self._complete()
                self._current = None
            case _:
                self._heartbeat(move)

    def _finish(self) -> None:
        self._complete()
        for member in self.timeline.members.values():
            until = member.ended if member.ended is not None else member.last_time
            member.regain(until if member.partitions is not None else None)
        self._name_unused()

    def _number(self, move: Move) -> int | None:
        number = move.reached if move.reached is not None and move.reached >= 0 else move.generation
        return self._current.number if number is None and self._current is not None else number

    def _error(self, move: Move) -> None:
        self._refuse(move, move.connection)

    def _join(self, move: Move) -> None:
        self._last_joins[move.connection] = move.time
        if move.error == MEMBER_ID_REQUIRED:
            self._given_ids[move.member] = move
            return
        self._used_ids.add(move.member)
        if move.error:
            self._error(move)
            return
        if move.until is None or move.reached is None:
            return
        current = self._generation(move.reached, move)
        if self._previous is None and move.reached > 1 and move.has_id and move.member not in self._given_ids:
            self._previous = Generation(-1)
        if self._previous is not None and self._previous.number < 0 and move.has_id:
            self._previous.members |= {move.member} - self._given_ids.keys()
        stays = self._previous is not None and move.member in self._previous.members
        replaces = self._replaced(move, current) if move.instance else ""
        began = self._given_ids.pop(move.member, move).time
        if stays:
            self._event(move, "rejoin", move.real_reason, is_minor=not move.real_reason)
        elif move.member not in current.joins:
            member = self.timeline.member(move.member)
            member.joined = began if member.joined is None else member.joined
            coming = self._join_cause(move, began, move.connection)
            self._comings[move.member] = coming
            self._event(move._replace(time=began), "join", move.real_reason, replaces or coming.detail)
        if not replaces:
            first = current.joins.get(move.member)
            current.joins[move.member] = move._replace(time=began if first is None else min(began, first.time))
            current.join_times.append(began)
        current.members.add(move.member)
        current.owned |= {member: owned for member, owned in move.everybody_owned if owned is not None}
        if move.owned is not None:
            current.owned[move.member] = move.owned
        current.assignor = move.assignor or current.assignor
        if move.everybody is not None:
            current.members, current.whole = {*move.everybody}, True

    def _replaced(self, move: Move, current: Generation) -> str:
        """Take out the member whose group.instance.id another one has now, and return how to say so (KIP-345)."""
        old = self._instances.get(move.instance or "")
        self._instances[move.instance or ""] = move.member
        if old is None or old == move.member or self.timeline.member(old).ended is not None:
            return ""
        member = self.timeline.member(old)
        member.ended, member.ending = move.at, f"replaced by {move.client}"
        for members in (current, self._previous):
            if members is not None:
                members.members.discard(old)
        current.assignments.pop(old, None)
        current.syncs.pop(old, None)
        return f"replaces {member.client} as {move.instance}"

    def _sync(self, move: Move) -> None:
        if move.error:
            if move.error == REBALANCING:
                self._next.told.setdefault(move.member, move.at)
                if self._current is not None and self._current.number == move.generation:
                    self._current.broken = True
            self._error(move)
            return
        if move.until is None or move.generation is None:
            return
        current = self._generation(move.generation, move)
        before = self._previous.assignments if self._previous is not None else {}
        for member, assignment, revoked in move.leader_assignments:
            current.give(member, assignment, revoked, before.get(member, NOTHING))
        if move.assignment is not None:
            has = current.give(move.member, move.assignment, move.revoked, before.get(move.member, NOTHING))
            if move.member not in current.syncs and (move.member in current.joins or not current.joins):
                current.last = move
            current.syncs[move.member] = move
            current.given.append(move._replace(assignment=has))
            current.members.add(move.member)

    def _leave(self, move: Move, back: float | None) -> None:
        if move.error:
            self._error(move)
            return
        member = self.timeline.member(move.member)
        sync = self._current.syncs.get(move.member) if self._current else None
        since = lapse(sync.at, move.time) if sync else None
        by_admin = move.client != member.client and bool(member.client)
        cause, text = why_left(move, back, since, member.rebalance_timeout_s, by_admin=by_admin)
        self._next.left[move.member] = move.time
        self._next.triggers.append(self._leaves(move, cause, text))

    def _heartbeat(self, move: Move) -> None:
        if move.error == REBALANCING:
            self._next.told.setdefault(move.member, move.at)
            self._event(move, "rebalancing", "told to join again" if move.kind == "heartbeat" else "", is_minor=True)
            if move.kind == "commit":
                self._error(move)
        elif move.error:
            self._error(move)
        elif move.kind == "heartbeat" and move.until is not None and move.generation is not None:
            if self._current is None or move.generation > self._current.number:
                self._generation(move.generation, move)
            if self._current is not None and self._current.number == move.generation:
                self._current.members.add(move.member)

    def _generation(self, number: int, move: Move) -> Generation:
        """Return the generation that a move is of. A smaller number than before is that of a group that began anew."""
        if self._current is None or self._current.number != number:
            if self._previous is not None and self._previous.number == number and move.kind != "join":
                return self._previous  # an answer that comes late
            self._complete()
            if self._current is not None and self._current.is_unfinished:
                self._next.begin_with(self._current)
            else:
                self._previous = self._empty(number) or self._current
            self._current = self._next
            self._current.number, self._current.place, self._next = number, move, Generation(-1)
            self.timeline.reach(number)
        return self._current

    def _empty(self, number: int) -> Generation | None:
        """Return the generation without members before another one: all had left, and its number was passed over."""
        current = self._current
        left = self._next.left
        if current is None or not current.whole or not current.members or not {*left} >= current.members:
            return None
        if number < current.number + PASSED_OVER:
            return None
        last = max(left, key=lambda member: left[member])
        place = next(trigger.place for trigger in self._next.triggers if trigger.member == last)
        self.timeline.events.append(Event(left[last], "empty", place, current.number + 1, detail="the group is empty"))
        return Generation(current.number + 1, whole=True)

    def _name_unused(self) -> None:
        """Add the member ids that clients were given, and did not use when they joined again."""
        for member, move in self._given_ids.items():
            if member not in self._used_ids and self._last_joins[move.connection] > move.at:
                self.timeline.members.pop(member, None)
                reason = "does not use the member id that it was given"
                event = Event(move.at, "unused", move.place, None, "", move.client, reason, member)
                self.timeline.events.append(event)

    def _record(self, move: Move) -> None:
        """Take the record of a generation: all of its members, with their assignments."""
        if move.reached is None or move.listed is None:
            return
        current = self._generation(move.reached, move)
        rows = {row.member: row for row in move.listed}
        before = self._previous.members if self._previous else set()
        already = current.members
        current.members, current.whole, current.assignor = {*rows}, True, move.assignor
        current.assignments = {row.member: row.assignment or NOTHING for row in move.listed}
        for row in move.listed:
            self._list(row, current, is_new=row.member not in before | already)
        for gone in sorted((before | already) - {*rows} - {*current.left}):
            current.left[gone] = move.time
            leaves = move._replace(member=gone, client=self._clients.get(gone, ""))
            current.triggers.append(self._leaves(leaves, "leave", LEFT_IN_LOG))

    def _list(self, row: Move, current: Generation, *, is_new: bool) -> None:
        """Take a member of the record of a generation."""
        member = self.timeline.member(row.member)
        member.client, member.host, member.instance_id = row.client, row.host, row.instance
        member.rebalance_timeout_s, member.session_timeout_s = row.rebalance_timeout, row.session_timeout
        member.see(row.time)
        self._clients[row.member] = row.client
        if is_new:
            member.joined = row.time if member.joined is None else member.joined
            coming = self._join_cause(row, row.time)
            self._event(row, "join", detail=coming.detail)
            current.triggers.append(Trigger(row.time, coming.cause, coming.text, row.place, row.member, row.client))

    def _complete(self) -> None:
        """End the current generation: it is known what changed."""
        current, previous = self._current, self._previous
        if current is None or current.is_unfinished:
            return
        place = current.last or current.place
        if not (current.joins or current.syncs or current.assignments) or place is None:
            return
        self.timeline.assignor = current.assignor or self.timeline.assignor
        joins = current.join_times
        logged = current.place.time if current.place is not None else 0.0
        end = current.last.at if current.last else max((join.at for join in current.joins.values()), default=logged)
        triggers = self._causes(current, previous, min(joins, default=end))
        after = current.assignments
        before = previous.assignments if previous else {}
        stay = previous.members - {*current.left} if previous else set()
        if not stay:
            triggers.sort(key=lambda trigger: trigger.member in current.left)  # who comes makes a group form
        rebalance = Rebalance(
            min(joins, default=end),
            end,
            previous.number if previous and previous.number >= 0 else None,
            current.number,
            triggers,
            place.place,
            len(current.members),
            moved_between(before, after, self._clients) if before or not stay else None,
            is_forming=not stay,
            timed=bool(joins),
        )
        whole = bool(after) and {*after} >= current.members and (previous is None or {*before} >= previous.members)
        rebalance.is_unchanged = bool(before) and any(after.values()) and whole and not rebalance.moved
        self._add_absences(rebalance, current, previous)
        had = dict(before)
        for member, assignment, move in current.rows():
            client = self._clients.get(member, "")
            known = self.timeline.member(member)
            known.client = known.client or client
            own = move._replace(member=member, client=client)
            self._assign(own, current.number, assignment, had.get(member, NOTHING))
            had[member] = assignment
        self.timeline.rebalanced(rebalance)

    def _add_absences(self, rebalance: Rebalance, current: Generation, previous: Generation | None) -> None:
        """Add up the times without partitions that end in a generation, and note those that begin in it."""
        before = previous.assignments if previous else {}
        stays = previous.members if previous else set()
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

    def _causes(self, current: Generation, previous: Generation | None, first_join: float) -> list[Trigger]:
        """Return the triggers by time: who left, who joined, whom the broker removed, who joins again by itself."""
        triggers = current.triggers
        before = previous.members if previous else set()
        newcomers = [join.time for member, join in current.joins.items() if member not in before]
        first = min([*newcomers, *(trigger.time for trigger in triggers)], default=inf)
        for member, join in current.joins.items():
            told = current.told.get(member)
            topics, earlier = join.topics, self._subscribed.get(member)
            cause: Cause = "metadata"
            if member not in before:
                coming = self._comings.pop(member, JoinCause())
                cause = coming.cause
                text = f"{coming.text}: {join.real_reason}" if join.real_reason else coming.text
            elif topics is not None and earlier is not None and topics != earlier:
                cause, text = "subscription", subscribes(topics, earlier)
            elif join.real_reason and told is None:
                text = f"joins again: {join.real_reason}"
            elif told is None and previous is not None and previous.number >= 0 and join.time < first:
                text = "joins again by itself"
            else:
                continue
            triggers.append(Trigger(join.time, cause, text, join.place, member, join.client))
        for member, join in current.joins.items():
            if join.topics is not None:
                self._subscribed[member] = join.topics
        if previous and previous.whole and current.whole:
            begin = min([first_join, *current.told.values()])
            for member in sorted(before - current.members - {*current.left}):
                triggers.append(self._removed(member, begin, current))
        return sorted(triggers, key=lambda trigger: trigger.time)

    def _removed(self, name: str, time: float, current: Generation) -> Trigger:
        """Return the trigger that a member is which the broker removed: nobody sent a LeaveGroup for it."""
        member = self.timeline.member(name)
        place = next(iter(current.joins.values())).place
        heard = member.heard(time)
        silence = lapse(heard, time) if heard is not None else None
        timeout = member.session_timeout_s
        cause: Cause = "session"
        began = time
        text = "removed without leaving"
        if member.last_time is None:
            cause, text = "unknown", "is not in the group any more; its calls are not in the input"
        elif silence is not None and timeout is not None and silence >= LATE * timeout:
            text += f": silent for {duration(silence)}, session.timeout.ms is {duration(timeout)}"
        elif member.last_time > time:
            cause, text = "poll", f"removed: it did not join again in time ({POLL})"
            began = member.last_time
        current.left[name] = time
        self._remove(name, time, cause, text, place, current.number, silence)
        return Trigger(began, cause, text, place, name, member.label)
