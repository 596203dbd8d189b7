"""Schemas from inputs, and formats of keys and values.

Schemas come from files, or from the records of a `_schemas` topic in a log folder or a segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.records.batch import Batch
from kwire_cli.records.schemas.files import read_files, schema_files
from kwire_cli.records.schemas.redact import FieldRedaction
from kwire_cli.records.schemas.registry import SCHEMAS_TOPIC, SchemasTopic
from kwire_cli.records.schemas.serdes import Serdes, serde_of
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog
from kwire_cli.stores.paths import exists, path_of

__all__ = ["schemas_at", "serdes", "serdes_from"]

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from kwire_cli.records.schemas.model import Schema, Serde


def schemas_at(places: Iterable[str], how: Reading) -> list[Schema]:
    """Return the schemas at places: files, folders of files, and inputs with records of a `_schemas` topic.

    InputError for a place without schemas.
    """
    schemas: list[Schema] = []
    for place in places:
        path = path_of(place)
        if not path.exists():
            raise InputError("no such file or folder of schemas", file=place)
        files = schema_files(path)
        found = read_files(files) if files else _of_records(place, how)
        if not found:
            raise InputError(
                "no schemas found: give schema files, responses of a registry, or a _schemas topic", file=place
            )
        schemas += found
    return schemas


def _of_records(place: str, how: Reading) -> list[Schema]:
    """Return the schemas in the records of a log folder or a segment that may belong to a `_schemas` topic."""
    topic = SchemasTopic()
    for opened in open_inputs((place,), how):
        for file in opened.files() if isinstance(opened, LogInput) else ():
            if file.has_batches and file.topic in (SCHEMAS_TOPIC, None):
                for item in file.items(file.source(how), opened.caller):
                    if isinstance(item, Batch) and not item.head.control:
                        for record in item.records():
                            topic.add(record.key, record.value, f"{file.label} offset {record.offset}")
    return topic.schemas


# The formats of keys and values.


def serdes_from(
    how: Reading,
    schemas: Iterable[str],
    *,
    key: str | None,
    value: str | None,
    redact: Iterable[str],
) -> Serdes:
    """Return the formats of keys and values, with the schemas at places and the schema files that the formats name.

    InputError for an invalid format, schema or field.
    """
    key_format = None if key is None else serde_of(key)
    value_format = None if value is None else serde_of(value)
    found = schemas_at(schemas, how)
    store = SchemaStore(found)
    named = {name for serde in (key_format, value_format) for name in _files_of(serde, store)}
    if named:
        store = SchemaStore([*found, *schemas_at(sorted(named), how)])
    formats = Serdes(store, key_format, value_format, FieldRedaction.of(redact))
    formats.check()
    return formats


def serdes(
    *schemas: str | os.PathLike[str],
    key: str | None = None,
    value: str | None = None,
    redact: Iterable[str] = (),
) -> Serdes:
    """Return the formats in which applications wrote keys and values, for `read_records`, `read_frames` and `open`.

    `schemas` are files, folders, responses of a registry or a `_schemas` topic. `key` and `value` are formats such as
    "avro" or "protobuf:order.proto", and `redact` are fields to hide, such as "value.card.*" (docs/schemas.md).

    Raises:
        InputError: A format, schema or field is invalid, a file cannot be read, or a package of `kwire[schemas]` is
            missing.

    """
    return serdes_from(Reading(catalog=catalog()), map(str, schemas), key=key, value=value, redact=redact)


def _files_of(serde: Serde | None, store: SchemaStore) -> Iterator[str]:
    """Yield the schemas of a format that name files, unless the store has a schema of this name."""
    if serde and serde.schema and exists(serde.schema) and not store.has(serde.schema):
        yield serde.schema
