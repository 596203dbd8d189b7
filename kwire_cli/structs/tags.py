"""Tag sections (KIP-482): what every structure of a flexible version ends in.

A count, then per field its tag, its size and its bytes, in ascending order of tags. Known fields are written when they differ from their default;
unknown ones are kept and written back, merged in order.
"""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass
from typing import Any

import construct

from kwire_cli.errors import EncodeError
from kwire_cli.structs.numbers import UVARINT, unsigned_varint
from kwire_cli.structs.places import field_path, shown

UNKNOWN_KEY = "unknownTaggedFields"
"""The key beside a struct's fields under which unknown tagged fields stand in JSON form."""


@dataclass(frozen=True, slots=True)
class TaggedField:
    """A known tagged field; `default` is its JSON-form default, at which it is not written."""

    tag: int
    name: str
    subcon: Any
    default: Any


class TagSection(construct.Construct):
    """The section with its known fields, ascending; `invalid` are the tags that only other versions of the struct know."""

    kind = "tags"

    def __init__(self, known: tuple[TaggedField, ...], invalid: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.known, self.invalid = known, invalid

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        known = {field.tag: field for field in self.known}
        values: dict[str, Any] = {}
        unknown = []
        for _ in range(UVARINT._parse(stream, context, path)):
            tag = UVARINT._parse(stream, context, path)
            size = UVARINT._parse(stream, context, path)
            if field := known.get(tag):
                values[field.name] = field.subcon._parse(stream, context, f"{path} -> {field.name}")
            else:
                unknown.append({"tag": tag, "data": base64.b64encode(construct.stream_read(stream, size, path)).decode("ascii")})
        out = {field.name: values[field.name] for field in self.known if field.name in values and values[field.name] != field.default}
        return out | ({UNKNOWN_KEY: unknown} if unknown else {})

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        fields = dict(self._unknown(obj, field_path(path)))
        for field in self.known:
            if field.name not in obj:
                continue
            data = self._payload(field, obj[field.name], context, path)
            if obj[field.name] == field.default or data == self._default_payload(field, context, path):
                continue
            if field.tag in fields:
                where = f"{field_path(path)}.{UNKNOWN_KEY}".lstrip(".")
                raise EncodeError(f"tag {field.tag} is {field.name} and cannot be an unknown tag", path=where, value=field.tag)
            fields[field.tag] = data
        out = unsigned_varint(len(fields))
        for tag, data in sorted(fields.items()):
            out += unsigned_varint(tag) + unsigned_varint(len(data)) + data
        construct.stream_write(stream, out, len(out), path)
        return obj

    def _payload(self, field: TaggedField, value: Any, context: Any, path: str) -> bytes:
        stream = io.BytesIO()
        field.subcon._build(value, stream, context, f"{path} -> {field.name}")
        return stream.getvalue()

    def _default_payload(self, field: TaggedField, context: Any, path: str) -> bytes | None:
        try:
            return self._payload(field, field.default, context, path)
        except EncodeError:
            return None  # a default that cannot be written, such as the null of records that are not nullable

    def _unknown(self, obj: Any, path: str) -> list[tuple[int, bytes]]:
        path = f"{path}.{UNKNOWN_KEY}".lstrip(".")
        entries = obj.get(UNKNOWN_KEY) or []
        if not isinstance(entries, list):
            raise EncodeError('unknown tagged fields are a list of {"tag", "data"}', path=path, value=entries)
        out: dict[int, bytes] = {}
        for i, entry in enumerate(entries):
            where = f"{path}[{i}]"
            if not isinstance(entry, dict) or not {"tag", "data"} <= entry.keys():
                raise EncodeError('an unknown tagged field is {"tag": number, "data": base64 text}', path=where, value=entry)
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

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)
