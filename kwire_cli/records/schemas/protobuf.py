"""Protobuf values as JSON: by descriptors and .proto files, with the message that the bytes name.

Fields have the names of the schema. 64-bit integers are numbers, bytes are base64 text, and well-known types have
the form of Protobuf's own JSON.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_database,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    json_format,
    message_factory,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    unknown_fields,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError

from kwire_cli.errors import InputError, counted
from kwire_cli.records.schemas.model import UnfitError, Value
from kwire_cli.records.schemas.plain import finite
from kwire_cli.records.schemas.proto_files import compile_proto, imports_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cli.records.schemas.model import Schema

WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        any_pb2, api_pb2, duration_pb2, empty_pb2, field_mask_pb2, source_context_pb2, struct_pb2, timestamp_pb2,
        type_pb2, wrappers_pb2, descriptor_pb2,
    )
}  # fmt: skip
"""Protobuf's own files, by the name that schemas import."""
CONFLUENT = {
    "confluent/meta.proto": (
        'syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";'
        "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }"
        "extend google.protobuf.FileOptions { Meta file_meta = 1088; }"
        "extend google.protobuf.MessageOptions { Meta message_meta = 1088; }"
        "extend google.protobuf.FieldOptions { Meta field_meta = 1088; }"
        "extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }"
        "extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }"
    ),
    "confluent/type/decimal.proto": (
        'syntax = "proto3"; package confluent.type;'
        "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
}
"""The files that schemas in Confluent's registry import without a reference."""
MAX_INDEXES = 100
MOST_FILES = 2_000
"""The most files of a schema with its imports. Protobuf's library crashes if tens of thousands import each other."""
INT32 = 5
"""The most bytes of a varint of 32 bits."""
MOST_VALUES = 32
"""The most values per byte, absent fields included: an empty message is two bytes, and may have many fields."""
MIN_VALUES = 10_000


class Reader:
    """Reader of the messages of one schema."""

    def __init__(self, schema: Schema, used: Sequence[tuple[str, Schema]]) -> None:
        files, imported = _files_of(schema, dict(used))
        self._pool = _pool_of([*imported, *files], schema)
        try:
            found = [self._pool.FindFileByName(file.name) for file in files]
        except (TypeError, KeyError, ValueError) as error:
            reason = str(error).splitlines()[-1].strip()
            raise InputError(f"{schema.label} is not a Protobuf schema: {reason}", file=schema.file) from None
        self._messages: list[Any] = []
        for file in found:
            self._messages.extend(_ordered(file))
        if not self._messages:
            raise InputError(f"{schema.label} defines no message", file=schema.file)
        self._main = found[-1]
        self._names = {message.full_name: message for message in self._messages}
        self._makers: dict[str, Callable[..., Any]] = {}

    def named(self, name: str) -> Any:
        """Return the message with a full or short name, None if no message or several messages have the name."""
        if name in self._names:
            return self._names[name]
        short = [message for message in self._messages if message.name == name]
        return short[0] if len(short) == 1 else None

    @property
    def first(self) -> Any:
        """Return the first message of the schema."""
        return next(iter(self._main.message_types_by_name.values()), self._messages[0])

    def read(self, data: bytes, start: int, message: Any) -> Value:
        """Return a message in JSON form. UnfitError if the bytes do not fit."""
        maker = self._makers.get(message.full_name)
        if maker is None:
            maker = self._makers[message.full_name] = message_factory.GetMessageClass(message).FromString
        try:
            value = maker(data[start:] if start else data)
        except (DecodeError, RecursionError):
            raise UnfitError(f"the bytes are not a {message.full_name}") from None
        form = _Form(self._pool, max(MIN_VALUES, MOST_VALUES * len(data)))
        document = form.message(value)
        return Value(document, message.full_name, form.note)

    def by_indexes(self, data: bytes, start: int) -> tuple[Any, int]:
        """Return the message whose indexes Confluent writes before it, and where the message begins."""
        count, at = _zigzag(data, start)
        if count == 0:
            return self._at([0]), at
        if not 0 < count <= MAX_INDEXES:
            raise UnfitError(f"the value cannot have {count} message indexes")
        indexes = []
        for _ in range(count):
            index, at = _zigzag(data, at)
            indexes.append(index)
        return self._at(indexes), at

    def _at(self, indexes: Sequence[int]) -> Any:
        messages: list[Any] = list(self._main.message_types_by_name.values())
        for depth, index in enumerate(indexes):
            if not 0 <= index < len(messages):
                raise UnfitError(f"the schema has no message with the indexes {', '.join(map(str, indexes))}")
            if depth == len(indexes) - 1:
                return messages[index]
            messages = list(messages[index].nested_types)
        raise UnfitError("the value has no message indexes")


def _ordered(file: Any) -> Iterable[Any]:
    waiting = [*file.message_types_by_name.values()]
    while waiting:
        message = waiting.pop(0)
        yield message
        waiting += message.nested_types


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number, at = _number(data, at)
    return (number >> 1) ^ -(number & 1), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint of 32 bits. Return the number, and where it ends."""
    number = 0
    for place, byte in enumerate(data[at : at + INT32]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise UnfitError("a number ends early")


# Descriptors.


def _files_of(schema: Schema, used: dict[str, Schema]) -> tuple[list[Any], list[Any]]:
    """Return the files of a schema, the main file last, and the files that they import."""
    own = _described(schema)
    sources: dict[str, str] = {}
    descriptors: list[Any] = []
    seen = {*WELL_KNOWN, *(file.name for file in own or ())}
    waiting = imports_of(str(schema.text)) if own is None else _imports(own)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        described = _described(used[name]) if name in used else None
        if described is not None:
            described[-1].name = name
            descriptors += described
            waiting += _imports(described)
        elif name in used or name in CONFLUENT:
            sources[name] = str(used[name].text) if name in used else CONFLUENT[name]
            waiting += imports_of(sources[name])
    if own is None:
        *imported, main = compile_proto(schema, str(schema.text), sources, descriptors)
        return [main], imported
    if not sources:
        return own, descriptors
    text = "".join(f'import "{file.name}";' for file in own)
    return own, compile_proto(schema, text, sources, [*descriptors, *own])[:-1]


def _imports(files: list[Any]) -> list[str]:
    imports: list[str] = []
    for file in files:
        imports.extend(file.dependency)
    return imports


def _described(schema: Schema) -> list[Any] | None:
    """Return the files of a descriptor set or of a base64 descriptor, or None for a .proto file.

    Confluent's clients for Python and .NET register descriptors in base64.
    """
    data = schema.text
    try:
        if isinstance(data, str):
            data = base64.b64decode(data.strip(), validate=True)
            files = [descriptor_pb2.FileDescriptorProto.FromString(data)]
        else:
            files = list(descriptor_pb2.FileDescriptorSet.FromString(data).file)
    except ValueError:
        return None
    except DecodeError:
        files = []
    if not files or not all(file.name for file in files):
        raise InputError(f"{schema.label} is not a descriptor set", file=schema.file)
    return files


def _pool_of(files: list[Any], schema: Schema) -> Any:
    """Return a pool with these files and Protobuf's own."""
    by_name = {name: descriptor_pb2.FileDescriptorProto.FromString(data) for name, data in WELL_KNOWN.items()}
    by_name.update((file.name, file) for file in files)
    if len(by_name) > MOST_FILES:
        raise InputError(f"{schema.label} has more than {MOST_FILES} files with its imports", file=schema.file)
    for name in _imports(files):
        if name not in by_name:
            reason = f"{schema.label} imports {name}, which is missing: --schemas takes its folder"
            raise InputError(reason, file=schema.file)
    database = descriptor_database.DescriptorDatabase()
    for file in by_name.values():
        database.Add(file)
    return descriptor_pool.DescriptorPool(database)


# Messages as JSON.


class _Form:
    """The JSON form of messages, with a limit on the number of values."""

    def __init__(self, pool: Any, left: int) -> None:
        self._pool = pool
        self._left = left
        self._unknown = 0
        self._missing: dict[str, None] = {}

    @property
    def note(self) -> str:
        """Return how the messages violate their schema, empty if they do not."""
        notes = []
        if self._missing:
            verb = "field is" if len(self._missing) == 1 else "fields are"
            notes.append(f"required {verb} missing: {', '.join(self._missing)}")
        if self._unknown:
            notes.append(f"{counted(self._unknown, 'field is', 'fields are')} not in the schema")
        return "; ".join(notes)

    def message(self, message: Any) -> Any:
        descriptor = message.DESCRIPTOR
        if descriptor.file.name in WELL_KNOWN:
            return self._well_known(message)
        self._unknown += len(unknown_fields.UnknownFieldSet(message))
        out = {}
        for field in descriptor.fields:
            if field.has_presence and not message.HasField(field.name):
                if field.is_required:
                    self._missing[field.full_name] = None
                continue
            self._left -= 1
            if self._left < 0:
                raise UnfitError("the message has far more values than bytes")
            out[field.name] = self._field(field, getattr(message, field.name))
        for field, value in message.ListFields() if descriptor.is_extendable else ():
            if field.is_extension:
                out[f"[{field.full_name}]"] = self._field(field, value)
        return out

    def _field(self, field: Any, value: Any) -> Any:
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            of = entry.fields_by_name["value"]
            # Read each value of a map by its key: iterating over values would create missing ones.
            pairs = sorted(((key, value[key]) for key in value), key=lambda pair: str(pair[0]))
            return {_key(key): self._value(of, part) for key, part in pairs}
        if field.is_repeated:
            return [self._value(field, part) for part in value]
        return self._value(field, value)

    def _value(self, field: Any, value: Any) -> Any:
        self._left -= 1
        kind = field.cpp_type
        if kind == field.CPPTYPE_MESSAGE:
            return self.message(value)
        if kind == field.CPPTYPE_ENUM:
            known = field.enum_type.values_by_number.get(value)
            return known.name if known else value
        if field.type == field.TYPE_BYTES:
            return base64.b64encode(value).decode("ascii")
        return finite(value) if isinstance(value, float) else value

    def _well_known(self, message: Any) -> Any:
        try:
            return json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=self._pool)
        except (json_format.Error, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            # An Any of an unknown schema, or an invalid Timestamp.
            return {field.name: self._field(field, value) for field, value in message.ListFields()}


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
