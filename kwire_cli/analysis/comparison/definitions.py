"""Differences between definitions, or between versions of a message, and their cost in bytes, as an Answer.

The outline is a unified diff of each message, with one line for each side of a field. The tables contain the same
differences for programs.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.answer import Answer, Column, Item, Note, Outline, Table
from kwire_cli.errors import counted
from kwire_cli.spec.model import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.costs.definition_costs import Cost
    from kwire_cli.analysis.costs.prices import Total
    from kwire_cli.answer import Block, Row
    from kwire_cli.spec.evolution.changes import Change, Part
    from kwire_cli.spec.evolution.history import Meaning

MESSAGES = (
    Column("message"),
    Column("status"),
    Column("old"),
    Column("new"),
    Column("oldVersion", "id"),
    Column("newVersion", "id"),
)
CHANGES = (
    Column("message"),
    Column("kind"),
    Column("path"),
    Column("oldPath"),
    Column("key"),
    Column("old", "json"),
    Column("new", "json"),
    Column("facts", "json"),
)
"""`facts` describes a field that only one side has."""
MEANINGS = (Column("message"), Column("version", "id"), Column("meaning"), Column("why"), Column("comment"))
COSTS = (
    Column("message"),
    Column("values"),
    Column("oldVersion", "id"),
    Column("newVersion", "id"),
    Column("oldSize", "bytes"),
    Column("newSize", "bytes"),
    Column("difference", "count"),
    Column("oldRefusal"),
    Column("newRefusal"),
)
TRAFFIC = (
    Column("message"),
    Column("oldVersion", "id"),
    Column("newVersion", "id"),
    Column("messages", "count"),
    Column("oldSize", "bytes"),
    Column("newSize", "bytes"),
    Column("difference", "count"),
    Column("share", "share"),
    Column("lost", "count"),
    Column("refused", "count"),
)
"""Sizes of the messages of traffic before and after. `share` is the difference as a share of the old size."""
ALL_SHOWN = 2
"""Unchanged messages are listed too if at most this number of messages is compared: a request and its response."""

_VALUES = {
    "default": "default values",
    "one element each": "default values, one element in each array",
}
_WORDS = {"ignorable": "ignorable", "mapKey": "map key", "zeroCopy": "zero copy"}
_IMPLICIT: tuple[Any, ...] = (0, "", ZERO_UUID, [], {})
"""Defaults that are not shown. False and 0.0 equal 0."""
_NOTES = {"becameTagged": "became tagged", "becameMandatory": "became mandatory"}


class Difference(NamedTuple):
    """Differences of a message between two sides, which are definitions or versions.

    `old` and `new` are the names of the sides, and `versions` their numbers if both are versions. `traffic` contains
    the totals of messages of traffic before and after. `meanings` contains versions that have the layout of the
    previous version and another meaning.
    """

    message: str
    old: str | None
    new: str | None
    changes: list[Change]
    costs: list[Cost]
    versions: tuple[int, int] | None = None
    traffic: Sequence[tuple[Total, Total]] = ()
    meanings: Sequence[tuple[int, Meaning]] = ()

    @property
    def status(self) -> str:
        """The state of the message in a word: added, removed, changed or same."""
        if self.old is None or self.new is None:
            return "added" if self.old is None else "removed"
        return "changed" if self.changes else "same"


def definitions_answer(differences: Sequence[Difference], unchanged: int | None = None) -> Answer:
    """Return the differences of definitions as an outline with a unified diff of each message, and as tables.

    `unchanged` is the number of messages of traffic that no difference affects, or None if no traffic was read.
    """
    differing = [difference for difference in differences if difference.status != "same"]
    listed = differences if len(differences) <= ALL_SHOWN else differing
    blocks: list[Block] = [Outline("", [*_items(difference)]) for difference in listed]
    if len(differences) > ALL_SHOWN:
        counts = Counter(difference.status for difference in differences)
        parts = [f"{counts[name]} {name}" for name in ("changed", "added", "removed", "same") if counts[name]]
        blocks.append(Note(", ".join(parts)))
    if unchanged is not None:
        blocks.append(Note(_traffic_note(differences, unchanged)))
    tables = [
        ("messages", MESSAGES, _message_rows),
        ("changes", CHANGES, _change_rows),
        ("meanings", MEANINGS, _meaning_rows),
        ("costs", COSTS, _cost_rows),
    ]
    if unchanged is not None:
        tables.append(("traffic", TRAFFIC, _traffic_rows))
    for name, columns, rows_of in tables:
        rows: list[Row] = []
        for difference in listed:
            rows += rows_of(difference)
        blocks.append(Table(name, columns, rows, shown=0))
    return Answer("Differences of definitions", blocks, found=bool(differing))


def _message_rows(difference: Difference) -> Iterator[Row]:
    versions = difference.versions or (None, None)
    yield difference.message, difference.status, difference.old, difference.new, *versions


def _change_rows(difference: Difference) -> Iterator[Row]:
    for change in difference.changes:
        document = change.to_json()
        yield difference.message, *(document.get(column.name) for column in CHANGES[1:])


def _meaning_rows(difference: Difference) -> Iterator[Row]:
    for version, meaning in difference.meanings:
        yield difference.message, version, *meaning


def _cost_rows(difference: Difference) -> Iterator[Row]:
    for cost in difference.costs:
        old = cost.old
        new = cost.new
        sizes = old.form.version, new.form.version, old.size, new.size, cost.difference
        yield difference.message, cost.values, *sizes, old.refusal, new.refusal


def _traffic_rows(difference: Difference) -> Iterator[Row]:
    for before, after in difference.traffic:
        share = after.difference / after.given if after.given else None
        sizes = after.tried, after.given, after.size, after.difference, share
        yield difference.message, before.version, after.version, *sizes, after.lost_values, after.refused.total()


def _traffic_note(differences: Sequence[Difference], unchanged: int) -> str:
    totals: list[Total] = []
    for difference in differences:
        totals += [after for _, after in difference.traffic]
    others = f"{counted(unchanged, 'other message')} as before"
    if not totals:
        return f"traffic: {others}"
    messages = sum(after.tried for after in totals)
    old = sum(after.given for after in totals)
    new = sum(after.size for after in totals)
    return f"traffic: {counted(messages, 'message')}, {_bytes_between(old, new)}; {others}"


# The unified diff of a message: a line that begins with - is the old side, one that begins with + the new side.


def _items(difference: Difference) -> Iterator[Item]:
    if difference.old is None or difference.new is None:
        mark = "+++" if difference.new else "---"
        yield Item(0, f"{mark} {difference.new or difference.old}: {difference.message} is {difference.status}")
        return
    yield Item(0, f"--- {difference.old}")
    yield Item(0, f"+++ {difference.new}")
    yield from change_items(difference.changes)
    if not difference.changes:
        yield Item(0, "the same layout" if difference.meanings else "no difference")
    for version, meaning in difference.meanings:
        yield Item(0, f"  version {version}: {meaning.sentence}")
    yield from _cost_items(difference.costs)
    yield from _traffic_items(difference.traffic)


def change_items(changes: Sequence[Change]) -> Iterator[Item]:
    """Yield a line with - and one with + for each field that changed, or one of them if one side lacks the field.

    If a version became flexible, fields that differ only in a varint length share one line.
    """
    by_path = [(path, list(group)) for path, group in groupby(changes, lambda change: change.path)]
    quiet: list[str] = []
    if any(change.key == "flexible" for change in changes):
        quiet = [path for path, group in by_path if all(change.key == "compact" for change in group)]
    for path, group in by_path:
        if not path:
            for change in group:
                yield Item(0, f"- {change.key}: {_text(change.old)}", level="error")
                yield Item(0, f"+ {change.key}: {_text(change.new)}", level="good")
        elif path not in quiet:
            for _, of_one_side in groupby(group, lambda change: change.kind in {"added", "removed"} and change.kind):
                yield from _field_items(list(of_one_side))
    if quiet:
        compact = next(change.new for change in changes if change.path == quiet[0])
        became = "became varints" if compact else "are no varints any more"
        yield Item(0, f"  lengths and counts {became}: {', '.join(quiet)}")


def _field_items(changes: Sequence[Change]) -> Iterator[Item]:
    first = changes[0]
    kinds = ("renamed", "moved", "becameTagged", "becameMandatory")
    notes = [_NOTES.get(change.kind, change.kind) for change in changes if change.kind in kinds]
    if first.before:
        yield Item(0, f"- {first.old_path}: {_describe_part(first.before)}", level="error")
    if first.after:
        note = f"({', '.join(notes)})" if notes else ""
        yield Item(0, f"+ {first.path}: {_describe_part(first.after)}", note, level="good")


def _cost_items(costs: Sequence[Cost]) -> Iterator[Item]:
    """Yield the sizes of default values before and after, if they changed."""
    shown = [cost for cost in costs if cost.difference != 0]
    if costs and not shown:
        yield Item(0, "default values cost as before")
    for cost in shown:
        old = cost.old.form
        new = cost.new.form
        if old.version == new.version:
            which = new.name.removeprefix("the new ")
        else:
            which = f"version {old.version} -> {new.version}"
        text = f"{_VALUES[cost.values]}, {which}: {_sizes(cost)}"
        yield Item(0, text, level="warning" if (cost.difference or 0) > 0 else "")
        for price in (cost.old, cost.new):
            if price.refusal:
                yield Item(0, f"   {price.form.name} cannot be written: {price.refusal}", level="error")


def _traffic_items(traffic: Sequence[tuple[Total, Total]]) -> Iterator[Item]:
    """Yield the size of messages of traffic before and after, and the numbers of refused messages and lost values."""
    for before, after in traffic:
        versions = f"version {before.version}"
        if before.version != after.version:
            versions = f"{versions} -> {after.version}"
        text = f"{counted(after.tried, 'message')}, {_bytes_between(after.given, after.size)}"
        yield Item(0, f"traffic, {versions}: {text}", level="warning" if after.difference > 0 else "")
        if refused := after.refused.total():
            yield Item(0, f"   {counted(refused, 'message')} cannot be written on one of the sides", level="error")
        if lost := after.lost_values:
            yield Item(0, f"   the new definition has no place for {counted(lost, 'value')}", level="error")


def _bytes_between(old: int, new: int) -> str:
    if old == new:
        return f"{counted(new, 'byte')} as before"
    share = f", {(new - old) / old:+.1%}".replace("%", " %") if old else ""
    return f"{old} -> {counted(new, 'byte')} ({new - old:+d}{share})"


def _sizes(cost: Cost) -> str:
    if cost.difference is None:
        return "no price"
    return f"{cost.old.size} -> {counted(cost.new.size or 0, 'byte')} ({cost.difference:+d})"


def _describe_part(part: Part) -> str:
    """Return the type, versions, tag, encodings and default of a field in words, over all versions or at one."""
    facts = part.facts
    words = [str(facts["type"])]
    if "versions" in facts:
        words.append(f"versions {facts['versions']}")
        words += [f"nullable {facts['nullableVersions']}"] if facts["nullableVersions"] != "none" else []
        words += [f"tag {facts['tag']} in {facts['taggedVersions']}"] if facts["tag"] is not None else []
        words += [f"flexible {facts['flexibleVersions']}"] if facts["flexibleVersions"] is not None else []
    else:
        words += ["nullable"] if facts["nullable"] else []
        words += [f"tag {facts['tag']}"] if facts["tag"] is not None else []
        words += ["compact"] if facts["compact"] else []
    words += [_text(facts[key]) for key in ("encoding", "elementEncoding") if facts.get(key)]
    default = facts["default"]
    if default not in _IMPLICIT and not (default is None and facts["type"] == "records"):
        words.append(f"default {_text(default)}")
    words += [word for key, word in _WORDS.items() if facts[key]]
    return ", ".join(words + ([str(facts["entityType"])] if facts["entityType"] else []))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} in {versions}" for versions, name in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return value or '""' if isinstance(value, str) else str(value)
