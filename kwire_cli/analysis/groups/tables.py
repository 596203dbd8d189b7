"""The tables of groups: what the replay of groups found, for queries.

Each group has a row in `groups`. The rows of the other tables name their group, and have numbers in the order of time
where one row is compared with the next one. Of inputs without times only the order is known: then times are null, and
`ordinal` orders rows. An evidence is a place (`facts.buffers.PLACE`), whose ordinals count within a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import place_row
from kwire_cli.analysis.groups.moves import UNTIMED
from kwire_cli.facts.buffers import PLACE

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
PARTITIONS = [{"topic": "VARCHAR", "partition": "BIGINT"}]
"""The type of an assignment."""


GROUP_ID = ("group_id", "VARCHAR", "the group")
TABLES: Mapping[str, tuple[tuple[str, Any, str], ...]] = {
    "groups": (
        GROUP_ID,
        ("protocol", "VARCHAR", "`classic`, `consumer`, `share` or `streams`"),
        ("protocol_type", "VARCHAR", "of a classic group, such as `consumer` or `connect`"),
        ("is_consuming", "BOOLEAN", "whether members consume, as far as the input tells"),
        ("unit", "VARCHAR", "what members are given: `partition` or `task`"),
        ("assignor", "VARCHAR", "the assignor of the last generation"),
        ("coordinators", [{"address": "VARCHAR", "broker": "BIGINT"}], "brokers that were asked, and their node ids"),
        ("first_generation", "BIGINT", "the first generation, or group epoch"),
        ("last_generation", "BIGINT", "the last one"),
        ("first_time", "TIMESTAMPTZ", "the first sign of the group"),
        ("last_time", "TIMESTAMPTZ", "the last one"),
        ("dropped", "BIGINT", "events that were too many to keep"),
    ),
    "group_events": (
        GROUP_ID,
        ("number", "BIGINT", "number of the event in the group"),
        ("time", "TIMESTAMPTZ", "when it happened"),
        ("ordinal", "BIGINT", "order in time, the same for events at the same time"),
        ("generation", "BIGINT", "generation or epoch"),
        ("kind", "VARCHAR", "such as `join`, `leave`, `rebalance`, `assignment`, `error`"),
        ("member", "VARCHAR", "member id"),
        ("client", "VARCHAR", "client id"),
        ("reason", "VARCHAR", "why, or the error"),
        ("detail", "VARCHAR", "what else is known"),
        ("seconds", "DOUBLE", "how long it took"),
        ("partitions", "BIGINT", "how many partitions, records or deliveries it is about"),
        ("is_minor", "BOOLEAN", "whether `kwire groups` leaves it out for people"),
        ("place", PLACE, "where it is in the input"),
    ),
    "rebalances": (
        GROUP_ID,
        ("number", "BIGINT", "number of the rebalance in the group"),
        ("start_time", "TIMESTAMPTZ", "when it began"),
        ("end_time", "TIMESTAMPTZ", "when the last member had its assignment"),
        ("seconds", "DOUBLE", "how long it took; null if its beginning is not in the input"),
        ("generation_before", "BIGINT", "generation or epoch before it"),
        ("generation", "BIGINT", "generation or epoch after it"),
        ("members", "BIGINT", "members after it"),
        ("triggers", "BIGINT", "how many triggers it has"),
        ("cause", "VARCHAR", "cause of its gravest trigger, as in `rebalance_triggers`"),
        ("client", "VARCHAR", "client of this trigger, or its member"),
        ("reason", "VARCHAR", "what this client did, as text"),
        ("is_grave", "BOOLEAN", "whether a healthy group does not have this cause even once"),
        ("is_forming", "BOOLEAN", "whether the group had no members before"),
        ("is_unchanged", "BOOLEAN", "whether all members have what they had"),
        ("moved", PARTITIONS, "partitions that changed hands; null if it is not known"),
        ("stopped_s", "DOUBLE", "seconds in which no member had partitions"),
        ("away_s", "DOUBLE", "seconds that a member had no partitions, at most; null if none lost any"),
        ("away_member", "VARCHAR", "name of this member"),
        ("place", PLACE, "where it is in the input"),
        ("trigger_place", PLACE, "where its first trigger is"),
    ),
    "rebalance_triggers": (
        GROUP_ID,
        ("rebalance", "BIGINT", "number of the rebalance"),
        ("number", "BIGINT", "number of the trigger in the rebalance"),
        ("time", "TIMESTAMPTZ", "when it happened"),
        (
            "cause",
            "VARCHAR",
            "what set it off: see `kwire groups`; `unknown` if the input does not tell",
        ),
        ("is_grave", "BOOLEAN", "whether the cause is `poll`, `session` or `fenced`"),
        ("text", "VARCHAR", "what happened"),
        ("client", "VARCHAR", "client id"),
        ("member", "VARCHAR", "member id"),
        ("place", PLACE, "where it is in the input"),
    ),
    "group_members": (
        GROUP_ID,
        ("member", "VARCHAR", "member id"),
        ("name", "VARCHAR", "a name for people: the client id, with the member id if several have it"),
        ("client", "VARCHAR", "client id"),
        ("host", "VARCHAR", "address of the client"),
        ("instance_id", "VARCHAR", "group.instance.id"),
        ("joined", "TIMESTAMPTZ", "when it joined"),
        ("joined_ordinal", "BIGINT", "when it joined, in the order of `group_events`"),
        ("ended", "TIMESTAMPTZ", "when it left or was removed"),
        ("ending", "VARCHAR", "how it ended; null if it did not"),
        ("partitions", PARTITIONS, "what it had last; null if it is not known"),
        ("has_held", "BOOLEAN", "whether it had partitions at any time"),
        ("without_s", "DOUBLE", "seconds in the group without partitions"),
        ("rebalance_timeout_s", "DOUBLE", "rebalance timeout, of Java clients max.poll.interval.ms"),
        ("session_timeout_s", "DOUBLE", "session timeout"),
        ("first_time", "TIMESTAMPTZ", "its first call"),
        ("last_time", "TIMESTAMPTZ", "its last call"),
        ("is_accepted", "BOOLEAN", "whether the coordinator took it for a member at any time"),
        ("is_let_in", "BOOLEAN", "whether anything names it as a member: not only calls that were refused"),
    ),
    "group_assignments": (
        GROUP_ID,
        ("number", "BIGINT", "number of the assignment in the group"),
        ("time", "TIMESTAMPTZ", "when the member had it"),
        ("ordinal", "BIGINT", "order in time, as in `group_events`"),
        ("generation", "BIGINT", "generation or epoch"),
        ("member", "VARCHAR", "member id"),
        ("client", "VARCHAR", "client id"),
        ("partitions", PARTITIONS, "what the member has; a connector has the partition -1"),
        ("gained", PARTITIONS, "what it did not have before"),
        ("lost", PARTITIONS, "what it does not have any more"),
        ("place", PLACE, "where it is in the input"),
    ),
}
"""The columns of each table: name, type in DuckDB, meaning."""


def table_rows(timelines: Iterable[Timeline]) -> Iterator[Row]:
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
