"""Parts of record formats, sizes of records, and the framings of compression."""

from __future__ import annotations

import base64
import binascii
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.errors import FIELD_MISSING, EncodeError, json_kind
from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.numbers import FIXED, field_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BATCH_KEYS = (
    "position",
    "size",
    "baseOffset",
    "lastOffset",
    "magic",
    "crc",
    "crcValid",
    "compression",
    "timestampType",
    "maxTimestamp",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "partitionLeaderEpoch",
    "isTransactional",
    "isControl",
    "deleteHorizonMs",
    "count",
)
"""The names of what a batch says before its records, in the order of JSON and csv."""
RECORD_KEYS = ("offset", "timestamp", "sequence", "keySize", "valueSize", "key", "value", "headers")
"""The same of a record."""

# What record formats are made of beyond what messages need: structs that a size bounds, series without a
# count, fields that attribute bits bring.
#
# A size counts the bytes after itself. Readers take the content's own end and not the size's, as with tagged
# fields; only what has no length of its own (a series, the rest) ends where the size says.

END = "region_end"
"""The key of construct's context under which the end of the innermost size stands while it is parsed."""


class Bits(NamedTuple):
    """A part of an attributes field: `width` bits from bit `shift` on, counted from 0; `names` are those of its values,
    as Kafka's tools say them.
    """

    name: str
    shift: int
    width: int
    names: Mapping[int, str]

    @property
    def mask(self) -> int:
        """The bits within the field."""
        return ((1 << self.width) - 1) << self.shift

    def read(self, attributes: int) -> int:
        """The value of these bits; negative attributes are two's complement."""
        return (attributes & self.mask) >> self.shift


def flag(name: str, shift: int) -> Bits:
    """One bit that says yes or no."""
    return Bits(name, shift, 1, {0: "false", 1: "true"})


LEGACY_COMPRESSION = Bits("compression", 0, 3, {0: "none", 1: "gzip", 2: "snappy", 3: "lz4"})
COMPRESSION = Bits("compression", 0, 3, {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"})
TIMESTAMP_TYPE = Bits("timestampType", 3, 1, {0: "CreateTime", 1: "LogAppendTime"})


class Choice(construct.Construct):
    """A field whose form, or whose being there at all, hangs on bits of an earlier field of the same struct.

    Args:
        attributes: The name of that field, an integer of fixed size at a fixed place behind the struct's size.
        mask: The bits that count, in its lowest byte.
        forms: What the field is for a value of these bits.
        otherwise: What it is for any other; None where it is absent. An absent field is not in the struct's value.

    """

    def __init__(self, attributes: str, mask: int, forms: Mapping[int, Any], otherwise: Any = None) -> None:
        super().__init__()
        self.attributes, self.mask, self.forms, self.otherwise = attributes, mask, forms, otherwise

    def form(self, value: Mapping[str, Any]) -> Any:
        """The construct that stands here in a struct with these values; None where none does."""
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
        if not isinstance(obj, dict):
            raise EncodeError(
                f"a struct takes an object, not {json_kind(obj)}",
                path=field_path(path),
                value=obj,
            )
        if obj.keys() - self.known_keys:
            self._refuse_strangers(obj, field_path(path))
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
                        f"the {sc.subcon.attributes} say that this struct has no such field",
                        path=field_path(where),
                        value=obj[sc.name],
                    )
                return
        if sc.name not in obj:
            raise EncodeError(FIELD_MISSING, path=field_path(where))
        form._build(obj[sc.name], stream, context, where)


class Series(construct.Construct):
    """Elements one after the other, without a count: up to the end of `size`, an integer before them, or else of what
    bounds the whole series.

    That is the size of the struct that it stands in, or the end of the bytes. An element has at least one byte.
    """

    def __init__(self, element: Any, size: Any = None) -> None:
        super().__init__()
        self.element, self.size = element, size

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
    """Bytes without a length of their own: all that are left of the struct's size, but for the last `keep`. Base64 text
    in JSON form.
    """

    def __init__(self, kind: str = "bytes", keep: int = 0) -> None:
        super().__init__()
        self.kind, self.keep = kind, keep

    def _parse(self, stream: Any, context: Any, path: str) -> str:
        length = context[END] - self.keep - construct.stream_tell(stream, path)
        return self.read(construct.stream_read(stream, max(length, 0), path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        try:
            data = base64.b64decode(obj, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise EncodeError(f"{self.kind} takes base64 text", path=field_path(path), value=obj) from None
        construct.stream_write(stream, data, len(data), path)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        raise construct.SizeofError("the size depends on the value", path=path)

    def read(self, data: Any) -> str:
        """The JSON form of these bytes."""
        return base64.b64encode(data).decode("ascii")


def fields(**kinds: Any) -> list[Any]:
    """Named fields in this order: a construct each, or the name of a type of fixed size."""
    return [name / (FIXED[kind] if isinstance(kind, str) else kind) for name, kind in kinds.items()]


def plain(**kinds: Any) -> MessageStruct:
    """A struct of these fields."""
    return MessageStruct(fields(**kinds), None, {})


def sized(size: str, **kinds: Any) -> SizedStruct:
    """A struct of these fields, of which one is the size of what follows it."""
    return SizedStruct(fields(**kinds), size)


def series(name: str, element: Any) -> MessageStruct:
    """A struct of nothing but a series up to the end of the bytes: what a job of the kernel runs over."""
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
