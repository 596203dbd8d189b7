"""Values that carry their length or presence: strings, bytes, records, arrays, nullable structs.

In inflexible versions a length or count is an int16 or int32, -1 for null. In flexible versions it is an unsigned
varint of the length plus one, 0 for null (KIP-482). Any negative length reads as null, as in Kafka's generated code.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import construct

from kwire_cli.errors import EncodeError, json_kind
from kwire_cli.structs.numbers import INTS, UVARINT, Varint, field_path

MAX_STRING = 0x7FFF
"""The longest string in bytes of UTF-8, in compact form too."""


REDACTED = re.compile(r"<redacted \d+ bytes>")
"""The text in place of a secret that was not shown, as `redacted` writes it."""


def redacted(size: int) -> str:
    """Return the placeholder for a secret of `size` bytes, in every view."""
    return f"<redacted {size} bytes>"


class Prefixed(construct.Construct):
    """A value after its length or count: `prefix` is the construct of that number, which is stored plus one if
    `compact` is set.
    """

    kind: str

    def __init__(self, *, compact: bool, nullable: bool) -> None:
        super().__init__()
        self.compact = compact
        self.nullable = nullable
        self.prefix: Any = UVARINT if compact else self.plain_prefix()

    def plain_prefix(self) -> Any:
        """Return the construct of the length or count in inflexible versions."""
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
    """A string, bytes or records after its length in bytes; bytes and records are base64 text in JSON form."""

    longest: int | None = MAX_STRING
    """Maximum length of a string in bytes of UTF-8; None if only the range of its length limits it."""

    def __init__(self, kind: str, *, compact: bool, nullable: bool) -> None:
        self.kind = kind
        super().__init__(compact=compact, nullable=nullable)

    def __repr__(self) -> str:
        return f"{'COMPACT_' * self.compact}{'NULLABLE_' * self.nullable}{self.kind.upper()}"

    def plain_prefix(self) -> Any:
        """Return an int16 for strings, else an int32."""
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
        """Return the JSON form of these bytes; invalid UTF-8 shows as U+FFFD."""
        return str(data, "utf-8", "replace") if self.kind == "string" else base64.b64encode(data).decode("ascii")

    def to_bytes(self, value: Any, path: str, *, lenient: bool) -> bytes:
        """Return the bytes of a value in JSON form. Raise EncodeError with `path` if it has another type."""
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
    """Elements after their count; elements themselves are never null."""

    kind = "array"

    def __init__(self, element: Any, *, compact: bool, nullable: bool) -> None:
        super().__init__(compact=compact, nullable=nullable)
        self.element = element

    def __repr__(self) -> str:
        return f"{'COMPACT_' * self.compact}{'NULLABLE_' * self.nullable}ARRAY({self.element!r})"

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
    """A string or bytes after a varint of its exact length, not plus one: zig-zag in records v2 (-1 for null), unsigned
    in the KIP-98 draft.
    """

    longest = None

    def __init__(self, kind: str, prefix: Varint, *, nullable: bool) -> None:
        self._plain = prefix
        super().__init__(kind, compact=False, nullable=nullable)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(length={self._plain!r})"

    def plain_prefix(self) -> Varint:
        """Return the varint."""
        return self._plain


class VarintArray(ArrayOf):
    """Elements after a varint of their exact count, not plus one: zig-zag for the headers of a record of format v2,
    unsigned for a tag section.
    """

    def __init__(self, element: Any, prefix: Varint) -> None:
        self._plain = prefix
        super().__init__(element, compact=False, nullable=False)

    def __repr__(self) -> str:
        return f"ARRAY({self.element!r}, count={self._plain!r})"

    def plain_prefix(self) -> Varint:
        """Return the varint."""
        return self._plain


class NullableStruct(construct.Subconstruct):
    """A struct after a presence byte: int8, negative for null; in a tagged field an unsigned varint, 0 for null
    (KIP-893).

    A varint beyond 2147483647 is negative to Kafka's reader, and null too.
    """

    kind = "struct"

    def __init__(self, subcon: Any, *, tagged: bool) -> None:
        super().__init__(subcon)
        self.tagged = tagged
        self.presence = UVARINT if tagged else INTS["int8"]

    def __repr__(self) -> str:
        return f"NULLABLE({self.subcon!r}, presence={self.presence!r})"

    def is_null(self, mark: int) -> bool:
        """Return whether this presence marker means null."""
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
