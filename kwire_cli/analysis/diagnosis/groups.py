"""Groups in trouble: rebalances that come again and again, and members that are idle or not let in."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import calls_in
from kwire_cli.analysis.diagnosis.group_kinds import (
    AGAIN,
    IDLE,
    LOOP,
    NOT_READY,
    REBALANCE,
    REBALANCE_OF_OTHERS,
    REFUSED,
    UNCHANGED,
    UNCHANGED_KEPT,
    WHY,
)
from kwire_cli.analysis.diagnosis.model import Finding, Rule
from kwire_cli.analysis.groups.groups import GroupState
from kwire_cli.analysis.groups.reading import QUERY
from kwire_cli.analysis.groups.timeline import INCONSISTENT, names
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.timeline import Cause, Event, Rebalance, Timeline, Trigger
    from kwire_cli.analysis.subjects import LogItem
    from kwire_cli.facts.memory import Tables
    from kwire_cli.questions.rule_files import Severity

LEAST: dict[Cause, int] = {
    "poll": 2,
    "session": 2,
    "fenced": 2,
    "restart": 3,
    "resubscribed": 3,
    "metadata": 3,
    "subscription": 3,
}
"""Times from which on a cause is a loop. What never happens in a healthy group counts from the second time on."""
BAD: frozenset[Cause] = frozenset({"poll", "session", "fenced"})
"""Causes that a healthy group does not have even once."""
BY_DESIGN: frozenset[Cause] = frozenset({"metadata", "subscription", "resubscribed"})
"""Causes that are ordinary where members do not consume: workers of Connect join again for each connector."""
SLOW = 10.0
"""Seconds from which on a rebalance is slow: members wait for one that is at work and does not poll."""
IDLE_SECONDS = 10.0
"""Seconds in a group without partitions from which on a member counts as idle; a rebalance may take some."""
SHOWN_AWAY = 0.1
"""Seconds without partitions that are worth a word: what is shorter is the round trips of any rebalance."""
MANY = 3
"""Rebalances without a change that are more than a coincidence."""
NOT_LET_IN = frozenset(
    {
        INCONSISTENT,
        "GROUP_MAX_SIZE_REACHED",
        "INVALID_SESSION_TIMEOUT",
        "UNSUPPORTED_ASSIGNOR",
        "INVALID_REGULAR_EXPRESSION",
    }
)
TOPICS = frozenset({"MISSING_SOURCE_TOPICS", "INCORRECTLY_PARTITIONED_TOPICS", "MISSING_INTERNAL_TOPICS"})
"""Statuses of a streams group that are about its topics. Others are those of a group that is well, or ends."""
MOST_SAID = 300
"""Characters of what a coordinator says; it may list many topics."""


class GroupTrouble(Rule):
    """Groups that rebalance, and members that are idle or refused."""

    KINDS = (LOOP, REBALANCE, UNCHANGED, IDLE, AGAIN, REFUSED, NOT_READY)
    queries = (QUERY,)

    def __init__(self) -> None:
        self._state = GroupState()

    def log_item(self, item: LogItem) -> None:
        """Take a batch of a coordinator's log."""
        self._state.log_item(item)

    def ask(self, tables: Tables) -> None:
        """Take the calls about groups."""
        for call in calls_in(tables, QUERY):
            self._state.call(call)

    def findings(self) -> Iterator[Finding]:
        for timeline in self._state.timelines():
            subject, command = f"group {timeline.group}", f"groups --group {quote(timeline.group)}"
            findings = [
                *_loops(timeline),
                *_refused(timeline),
                *_not_ready(timeline),
                *_again(timeline),
                *_idle(timeline),
            ]
            loops = any(finding.kind.code == LOOP.code for finding in findings)
            for finding in (*findings, *_rebalances(timeline, loops=loops)):
                yield finding._replace(subject=subject, command=command)


def _loops(timeline: Timeline) -> Iterator[Finding]:
    """Yield causes that the same client gives again and again."""
    grouped: dict[tuple[str, Cause], list[Trigger]] = {}
    for rebalance in timeline.rebalances:
        once = {(trigger.client, trigger.cause): trigger for trigger in reversed(rebalance.triggers)}
        for key, trigger in once.items():
            if trigger.cause in LEAST:
                grouped.setdefault(key, []).append(trigger)
    first, last = timeline.span
    again = [rebalance for rebalance in timeline.rebalances if not rebalance.forms]
    for (client, cause), triggers in grouped.items():
        removed = len(grouped.get((client, "session"), ())) >= LEAST["session"]
        if len(triggers) < LEAST[cause] or (cause == "fenced" and removed):
            continue
        if not timeline.consumes and cause in BY_DESIGN:
            continue
        what, meaning, advice = WHY[cause]
        span = f" in {duration(last - first)}" if timeline.timed else ""
        happened = counted(len(again), "rebalance") if again else f"formed {len(timeline.rebalances)} times"
        text = f"{happened}{span}: {client} {what} {len(triggers)} times"
        timeout = timeline.member(triggers[0].member).rebalance_timeout
        detail = "" if cause == "restart" else _detail(triggers[0].text)
        if cause == "poll":
            detail = duration(timeout) if timeout else ""
        text += f" ({detail})" if detail else ""
        if cause == "session" and (records := _most_delivered(timeline)):
            text += f"; {records}"
        kind = LOOP._replace(meaning=meaning, advice=advice) if timeline.consumes else LOOP
        severity: Severity = "error" if cause in BAD else "warning"
        yield Finding(kind, "", text, [trigger.place for trigger in triggers], len(triggers), severity)


def _times(count: int) -> str:
    return "" if count == 1 else f" {count} times"


def _detail(text: str) -> str:
    """Return the part of a trigger's text that is not said already."""
    return text.partition(": ")[2]


def _most_delivered(timeline: Timeline) -> str:
    again = [event for event in timeline.events if event.kind == "redelivery"]
    most = max(again, key=lambda event: event.partitions or 0, default=None)
    return most.detail.replace(": delivered", " was delivered") if most else ""


def _rebalances(timeline: Timeline, *, loops: bool) -> Iterator[Finding]:
    again = [rebalance for rebalance in timeline.rebalances if not rebalance.forms]
    if again:
        bad = next((row for row in again if any(trigger.cause in BAD for trigger in row.triggers)), None)
        slow = max(again, key=lambda rebalance: rebalance.seconds if rebalance.timed else 0.0)
        severity: Severity = "warning" if (bad and not loops) or _waits(slow) >= SLOW else "info"
        kind = REBALANCE if timeline.consumes else REBALANCE_OF_OTHERS
        about = slow
        if bad and not loops:
            about = bad
            if timeline.consumes:
                why = WHY[next(trigger.cause for trigger in bad.triggers if trigger.cause in BAD)]
                kind = REBALANCE._replace(meaning=why.meaning, advice=why.advice)
        yield Finding(kind, "", _told(timeline, again, about), _places(again), len(again), severity)
    same = [rebalance for rebalance in again if rebalance.unchanged and timeline.protocol != "share"]
    if same and timeline.consumes:
        text = f"{counted(len(same), 'rebalance')} of {len(again)} changed nothing; the first one: {_cause(same[0])}"
        severity = "warning" if len(same) >= MANY and not loops else "info"
        kind = UNCHANGED if any(rebalance.away for rebalance in same) else UNCHANGED_KEPT
        yield Finding(kind, "", text, _places(same), len(same), severity)


def _waits(rebalance: Rebalance) -> float:
    """Return for how long a member had no partitions in a rebalance."""
    return max([rebalance.stopped, *rebalance.away.values()])


def _told(timeline: Timeline, again: Sequence[Rebalance], slow: Rebalance) -> str:
    count = counted(len(again), "rebalance")
    which = "it" if len(again) == 1 else "the longest" if slow.seconds == max(row.seconds for row in again) else "one"
    took = f"; {which} took {duration(slow.seconds)}" if slow.timed else ""
    text = f"{count}{took}: {_cause(slow)}"
    stopped = max(rebalance.stopped for rebalance in again)
    away = [(seconds, member) for rebalance in again for member, seconds in rebalance.away.items()]
    if away and max(away)[0] >= stopped + SHOWN_AWAY:
        seconds, member = max(away)
        text += f"; {timeline.name(member)} had no {timeline.unit}s for {duration(seconds)}"
    if stopped >= SHOWN_AWAY:
        text += f"; nobody had {timeline.unit}s for {duration(stopped)}"
    unused = [event for event in timeline.events if event.kind == "unused"]
    if unused:
        text += f"; {unused[0].client} {unused[0].reason} ({unused[0].detail})"
    return text


def _cause(rebalance: Rebalance) -> str:
    if not rebalance.triggers:
        return "the cause is not in the input"
    first = next((row for row in rebalance.triggers if row.cause in BAD), rebalance.triggers[0])
    more = len(rebalance.triggers) - 1
    rest = f", and {more} more" if more else ""
    text = (
        first.text
        if first.text.startswith(("joins", "removed", "leaves", "subscribes", "left"))
        else f"leaves: {first.text}"
    )
    return f"{first.client or first.member} {text}{rest}"


def _places(rebalances: Sequence[Rebalance]) -> list[Evidence]:
    return [trigger.place for rebalance in rebalances for trigger in rebalance.triggers[:1]] or [
        rebalance.place for rebalance in rebalances
    ]


def _again(timeline: Timeline) -> Iterator[Finding]:
    events = [event for event in timeline.events if event.kind == "redelivery"]
    if events:
        most = max(events, key=lambda event: event.partitions or 0)
        released = sum(event.partitions or 0 for event in timeline.events if event.kind == "release")
        text = f"records were delivered again{_times(len(events))}; {_most_delivered(timeline)}"
        text += f"; members released {counted(released, 'record')}" if released else ""
        yield Finding(AGAIN, "", text, [event.place for event in events], most.partitions or 0)


def _idle(timeline: Timeline) -> Iterator[Finding]:
    idle = [
        member
        for member in timeline.members.values()
        if member.partitions is not None and not member.held and member.without >= IDLE_SECONDS
    ]
    if not idle or not timeline.consumes:
        return
    held = [member for member in timeline.members.values() if member.held and member.ended is None]
    partitions = {partition for member in held for partition in member.partitions or ()}
    who = ", ".join(sorted({timeline.name(member.member) for member in idle})[:3])
    longest = max(member.without for member in idle)
    text = f"{counted(len(idle), 'member')} without a partition for up to {duration(longest)}: {who}"
    holders = f"{counted(len(held), 'other')} with {counted(len(partitions), 'partition')} ({names(partitions)})"
    if partitions and len(partitions) <= len(held):
        text += f"; beside {holders}"
    elif partitions:
        text += f"; beside {holders}: the assignor does not spread them"
    else:
        text += "; nobody in the group has any: do the topics exist?"
    places = [row.place for row in timeline.assigned if any(row.member == member.member for member in idle)]
    yield Finding(IDLE, "", text, places, len(idle))


def _refused(timeline: Timeline) -> Iterator[Finding]:
    """Yield clients that were not let in and did not come in later. They may have been in the group before."""
    rows: dict[tuple[str, str], list[Event]] = {}
    let_in: dict[str, float] = {}
    for member in timeline.members.values():
        if member.accepted and member.joined is not None:
            let_in[member.client] = max(let_in.get(member.client, 0.0), member.joined)
    for event in timeline.events:
        if event.kind == "error" and event.reason in NOT_LET_IN and event.time > let_in.get(event.client, -1.0):
            rows.setdefault((event.client, event.reason), []).append(event)
    for (client, error), events in rows.items():
        text = f"{client} is refused with {error}{_times(len(events))} {events[0].detail}"
        if error == INCONSISTENT and timeline.assignor:
            text += f"; the group has {timeline.assignor}"
        yield Finding(REFUSED, "", text, [event.place for event in events], len(events))


def _not_ready(timeline: Timeline) -> Iterator[Finding]:
    """Yield what a coordinator says about the topics of a streams group, if nobody got a task afterwards."""
    ready = max((row.time for row in timeline.assigned if row.partitions), default=0.0)
    late = [
        event
        for event in timeline.events
        if event.kind == "status" and event.time > ready and not TOPICS.isdisjoint(event.reason.split(", "))
    ]
    if late:
        last = late[-1]
        said = ", ".join(name for name in last.reason.split(", ") if name in TOPICS)
        text = f"the coordinator says {said}"
        text += f": {last.detail[:MOST_SAID].rstrip('.')}" if last.detail else ""
        yield Finding(NOT_READY, "", text, [event.place for event in late])
