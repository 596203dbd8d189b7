"""Structs of flexible versions with tagged fields as KIP-482 rejects them: by tag and type, or after an escape byte.

The document describes both alternatives in a sentence each and specifies no bytes, so their layout is a choice of this
module. The declarations are for comparison: only construct reads them, not the engine.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.errors import EncodeError
from kwire_cli.structs.composites import UNKNOWN_KEY, MessageStruct
from kwire_cli.structs.lengths import ArrayOf
from kwire_cli.structs.numbers import FIXED, UVARINT, field_path
from kwire_cli.structs.tags import TagSection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.structs.composites import Absent

TYPES = (*FIXED, "string", "bytes", "records", "array", "struct")
"""The types of tagged fields, by the number that specifies them."""
ESCAPE = b"\xfe"
"""The byte before a struct with tagged fields. Few structs begin with it: an int16 of -512 to -257 does, and a compact
string of 253 bytes.
"""


class TypedSection(TagSection):
    """A tag section in which each field has a tag and a type. After the type of an array is the type of its elements.

    The type determines where a field ends, so a field of an unknown tag, whose type is unknown, cannot be written.
    """

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        by_tag = {field.tag: field.subcon for field in self.known}
        entries = []
        for _ in range(UVARINT._parse(stream, context, path)):
            tag = UVARINT._parse(stream, context, path)
            types = _types_of(by_tag[tag])
            if construct.stream_read(stream, len(types), path) != types:
                raise construct.ConstError(f"tag {tag} has another type", path=path)
            entries.append({"tag": tag, "data": by_tag[tag]._parse(stream, context, path)})
        return self.values(entries)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        by_tag = {field.tag: field.subcon for field in self.known}
        entries = self.entries(obj, context, path)
        UVARINT._build(len(entries), stream, context, path)
        for entry in entries:
            tag = entry["tag"]
            if tag not in by_tag:
                raise EncodeError(f"tag {tag} has no known type", path=f"{field_path(path)}.{UNKNOWN_KEY}".lstrip("."))
            data = UVARINT.build(tag) + _types_of(by_tag[tag]) + entry["data"]
            construct.stream_write(stream, data, len(data), path)
        return obj


def _types_of(decl: Any) -> bytes:
    kinds = ("array", decl.element.kind) if isinstance(decl, ArrayOf) else (decl.kind,)
    return bytes(map(TYPES.index, kinds))


def typed_struct(fields: Sequence[Any], tags: TagSection, absent: dict[str, Absent]) -> MessageStruct:
    """Return a struct whose tagged fields have types in place of sizes."""
    return MessageStruct(fields, TypedSection(tags.known, tags.invalid), absent)


class EscapedStruct(MessageStruct):
    """A struct whose tag section takes no bytes if it is empty.

    A struct with tagged fields begins with ESCAPE and their number, and ends with the fields. A struct without tagged
    fields whose own first byte is ESCAPE begins with ESCAPE and 0. A struct that only has tagged fields ends in an
    ordinary tag section.
    """

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        if not self.subcons:
            return super()._parse(stream, context, path)
        start = construct.stream_tell(stream, path)
        count = 0
        if construct.stream_read(stream, 1, path) == ESCAPE:
            count = UVARINT._parse(stream, context, path)
        else:
            construct.stream_seek(stream, start, 0, path)
        value = {sc.name: sc._parsereport(stream, context, path) for sc in self.subcons}
        field = self.tags.section.element
        tagged: dict[str, Any] = self.tags.values([field._parse(stream, context, path) for _ in range(count)])
        return value | tagged

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        content = io.BytesIO()
        super()._build(obj, content, context, path)
        data = content.getvalue()
        if self.subcons:
            section = io.BytesIO()
            self.tags._build(obj, section, context, path)
            tagged = section.getvalue()
            fields = data[: len(data) - len(tagged)]
            count = UVARINT.build(UVARINT.parse(tagged))
            is_escaped = len(tagged) > 1 or fields.startswith(ESCAPE)
            data = (ESCAPE + count if is_escaped else b"") + fields + tagged[len(count) :]
        construct.stream_write(stream, data, len(data), path)
        return obj
