"""What a definition says of one version: which fields stand there, in which order, and by which form of bytes each is told apart on the wire.

Nothing here is a layout that bytes are read by: that is `structs.messages.declare`, and a test holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.defaults import INTEGER_RANGES, default_value
from kwire_cli.spec.encodings import ENCODABLE_TYPES, element_encoding_at, encoding_at
from kwire_cli.spec.model import FIXED_TYPES

if TYPE_CHECKING:
    from kwire_cli.spec.model import FieldSpec, MessageSpec

Wire = tuple[Any, ...]
"""A form of bytes, to be compared: two layouts with equal forms read each other's bytes."""


@dataclass(frozen=True)
class FieldAt:
    """A field at a version. `tag` is its number where it stands in the tag section, None where it is mandatory there."""

    spec: FieldSpec
    tag: int | None
    nullable: bool
    compact: bool | None
    """Whether its length or count is a varint; None for what has none."""
    encoding: str | None
    element: Wire
    """The form of a value without sub-fields, or of an array's elements."""
    struct: StructAt | None

    @property
    def name(self) -> str:
        """The name in the definition."""
        return self.spec.name

    @property
    def kind(self) -> str:
        """The type, by which it can be the same field under another name: structs are such whatever they are called."""
        if not self.struct:
            return self.spec.type
        return "[]Struct" if self.spec.is_array else "Struct"

    @cached_property
    def default(self) -> Any:
        """The value that a tagged field has where it is left out, for comparisons."""
        if self.spec.default == "null":
            return None
        if self.struct and not self.spec.is_array:
            return tuple(sub.default for sub in self.struct.plain)
        value = default_value(self.spec)
        return tuple(value) if isinstance(value, list) else value

    @cached_property
    def form(self) -> Wire:
        """The form of the value, with its length, count or presence byte; without what a null would need."""
        inner = self.struct.wire if self.struct else (self.element,)
        if self.spec.is_array:
            return (("array", self.compact, inner),)
        if not self.struct:
            return inner
        return (("presence", self.tag is not None, inner),) if self.nullable else inner

    @property
    def wire(self) -> Wire:
        """The form of the value, and whether it may be null."""
        return (*self.form, "or null") if self.nullable and (self.spec.is_array or not self.struct) else self.form


@dataclass(frozen=True)
class StructAt:
    """A struct at a version: its mandatory fields in order, its tagged ones by number, and the tags that it knows from other versions only."""

    plain: tuple[FieldAt, ...]
    tagged: tuple[FieldAt, ...]
    foreign: frozenset[int]
    flexible: bool

    @cached_property
    def wire(self) -> Wire:
        """The forms of all fields in a row; a struct that is neither null nor followed by tags is nothing but its fields."""
        plain = tuple(part for field in self.plain for part in field.wire)
        return (*plain, ("tags", tuple((field.tag, field.wire) for field in self.tagged))) if self.flexible else plain


class _Reading(NamedTuple):
    """A definition at a version while it is gone through."""

    spec: MessageSpec
    version: int
    flexible: bool

    def struct(self, fields: tuple[FieldSpec, ...]) -> StructAt:
        here = [self.field(field) for field in fields if self.version in field.versions]
        tagged = tuple(sorted((field for field in here if field.tag is not None), key=lambda field: field.tag or 0))
        known = {field.tag for field in tagged}
        foreign = frozenset(field.tag for field in fields if field.tag is not None and field.tag not in known)
        return StructAt(tuple(field for field in here if field.tag is None), tagged, foreign if self.flexible else frozenset(), self.flexible)

    def field(self, field: FieldSpec) -> FieldAt:
        struct = self.struct(self.spec.struct_fields(field)) if field.struct_name else None
        sized = field.is_array or field.type not in FIXED_TYPES
        compact = self.flexible if field.flexible_versions is None else self.version in field.flexible_versions
        encoding = encoding_at(field, self.version) or element_encoding_at(field, self.version)
        return FieldAt(
            spec=field,
            tag=field.tag if tagged_at(self.spec, field, self.version) else None,
            nullable=sized and self.version in field.nullable_versions,
            compact=compact if sized and (field.is_array or not struct) else None,
            encoding=encoding,
            element=_form(field.element_type, encoding, compact=self.flexible if field.is_array else compact),
            struct=struct,
        )


def layout_at(spec: MessageSpec, version: int) -> StructAt:
    """The message at a version. The loader refuses structs that have no end, or as good as none."""
    return _Reading(spec, version, version in spec.flexible_versions).struct(spec.fields)


def tagged_at(spec: MessageSpec, field: FieldSpec, version: int) -> bool:
    """Whether a field stands in the tag section at a version."""
    return field.tag is not None and version in field.tagged_versions and version in spec.flexible_versions


def _form(kind: str, encoding: str | None, *, compact: bool) -> Wire:
    if kind in ENCODABLE_TYPES:
        bits = int(kind.removeprefix("int"))
        name = encoding or f"fixed{bits}"
        narrow = min(bits, int(name[-2:]))
        # A zig-zag varint of a number is the same at every width that holds it; the others are not.
        return ("integer", "packed" if name.startswith("packed") else name, narrow)
    if kind in INTEGER_RANGES or kind in FIXED_TYPES:
        return (kind,)
    # Records are bytes to whoever does not look into them.
    return ("string" if kind == "string" else "bytes", compact)
