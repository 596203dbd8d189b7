"""Rows of the tables of groups (`groups/tables`) from the timelines of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import place_row
from kwire_cli.analysis.groups.moves import UNTIMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.moves import Assignment
    from kwire_cli.analysis.groups.timeline import Cause, Rebalance, Timeline, Trigger

    Row = tuple[str, tuple[Any, ...]]
    Ordinals = Mapping[Evidence, int]

GRAVE: frozenset[Cause] = frozenset({"poll", "session", "fenced"})
"""Causes that a healthy group does not have even once."""
LATEST = 253_402_300_800
"""The end of the year 9999 in seconds since 1970: records may claim any time."""


def rows_of_groups(timelines: Iterable[Timeline]) -> Iterator[Row]:
    """Yield the rows of groups for these tables, each with the name of its table."""
    for timeline in timelines:
        ordinals = _ordinals(timeline)
        yield "groups", _group(timeline)
        yield from _events(timeline, ordinals)
        for number, rebalance in enumerate(timeline.rebalances):
            yield "rebalances", (timeline.group, number, *_rebalance(timeline, rebalance, ordinals))
            yield from _triggers(timeline.group, number, rebalance, ordinals)
        yield from _members(timeline)
        yield from _assignments(timeline, ordinals)


def row_of_lost_groups(dropped: int) -> tuple[Any, ...]:
    """Return the row of `groups` for all groups beyond the limit. It has no name, only the number of their events."""
    return (*(None,) * 11, dropped)


def _ordinals(timeline: Timeline) -> Ordinals:
    """Return the ordinal of each place of a group: by time, of those at one time in the order of packets."""
    places = [event.place for event in timeline.events]
    for rebalance in timeline.rebalances:
        places += [rebalance.place, *(trigger.place for trigger in rebalance.triggers)]
    places += [row.place for row in timeline.assigned]
    ordered = sorted(dict.fromkeys(places), key=lambda place: (place.time or "", place.packet or 0))
    return {place: ordinal for ordinal, place in enumerate(ordered)}


def _time(seconds: float | None) -> int | None:
    """Return a time in microseconds, None if only an order is known."""
    return None if seconds is None or not UNTIMED <= seconds < LATEST else round(seconds * 1e6)


def _ordinal(seconds: float | None) -> int | None:
    return None if seconds is None else round(min(seconds, LATEST) * 1e6)


def _span(seconds: float | None) -> float | None:
    """Return seconds as exact as times are, to the microsecond."""
    return None if seconds is None else round(seconds, 6)


def _partitions(assignment: Assignment | None) -> list[dict[str, Any]] | None:
    if assignment is None:
        return None
    return [{"topic": topic, "partition": number} for topic, number in sorted(assignment)]


def _group(timeline: Timeline) -> tuple[Any, ...]:
    coordinators = [{"address": address, "broker": node} for address, node in sorted(timeline.coordinators.items())]
    generations: list[int | None] = [*timeline.generations] or [None, None]
    return (
        timeline.group,
        timeline.protocol or None,
        timeline.protocol_type or None,
        timeline.consumes,
        timeline.unit,
        timeline.assignor or None,
        coordinators,
        *generations,
        *map(_time, timeline.span),
        timeline.dropped,
    )


def _events(timeline: Timeline, ordinals: Ordinals) -> Iterator[Row]:
    for number, event in enumerate(timeline.events):
        yield (
            "group_events",
            (
                timeline.group,
                number,
                _time(event.time),
                _ordinal(event.time),
                event.generation,
                event.kind,
                event.member or None,
                event.client or None,
                event.reason or None,
                event.detail or None,
                _span(event.seconds) if event.time >= UNTIMED else None,
                event.partitions,
                event.minor,
                place_row(event.place, ordinals[event.place]),
            ),
        )


def _rebalance(timeline: Timeline, rebalance: Rebalance, ordinals: Ordinals) -> tuple[Any, ...]:
    first = rebalance.triggers[0] if rebalance.triggers else None
    gravest = next((trigger for trigger in rebalance.triggers if trigger.cause in GRAVE), first)
    away, member = max(((seconds, member) for member, seconds in rebalance.away.items()), default=(None, None))
    return (
        _time(rebalance.start),
        _time(rebalance.end),
        _span(rebalance.seconds) if rebalance.timed else None,
        rebalance.before,
        rebalance.after,
        rebalance.members,
        len(rebalance.triggers),
        *((gravest.cause, gravest.client or gravest.member, _deed(gravest)) if gravest else (None, None, None)),
        gravest is not None and gravest.cause in GRAVE,
        rebalance.forms,
        rebalance.unchanged,
        _partitions(rebalance.moved) if rebalance.compared else None,
        _span(rebalance.stopped),
        _span(away),
        None if member is None else timeline.name(member),
        place_row(rebalance.place, ordinals[rebalance.place]),
        first and place_row(first.place, ordinals[first.place]),
    )


def _deed(trigger: Trigger) -> str:
    """Return what a client did as text that begins with a verb."""
    is_deed = trigger.text.startswith(("joins", "removed", "leaves", "subscribes", "left"))
    return trigger.text if is_deed else f"leaves: {trigger.text}"


def _triggers(group: str, number: int, rebalance: Rebalance, ordinals: Ordinals) -> Iterator[Row]:
    for at, trigger in enumerate(rebalance.triggers):
        yield (
            "rebalance_triggers",
            (
                group,
                number,
                at,
                _time(trigger.time),
                trigger.cause,
                trigger.cause in GRAVE,
                trigger.text,
                trigger.client or None,
                trigger.member or None,
                place_row(trigger.place, ordinals[trigger.place]),
            ),
        )


def _members(timeline: Timeline) -> Iterator[Row]:
    let_in = {member.member for member in timeline.let_in}
    for member in timeline.members.values():
        yield (
            "group_members",
            (
                timeline.group,
                member.member,
                timeline.name(member.member),
                member.client or None,
                member.host or None,
                member.instance,
                _time(member.joined),
                _ordinal(member.joined),
                _time(member.ended),
                None if member.ended is None else member.end,
                _partitions(member.partitions),
                member.held,
                _span(member.without),
                member.rebalance_timeout,
                member.session_timeout,
                _time(member.first),
                _time(member.last),
                member.accepted,
                member.member in let_in,
            ),
        )


def _assignments(timeline: Timeline, ordinals: Ordinals) -> Iterator[Row]:
    for number, row in enumerate(timeline.assigned):
        yield (
            "group_assignments",
            (
                timeline.group,
                number,
                _time(row.time),
                _ordinal(row.time),
                row.generation,
                row.member,
                row.client or None,
                _partitions(row.partitions),
                _partitions(row.gained),
                _partitions(row.lost),
                place_row(row.place, ordinals[row.place]),
            ),
        )
