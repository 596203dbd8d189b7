"""Which forms there are of a message: its other versions, inflexible and flexible, all fields tagged, other encodings of its integers, overlays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kwire_cli.cost.forms.cases import BEST, WORST, integers_at
from kwire_cli.cost.forms.model import Form
from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.spec.changing import changed, fields_by_path
from kwire_cli.spec.encodings import ENCODABLE_TYPES, OWN_WIDTH
from kwire_cli.spec.model import Encoding
from kwire_cli.spec.versions import MAX, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.overlay import Overlay

GIVEN, INFLEXIBLE, FLEXIBLE, TAGGED = "as given", "inflexible", "flexible", "all fields tagged"
LOWEST, HIGHEST = "lowest version", "highest version"


@dataclass(frozen=True, slots=True)
class Choice:
    """The forms that are asked for. `versions` are numbers, or `ends` stands for the lowest and the highest one of each message.

    `fields` are paths, or their last parts, of the fields that get the encodings; none stands for every integer. `cases` adds best and worst.
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
    """The forms of a message that is given at a version: none for a version that it does not have; the same where there is nothing to change."""
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
    return [each for form in forms for each in (form, *(_cases(form) if choice.cases else ()))]


def _cases(form: Form) -> Iterator[Form]:
    """The best and the worst case of a form that has varints."""
    if integers_at(form.layout, BEST):
        yield from (replace(form, name=f"{form.name}, {case} case", case=case) for case in (BEST, WORST))


def _overlaid(spec: MessageSpec, version: int, name: str, overlay: Overlay) -> Iterator[Form]:
    """The version under an overlay; where that adds versions to the message, those."""
    laid = overlay.laid(spec)
    added = [other for other in laid.valid_versions.each() if other not in spec.valid_versions]
    if not added:
        yield Form(f"overlay {name}", laid, version)
    yield from (Form(f"overlay {name}, version {other}", laid, other) for other in added)


def highest(spec: MessageSpec) -> int:
    """The highest version that is not still being changed."""
    return max(spec.valid_versions.high - spec.latest_version_unstable, spec.valid_versions.low)


def all_tagged(spec: MessageSpec) -> MessageSpec:
    """The definition with every field tagged in all its versions: its number is its place in its struct (an alternative that KIP-482 rejects)."""

    def numbered(fields: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        return tuple(
            replace(field, tag=number, tagged_versions=Versions(0, MAX), fields=numbered(field.fields)) for number, field in enumerate(fields)
        )

    plain = changed(spec, lambda _, field: field)  # common structs written out
    return replace(plain, fields=numbered(plain.fields))


def encoded(spec: MessageSpec, encoding: str, paths: Sequence[str] = (), *, elements: bool = True) -> MessageSpec:
    """The definition with integers, and unless `elements` is false those in arrays, under an encoding: packed32, or packed at each one's own width.

    `paths` are those of the fields, or their last parts; none stands for all of them. Where none is a field of the message, it is the same object.
    """
    chosen = {path for path, field in integers(spec) if not paths or any(_meant(path, name) for name in paths)}

    def change(path: str, field: FieldSpec) -> FieldSpec:
        if path not in chosen or (field.is_array and not elements):
            return field
        name = encoding + field.element_type.removeprefix("int") if encoding in OWN_WIDTH else encoding
        rows = (Encoding(field.versions, name),)
        return replace(field, element_encoding=rows) if field.is_array else replace(field, encoding=rows)

    return changed(spec, change) if chosen else spec


def integers(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """The fields that can have an encoding, and the arrays whose elements can, with their paths."""
    return ((path, field) for path, field in fields_by_path(spec) if field.element_type in ENCODABLE_TYPES)


def check_fields(specs: Sequence[MessageSpec], paths: Sequence[str]) -> None:
    """InputError for a path that is not an integer field of any of the messages."""
    known = [path for spec in specs for path, _ in integers(spec)]
    for name in paths:
        if not any(_meant(path, name) for path in known):
            close = get_close_matches(name, known, n=3, cutoff=0.4)
            raise InputError(f"{name!a} is not an integer field of {' or '.join(spec.name for spec in specs[:3])}{did_you_mean(close)}")


def concerns(overlay: Overlay, spec: MessageSpec) -> bool:
    """Whether an overlay says anything about a message."""
    return spec.name in overlay.messages or "*" in overlay.messages


def _meant(path: str, name: str) -> bool:
    name = name.removesuffix("[]")
    return path == name or path.endswith((f".{name}", f"[].{name}"))
