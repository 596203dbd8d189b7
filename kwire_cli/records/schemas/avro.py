"""Avro values as JSON: fastavro reads them, then logical types, bytes and numbers that JSON lacks are converted.

fastavro gets the schema without its logical types, so that no number is too large for a Python type. Only values
whose schema needs a conversion are converted.
"""

from __future__ import annotations

import base64
from copy import deepcopy
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.avro_bounds import Names, check_bounds, is_unbounded
from kwire_cli.records.schemas.model import MOST_REASON, UnfitError, Value, each
from kwire_cli.records.schemas.plain import document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.records.schemas.model import Reader, Schema

    Convert = Callable[[Any], Any]

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
LOGICAL_TYPE = "kwireLogicalType"
"""The name under which a parsed schema has logical types."""
DAY_ZERO = datetime(1970, 1, 1)  # noqa: DTZ001 - of UTC or of nowhere: the text says which
_UNREADABLE = (
    EOFError, IndexError, KeyError, ValueError, TypeError, OverflowError, RecursionError, AttributeError,
    fastavro.read.SchemaResolutionError,
)  # fmt: skip


def reader_of(
    schema: Schema, used: Sequence[Schema], read_as: tuple[Schema, Sequence[Schema]] | None, files: Sequence[Schema]
) -> Reader:
    """Return the reader of values of an Avro schema. `used` are the schemas that it refers to, dependencies first.

    `read_as` is the schema to which values are resolved, with the schemas that it refers to. `files` are schemas
    without declared references, which may define missing types. InputError if a schema is invalid.
    """
    names: Names = {}
    written = _parsed(schema, used, names, files)
    if read_as is None:
        return _Reader(written, names)
    read_names: Names = {}
    return _Reader(written, names, _parsed(*read_as, read_names, files), read_names)


class _Reader:
    """Reader of values of one schema, resolved to another schema if one is given."""

    def __init__(self, written: Any, names: Names, read: Any = None, others: Names | None = None) -> None:
        self._written = written
        self._names = names
        self._read = read
        self._is_unbounded = is_unbounded(written, names)
        shape, known = (written, names) if read is None else (read, others or {})
        self._convert = _conversion(shape, known, {})
        self._type = shape.get("name", "") if isinstance(shape, dict) else ""

    def __call__(self, data: bytes, start: int) -> Value:
        if self._is_unbounded:
            check_bounds(self._written, self._names, data, start)
        file = BytesIO(data)
        file.seek(start)
        try:
            value = fastavro.schemaless_reader(
                file, self._written, self._read, return_named_type=True, return_named_type_override=True
            )
            if file.tell() != len(data):
                raise UnfitError(
                    f"the last {len(data) - file.tell()} of the {len(data) - start} bytes are not part of the value"
                )
            if self._read is not None:
                value = deepcopy(value)  # defaults are the schema's own
            if self._convert:
                value = self._convert(value)
        except _UNREADABLE as error:
            raise UnfitError(_reason(error, file.tell(), len(data))) from None
        return Value(value, self._type)


def _reason(error: Exception, at: int, size: int) -> str:
    if isinstance(error, fastavro.read.SchemaResolutionError):
        return "the schema of the value cannot be resolved to the reader's schema"
    if isinstance(error, EOFError) or (isinstance(error, IndexError) and at >= size):
        return f"the value ends early, after {size} bytes"
    if isinstance(error, IndexError):
        return f"the number before byte {at} is of a branch or symbol that the schema lacks"
    if isinstance(error, UnicodeDecodeError):
        return f"the text before byte {at} is not UTF-8"
    return f"the bytes before byte {at} do not fit the schema"


# Schemas.


def _parsed(schema: Schema, used: Sequence[Schema], names: Names, files: Sequence[Schema]) -> Any:
    for other in used:
        _parse(other, names)
    waiting = [other for other in files if other is not schema]
    while True:
        try:
            return _parse(schema, names)
        except UnknownType as error:
            # Another file may define the type, and may need further files itself.
            added = False
            for other in [*waiting]:
                trial = dict(names)
                try:
                    _parse(other, trial)
                except (InputError, UnknownType):
                    continue
                if trial.keys() - names.keys():
                    names.update(trial)
                    waiting.remove(other)
                    added = True
            if not added:
                reason = f"{schema.label} uses the type {error.name}, which no schema defines"
                raise InputError(reason, file=schema.file) from None


def _parse(schema: Schema, names: Names) -> Any:
    """Parse a schema. Its logical types are renamed, so that fastavro does not apply them."""
    known = dict(names)
    try:
        return fastavro.parse_schema(_renamed(document_of(schema.text)), named_schemas=names)
    except UnknownType:
        names.clear()
        names.update(known)
        raise
    except (SchemaParseException, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = str(error)[:MOST_REASON]
        raise InputError(f"{schema.label} is not an Avro schema: {reason}", file=schema.file) from None


def _renamed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_renamed(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: _renamed(part) if key in {"type", "items", "values", "fields"} else part for key, part in schema.items()
    }
    if "logicalType" in out:
        out[LOGICAL_TYPE] = out.pop("logicalType")
    return out


# Conversions: None if fastavro's value is JSON already.


def _conversion(schema: Any, names: Names, known: dict[str, list[Convert | None]]) -> Convert | None:
    """Return the conversion of a schema's values to JSON. `known` are the conversions of named types, empty while a
    conversion is being made.
    """
    if isinstance(schema, list):
        return _of_union(schema, names, known)
    if isinstance(schema, str):
        if schema in PRIMITIVES:
            return _PRIMITIVE.get(schema)
        return _of_named(names[schema], names, known)
    kind = schema["type"]
    if not isinstance(kind, str):
        return _conversion(kind, names, known)
    logical = _logical(kind, schema)
    if logical:
        return logical
    if kind in {"record", "error", "enum", "fixed"}:
        return _of_named(schema, names, known)
    if kind == "array":
        inner = _conversion(schema["items"], names, known)
        return inner and each(inner)
    if kind == "map":
        inner = _conversion(schema["values"], names, known)
        return inner and partial(_map, inner)
    return _conversion(kind, names, known)


def _map(inner: Convert, values: dict[str, Any]) -> dict[str, Any]:
    return {key: inner(value) for key, value in values.items()}


def _of_named(schema: dict[str, Any], names: Names, known: dict[str, list[Convert | None]]) -> Convert | None:
    kind, name = schema["type"], schema["name"]
    if kind in {"enum", "fixed"}:
        return _logical(kind, schema) or (_base64 if kind == "fixed" else None)
    if name in known:
        waiting = known[name]
        return waiting[0] if waiting else partial(_later, waiting)
    done: list[Convert | None] = []
    known[name] = done
    parts = [
        (field["name"], convert)
        for field in schema["fields"]
        if (convert := _conversion(field["type"], names, known)) is not None
    ]

    def record(value: dict[str, Any]) -> dict[str, Any]:
        for field, convert in parts:
            value[field] = convert(value[field])
        return value

    done.append(record if parts else None)
    return done[0]


def _optional(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _later(done: list[Convert | None], value: Any) -> Any:
    """Convert a value of a type that contains itself."""
    convert = done[0]
    return convert(value) if convert else value


def _of_union(branches: list[Any], names: Names, known: dict[str, list[Convert | None]]) -> Convert | None:
    """Return the conversion of a union. A union of null and one other type has the conversion of this type."""
    others = [branch for branch in branches if branch != "null"]
    conversions = [_conversion(branch, names, known) for branch in others]
    if len(others) <= 1:
        convert = conversions[0] if conversions else None
        return convert and partial(_optional, convert)
    resolved = [names.get(branch, branch) if isinstance(branch, str) else branch for branch in others]
    named = {
        branch["name"]: convert
        for branch, convert in zip(resolved, conversions, strict=True)
        if isinstance(branch, dict) and "name" in branch
    }
    short = {name: name.rpartition(".")[2] for name in named}
    labels = short if len({*short.values()}) == len(short) else {name: name for name in named}
    if not any(conversions) and len(named) < 2:
        return None
    by_type: dict[type, Convert | None] = {}
    for branch, convert in zip(resolved, conversions, strict=True):
        by_type.setdefault(_PYTHON[branch["type"] if isinstance(branch, dict) else branch], convert)

    def union(value: Any) -> Any:
        if isinstance(value, tuple):  # fastavro names the branch if several have names
            name, value = value
            convert = named.get(name)
            return {labels[name]: convert(value) if convert else value}
        convert = by_type.get(type(value))
        return convert(value) if convert else value

    return union


_PYTHON: dict[str, type] = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes, "string": str,
    "record": dict, "error": dict, "enum": str, "fixed": bytes, "array": list, "map": dict,
}  # fmt: skip


def _base64(value: bytes | str) -> str:
    """Return bytes as base64 text. In the default of a field, bytes are text with one character per byte."""
    return base64.b64encode(_bytes(value)).decode("ascii")


def _bytes(value: bytes | str) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else value


def _finite(value: float) -> float | str:
    return value if value - value == 0 else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]


_PRIMITIVE: dict[str, Convert] = {"bytes": _base64, "float": _finite, "double": _finite}


# Logical types. A value that its logical type cannot represent, such as a day after the year 9999, stays a number.


def _logical(kind: Any, schema: dict[str, Any]) -> Convert | None:
    name = schema.get(LOGICAL_TYPE)
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    if name == "decimal" and kind in {"bytes", "fixed"} and schema.get("scale", 0) in _SCALES:
        return partial(_decimal, schema.get("scale", 0))
    make = _LOGICAL.get((kind, name))
    return _duration if make is _duration and schema.get("size") != 12 else make


def _decimal(scale: int, value: bytes | str) -> str:
    number = int.from_bytes(_bytes(value), signed=True)
    if number.bit_length() > 8192:
        return _base64(value)  # Python limits the length of numbers as text
    if scale <= 0:
        return str(number) + "0" * -scale
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _moment(unit: int, zone: str, value: int) -> str | int:
    seconds, part = divmod(value, unit)
    try:
        moment = DAY_ZERO + timedelta(seconds=seconds)
    except OverflowError:
        return value
    return f"{moment.isoformat()}.{str(unit + part)[1:]}{zone}"


def _date(value: int) -> str | int:
    try:
        return (DAY_ZERO + timedelta(days=value)).date().isoformat()
    except OverflowError:
        return value


def _time(unit: int, value: int) -> str | int:
    seconds, part = divmod(value, unit)
    if not 0 <= seconds < 86400:
        return value
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{str(unit + part)[1:]}"


def _uuid(value: bytes | str) -> str:
    data = _bytes(value)
    return str(UUID(bytes=data)) if len(data) == 16 else _base64(data)


def _duration(value: bytes | str) -> dict[str, int] | str:
    data = _bytes(value)
    months, days, millis = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    return {"months": months, "days": days, "milliseconds": millis}


_SCALES = range(10_001)
"""Scales of decimals that are converted. Decimals of other scales are shown as base64."""
_LOGICAL: dict[tuple[str, str], Convert] = {
    ("int", "date"): _date,
    ("int", "time-millis"): partial(_time, 1000),
    ("long", "time-micros"): partial(_time, 1_000_000),
    ("long", "timestamp-millis"): partial(_moment, 1000, "Z"),
    ("long", "timestamp-micros"): partial(_moment, 1_000_000, "Z"),
    ("long", "timestamp-nanos"): partial(_moment, 1_000_000_000, "Z"),
    ("long", "local-timestamp-millis"): partial(_moment, 1000, ""),
    ("long", "local-timestamp-micros"): partial(_moment, 1_000_000, ""),
    ("long", "local-timestamp-nanos"): partial(_moment, 1_000_000_000, ""),
    ("fixed", "uuid"): _uuid,
    ("fixed", "duration"): _duration,
}
