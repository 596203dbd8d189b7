"""Structs, and fields that depend on their surroundings: on a size, on bits of an earlier field, on the bytes left.

A struct's value is a dict in JSON form. A size counts the bytes after itself. Readers use the content's end and not the
size's. Only content without a separate length (a series, the rest) ends at the end of the size.
"""

from __future__ import annotations

import base64
import binascii
import io
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.errors import FIELD_MISSING, EncodeError, close_to, did_you_mean, json_kind
from kwire_cli.structs.numbers import FIXED, field_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN_KEY = "unknownTaggedFields"
"""The key of a struct's unknown tagged fields in JSON form."""

END = "region_end"
"""The key of construct's context that holds the end of the innermost size during parsing."""

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

    def __init__(self, fields: Sequence[Any], tags: Any, absent: dict[str, Absent]) -> None:
        super().__init__(*fields)
        self.tags = tags
        self.absent = absent
        self.known_keys = {sc.name for sc in fields} | (
            {field.name for field in tags.known} | {UNKNOWN_KEY} if tags else set()
        )
        # A records size duplicates the records. If it is given without them, an error explains it.
        self.known_keys |= {sc.name + SIZE_SUFFIX for sc in fields if getattr(sc.subcon, "kind", None) == "records"}

    def __repr__(self) -> str:
        return self.text()

    def text(self, *options: str) -> str:
        """Return the struct as an expression, a line a field."""
        rows = [f'"{sc.name}" / {sc.subcon!r}' for sc in self.subcons]
        if self.tags:
            rows.append(repr(self.tags))
        lines = "".join(f"{row},\n" for row in (*rows, *options))
        return f"Struct(\n{textwrap.indent(lines, '    ')})" if lines else "Struct()"

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        value = {sc.name: sc._parsereport(stream, context, path) for sc in self.subcons}
        return value | self.tags._parse(stream, context, path) if self.tags else value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self._check_keys(obj, field_path(path))
        for sc in self.subcons:
            if sc.name not in obj:
                raise EncodeError(_missing(sc, obj), path=field_path(f"{path} -> {sc.name}"))
            sc._build(obj[sc.name], stream, context, path)
        if self.tags:
            self.tags._build(obj, stream, context, path)
        return obj

    def _check_keys(self, obj: Any, path: str) -> None:
        if not isinstance(obj, dict):
            raise EncodeError(f"a struct takes an object, not {json_kind(obj)}", path=path, value=obj)
        if obj.keys() - self.known_keys:
            self._refuse_strangers(obj, path)

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


class Choice(construct.Construct):
    """A field whose form or presence depends on bits of an earlier field of the same struct.

    Args:
        attributes: The name of that field, an integer of fixed size at a fixed place after the struct's size.
        mask: The bits that count, in its lowest byte.
        forms: The form of the field by the value of these bits.
        otherwise: The form for other values; None if the field is absent. An absent field is not in the struct's value.

    """

    def __init__(self, attributes: str, mask: int, forms: Mapping[int, Any], otherwise: Any = None) -> None:
        super().__init__()
        self.attributes = attributes
        self.mask = mask
        self.forms = forms
        self.otherwise = otherwise

    def __repr__(self) -> str:
        forms = [f"{value}: {form!r}" for value, form in self.forms.items()]
        if self.otherwise is not None:
            forms.append(f"otherwise: {self.otherwise!r}")
        bits = "" if self.mask == -1 else f" & 0x{self.mask:02x}"
        return f"Choice({self.attributes}{bits}, {', '.join(forms)})"

    def form(self, value: Mapping[str, Any]) -> Any:
        """Return the form of the field in a struct with these values, or None if it is absent."""
        return self.forms.get(value[self.attributes] & self.mask, self.otherwise)

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)


class SizedStruct(MessageStruct):
    """A struct in which the field named `size` is the number of bytes that follow it. On building it may be left out;
    given, it has to be true.
    """

    def __init__(self, fields: Sequence[Any], size: str) -> None:
        super().__init__(fields, None, {})
        self.at = [sc.name for sc in fields].index(size)
        self.size = fields[self.at]

    def __repr__(self) -> str:
        return self.text(f'size="{self.size.name}"')

    def _parse(self, stream: Any, context: Any, path: str) -> dict[str, Any]:
        value: dict[str, Any] = {}
        outer = context.get(END)
        for sc in self.subcons:
            form = sc.subcon.form(value) if isinstance(sc.subcon, Choice) else sc.subcon
            if form is not None:
                value[sc.name] = form._parse(stream, context, f"{path} -> {sc.name}")
            if sc is self.size:
                context[END] = construct.stream_tell(stream, path) + value[sc.name]
        context[END] = outer
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self._check_keys(obj, field_path(path))
        for sc in self.subcons[: self.at]:
            self._build_field(sc, obj, stream, context, path)
        content = io.BytesIO()
        for sc in self.subcons[self.at + 1 :]:
            self._build_field(sc, obj, content, context, path)
        data = content.getvalue()
        size = obj.get(self.size.name)
        # lossless encoding has to be able to write what a faulty peer wrote
        if size is None or (size != len(data) and not context.get("lenient")):
            if size is not None:
                raise EncodeError(
                    f"{len(data)} bytes follow", path=field_path(f"{path} -> {self.size.name}"), value=size
                )
            size = len(data)
        self.size.subcon._build(size, stream, context, f"{path} -> {self.size.name}")
        construct.stream_write(stream, data, len(data), path)
        return obj

    def _build_field(self, sc: Any, obj: dict[str, Any], stream: Any, context: Any, path: str) -> None:
        where = f"{path} -> {sc.name}"
        form = sc.subcon
        if isinstance(form, Choice):
            form = form.form(obj)
            if form is None:
                if obj.get(sc.name) is not None:
                    raise EncodeError(
                        f"this struct has no such field by its {sc.subcon.attributes}",
                        path=field_path(where),
                        value=obj[sc.name],
                    )
                return
        if sc.name not in obj:
            raise EncodeError(FIELD_MISSING, path=field_path(where))
        form._build(obj[sc.name], stream, context, where)


class Series(construct.Construct):
    """Consecutive elements without a count, up to the end of `size`, an integer before them.

    Without `size` they end with the enclosing struct's size, or with the bytes. An element has at least one byte.
    """

    def __init__(self, element: Any, size: Any = None) -> None:
        super().__init__()
        self.element = element
        self.size = size

    def __repr__(self) -> str:
        return f"Series({self.element!r}{'' if self.size is None else f', size={self.size!r}'})"

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any]:
        if self.size is not None:
            size = self.size._parse(stream, context, path)
            end = construct.stream_tell(stream, path) + size
        elif (end := context.get(END)) is None:
            at = construct.stream_tell(stream, path)
            end = construct.stream_seek(stream, 0, 2, path)
            construct.stream_seek(stream, at, 0, path)
        out: list[Any] = []
        while construct.stream_tell(stream, path) < end:
            out.append(self.element._parse(stream, context, f"{path} -> [{len(out)}]"))
        return out

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, list | tuple):
            raise EncodeError(f"a series takes a list, not {json_kind(obj)}", path=field_path(path), value=obj)
        content = io.BytesIO()
        for i, item in enumerate(obj):
            self.element._build(item, content, context, f"{path} -> [{i}]")
        data = content.getvalue()
        if self.size is not None:
            self.size._build(len(data), stream, context, path)
        construct.stream_write(stream, data, len(data), path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)


class Rest(construct.Construct):
    """Bytes without a separate length: all remaining bytes of the struct's size except the last `keep`. They are base64
    text in JSON form; `bytes` are written unchanged.
    """

    def __init__(self, kind: str = "bytes", keep: int = 0) -> None:
        super().__init__()
        self.kind = kind
        self.keep = keep

    def __repr__(self) -> str:
        return f"Rest({f'keep={self.keep}' if self.keep else ''})"

    def _parse(self, stream: Any, context: Any, path: str) -> str:
        length = context[END] - self.keep - construct.stream_tell(stream, path)
        return self.read(construct.stream_read(stream, max(length, 0), path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        try:
            data = obj if isinstance(obj, bytes) else base64.b64decode(obj, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise EncodeError(f"{self.kind} takes base64 text", path=field_path(path), value=obj) from None
        construct.stream_write(stream, data, len(data), path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)

    def read(self, data: Any) -> str:
        """Return the JSON form of these bytes."""
        return base64.b64encode(data).decode("ascii")


def fields(**kinds: Any) -> list[Any]:
    """Return named fields in this order: a construct each, or the name of a type of fixed size."""
    return [name / (FIXED[kind] if isinstance(kind, str) else kind) for name, kind in kinds.items()]


def plain(**kinds: Any) -> MessageStruct:
    """Return a struct of these fields."""
    return MessageStruct(fields(**kinds), None, {})


def sized(size: str, /, **kinds: Any) -> SizedStruct:
    """Return a struct of these fields, whose field `size` counts the bytes after it."""
    return SizedStruct(fields(**kinds), size)


def series(name: str, element: Any) -> MessageStruct:
    """Return a struct that only contains a series up to the end of the bytes, for a job of the kernel."""
    return MessageStruct([name / Series(element)], None, {})


def offset_of(decl: Any, name: str) -> int:
    """Return the offset at which a field begins, if all fields before it have a fixed size.

    Raises:
        construct.SizeofError: A field before it has no fixed size.
        KeyError: There is no field of this name.

    """
    at = 0
    for sc in decl.subcons:
        if sc.name == name:
            return at
        at += sc.sizeof()
    raise KeyError(name)
