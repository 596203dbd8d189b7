"""Values that carry their length or presence: strings, bytes, arrays, nullable structs, tag sections."""

from __future__ import annotations

import base64
import binascii
import io
import re
from typing import Any, NamedTuple

import construct

from kwire_cli.errors import EncodeError, json_kind
from kwire_cli.structs.numbers import (
    INTS,
    UVARINT,
    ZIGZAG,
    Varint,
    field_path,
    shown,
    unsigned_varint,
)

# What carries its own length or presence: strings, bytes, records, arrays, nullable structs.
#
# In inflexible versions a length or count is an int16 or int32, -1 for null; in flexible ones an unsigned
# varint of the length plus one, 0 for null (KIP-482). Any negative length reads as null, as in Kafka's
# generated code.

MAX_STRING = 0x7FFF
"""The longest string in bytes of UTF-8, in compact form too."""


REDACTED = re.compile(r"<redacted \d+ bytes>")
"""The text in place of a secret that was not shown, as `redacted` writes it."""


def redacted(size: int) -> str:
    """Return the text that stands for a secret of so many bytes, in every view."""
    return f"<redacted {size} bytes>"


class Prefixed(construct.Construct):
    """Anything behind a length or count: `prefix` is the construct of that number, `compact` says that it is stored
    plus one.
    """

    kind: str

    def __init__(self, *, compact: bool, nullable: bool) -> None:
        super().__init__()
        self.compact, self.nullable = compact, nullable
        self.prefix: Any = UVARINT if compact else self.plain_prefix()

    def plain_prefix(self) -> Any:
        """The length or count in inflexible versions."""
        return INTS["int32"]

    def _parse_prefix(self, stream: Any, context: Any, path: str) -> int:
        return int(self.prefix._parse(stream, context, path)) - self.compact

    def _build_prefix(self, count: int, stream: Any, context: Any, path: str) -> None:
        self.prefix._build(count + self.compact, stream, context, path)

    def _build_null(self, stream: Any, context: Any, path: str) -> None:
        # lossless encoding has to be able to write what a faulty peer wrote
        if not self.nullable and not context.get("lenient"):
            raise EncodeError(f"{self.kind} is not nullable in this version", path=field_path(path))
        self._build_prefix(-1, stream, context, path)

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)


class Sized(Prefixed):
    """A string, bytes or records behind its length in bytes; bytes and records are base64 text in JSON form."""

    longest: int | None = MAX_STRING
    """The longest string in bytes of UTF-8, None where only its length's own range bounds it."""

    def __init__(self, kind: str, *, compact: bool, nullable: bool) -> None:
        self.kind = kind
        super().__init__(compact=compact, nullable=nullable)

    def plain_prefix(self) -> Any:
        """An int16 for strings, else an int32."""
        return INTS["int16" if self.kind == "string" else "int32"]

    def _parse(self, stream: Any, context: Any, path: str) -> str | None:
        length = self._parse_prefix(stream, context, path)
        return None if length < 0 else self.read(construct.stream_read(stream, length, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            self._build_null(stream, context, path)
            return obj
        data = self.to_bytes(obj, field_path(path), lenient=bool(context.get("lenient")))
        self._build_prefix(len(data), stream, context, path)
        construct.stream_write(stream, data, len(data), path)
        return obj

    def read(self, data: Any) -> str:
        """The JSON form of these bytes; invalid UTF-8 shows as U+FFFD."""
        return str(data, "utf-8", "replace") if self.kind == "string" else base64.b64encode(data).decode("ascii")

    def to_bytes(self, value: Any, path: str, *, lenient: bool) -> bytes:
        """The bytes of a JSON-form value; EncodeError with `path` where it is none."""
        if not isinstance(value, str):
            form = "text" if self.kind == "string" else "base64 text"
            raise EncodeError(
                f"{self.kind} takes {form}{' or null' * self.nullable}, not {json_kind(value)}",
                path=path,
                value=value,
            )
        if value.startswith("<redacted ") and REDACTED.fullmatch(value):
            raise EncodeError("the value was redacted; decode with --show-secrets to keep it", path=path, value=value)
        try:
            data = value.encode() if self.kind == "string" else base64.b64decode(value, validate=True)
        except UnicodeEncodeError:
            raise EncodeError("text with a lone surrogate has no UTF-8 form", path=path, value=value) from None
        except (binascii.Error, ValueError) as error:
            raise EncodeError(f"{self.kind} takes base64 text: {error}", path=path, value=value) from None
        if (
            self.kind == "string"
            and self.longest is not None
            and len(data) > self.longest
            and not (lenient and self.compact)
        ):
            raise EncodeError(
                f"the string has {len(data)} bytes of UTF-8; at most {self.longest} fit", path=path, value=value
            )
        return data


class ArrayOf(Prefixed):
    """Elements behind their count; elements themselves are never null."""

    kind = "array"

    def __init__(self, element: Any, *, compact: bool, nullable: bool) -> None:
        super().__init__(compact=compact, nullable=nullable)
        self.element = element

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any] | None:
        count = self._parse_prefix(stream, context, path)
        return None if count < 0 else [self.element._parse(stream, context, f"{path} -> [{i}]") for i in range(count)]

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            self._build_null(stream, context, path)
            return obj
        if not isinstance(obj, list | tuple):
            raise EncodeError(
                f"an array takes a list{' or null' * self.nullable}, not {json_kind(obj)}",
                path=field_path(path),
                value=obj,
            )
        self._build_prefix(len(obj), stream, context, path)
        for i, item in enumerate(obj):
            self.element._build(item, stream, context, f"{path} -> [{i}]")
        return obj


class VarintSized(Sized):
    """A string or bytes behind a varint of its very length, not plus one: zig-zag in records v2 (-1 for null), unsigned
    in the KIP-98 draft.
    """

    longest = None

    def __init__(self, kind: str, prefix: Varint, *, nullable: bool) -> None:
        self._plain = prefix
        super().__init__(kind, compact=False, nullable=nullable)

    def plain_prefix(self) -> Varint:
        """The varint."""
        return self._plain


class VarintArray(ArrayOf):
    """Elements behind a zig-zag varint of their count, as the headers of a record of format v2 are."""

    def plain_prefix(self) -> Varint:
        """The varint."""
        return ZIGZAG


class NullableStruct(construct.Subconstruct):
    """A struct behind a presence byte: int8, negative for null; in a tagged field an unsigned varint, 0 for null
    (KIP-893).

    A varint beyond 2147483647 is negative to Kafka's reader, and null too.
    """

    kind = "struct"

    def __init__(self, subcon: Any, *, tagged: bool) -> None:
        super().__init__(subcon)
        self.tagged = tagged
        self.presence = UVARINT if tagged else INTS["int8"]

    def is_null(self, mark: int) -> bool:
        """Return whether this presence marker says that there is no struct."""
        return mark <= 0 if self.tagged else mark < 0

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        mark = self.presence._parse(stream, context, path)
        return None if self.is_null(mark) else self.subcon._parse(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        null = 0 if self.tagged else -1
        self.presence._build(null if obj is None else 1, stream, context, path)
        if obj is not None:
            self.subcon._build(obj, stream, context, path)
        return obj


# Tag sections (KIP-482): what every structure of a flexible version ends in.
#
# A count, then per field its tag, its size and its bytes, in ascending order of tags. Known fields are
# written when they differ from their default; unknown ones are kept and written back, merged in order.

UNKNOWN_KEY = "unknownTaggedFields"
"""The key beside a struct's fields under which unknown tagged fields stand in JSON form."""


class TaggedField(NamedTuple):
    """A known tagged field; `default` is its JSON-form default, at which it is not written."""

    tag: int
    name: str
    subcon: Any
    default: Any


class TagSection(construct.Construct):
    """The section with its known fields, ascending; `invalid` are the tags that only other versions of the struct
    know.
    """

    kind = "tags"

    def __init__(self, known: tuple[TaggedField, ...], invalid: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.known, self.invalid = known, invalid

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        by_tag = {field.tag: field for field in self.known}
        values: dict[str, Any] = {}
        unknown = []
        for _ in range(UVARINT._parse(stream, context, path)):
            tag = UVARINT._parse(stream, context, path)
            size = UVARINT._parse(stream, context, path)
            if field := by_tag.get(tag):
                values[field.name] = field.subcon._parse(stream, context, f"{path} -> {field.name}")
            else:
                unknown.append(
                    {"tag": tag, "data": base64.b64encode(construct.stream_read(stream, size, path)).decode("ascii")}
                )
        out = {
            field.name: values[field.name]
            for field in self.known
            if field.name in values and values[field.name] != field.default
        }
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
                raise EncodeError(
                    f"tag {field.tag} is {field.name} and cannot be an unknown tag", path=where, value=field.tag
                )
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
                raise EncodeError(
                    "the data of an unknown tagged field is base64 text", path=where, value=text
                ) from None
        return list(out.items())

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)
