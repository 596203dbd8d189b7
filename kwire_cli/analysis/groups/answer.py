"""The answer about groups: tables for programs, and a line for each event for people."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.call import instant, to_microseconds
from kwire_cli.analysis.groups.moves import UNTIMED
from kwire_cli.analysis.groups.timeline import Timeline, name_of, names, short
from kwire_cli.answer import Answer, Column, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.groups.moves import Assignment
    from kwire_cli.analysis.groups.timeline import Event, Rebalance
    from kwire_cli.answer import Block, Level

MOST_EVENTS = 30
"""Events of a group that a person is shown, unless the group is chosen by name."""
SHOWN_AWAY = 0.1
"""Seconds without partitions that a person is shown: what is shorter is the round trips of any rebalance."""
MOST_CHOSEN = 1000
"""Events of a chosen group that a person is shown."""
GROUPS = (
    Column("group"),
    Column("protocol", keep=2),
    Column("protocolType", wide=True),
    Column("assignor", keep=5),
    Column("coordinator", keep=9),
    Column("members", "count", keep=1),
    Column("membersNow", "count", wide=True),
    Column("rebalances", "count"),
    Column("generationFirst", "id", title="generation", keep=4),
    Column("generationLast", "id", title="to", keep=4),
    Column("rebalanceSeconds", "duration", title="rebalancing", keep=6, sparse=True),
    Column("longestSeconds", "duration", title="longest", keep=3, sparse=True),
    Column("stoppedSeconds", "duration", title="nobody consumed", keep=7, sparse=True),
    Column("causes", "map", keep=8),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
)
PLACE = (
    Column("frame", "id"),
    Column("stream", "id"),
    Column("capture"),
    Column("file"),
    Column("line", "id"),
    Column("offset", "id"),
)
EVENTS = (
    Column("time", "instant"),
    Column("group"),
    Column("generation", "id"),
    Column("event"),
    Column("member"),
    Column("client"),
    Column("reason"),
    Column("detail"),
    Column("seconds", "duration"),
    Column("partitions", "count"),
    *PLACE,
)
MEMBERS = (
    Column("group", keep=1),
    Column("client", title="client id"),
    Column("member", keep=9),
    Column("host", keep=8),
    Column("instance", keep=3),
    Column("joined", "instant", keep=7),
    Column("ended", "instant", keep=6),
    Column("partitions", "count"),
    Column("withoutSeconds", "duration", title="without any", unit="s", keep=2),
    Column("end", keep=4),
    Column("rebalanceTimeoutSeconds", "duration", wide=True),
    Column("sessionTimeoutSeconds", "duration", wide=True),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
)
ASSIGNMENTS = (
    Column("time", "instant"),
    Column("group"),
    Column("generation", "id"),
    Column("member"),
    Column("client"),
    Column("count", "count"),
    Column("partitions", "list"),
    Column("gained", "list"),
    Column("lost", "list"),
    *PLACE,
)
_LEVELS: dict[str, Level] = {
    "fenced": "error",
    "error": "error",
    "removed": "warning",
    "redelivery": "warning",
    "unused": "warning",
}


def answer_of(timelines: Sequence[Timeline], *, lost: int = 0, chosen: bool = False) -> Answer:
    """Return the timelines of groups as an answer; `chosen` groups are shown in full."""
    blocks: list[Block] = [
        Table("groups", GROUPS, [_group(timeline) for timeline in timelines], wide=len(timelines) == 1)
    ]
    most = MOST_CHOSEN if chosen else MOST_EVENTS
    blocks += [Outline("", [*_lines(timeline, most)], _title(timeline)) for timeline in timelines]
    blocks += [
        Table("events", EVENTS, [row for timeline in timelines for row in _events(timeline)], wide=True),
        Table("members", MEMBERS, [row for timeline in timelines for row in _members(timeline)], "members", shown=25),
        Table("assignments", ASSIGNMENTS, [row for timeline in timelines for row in _assignments(timeline)], wide=True),
    ]
    dropped = sum(timeline.dropped for timeline in timelines) + lost
    if dropped:
        blocks.append(Note(f"{dropped} later events are not counted: there are too many to keep", "warning"))
    if not timelines:
        blocks.append(Note("no group in this", "info"))
    return Answer("groups", blocks)


def _instant(time: float | None) -> str | None:
    return None if time is None or time < UNTIMED else instant(time)


def _title(timeline: Timeline) -> str:
    protocol = timeline.protocol if timeline.consumes else f"{timeline.protocol} ({timeline.protocol_type})"
    texts = [", ".join(part for part in (protocol, timeline.assignor) if part)]
    if timeline.coordinators:
        texts.append(f"coordinator {', '.join(_coordinators(timeline))}")
    members = counted(len(timeline.let_in), "member")
    texts.append(f"{members}, {_generations(timeline)}" if timeline.generations else members)
    return f"{timeline.group}   {'; '.join(text for text in texts if text)}"


def _generations(timeline: Timeline) -> str:
    word = "generation" if timeline.protocol == "classic" else "epoch"
    first, last = timeline.generations
    return f"{word} {first}" if first == last else f"{word} {first} → {last}"


def _coordinators(timeline: Timeline) -> list[str]:
    return [
        address if node is None else f"{address} (node {node})"
        for address, node in sorted(timeline.coordinators.items())
    ]


def _lines(timeline: Timeline, most: int) -> Iterator[Item]:
    """Yield a line for each event that is for people: its time, the generation, and what happened."""
    events = [event for event in timeline.events if not event.minor]
    rebalances = {(rebalance.end, rebalance.after): rebalance for rebalance in timeline.rebalances}
    rows = []
    for event in events[:most]:
        rebalance = rebalances.get((event.time, event.generation)) if event.kind == "rebalance" else None
        generation = "" if event.generation is None else str(event.generation)
        if rebalance is not None and rebalance.before is not None and rebalance.before != rebalance.after:
            generation = f"{rebalance.before} → {rebalance.after}"
        rows.append((event, generation, _text(timeline, event, rebalance)))
    width = max((len(generation) for _, generation, _ in rows), default=0)
    for event, generation, text in rows:
        clock = (_instant(event.time) or "")[11:23]
        clock += "  " if clock else ""
        yield Item(1, f"{clock}{generation:<{width}}  {text}", level=_LEVELS.get(event.kind, ""))
    if len(events) > most:
        yield Item(1, f"… and {len(events) - most} more: --group {quote(timeline.group)}")


def _text(timeline: Timeline, event: Event, rebalance: Rebalance | None) -> str:
    name = timeline.name(event.member) if event.member else event.client
    match event.kind:
        case "rebalance":
            return _rebalance(timeline, rebalance) if rebalance else "rebalanced"
        case "join" | "rejoin":
            text = f"{name} joins{' again' if event.kind == 'rejoin' else ''}"
            reason = "" if event.reason.startswith("joins") else event.reason
            return ": ".join(part for part in (", ".join(p for p in (text, event.detail) if p), reason) if part)
        case "leave":
            return f"{name} leaves" if event.reason == "leaves" else f"{name} leaves: {event.reason}"
        case "removed" | "subscription" | "unused":
            return f"{name} {event.reason}" + (f": {event.detail}" if event.detail else "")
        case "redelivery":
            return f"{name} gets {event.detail}" if name else f"again {event.detail}"
        case "fenced" | "error":
            refused = event.kind == "error" or event.reason == "UNRELEASED_INSTANCE_ID"
            return f"{name} {'refused' if refused else 'fenced'}: {event.reason} {event.detail}"
        case "removed group" | "empty":
            return event.detail
        case "status":
            return f"{name} is told: {event.reason}" + (f": {event.detail}" if event.detail else "")
    return " ".join(part for part in (name, event.kind, event.reason, event.detail) if part)


def _rebalance(timeline: Timeline, rebalance: Rebalance) -> str:
    members = counted(rebalance.members, "member")
    took = f" in {duration(rebalance.seconds)}" if rebalance.timed else ""
    parts = [f"{'forms' if rebalance.forms else 'rebalanced'}{took}: {members}"]
    moved = len(rebalance.moved)
    first = rebalance.triggers[0] if rebalance.triggers else None
    if first is not None and first.cause == "metadata":
        parts[0] = f"{timeline.name(first.member)} {first.text}, {parts[0]}"
    if rebalance.unchanged:
        parts.append("nothing changed")
    elif rebalance.compared and not rebalance.forms:
        parts.append(
            f"{counted(moved, timeline.unit)} moved ({names(rebalance.moved)})"
            if moved
            else f"no {timeline.unit} moved"
        )
    away = sorted((-seconds, member) for member, seconds in rebalance.away.items() if seconds >= SHOWN_AWAY)
    if away and -away[0][0] >= rebalance.stopped + SHOWN_AWAY:
        longest, member = away[0]
        more, limit = (f" and {len(away) - 1} more", "up to ") if len(away) > 1 else ("", "")
        without = f"without {timeline.unit}s for {limit}{duration(-longest)}"
        parts.append(f"{timeline.name(member)}{more} {without}")
    if rebalance.stopped >= SHOWN_AWAY:
        parts.append(f"nobody had {timeline.unit}s for {duration(rebalance.stopped)}")
    return ", ".join(parts)


def _group(timeline: Timeline) -> tuple[Any, ...]:
    again = [rebalance for rebalance in timeline.rebalances if not rebalance.forms]
    causes: dict[str, int] = {}
    for rebalance in again:
        cause = rebalance.triggers[0].cause if rebalance.triggers else "unknown"
        causes[cause] = causes.get(cause, 0) + 1
    spans = (
        sum(rebalance.seconds for rebalance in again),
        max((rebalance.seconds for rebalance in again), default=0.0),
        sum(rebalance.stopped for rebalance in again),
    )
    first, last = timeline.span
    generations: list[int | None] = [*timeline.generations] or [None, None]
    return (
        timeline.group,
        timeline.protocol,
        timeline.protocol_type or None,
        timeline.assignor,
        ", ".join(_coordinators(timeline)),
        len(timeline.let_in),
        sum(member.ended is None for member in timeline.let_in),
        len(again),
        *generations,
        *(to_microseconds(span) if timeline.timed else None for span in spans),
        causes,
        _instant(first),
        _instant(last),
    )


def _place(place: Evidence) -> tuple[Any, ...]:
    return place.frame, place.stream, place.capture, place.file, place.line, place.offset


def _events(timeline: Timeline) -> Iterator[tuple[Any, ...]]:
    for event in timeline.events:
        yield (
            _instant(event.time),
            timeline.group,
            event.generation,
            event.kind,
            event.member,
            event.client,
            event.reason,
            event.detail,
            None if event.seconds is None or event.time < UNTIMED else to_microseconds(event.seconds),
            event.partitions,
            *_place(event.place),
        )


def _members(timeline: Timeline) -> Iterator[tuple[Any, ...]]:
    for member in sorted(timeline.let_in, key=lambda row: (row.joined or row.first or 0.0, row.member)):
        is_known = timeline.timed and (member.partitions is not None or member.without > 0)
        yield (
            timeline.group,
            short(member.member) if member.label == member.member else member.label,
            member.member,
            member.host,
            member.instance,
            _instant(member.joined),
            _instant(member.ended),
            None if member.partitions is None else len(member.partitions),
            to_microseconds(member.without) if is_known else None,
            member.end,
            member.rebalance_timeout,
            member.session_timeout,
            _instant(member.first),
            _instant(member.last),
        )


def _assignments(timeline: Timeline) -> Iterator[tuple[Any, ...]]:
    for row in timeline.assigned:
        yield (
            _instant(row.time),
            timeline.group,
            row.generation,
            row.member,
            row.client,
            len(row.partitions),
            _list(row.partitions),
            _list(row.gained),
            _list(row.lost),
            *_place(row.place),
        )


def _list(partitions: Assignment) -> list[str]:
    return [name_of(topic, number) for topic, number in sorted(partitions)]
