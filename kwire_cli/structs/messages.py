"""Messages declared from their definitions, the size prefix of a frame, and version prefixes of payloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.errors import FIELD_MISSING, EncodeError, SpecError, close_to, did_you_mean, json_kind
from kwire_cli.spec.model import MAX_FIELDS, MAX_NESTING, NONE, FieldSpec, MessageSpec, Versions, default_value
from kwire_cli.spec.reading import element_encoding_at, encoding_at
from kwire_cli.structs.lengths import UNKNOWN_KEY, ArrayOf, NullableStruct, Sized, TaggedField, TagSection
from kwire_cli.structs.numbers import (
    FIXED,
    INTS,
    UVARINT,
    encoded_int,
    field_path,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


# A message at a version as a construct declaration, made from its definition (Kafka's MessageDataGenerator
# says how).
#
# `declare(spec, version)` is the one place where a definition becomes a layout; encode builds through it, the
# engine lowers it, tests parse with it.

SIZE_SUFFIX = "SizeInBytes"
"""The end of a records field's key if only its size is shown (KIP-673)."""


class Absent(NamedTuple):
    """A field that the struct has in other versions only. Kafka refuses a value for it unless it is ignorable or the
    default.
    """

    versions: str
    ignorable: bool
    default: Any


class MessageStruct(construct.Struct):
    """The fields of a message or struct in order, then in flexible versions its tag section. The value is a dict in
    JSON form.
    """

    kind = "struct"

    def __init__(self, fields: Sequence[Any], tags: TagSection | None, absent: dict[str, Absent]) -> None:
        super().__init__(*fields)
        self.tags, self.absent = tags, absent
        self.known_keys = {sc.name for sc in fields} | (
            {field.name for field in tags.known} | {UNKNOWN_KEY} if tags else set()
        )
        # The size of records says nothing that the records do not; alone it gets an error that explains it.
        self.known_keys |= {sc.name + SIZE_SUFFIX for sc in fields if getattr(sc.subcon, "kind", None) == "records"}

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        value = {sc.name: sc._parsereport(stream, context, path) for sc in self.subcons}
        return value | self.tags._parse(stream, context, path) if self.tags else value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, dict):
            raise EncodeError(
                f"a struct takes an object, not {json_kind(obj)}",
                path=field_path(path),
                value=obj,
            )
        if obj.keys() - self.known_keys:
            self._refuse_strangers(obj, field_path(path))
        for sc in self.subcons:
            if sc.name not in obj:
                raise EncodeError(_missing(sc, obj), path=field_path(f"{path} -> {sc.name}"))
            sc._build(obj[sc.name], stream, context, path)
        if self.tags:
            self.tags._build(obj, stream, context, path)
        return obj

    def _refuse_strangers(self, obj: dict[str, Any], path: str) -> None:
        for key, value in obj.items():
            if key in self.known_keys:
                continue
            where = f"{path}.{key}" if path else key
            if field := self.absent.get(key):
                if not field.ignorable and value != field.default:
                    reason = f"the field exists in versions {field.versions} only, and its value is not the default"
                    raise EncodeError(reason, path=where, value=value)
            elif key == UNKNOWN_KEY and not value:
                continue
            elif key == UNKNOWN_KEY:
                raise EncodeError("this version is not flexible and has no tagged fields", path=where, value=value)
            else:
                close = did_you_mean(close_to(str(key), self.known_keys))  # Python has keys of other types
                raise EncodeError(f"no such field{close}", path=where, value=value)


def _missing(sc: Any, obj: dict[str, Any]) -> str:
    if sc.name + SIZE_SUFFIX in obj:
        return (
            f"only the size of the records is here ({sc.name}{SIZE_SUFFIX}); decode with --records base64 to "
            f"keep their bytes"
        )
    return FIELD_MISSING


@dataclass(slots=True)
class _Layout:
    """The state shared by all parts of one declaration.

    `room` bounds hostile definitions: structs that hold themselves or double at every level.
    """

    spec: MessageSpec
    version: int
    flexible: bool
    room: int = MAX_FIELDS
    depth: int = 0

    def tagged(self, field: FieldSpec) -> bool:
        """Return whether the field is in the tag section."""
        return self.flexible and field.tag is not None and self.version in field.tagged_versions

    def enter(self, fields: int) -> None:
        """Go one struct deeper; SpecError where that is beyond all reason."""
        self.room -= fields
        self.depth += 1
        if self.room < 0 or self.depth > MAX_NESTING:
            reason = f"structs nest deeper than {MAX_NESTING} levels or hold more than {MAX_FIELDS} fields"
            raise SpecError(reason, file=self.spec.file, path=self.spec.name)


def declare(spec: MessageSpec, version: int, *, flexible: bool | None = None) -> MessageStruct:
    """The layout of `spec` at `version`; `flexible` overrules the definition (to price the other form)."""
    layout = _Layout(spec, version, version in spec.flexible_versions if flexible is None else flexible)
    return _struct(layout, spec.fields)


def _struct(layout: _Layout, fields: Sequence[FieldSpec]) -> MessageStruct:
    plain, tagged, invalid = [], [], set()
    absent: dict[str, Absent] = {}
    layout.enter(len(fields))
    for field in fields:
        if layout.version not in field.versions:
            absent[field.json_name] = Absent(str(field.versions), field.ignorable, _default(layout, field))
        elif layout.tagged(field) and field.tag is not None:
            tagged.append(TaggedField(field.tag, field.json_name, _tagged_type(layout, field), _default(layout, field)))
            continue
        else:
            plain.append(field.json_name / _type(layout, field))
        if field.tag is not None:
            invalid.add(field.tag)
    layout.depth -= 1
    section = (
        TagSection(tuple(sorted(tagged, key=lambda field: field.tag)), frozenset(invalid)) if layout.flexible else None
    )
    return MessageStruct(plain, section, absent)


def _tagged_type(layout: _Layout, field: FieldSpec) -> Any:
    inner = _type(layout, field)
    return NullableStruct(inner.subcon, tagged=True) if isinstance(inner, NullableStruct) else inner


def _type(layout: _Layout, field: FieldSpec) -> Any:
    nullable = layout.version in field.nullable_versions
    compact = layout.flexible if field.flexible_versions is None else layout.version in field.flexible_versions
    if field.is_array:
        return ArrayOf(_element(layout, field), compact=compact, nullable=nullable)
    if field.struct_name:
        struct = _struct(layout, layout.spec.struct_fields(field))
        return NullableStruct(struct, tagged=False) if nullable else struct
    if encoding := encoding_at(field, layout.version):
        return encoded_int(field.type, encoding)
    return FIXED.get(field.type) or Sized(field.type, compact=compact, nullable=nullable)


def _element(layout: _Layout, field: FieldSpec) -> Any:
    kind = field.element_type
    if field.struct_name:
        return _struct(layout, layout.spec.struct_fields(field))
    if encoding := element_encoding_at(field, layout.version):
        return encoded_int(kind, encoding)
    return FIXED.get(kind) or Sized(kind, compact=layout.flexible, nullable=False)


def _default(layout: _Layout, field: FieldSpec) -> Any:
    """The default of a field in JSON form; that of a struct is its fields' defaults, the tagged ones left out."""
    if field.default == "null":
        return None
    if not field.struct_name or field.is_array:
        return default_value(field)
    layout.enter(1)
    subs = [
        sub for sub in layout.spec.struct_fields(field) if layout.version in sub.versions and not layout.tagged(sub)
    ]
    value = {sub.json_name: _default(layout, sub) for sub in subs}
    layout.depth -= 1
    return value


# What stands around messages on a connection: the size prefix of a frame
# (org.apache.kafka.common.network.NetworkReceive).

SIZE_PREFIX = MessageSpec("FrameSize", "header", Versions(0, 0), NONE, (FieldSpec("Size", "int32", Versions(0, 0)),))
"""An int32: the number of bytes that follow."""


# The prefixes of messages that lie inside other bytes, which say what follows and in which version.
#
# Sources are org.apache.kafka.common.protocol.MessageUtil.toVersionPrefixedByteBuffer, CoordinatorRecordSerde
# (keys and values), AbstractApiMessageSerde (metadata records), Streams' SubscriptionInfo and AssignmentInfo.

VERSION = MessageStruct(["version" / INTS["int16"]], None, {})
"""Before consumer and Connect protocols, principals, control records, and the keys (as their type) and values of
coordinators."""


SCHEMA_VERSION = MessageStruct(["version" / INTS["int32"]], None, {})
"""The first field of what Streams embeds; it is a part of the message."""

METADATA_FRAME = MessageStruct(["frameVersion" / UVARINT, "apiKey" / UVARINT, "version" / UVARINT], None, {})
"""Before each record of __cluster_metadata and __remote_log_metadata; the frame version is 1."""
