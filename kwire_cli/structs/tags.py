"""Tag sections (KIP-482), the end of every struct of a flexible version.

A section is a count and then tagged fields in ascending order of their tags: a tag, a size and the data. A reader can
step over a tag that it does not know, since the size is the number of bytes of the data. A struct that knows a tag
reads the data by the field's own declaration. In JSON form known fields are keys of the struct, and unknown ones are
kept under UNKNOWN_KEY. A field at its default is not written.
"""

from __future__ import annotations

import base64
import binascii
import io
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.errors import EncodeError
from kwire_cli.structs.composites import UNKNOWN_KEY, Choice, Rest, SizedStruct, sized
from kwire_cli.structs.lengths import VarintArray
from kwire_cli.structs.numbers import UVARINT, field_path, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TAGGED_FIELD = sized("size", tag=UVARINT, size=UVARINT, data=Rest())
"""A tagged field of any tag."""
TAG_SECTION = VarintArray(TAGGED_FIELD, UVARINT)
"""The tag section of a struct that knows no tag."""

_ALL_BITS = -1


def tagged_field(known: dict[int, Any]) -> SizedStruct:
    """Return the tagged field of a struct that knows these declarations by their tags."""
    return sized("size", tag=UVARINT, size=UVARINT, data=Choice("tag", _ALL_BITS, known, otherwise=Rest()))


class TaggedField(NamedTuple):
    """A known tagged field; `default` is its JSON-form default, at which it is not written."""

    tag: int
    name: str
    subcon: Any
    default: Any


class TagSection(construct.Construct):
    """A tag section with its known fields in ascending order. `invalid` are the tags that only other versions of the
    struct know.
    """

    kind = "tags"

    def __init__(self, known: tuple[TaggedField, ...], invalid: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.known = known
        self.invalid = invalid

    def __repr__(self) -> str:
        known = [f'{field.tag}: "{field.name}" / {field.subcon!r}' for field in self.known]
        return f"TagSection({', '.join(known)})"

    @cached_property
    def section(self) -> VarintArray:
        """The declaration of the bytes."""
        known = {field.tag: field.subcon for field in self.known}
        return VarintArray(tagged_field(known), UVARINT) if known else TAG_SECTION

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        return self.values(self.section._parse(stream, context, path) or ())

    def values(self, entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the JSON form of tagged fields, as keys of their struct."""
        by_tag = {field.tag: field for field in self.known}
        values: dict[int, Any] = {}
        unknown = []
        for entry in entries:
            if entry["tag"] in by_tag:
                values[entry["tag"]] = entry["data"]
            else:
                unknown.append({"tag": entry["tag"], "data": entry["data"]})
        out = {
            field.name: values[field.tag]
            for field in self.known
            if field.tag in values and values[field.tag] != field.default
        }
        return out | ({UNKNOWN_KEY: unknown} if unknown else {})

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        TAG_SECTION._build(self.entries(obj, context, path), stream, context, path)
        return obj

    def entries(self, obj: Any, context: Any, path: str) -> list[dict[str, Any]]:
        """Return the tags and the bytes of the fields to write, in ascending order of the tags."""
        fields = dict(_unknown(obj, field_path(path)))
        for field in self.known:
            if field.name not in obj:
                continue
            data = _payload(field, obj[field.name], context, path)
            if obj[field.name] == field.default or data == _default_payload(field, context, path):
                continue
            if field.tag in fields:
                where = f"{field_path(path)}.{UNKNOWN_KEY}".lstrip(".")
                raise EncodeError(
                    f"tag {field.tag} is {field.name} and cannot be an unknown tag", path=where, value=field.tag
                )
            fields[field.tag] = data
        return [{"tag": tag, "data": fields[tag]} for tag in sorted(fields)]

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)


def _payload(field: TaggedField, value: Any, context: Any, path: str) -> bytes:
    stream = io.BytesIO()
    field.subcon._build(value, stream, context, f"{path} -> {field.name}")
    return stream.getvalue()


def _default_payload(field: TaggedField, context: Any, path: str) -> bytes | None:
    try:
        return _payload(field, field.default, context, path)
    except EncodeError:
        return None  # a default that cannot be written, such as the null of records that are not nullable


def _unknown(obj: Any, path: str) -> list[tuple[int, bytes]]:
    path = f"{path}.{UNKNOWN_KEY}".lstrip(".")
    entries = obj.get(UNKNOWN_KEY) or []
    if not isinstance(entries, list):
        raise EncodeError('unknown tagged fields are a list of {"tag", "data"}', path=path, value=entries)
    out: dict[int, bytes] = {}
    for i, entry in enumerate(entries):
        where = f"{path}[{i}]"
        if not isinstance(entry, dict) or not {"tag", "data"} <= entry.keys():
            raise EncodeError(
                'an unknown tagged field is {"tag": number, "data": base64 text}', path=where, value=entry
            )
        tag, text = entry["tag"], entry["data"]
        if isinstance(tag, bool) or not isinstance(tag, int) or not 0 <= tag < 1 << 31:
            raise EncodeError(f"{shown(tag)} is not a tag number (0 to 2147483647)", path=where, value=tag)
        if tag in out:
            raise EncodeError(f"tag {tag} occurs twice", path=where, value=tag)
        try:
            out[tag] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise EncodeError("the data of an unknown tagged field is base64 text", path=where, value=text) from None
    return list(out.items())
