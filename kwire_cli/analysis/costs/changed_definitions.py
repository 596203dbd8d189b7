"""Changed definitions, which most forms are based on: other encodings of integers, other tags, and other versions
with tag sections.

The functions return a changed copy of a definition. The messages are then written by the usual code, so that the sizes
of forms are exact.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.spec.model import MAX, NONE, Encoding, Versions, changed, fields_by_path, free_tags
from kwire_cli.spec.reading import ENCODABLE_TYPES, sized_encoding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec

_EVERY = Versions(0, MAX)


def flexible(spec: MessageSpec, _: Collection[str] = ()) -> MessageSpec:
    """Return the definition with flexible versions only."""
    return replace(spec, flexible_versions=_EVERY)


def inflexible(spec: MessageSpec, _: Collection[str] = ()) -> MessageSpec:
    """Return the definition without flexible versions."""
    return replace(spec, flexible_versions=NONE)


def all_tagged(spec: MessageSpec, _: Collection[str] = ()) -> MessageSpec:
    """Return the definition with every field tagged in all its versions. The tag is the index of the field.

    KIP-482 rejects this alternative.
    """

    def numbered(fields: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        return tuple(
            replace(field, tag=number, tagged_versions=_EVERY, fields=numbered(field.fields))
            for number, field in enumerate(fields)
        )

    plain = changed(spec, lambda _, field: field)  # common structs written out
    return replace(plain, fields=numbered(plain.fields), flexible_versions=_EVERY)


def encoded(spec: MessageSpec, encoding: str, paths: Collection[str] = ()) -> MessageSpec:
    """Return the definition with integers, also in arrays, under an encoding: packed32, or packed at the field's width.

    `paths` contains paths of fields, or their last parts. Without paths, all integers are changed. If the message has
    none of the fields, the definition itself is returned.
    """
    chosen = {path for path, _ in integers(spec) if _is_meant(path, paths)}

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in chosen:
            return field
        rows = (Encoding(field.versions, sized_encoding(encoding, field.element_type)),)
        return replace(field, element_encoding=rows) if field.is_array else replace(field, encoding=rows)

    return changed(spec, change) if chosen else spec


def next_tags(spec: MessageSpec, paths: Collection[str]) -> dict[str, int]:
    """Return a tag for each of these fields without one.

    The tags follow the last tag of the struct, in the order of the fields.
    """
    free = free_tags(spec)
    tags = {}
    for path, field in fields_by_path(spec):
        if path in paths and field.tag is None:
            struct = path.rpartition(".")[0]
            tags[path] = free.get(struct, 0)
            free[struct] = tags[path] + 1
    return tags


def with_tags(spec: MessageSpec, paths: Collection[str] = ()) -> MessageSpec:
    """Return the definition with these fields tagged in flexible versions, by the next tags of their structs.

    Without paths, all fields are tagged that Kafka's generator accepts as tagged fields. Fields with a tag keep it.
    """
    tags = next_tags(spec, paths or taggable(spec))

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in tags:
            return field
        return replace(field, tag=tags[path], tagged_versions=field.versions & spec.flexible_versions)

    return changed(spec, change)


def without_tags(spec: MessageSpec, paths: Collection[str] = ()) -> MessageSpec:
    """Return the definition with these fields not tagged. Without paths, no field is tagged."""

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if paths and path not in paths:
            return field
        return replace(field, tag=None, tagged_versions=NONE)

    return changed(spec, change)


def taggable(spec: MessageSpec) -> list[str]:
    """Return the paths of the fields that Kafka's generator accepts as tagged fields in all flexible versions.

    Structs that cannot be null are left as they are.
    """
    return [path for path, field in fields_by_path(spec) if _can_be_tagged(spec, field)]


def _can_be_tagged(spec: MessageSpec, field: FieldSpec) -> bool:
    if (
        field.tag is not None
        or field.map_key
        or field.zero_copy
        or field.type == "records"
        or field.versions.high != MAX
    ):
        return False
    if field.flexible_versions is not None or (field.struct_name and not field.is_array and field.default != "null"):
        return False
    tagged = field.versions & spec.flexible_versions
    return bool(tagged) and (field.nullable_versions & tagged or tagged) == tagged


def integers(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Return the fields that can have an encoding, and the arrays whose elements can, with their paths."""
    return ((path, field) for path, field in fields_by_path(spec) if field.element_type in ENCODABLE_TYPES)


def check_fields(specs: Sequence[MessageSpec], paths: Sequence[str]) -> None:
    """Raise InputError for a path that is not an integer field of any of the messages."""
    integer_paths: dict[str, None] = {}
    for spec in specs:
        integer_paths.update((path, None) for path, _ in integers(spec))
    for name in paths:
        if not any(_meant(path, name) for path in integer_paths):
            close = get_close_matches(name, integer_paths, n=3, cutoff=0.4)
            raise InputError(
                f"{name!a} is not an integer field of {' or '.join(spec.name for spec in specs[:3])}"
                f"{did_you_mean(close)}"
            )


def _is_meant(path: str, names: Collection[str]) -> bool:
    return not names or any(_meant(path, name) for name in names)


def _meant(path: str, name: str) -> bool:
    name = name.removesuffix("[]")
    return path == name or path.endswith((f".{name}", f"[].{name}"))
