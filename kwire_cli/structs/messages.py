"""Messages declared from their definitions, and version prefixes of payloads.

`declare` converts a definition at a version to a construct declaration. Encoding builds values through the declaration,
the engine lowers it for decoding, and tests parse with it, so all of them use one layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import SpecError
from kwire_cli.spec.model import MAX_FIELDS, MAX_NESTING, NONE, FieldSpec, MessageSpec, Versions, default_value
from kwire_cli.spec.reading import element_encoding_at, encoding_at
from kwire_cli.structs.composites import Absent, MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Sized
from kwire_cli.structs.numbers import FIXED, INTS, UVARINT, encoded_int
from kwire_cli.structs.tags import TaggedField, TagSection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    StructOf = Callable[[Sequence[Any], Any, dict[str, Absent]], MessageStruct]
    """Declares a struct of its fields, its tag section, and the fields that only other versions have."""


@dataclass(slots=True)
class _Layout:
    """The state shared by all parts of one declaration.

    `room` bounds hostile definitions: structs that hold themselves or double at every level.
    """

    spec: MessageSpec
    version: int
    flexible: bool
    struct: StructOf
    room: int = MAX_FIELDS
    depth: int = 0

    def tagged(self, field: FieldSpec) -> bool:
        """Return whether the field is in the tag section."""
        return self.flexible and field.tag is not None and self.version in field.tagged_versions

    def enter(self, fields: int) -> None:
        """Enter a struct. Raise SpecError beyond the limits."""
        self.room -= fields
        self.depth += 1
        if self.room < 0 or self.depth > MAX_NESTING:
            reason = f"structs nest deeper than {MAX_NESTING} levels or hold more than {MAX_FIELDS} fields"
            raise SpecError(reason, file=self.spec.file, path=self.spec.name)


def declare(spec: MessageSpec, version: int, struct: StructOf = MessageStruct) -> MessageStruct:
    """Return the layout of `spec` at `version`. `struct` declares structs, to price other forms."""
    return _struct(_Layout(spec, version, version in spec.flexible_versions, struct), spec.fields)


def _struct(layout: _Layout, fields: Sequence[FieldSpec]) -> MessageStruct:
    plain = []
    tagged = []
    invalid = set()
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
    return layout.struct(plain, section, absent)


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
    """Return the default of a field in JSON form; a struct has its fields' defaults, without the tagged ones."""
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


SIZE_PREFIX = MessageSpec("FrameSize", "header", Versions(0, 0), NONE, (FieldSpec("Size", "int32", Versions(0, 0)),))
"""The size before a frame as the definition of a message: the number of bytes that follow
(org.apache.kafka.common.network.NetworkReceive)."""


# The prefixes of messages inside other bytes, which specify the type and version of the message.
#
# Sources are org.apache.kafka.common.protocol.MessageUtil.toVersionPrefixedByteBuffer, CoordinatorRecordSerde
# (keys and values), AbstractApiMessageSerde (metadata records), Streams' SubscriptionInfo and AssignmentInfo.

VERSION = MessageStruct(["version" / INTS["int16"]], None, {})
"""Before consumer and Connect protocols, principals, control records, and the keys (as their type) and values of
coordinators."""


SCHEMA_VERSION = MessageStruct(["version" / INTS["int32"]], None, {})
"""The first field of the messages that Streams embeds; it is a part of the message."""

METADATA_FRAME = MessageStruct(["frameVersion" / UVARINT, "apiKey" / UVARINT, "version" / UVARINT], None, {})
"""Before each record of __cluster_metadata and __remote_log_metadata; the frame version is 1."""
