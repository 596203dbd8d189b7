"""Schemas from files: .avsc, .proto, .json, descriptor sets, and responses of registries.

The name of a file is the id or the subject of its schema if the file itself names neither.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, Schema
from kwire_cli.records.schemas.plain import document_of
from kwire_cli.records.schemas.registry import of_answers
from kwire_cli.stores.opening import tree
from kwire_cli.stores.paths import location

if TYPE_CHECKING:
    from kwire_cli.stores.paths import Place

SUFFIXES = (".avsc", ".proto", ".json", ".jsonschema", ".desc", ".pb")
LARGEST = 64 << 20
"""The most bytes of a schema file."""
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_VERSION = re.compile(r"(?P<subject>.+)[@.-]v?(?P<version>\d{1,9})")
_AVRO_TYPES = frozenset({"record", "enum", "fixed", "array", "map", "error"})


def is_schema_file(path: Place) -> bool:
    """Return whether a file may contain schemas, by its name."""
    return path.name.lower().endswith(SUFFIXES)


def schema_files(path: Place) -> list[Place]:
    """Return the schema files at a path: the file itself, or the files in a folder and its subfolders."""
    if path.is_dir():
        return [file for file in tree(path).files() if is_schema_file(file)]
    return [path] if is_schema_file(path) else []


def read_files(files: list[Place]) -> list[Schema]:
    """Return the schemas in files. InputError for a file that cannot be read."""
    schemas: list[Schema] = []
    for file in files:
        schemas += _of_file(location(file), _contents(file))
    return schemas


def _contents(file: Place) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=location(file)) from None
    if len(data) > LARGEST:
        raise InputError(f"the file is too large: a schema file has at most {LARGEST >> 20} MiB", file=location(file))
    return data


def _of_file(name: str, data: bytes) -> list[Schema]:
    base = name.replace("\\", "/").rpartition("/")[2]
    stem, _, suffix = base.rpartition(".")
    suffix = suffix.lower()
    if suffix in ("desc", "pb"):
        return [_named(Schema(PROTOBUF, data, name), stem)]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text at byte {error.start}", file=name) from None
    if suffix == "proto":
        return [_named(Schema(PROTOBUF, text, name), stem)]
    document = _json(text, name)
    number = int(stem) if stem.isascii() and stem.isdecimal() else None
    if suffix == "json" and (schemas := of_answers(document, name, number)):
        return schemas
    kind = JSON_SCHEMA if suffix == "jsonschema" or (suffix == "json" and not _is_avro(document)) else AVRO
    return [_named(Schema(kind, text, name), stem.removesuffix(".schema"))]


def _json(text: str, name: str) -> Any:
    try:
        return document_of(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", file=name, line=error.lineno, column=error.colno) from None
    except ValueError as error:
        raise InputError(str(error), file=name) from None


def _is_avro(document: Any) -> bool:
    if isinstance(document, list):
        return True
    if not isinstance(document, dict) or "$schema" in document:
        return isinstance(document, str)
    kind = document.get("type")
    return kind in _AVRO_TYPES and not (
        kind == "array" and isinstance(document.get("items"), dict) and "$ref" in document["items"]
    )


def _named(schema: Schema, stem: str) -> Schema:
    """Return a schema with the id, UUID or subject in the name of its file."""
    kind = schema.kind
    text = schema.text
    file = schema.file
    if stem.isascii() and stem.isdecimal() and len(stem) < 20:
        return Schema(kind, text, file, int(stem))
    if _GUID.fullmatch(stem):
        return Schema(kind, text, file, guid=stem.lower())
    if match := _VERSION.fullmatch(stem):
        return Schema(kind, text, file, subject=match["subject"], version=int(match["version"]))
    return Schema(kind, text, file, subject=stem)
