"""The forms of messages: versions, inflexible and flexible, tags, encodings of integers, overlays.

A form is a definition at a version. All forms but versions come from a changed definition: `encoded` changes the
encoding of integers, `with_tags` and `all_tagged` tag fields, `without_tags` makes tagged fields mandatory. `forms_of`
returns the forms that a command asks for, `advice_forms` those that advice compares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.costs.forms import BEST, WORST, Form, integers_at
from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.spec.model import MAX, NONE, Encoding, Versions, changed, fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES, OWN_WIDTH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.overlay import Overlay

GIVEN, INFLEXIBLE, FLEXIBLE, TAGGED = "as given", "inflexible", "flexible", "all fields tagged"


LOWEST, HIGHEST = "lowest version", "highest version"


@dataclass(frozen=True, slots=True)
class Choice:
    """The forms that are asked for. `versions` are numbers, or `ends` stands for the lowest and the highest one of each
    message.

    `fields` are paths, or their last parts, of the fields that get the encodings; none stands for every integer.
    `cases` adds best and worst.
    """

    versions: tuple[int, ...] = ()
    ends: bool = False
    both_ways: bool = False
    tagged: bool = False
    encodings: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    cases: bool = False
    overlays: tuple[tuple[str, Overlay], ...] = ()


def forms_of(spec: MessageSpec, version: int, choice: Choice) -> list[Form]:
    """The forms of a message that is given at a version: none for a version that it does not have; the same where there
    is nothing to change.
    """
    forms = [Form(f"version {other}", spec, other) for other in choice.versions if other in spec.valid_versions]
    if choice.ends:
        forms += [Form(LOWEST, spec, spec.valid_versions.low), Form(HIGHEST, spec, highest(spec))]
    if choice.both_ways:
        forms += [Form(INFLEXIBLE, spec, version, flexible=False), Form(FLEXIBLE, spec, version, flexible=True)]
    if choice.tagged:
        forms.append(Form(TAGGED, all_tagged(spec), version, flexible=True))
    for name in choice.encodings:
        forms.append(Form(name, encoded(spec, name, choice.fields), version))
    forms += [form for name, overlay in choice.overlays for form in _overlaid(spec, version, name, overlay)]
    return [variant for form in forms for variant in (form, *(_cases(form) if choice.cases else ()))]


def _cases(form: Form) -> Iterator[Form]:
    """Yield the best and the worst case of a form that has varints."""
    if integers_at(form.layout, BEST):
        yield from (replace(form, name=f"{form.name}, {case} case", case=case) for case in (BEST, WORST))


def _overlaid(spec: MessageSpec, version: int, name: str, overlay: Overlay) -> Iterator[Form]:
    """Yield the version under an overlay; where that adds versions to the message, those."""
    laid = overlay.laid(spec)
    added = [other for other in laid.valid_versions.each() if other not in spec.valid_versions]
    if not added:
        yield Form(f"overlay {name}", laid, version)
    yield from (Form(f"overlay {name}, version {other}", laid, other) for other in added)


def highest(spec: MessageSpec) -> int:
    """Return the highest version that is not still being changed."""
    return max(spec.valid_versions.high - spec.latest_version_unstable, spec.valid_versions.low)


def all_tagged(spec: MessageSpec) -> MessageSpec:
    """The definition with every field tagged in all its versions: its number is its place in its struct (an alternative
    that KIP-482 rejects).
    """

    def numbered(fields: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        return tuple(
            replace(field, tag=number, tagged_versions=Versions(0, MAX), fields=numbered(field.fields))
            for number, field in enumerate(fields)
        )

    plain = changed(spec, lambda _, field: field)  # common structs written out
    return replace(plain, fields=numbered(plain.fields))


def encoded(spec: MessageSpec, encoding: str, paths: Sequence[str] = ()) -> MessageSpec:
    """The definition with integers, those in arrays too, under an encoding: packed32, or packed at each one's own
    width.

    `paths` are those of the fields, or their last parts; none stands for all of them. Where none is a field of the
    message, it is the same object.
    """
    chosen = {path for path, field in integers(spec) if not paths or any(_meant(path, name) for name in paths)}

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in chosen:
            return field
        name = encoding + field.element_type.removeprefix("int") if encoding in OWN_WIDTH else encoding
        rows = (Encoding(field.versions, name),)
        return replace(field, element_encoding=rows) if field.is_array else replace(field, encoding=rows)

    return changed(spec, change) if chosen else spec


def next_tags(spec: MessageSpec, paths: Collection[str]) -> dict[str, int]:
    """Return a tag for each of these fields: the tags after those of its struct, in the order of the fields."""
    free: dict[str, int] = {}
    fields = [*fields_by_path(spec)]
    for path, field in fields:
        if field.tag is not None:
            struct = path.rpartition(".")[0]
            free[struct] = max(free.get(struct, 0), field.tag + 1)
    tags = {}
    for path, _ in fields:
        if path in paths:
            struct = path.rpartition(".")[0]
            tags[path] = free.get(struct, 0)
            free[struct] = tags[path] + 1
    return tags


def with_tags(spec: MessageSpec, paths: Collection[str]) -> MessageSpec:
    """Return the definition with these fields tagged in flexible versions, by the next tags of their structs."""
    tags = next_tags(spec, paths)

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in tags:
            return field
        return replace(field, tag=tags[path], tagged_versions=field.versions & spec.flexible_versions)

    return changed(spec, change)


def without_tags(spec: MessageSpec, paths: Collection[str] | None = None) -> MessageSpec:
    """Return the definition with these fields, by default all, not tagged."""

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if paths is not None and path not in paths:
            return field
        return replace(field, tag=None, tagged_versions=NONE)

    return changed(spec, change)


def taggable(spec: MessageSpec) -> list[str]:
    """Return the paths of the fields that Kafka's generator accepts as tagged ones in all flexible versions.

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


class Variant(NamedTuple):
    """An encoding of a field, None for its own, and whether the field is tagged."""

    encoding: str | None
    tagged: bool


VARIANTS = {
    **{name: Variant(name, tagged=False) for name in OWN_WIDTH},
    "tagged": Variant(None, tagged=True),
    **{f"{name} and tagged": Variant(name, tagged=True) for name in OWN_WIDTH},
}
"""The variants that advice compares, by the names of their forms."""
UNTAGGED = "untagged"


def advice_forms(spec: MessageSpec, version: int) -> list[Form]:
    """Return the forms that advice compares: every field in each of VARIANTS, and no field tagged."""
    tagged = with_tags(spec, taggable(spec))
    forms = [Form(UNTAGGED, without_tags(spec), version)]
    for name, variant in VARIANTS.items():
        base = tagged if variant.tagged else spec
        forms.append(Form(name, encoded(base, variant.encoding) if variant.encoding else base, version))
    return forms


def integers(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Return the fields that can have an encoding, and the arrays whose elements can, with their paths."""
    return ((path, field) for path, field in fields_by_path(spec) if field.element_type in ENCODABLE_TYPES)


def check_fields(specs: Sequence[MessageSpec], paths: Sequence[str]) -> None:
    """Raise InputError for a path that is not an integer field of any of the messages."""
    integer_paths = [*dict.fromkeys(path for spec in specs for path, _ in integers(spec))]
    for name in paths:
        if not any(_meant(path, name) for path in integer_paths):
            close = get_close_matches(name, integer_paths, n=3, cutoff=0.4)
            raise InputError(
                f"{name!a} is not an integer field of {' or '.join(spec.name for spec in specs[:3])}"
                f"{did_you_mean(close)}"
            )


def concerns(overlay: Overlay, spec: MessageSpec) -> bool:
    """Return whether an overlay changes a message."""
    return spec.name in overlay.messages or "*" in overlay.messages


def _meant(path: str, name: str) -> bool:
    name = name.removesuffix("[]")
    return path == name or path.endswith((f".{name}", f"[].{name}"))
