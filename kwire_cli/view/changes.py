"""Changes of definitions as a unified diff by the paths of fields, and as JSON, with what the change costs."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.defaults import ZERO_UUID
from kwire_cli.view.lines import counted, without_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cost.definitions import Cost
    from kwire_cli.cost.forms.model import Price
    from kwire_cli.spec.evolution.changes import Change, Part
    from kwire_cli.view.lines import Line

_VALUES = {"default": "default values", "one element each": "default values, one element in each array", "given": "given values"}
_OLD, _NEW = "warning", "text"
_WORDS = {"ignorable": "ignorable", "mapKey": "map key", "zeroCopy": "zero copy"}
_IMPLICIT: tuple[Any, ...] = (0, "", ZERO_UUID, [], {})
"""Defaults that need not be said; False and 0.0 are 0."""


def change_lines(found: Sequence[Change]) -> Iterator[Line]:
    """A line with - and one with + for each field that changed, with all that is so of it; only one of them where only one side has it.

    Where a version became flexible, the fields whose length became a varint, and nothing else, are one line together.
    """
    by_path = [(path, list(group)) for path, group in groupby(found, lambda change: change.path)]
    turned = any(change.key == "flexible" for change in found)
    quiet = [path for path, group in by_path if turned and {change.key for change in group} == {"compact"}]
    for path, group in by_path:
        if not path:
            yield from map(without_control, _message_lines(group))
        elif path not in quiet:
            for _, some in groupby(group, lambda change: change.kind in {"added", "removed"} and change.kind):
                yield from map(without_control, _field_lines(list(some)))
    if quiet:
        compact = next(change.new for change in found if change.path == quiet[0])
        became = "became varints" if compact else "are no varints any more"
        yield without_control([(f"  lengths and counts {became}: ", "dim"), (", ".join(quiet), "dim")])


def cost_lines(found: Sequence[Cost]) -> Iterator[Line]:
    """What values cost before and after, and what one side can't carry of them; default values only where that changed."""
    telling = [cost for cost in found if cost.values == "given" or cost.difference != 0]
    if found and not telling:
        yield [("default values cost as before", "dim")]
    for cost in telling:
        old, new = cost.old.form, cost.new.form
        which = new.name.removeprefix("the new ") if old.version == new.version else f"version {old.version} -> {new.version}"
        yield [(f"{_VALUES[cost.values]}, {which}: ", "title"), *_sizes(cost)]
        for price in (cost.old, cost.new):
            if price.refusal:
                yield without_control([(f"   {price.form.name} cannot be written: ", "warning"), (price.refusal, "")])
            for loss in price.lost if cost.values == "given" else ():
                about = f" ({counted(loss.number, 'value')})"
                yield without_control([(f"   {price.form.name} can't carry ", "warning"), (loss.path, "name"), (about, "dim")])
            for filled in price.filled if cost.values == "given" else ():
                about = f" ({counted(filled.number, 'time')} at its default {_shown(filled.value)})"
                yield without_control([(f"   {price.form.name} needs ", "dim"), (filled.path, "name"), (about, "dim")])


def cost_document(cost: Cost) -> dict[str, Any]:
    """A cost as a JSON object."""
    out: dict[str, Any] = {"values": cost.values, "oldVersion": cost.old.form.version, "newVersion": cost.new.form.version}
    out |= {"oldSize": cost.old.size, "newSize": cost.new.size, "difference": cost.difference}
    return out | ({"old": _price_document(cost.old), "new": _price_document(cost.new)} if cost.values == "given" else {})


def _price_document(price: Price) -> dict[str, Any]:
    """What became of values that were given; of default values there is nothing to tell."""
    lost = [{"path": loss.path, "count": loss.number, "ignorable": loss.ignorable} for loss in price.lost]
    filled = [{"path": filled.path, "count": filled.number, "default": filled.value} for filled in price.filled]
    return {"lost": lost, "filled": filled, "refusal": price.refusal}


def _sizes(cost: Cost) -> Line:
    if cost.difference is None:
        return [("no price", "warning")]
    if not cost.difference:
        return [(counted(cost.new.size or 0, "byte"), "number"), (" as before", "dim")]
    style = "warning" if cost.difference > 0 else "text"
    return [(f"{cost.old.size} -> {counted(cost.new.size or 0, 'byte')}", "number"), (f" ({cost.difference:+d})", style)]


def _message_lines(found: Sequence[Change]) -> Iterator[Line]:
    for change in found:
        yield [(f"- {change.key}: {_shown(change.old)}", _OLD)]
        yield [(f"+ {change.key}: {_shown(change.new)}", _NEW)]


def _field_lines(found: Sequence[Change]) -> Iterator[Line]:
    first = found[0]
    notes = [change.kind for change in found if change.kind in {"renamed", "moved", "becameTagged", "becameMandatory"}]
    note = f"  ({', '.join(_NOTES.get(kind, kind) for kind in notes)})" if notes else ""
    if first.before:
        yield [(f"- {first.old_path}", _OLD), (f": {_described(first.before)}", "")]
    if first.after:
        yield [(f"+ {first.path}", _NEW), (f": {_described(first.after)}", ""), (note, "dim")]


_NOTES = {"becameTagged": "became tagged", "becameMandatory": "became mandatory"}


def _described(part: Part) -> str:
    """All that is so of a field, over its versions or at one."""
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
    words += [_shown(facts[key]) for key in ("encoding", "elementEncoding") if facts.get(key)]
    default = facts["default"]
    if default not in _IMPLICIT and not (default is None and facts["type"] == "records"):
        words.append(f"default {_shown(default)}")
    words += [word for key, word in _WORDS.items() if facts[key]]
    return ", ".join(words + ([str(facts["entityType"])] if facts["entityType"] else []))


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} in {versions}" for versions, name in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return value or '""' if isinstance(value, str) else str(value)
