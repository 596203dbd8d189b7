"""What breaks no bytes at any one version: names, defaults of mandatory fields, what generated code looks like, and tags given to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.changing import fields_by_path
from kwire_cli.spec.evolution.changes import changes, definition_part
from kwire_cli.spec.evolution.compatible import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.evolution.changes import Change
    from kwire_cli.spec.model import MessageSpec

_BY_KEY = {
    "ignorable": "IGNORABLE_CHANGED",
    "entityType": "ENTITY_TYPE_CHANGED",
    "mapKey": "MAP_KEY_CHANGED",
    "zeroCopy": "ZERO_COPY_CHANGED",
}


def remarks(old: MessageSpec, new: MessageSpec) -> Iterator[Problem]:
    """Rules that are about the definitions as they stand, for all versions."""
    found = changes(definition_part(old), definition_part(new))
    for change in found:
        yield from _remark(change)
    renamed = {change.old_path: change.path for change in found if change.kind == "renamed" and change.path}
    yield from _taken_tags(old, new, renamed)


def _remark(change: Change) -> Iterator[Problem]:
    if not change.path:
        if change.key == "listeners" and (lost := [name for name in change.old if name not in change.new]):
            yield _quiet("LISTENERS_REMOVED", "", f"{', '.join(lost)} no longer named")
    elif change.kind == "renamed":
        yield _quiet("FIELD_RENAMED", change.path, f"{change.old_path} became {change.path}")
    elif change.kind == "retyped":
        names = [part.facts["type"].removeprefix("[]") for part in (change.before, change.after) if part]
        if all(name[:1].isupper() for name in names) and change.old.startswith("[]") == change.new.startswith("[]"):
            yield _quiet("STRUCT_RENAMED", change.path, f"{change.old} became {change.new}")
    elif change.key == "default":
        # The default of a tagged field is on the wire by being left out, and judged version by version.
        # What another type has where nothing is said goes with the type.
        retyped = change.before and change.after and change.before.facts["type"] != change.after.facts["type"]
        implied = retyped and not (change.old or change.new)
        if change.after and change.after.facts["tag"] is None and not implied:
            yield _quiet("DEFAULT_CHANGED", change.path, f"the default {shown(change.old)} became {shown(change.new)}")
    elif rule := _BY_KEY.get(change.key or ""):
        yield _quiet(rule, change.path, f"{change.key} was {shown(change.old)} and is {shown(change.new)}")


def _quiet(rule: str, path: str, what: str) -> Problem:
    return Problem(rule, path, what, old_fails=False, new_fails=False)


def _taken_tags(old: MessageSpec, new: MessageSpec, renamed: dict[str, str]) -> Iterator[Problem]:
    """Tags that an old field of a struct had, under whatever versions, and another field of it has now."""
    before: dict[tuple[str, int], set[str]] = {}
    for path, field in fields_by_path(old):
        if field.tag is not None:
            now = _renamed(path, renamed)
            before.setdefault((_struct(now), field.tag), set()).add(now)
    for path, field in fields_by_path(new):
        owners = before.get((_struct(path), field.tag)) if field.tag is not None else None
        if owners and path not in owners:
            names = " and ".join(sorted(owner.rpartition(".")[2] for owner in owners))
            yield _quiet("TAG_NUMBER_TAKEN", path, f"tag {field.tag} was that of {names}")


def _renamed(path: str, renamed: dict[str, str]) -> str:
    """The new path of an old field, which may be another because a struct around it is called otherwise."""
    plain = path.removesuffix("[]")
    if plain in renamed:
        return renamed[plain] + path[len(plain) :]
    above, dot, name = path.rpartition(".")
    return f"{_renamed(above, renamed)}.{name}" if dot else path


def _struct(path: str) -> str:
    return path.rpartition(".")[0]
