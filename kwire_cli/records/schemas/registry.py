"""Schemas from the records of a `_schemas` topic, and from the responses of registries.

Sources: Confluent's SchemaKey and SchemaValue, and the bodies of /schemas, /schemas/ids/N and /subjects/S/versions/N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, Reference, Schema
from kwire_cli.records.schemas.plain import document_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS_TOPIC = "_schemas"
KINDS = {"AVRO": AVRO, "PROTOBUF": PROTOBUF, "JSON": JSON_SCHEMA}
"""The types of schemas in registries. Confluent omits the type of Avro."""


class SchemasTopic:
    """The schemas in the records of a `_schemas` topic, by subject and version. Later records replace earlier ones.

    A deleted schema is kept, since records that were written with it may still exist.
    """

    def __init__(self) -> None:
        self._schemas: dict[tuple[str, int], Schema] = {}

    def add(self, key: bytes | None, value: bytes | None, file: str) -> None:
        """Add the schema in a record. Records of other topics and other records of the registry are skipped."""
        try:
            name = document_of(key or b"")
            document = document_of(value) if value else None
        except ValueError:
            return
        if not isinstance(name, dict) or "keytype" not in name:
            return
        if name["keytype"] == "SCHEMA" and isinstance(document, dict) and (schema := _schema_of(document, file)):
            self._schemas[schema.subject, schema.version] = schema

    @property
    def schemas(self) -> list[Schema]:
        """Return the schemas so far."""
        return [*self._schemas.values()]


def of_answers(document: Any, file: str, number: int | None = None) -> list[Schema]:
    """Return the schemas in responses of a registry: an object, or a list of objects. Other JSON has no schemas.

    `number` is the id in the file's name, for responses that omit it.
    """
    if isinstance(document, list):
        schemas: list[Schema] = []
        for item in document:
            if isinstance(item, dict):
                schemas += of_answers(item, file)
        return schemas
    if not isinstance(document, dict):
        return []
    schema = _schema_of(document, file, number)
    return [schema] if schema else []


def _schema_of(document: dict[str, Any], file: str, number: int | None = None) -> Schema | None:
    """Return the schema in a value of `_schemas` or in a response, None if the document is neither."""
    text = document.get("schema")
    kind = KINDS.get(str(document.get("schemaType") or "AVRO").upper())
    if not isinstance(text, str) or kind is None:
        return None
    schema_id = document.get("id", number)
    subject, version, guid = document.get("subject"), document.get("version"), document.get("guid")
    return Schema(
        kind,
        text,
        file,
        schema_id if isinstance(schema_id, int) else None,
        guid.lower() if isinstance(guid, str) else "",
        subject if isinstance(subject, str) else "",
        version if isinstance(version, int) else -1,
        references=tuple(_references(document.get("references"))),
    )


def _references(rows: Any) -> Iterator[Reference]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            version = row.get("version")
            version = version if isinstance(version, int) else -1
            yield Reference(str(row.get("name", "")), str(row.get("subject", "")), version)
