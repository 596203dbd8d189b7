"""What a message definition says, as plain data. Kafka's MessageSpec, StructSpec and FieldSpec, plus the `encoding` keys of KAFKA-9927."""

from __future__ import annotations

from dataclasses import dataclass

from kwire_cli.spec.versions import NONE, Versions

MAX_NESTING = 48
MAX_FIELDS = 100_000
"""Limits of a layout written out, so that whoever follows it needs none: Kafka's own nest 7 deep and have under 100 fields."""

FIXED_TYPES = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "uuid", "float64")
PRIMITIVE_TYPES = (*FIXED_TYPES, "string", "bytes", "records")


@dataclass(frozen=True, slots=True)
class Encoding:
    """One entry of an `encoding` key (KAFKA-9927): in `versions` the integer is written as `name`, such as packed32."""

    versions: Versions
    name: str


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a message or struct. `fields` are the sub-fields of a struct or of an array of structs declared in place."""

    name: str
    type: str
    versions: Versions
    nullable_versions: Versions = NONE
    tagged_versions: Versions = NONE
    tag: int | None = None
    flexible_versions: Versions | None = None
    default: str | None = None
    ignorable: bool = False
    map_key: bool = False
    zero_copy: bool = False
    entity_type: str | None = None
    fields: tuple[FieldSpec, ...] = ()
    encoding: tuple[Encoding, ...] = ()
    element_encoding: tuple[Encoding, ...] = ()

    @property
    def is_array(self) -> bool:
        """Whether the type is an array."""
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        """The type of the elements of an array; otherwise the type itself."""
        return self.type.removeprefix("[]")

    @property
    def struct_name(self) -> str | None:
        """The name of the struct that the type or its elements are, if they are one."""
        return self.element_type if self.element_type[:1].isupper() else None

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form: the name with its first letter in lower case."""
        return self.name[:1].lower() + self.name[1:]


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct of `commonStructs`."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]
    deprecated_versions: Versions = NONE


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message definition. `type` is request, response, header, metadata, data, coordinator-key or coordinator-value."""

    name: str
    type: str
    valid_versions: Versions
    flexible_versions: Versions
    fields: tuple[FieldSpec, ...]
    api_key: int | None = None
    deprecated_versions: Versions = NONE
    common_structs: tuple[StructSpec, ...] = ()
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    header_versions: tuple[tuple[Versions, int], ...] = ()
    file: str | None = None

    def struct_fields(self, field: FieldSpec) -> tuple[FieldSpec, ...]:
        """The sub-fields of a struct-typed field: its own, else those of the common struct of that name, else none."""
        if field.fields:
            return field.fields
        return next((s.fields for s in self.common_structs if s.name == field.struct_name), ())
