"""Avro values as JSON, read by fastavro with logical types of kwire's own.

They replace the logical types of a schema, so that no number is too large for a Python type, and they give bytes and
numbers that JSON lacks their JSON form.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from uuid import UUID

import fastavro
from fastavro import _read_py
from fastavro.schema import SchemaParseException, UnknownType

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.avro_bounds import Names, nests
from kwire_cli.records.schemas.model import MOST_REASON, UnfitError, Value
from kwire_cli.records.schemas.plain import DEEPEST, depth_of, document_of, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.records.schemas.model import Reader, Schema

OWN = "kwire-"
"""The beginning of the names of kwire's logical types."""
DAY_ZERO = datetime(1970, 1, 1)  # noqa: DTZ001 - of UTC or of nowhere: the text says which
_UNREADABLE = (EOFError, IndexError, KeyError, ValueError, TypeError, OverflowError, AttributeError)
_TOO_DEEP = f"the value nests more than {DEEPEST} levels deep"


def reader_of(schema: Schema, used: Sequence[Schema], files: Sequence[Schema]) -> Reader:
    """Return the reader of values of an Avro schema. `used` are the schemas that it refers to, dependencies first.

    `files` are schemas without declared references, which may define missing types. InputError if a schema is invalid.
    """
    names: Names = {}
    written = _parsed(schema, used, names, files)
    try:
        return _Reader(written, names)
    except ValueError as error:
        raise InputError(f"{schema.label}: {error}", file=schema.file) from None


class _Reader:
    """Reader of values of one schema."""

    def __init__(self, written: Any, names: Names) -> None:
        self._written = written
        self._nests = nests(written, names)
        self._read = _read_py.schemaless_reader if self._nests else fastavro.schemaless_reader
        self._has_unions = any(_has_union(schema) for schema in (written, *names.values()))
        self._type = written.get("name", "") if isinstance(written, dict) else ""

    def __call__(self, data: bytes, start: int) -> Value:
        file = BytesIO(data)
        file.seek(start)
        try:
            value = self._read(file, self._written, return_named_type=True, return_named_type_override=True)
            if file.tell() != len(data):
                raise UnfitError(
                    f"the last {len(data) - file.tell()} of the {len(data) - start} bytes are not part of the value"
                )
        except RecursionError:
            raise UnfitError(_TOO_DEEP) from None
        except _UNREADABLE as error:
            raise UnfitError(_reason(error, file.tell(), len(data))) from None
        value = _labelled(value) if self._has_unions else value
        if self._nests and depth_of(value) > DEEPEST:
            raise UnfitError(_TOO_DEEP)
        return Value(value, self._type)


def _reason(error: Exception, at: int, size: int) -> str:
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
    """Return a schema with kwire's logical types for all values that JSON lacks."""
    if isinstance(schema, list):
        return [_renamed(branch) for branch in schema]
    if isinstance(schema, str):
        return {"type": schema, "logicalType": OWN} if (schema, "") in _LOGICAL else schema
    if not isinstance(schema, dict):
        return schema
    out = {key: _renamed(part) if key in {"items", "values"} else part for key, part in schema.items()}
    kind = schema.get("type")
    if isinstance(out.get("fields"), list):
        out["fields"] = [_with_renamed_type(field) for field in out["fields"]]
    if not isinstance(kind, str):
        return {**out, "type": _renamed(kind)}
    name = out.pop("logicalType", "")
    known = name if isinstance(name, str) and (kind, name) in _LOGICAL else ""
    return {**out, "logicalType": OWN + known} if known or (kind, "") in _LOGICAL else out


def _with_renamed_type(field: Any) -> Any:
    return {**field, "type": _renamed(field["type"])} if isinstance(field, dict) and "type" in field else field


# Unions of several named types: fastavro names the branch of such a value, and JSON does too.


def _has_union(schema: Any) -> bool:
    """Return whether a schema contains a union of several types."""
    if isinstance(schema, list):
        return len([branch for branch in schema if branch != "null"]) > 1 or any(map(_has_union, schema))
    if not isinstance(schema, dict):
        return False
    parts = [schema[key] for key in ("type", "items", "values") if key in schema]
    return any(map(_has_union, parts)) or any(_has_union(field["type"]) for field in schema.get("fields", ()))


def _labelled(value: Any) -> Any:
    """Return a value with the name of its type, without the namespace, around each value of such a union."""
    if isinstance(value, tuple):
        name, inner = value
        return {name.rpartition(".")[2]: _labelled(inner)}
    if isinstance(value, dict):
        return {key: _labelled(part) for key, part in value.items()}
    return [_labelled(part) for part in value] if isinstance(value, list) else value


# Logical types. A value that its logical type cannot represent, such as a day after the year 9999, stays a number.
# fastavro calls these functions with a value, its schema, and the schema of the reader, which is None.


def _base64(value: bytes, *_: Any) -> str:
    return base64.b64encode(value).decode("ascii")


def _finite(value: float, *_: Any) -> float | str:
    return finite(value)


def _decimal(value: bytes, schema: dict[str, Any], _: Any) -> str:
    number = int.from_bytes(value, signed=True)
    scale = schema.get("scale", 0)
    if scale not in _SCALES or number.bit_length() > 8192:
        return _base64(value)  # Python limits the length of numbers as text
    if scale == 0:
        return str(number)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _moment(unit: int, zone: str, value: int, *_: Any) -> str | int:
    seconds, part = divmod(value, unit)
    try:
        moment = DAY_ZERO + timedelta(seconds=seconds)
    except OverflowError:
        return value
    return f"{moment.isoformat()}.{str(unit + part)[1:]}{zone}"


def _date(value: int, *_: Any) -> str | int:
    try:
        return (DAY_ZERO + timedelta(days=value)).date().isoformat()
    except OverflowError:
        return value


def _time(unit: int, value: int, *_: Any) -> str | int:
    seconds, part = divmod(value, unit)
    if not 0 <= seconds < 86400:
        return value
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{str(unit + part)[1:]}"


def _uuid(value: bytes, *_: Any) -> str:
    return str(UUID(bytes=value)) if len(value) == 16 else _base64(value)


def _duration(value: bytes, *_: Any) -> dict[str, int]:
    months, days, millis = (int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8))
    return {"months": months, "days": days, "milliseconds": millis}


_SCALES = range(10_001)
"""Scales of decimals that are converted. Decimals of other scales are shown as base64."""
_LOGICAL: dict[tuple[str, str], Callable[..., Any]] = {
    ("bytes", ""): _base64,
    ("fixed", ""): _base64,
    ("float", ""): _finite,
    ("double", ""): _finite,
    ("bytes", "decimal"): _decimal,
    ("fixed", "decimal"): _decimal,
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
"""The JSON form of values by their type and logical type; without a logical type for values that JSON lacks."""
fastavro.read.LOGICAL_READERS.update({f"{kind}-{OWN}{name}": form for (kind, name), form in _LOGICAL.items()})
