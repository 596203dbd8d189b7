"""Rows of the tables of groups from the timelines of groups.

The columns in `groups/tables` have the names of fields of the timeline's objects, or are computed here. Each value is
converted to the type of its column.
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
    from kwire_cli.analysis.groups.timeline import Rebalance, Timeline

    Row = tuple[str, tuple[Any, ...]]

LATEST = 253_402_300_800
"""The end of the year 9999 in seconds since 1970. Records may contain later times, which are null in tables."""


def rows_of_groups(timelines: Iterable[Timeline]) -> Iterator[Row]:
    """Yield the rows of groups for these tables, each with the name of its table."""
    for timeline in timelines:
        ordinals = _ordinals(timeline)
        for table, found, computed in _rows(timeline):
            computed["group_id"] = timeline.group_id
            values = ((computed[name] if name in computed else getattr(found, name)) for name, *_ in TABLES[table])
            kinds = (kind for _, kind, _ in TABLES[table])
            yield table, tuple(_cell(kind, value, ordinals) for kind, value in zip(kinds, values, strict=True))


def _ordinals(timeline: Timeline) -> Mapping[Evidence, int]:
    """Return the ordinal of each place of a group. Places are sorted by time, then by packet."""
    places = [event.place for event in timeline.events]
    for rebalance in timeline.rebalances:
        places += [rebalance.place, *(trigger.place for trigger in rebalance.triggers)]
    places += [row.place for row in timeline.assigned]
    ordered = sorted(dict.fromkeys(places), key=lambda place: (place.time or "", place.packet or 0))
    return {place: ordinal for ordinal, place in enumerate(ordered)}


def _cell(kind: Any, value: Any, ordinals: Mapping[Evidence, int]) -> Any:
    """Return a value in the type of its column. Times are null if only the order is known."""
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


def _rows(timeline: Timeline) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the table of each row, the object with its values, and further values by column name."""
    first, last = timeline.span
    yield "groups", timeline, {"first_time": first, "last_time": last}
    for number, event in enumerate(timeline.events):
        yield "group_events", event, {"number": number, "ordinal": _ordinal(event.time)}
    for number, rebalance in enumerate(timeline.rebalances):
        yield "rebalances", rebalance, {"number": number, **_of_rebalance(timeline, rebalance)}
        for at, trigger in enumerate(rebalance.triggers):
            yield "rebalance_triggers", trigger, {"number": at, "rebalance": number}
    for member in timeline.members.values():
        name = timeline.name(member.member)
        yield "group_members", member, {"name": name, "joined_ordinal": _ordinal(member.joined)}
    for number, assigned in enumerate(timeline.assigned):
        yield "group_assignments", assigned, {"number": number, "ordinal": _ordinal(assigned.time)}


def _of_rebalance(timeline: Timeline, rebalance: Rebalance) -> dict[str, Any]:
    first = rebalance.first
    gravest = next((trigger for trigger in rebalance.triggers if trigger.is_grave), first)
    away, member = max(((seconds, member) for member, seconds in rebalance.away.items()), default=(None, ""))
    return {
        "triggers": len(rebalance.triggers),
        "cause": gravest and gravest.cause,
        "client": gravest and (gravest.client or gravest.member),
        "reason": gravest and gravest.deed,
        "is_grave": bool(gravest and gravest.is_grave),
        "away_s": away,
        "away_member": member and timeline.name(member),
        "trigger_place": first and first.place,
    }
