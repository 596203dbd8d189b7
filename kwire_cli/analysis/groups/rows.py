"""Rows of the tables of groups from the timelines of groups.

A row is built by the names of the columns in `groups/tables`, and each value gets the form that the type of its column
has in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.calls import place_row
from kwire_cli.analysis.groups.moves import UNTIMED
from kwire_cli.analysis.groups.tables import PARTITIONS, TABLES
from kwire_cli.facts.buffers import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.timeline import Cause, Rebalance, Timeline, Trigger

    Row = tuple[str, tuple[Any, ...]]
    Values = dict[str, Any]

GRAVE: frozenset[Cause] = frozenset({"poll", "session", "fenced"})
"""Causes that a healthy group does not have even once."""
LATEST = 253_402_300_800
"""The end of the year 9999 in seconds since 1970: records may claim any time."""


def rows_of_groups(timelines: Iterable[Timeline]) -> Iterator[Row]:
    """Yield the rows of groups for these tables, each with the name of its table."""
    for timeline in timelines:
        ordinals = _ordinals(timeline)
        for table, values in _values(timeline):
            values["group_id"] = timeline.group
            cells = (_cell(kind, values[name], ordinals) for name, kind, _ in TABLES[table])
            yield table, tuple(cells)


def row_of_lost_groups(dropped: int) -> tuple[Any, ...]:
    """Return the row of `groups` for all groups beyond the limit. It has no name, only the number of their events."""
    return tuple(dropped if name == "dropped" else None for name, *_ in TABLES["groups"])


def _ordinals(timeline: Timeline) -> Mapping[Evidence, int]:
    """Return the ordinal of each place of a group: by time, of those at one time in the order of packets."""
    places = [event.place for event in timeline.events]
    for rebalance in timeline.rebalances:
        places += [rebalance.place, *(trigger.place for trigger in rebalance.triggers)]
    places += [row.place for row in timeline.assigned]
    ordered = sorted(dict.fromkeys(places), key=lambda place: (place.time or "", place.packet or 0))
    return {place: ordinal for ordinal, place in enumerate(ordered)}


def _cell(kind: Any, value: Any, ordinals: Mapping[Evidence, int]) -> Any:
    """Return a value as a column of a type has it. Times are null if only an order is known."""
    if value is None:
        return None
    if kind == "TIMESTAMPTZ":
        return round(value * 1e6) if UNTIMED <= value < LATEST else None
    if kind == "DOUBLE":
        return round(value, 6)  # as exact as times are
    if kind == "VARCHAR":
        return value or None
    if kind == PLACE:
        return place_row(value, ordinals[value])
    if kind == PARTITIONS:
        return [{"topic": topic, "partition": number} for topic, number in sorted(value)]
    return value


def _ordinal(seconds: float | None) -> int | None:
    return None if seconds is None else round(min(seconds, LATEST) * 1e6)


def _values(timeline: Timeline) -> Iterator[tuple[str, Values]]:
    """Yield the values of each row by the names of the columns."""
    yield "groups", _group(timeline)
    for number, event in enumerate(timeline.events):
        further = {"number": number, "ordinal": _ordinal(event.time), "is_minor": event.minor}
        seconds = event.seconds if event.time >= UNTIMED else None
        yield "group_events", {**event._asdict(), **further, "seconds": seconds}
    for number, rebalance in enumerate(timeline.rebalances):
        yield "rebalances", {"number": number, **_rebalance(timeline, rebalance)}
        for at, trigger in enumerate(rebalance.triggers):
            further = {"rebalance": number, "number": at, "is_grave": trigger.cause in GRAVE}
            yield "rebalance_triggers", {**trigger._asdict(), **further}
    for member in timeline.members.values():
        yield (
            "group_members",
            {
                **vars(member),
                "name": timeline.name(member.member),
                "instance_id": member.instance,
                "joined_ordinal": _ordinal(member.joined),
                "ending": None if member.ended is None else member.end,
                "has_held": member.held,
                "without_s": member.without,
                "rebalance_timeout_s": member.rebalance_timeout,
                "session_timeout_s": member.session_timeout,
                "first_time": member.first,
                "last_time": member.last,
                "is_accepted": member.accepted,
                "is_let_in": member.is_let_in,
            },
        )
    for number, row in enumerate(timeline.assigned):
        yield "group_assignments", {**row._asdict(), "number": number, "ordinal": _ordinal(row.time)}


def _group(timeline: Timeline) -> Values:
    first, last = timeline.span
    return {
        **vars(timeline),
        "is_consuming": timeline.consumes,
        "unit": timeline.unit,
        "coordinators": [
            {"address": address, "broker": node} for address, node in sorted(timeline.coordinators.items())
        ],
        "first_generation": timeline.generations[0] if timeline.generations else None,
        "last_generation": timeline.generations[1] if timeline.generations else None,
        "first_time": first,
        "last_time": last,
    }


def _rebalance(timeline: Timeline, rebalance: Rebalance) -> Values:
    first = rebalance.triggers[0] if rebalance.triggers else None
    gravest = next((trigger for trigger in rebalance.triggers if trigger.cause in GRAVE), first)
    away, member = max(((seconds, member) for member, seconds in rebalance.away.items()), default=(None, None))
    return {
        "start_time": rebalance.start,
        "end_time": rebalance.end,
        "seconds": rebalance.seconds if rebalance.timed else None,
        "generation_before": rebalance.before,
        "generation": rebalance.after,
        "members": rebalance.members,
        "triggers": len(rebalance.triggers),
        "cause": gravest and gravest.cause,
        "client": gravest and (gravest.client or gravest.member),
        "reason": gravest and _deed(gravest),
        "is_grave": gravest is not None and gravest.cause in GRAVE,
        "is_forming": rebalance.forms,
        "is_unchanged": rebalance.unchanged,
        "moved": rebalance.moved if rebalance.compared else None,
        "stopped_s": rebalance.stopped,
        "away_s": away,
        "away_member": None if member is None else timeline.name(member),
        "place": rebalance.place,
        "trigger_place": first and first.place,
    }


def _deed(trigger: Trigger) -> str:
    """Return what a client did as text that begins with a verb."""
    is_deed = trigger.text.startswith(("joins", "removed", "leaves", "subscribes", "left"))
    return trigger.text if is_deed else f"leaves: {trigger.text}"
