"""Every rule of compatibility: its id, how much breaks, and what becomes of the bytes in either direction."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["wire", "tagged", "source", "advice"]
SEVERITIES: dict[Severity, str] = {
    "wire": "One side can't read what the other writes, reads other values out of it, or finds no version in common.",
    "tagged": "All bytes can be read, but the value of a tagged field is lost or becomes another.",
    "source": "The bytes are the same; programs that use the definitions have to be changed, or do something else.",
    "advice": "Names and remarks, and whatever changed in a version that was never released.",
}
"""What each severity means, the worst first."""


class Rule(NamedTuple):
    """A rule. `old_reads_new` says what an old reader does with what a new writer wrote, `new_reads_old` the converse; None where it does well."""

    severity: Severity
    summary: str
    old_reads_new: str | None = None
    new_reads_old: str | None = None
    key: str = ""
    """The key of a definition that it is about, where there is one."""


_SHIFTED = "takes the bytes of other fields for it"
_GARBLED = "reads the bytes as another type"
_NULL = "fails on a null"
_PRESENCE = "takes the presence byte for part of the fields, or a field for the presence byte"
_NO_VERSION = "fails where there is no other version that both know"
_KNOWN_TAG = "knows the tag from other versions and fails: Tag N is not valid for version V"

RULES: dict[str, Rule] = {
    # The message
    "MESSAGE_REMOVED": Rule("wire", "A message is gone, or has no versions any more.", None, "finds no definition of it", key="validVersions"),
    "MESSAGE_TYPE_CHANGED": Rule(
        "wire", "A message became one of another type, behind other headers.", "reads another header", "reads another header", key="type"
    ),
    "API_KEY_CHANGED": Rule("wire", "A message has another apiKey.", "takes it for another message", "takes it for another message", key="apiKey"),
    "VERSIONS_REMOVED": Rule("wire", "Versions are no longer valid.", _NO_VERSION, _NO_VERSION, key="validVersions"),
    "VERSION_WITHDRAWN": Rule(
        "wire", "A released version became unstable, and is no longer offered.", _NO_VERSION, _NO_VERSION, key="latestVersionUnstable"
    ),
    "FLEXIBLE_VERSIONS_CHANGED": Rule(
        "wire",
        "A version became flexible, or is flexible no more: its lengths, its tag sections and its header are others.",
        "reads lengths and tag sections where there are none",
        "reads lengths and tag sections where there are none",
        key="flexibleVersions",
    ),
    "HEADER_VERSION_CHANGED": Rule(
        "wire", "A version has another header version.", "reads another header", "reads another header", key="headerVersions"
    ),
    # Mandatory fields
    "FIELD_REMOVED": Rule("wire", "A mandatory field is gone from an existing version.", _SHIFTED, _SHIFTED),
    "FIELD_ADDED": Rule("wire", "A mandatory field was added to an existing version.", _SHIFTED, _SHIFTED),
    "FIELD_MOVED": Rule("wire", "Mandatory fields of an existing version stand in another order.", _SHIFTED, _SHIFTED),
    "TYPE_CHANGED": Rule("wire", "A mandatory field has another type in an existing version.", _GARBLED, _GARBLED, key="type"),
    "ENCODING_CHANGED": Rule("wire", "An integer has another encoding in an existing version (KAFKA-9927).", _GARBLED, _GARBLED, key="encoding"),
    "NULLABLE_ADDED": Rule("wire", "A field may be null in an existing version.", _NULL, None, key="nullableVersions"),
    "NULLABLE_REMOVED": Rule("wire", "A field may no longer be null in an existing version.", None, _NULL, key="nullableVersions"),
    "NULLABLE_STRUCT_CHANGED": Rule(
        "wire", "A struct, mandatory or tagged, got or lost the byte that says whether it is null.", _PRESENCE, _PRESENCE
    ),
    "COMPACT_CHANGED": Rule("wire", "The length of a field became a varint or is one no more (flexibleVersions of the field).", _GARBLED, _GARBLED),
    # Tagged fields
    "TAG_ON_INFLEXIBLE_VERSION": Rule("wire", "A tagged field was added to a version that is not flexible.", _SHIFTED, _SHIFTED),
    "MANDATORY_TO_TAGGED": Rule("wire", "A mandatory field is tagged in an existing version.", _SHIFTED, _SHIFTED, key="tag"),
    "TAGGED_TO_MANDATORY": Rule("wire", "A tagged field is mandatory in an existing version.", _SHIFTED, _SHIFTED),
    "TAG_REUSED": Rule(
        "wire",
        "A tag is another field's in an existing version: reused, or swapped with another.",
        "takes the new field for the old one",
        "takes the old field for the new one",
        key="tag",
    ),
    "TAG_TYPE_CHANGED": Rule("wire", "A tagged field has another type in an existing version.", _GARBLED, _GARBLED, key="type"),
    "TAG_NULLABLE_CHANGED": Rule("wire", "A tagged field may be null, or may no longer be, in an existing version.", _NULL, _NULL),
    "TAG_WIDENED": Rule("wire", "A tag that older versions knew but did not allow is allowed in them now.", _KNOWN_TAG, key="taggedVersions"),
    "TAG_NARROWED": Rule(
        "wire", "A tag is no longer allowed in an existing version, but still known from others.", None, _KNOWN_TAG, key="taggedVersions"
    ),
    "TAGGED_REMOVED": Rule(
        "tagged", "A tagged field is gone from an existing version.", None, "skips the field as an unknown one: its value is lost"
    ),
    "TAG_NUMBER_CHANGED": Rule(
        "tagged",
        "A tagged field has another number in an existing version.",
        "skips the field as an unknown one and takes its default",
        "skips the field as an unknown one and takes its default",
        key="tag",
    ),
    "TAG_DEFAULT_CHANGED": Rule(
        "tagged",
        "A tagged field has another default in an existing version, where it is left out at its default.",
        "takes its own default for what was left out",
        "takes its own default for what was left out",
        key="default",
    ),
    "TAG_NUMBER_TAKEN": Rule("tagged", "A tag that a field had in other versions is given to another field; KIP-482 never reuses one.", key="tag"),
    # The same bytes
    "SAME_BYTES_OTHER_TYPE": Rule("source", "A field has another type that is the same bytes (records and bytes, int64 as fixed32 and int32)."),
    "MESSAGE_KIND_CHANGED": Rule(
        "source", "A message became one of another type without headers: data, coordinator-key, coordinator-value.", key="type"
    ),
    "DEFAULT_CHANGED": Rule("source", "A mandatory field has another default: who leaves it unset writes another value.", key="default"),
    "MAP_KEY_CHANGED": Rule("source", "A field became a key of its array or is one no more: generated code has another collection.", key="mapKey"),
    "ZERO_COPY_CHANGED": Rule("source", "Bytes became zeroCopy or are so no more: generated code has another type.", key="zeroCopy"),
    # Names and remarks
    "MESSAGE_RENAMED": Rule("advice", "A message has another name.", key="name"),
    "FIELD_RENAMED": Rule("advice", "A field has another name; it is the same by its place, type and tag.", key="name"),
    "STRUCT_RENAMED": Rule("advice", "The struct of a field has another name."),
    "IGNORABLE_CHANGED": Rule("advice", "Whether a value is dropped or refused in versions without the field changed.", key="ignorable"),
    "ENTITY_TYPE_CHANGED": Rule("advice", "What a field is a name or id of changed.", key="entityType"),
    "LISTENERS_REMOVED": Rule("advice", "A request is no longer served by some kind of listener.", key="listeners"),
}
"""The rules in the order of their severity and subject."""
