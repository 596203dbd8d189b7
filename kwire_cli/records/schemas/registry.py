"""Schemas from the records of a `_schemas` topic, and from the responses of registries.

Sources: Confluent's SchemaKey and SchemaValue, and the bodies of /schemas, /schemas/ids/N and /subjects/S/versions/N;
Apicurio's export (ArtifactVersionEntity, ContentEntity) and metadata of versions; AWS Glue's GetSchemaVersion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, Reference, Schema
from kwire_cli.records.schemas.plain import document_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMAS_TOPIC = "_schemas"
KINDS = {"AVRO": AVRO, "PROTOBUF": PROTOBUF, "JSON": JSON_SCHEMA}
"""The types of schemas in registries. Confluent omits the type of Avro."""


class SchemasTopic:
    """The schemas in the records of a `_schemas` topic, by subject and version. Later records replace earlier ones.

    A deleted schema is kept, since records that were written with it may still exist.
    """

    def __init__(self) -> None:
        self.records = 0
        """The number of records of a registry, whatever their type."""
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
        self.records += 1
        if name["keytype"] == "SCHEMA" and isinstance(document, dict) and (schema := of_confluent(document, file)):
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
        return [schema for item in document if isinstance(item, dict) for schema in of_answers(item, file)]
    if not isinstance(document, dict):
        return []
    if isinstance(inner := document.get("versions") or document.get("schemas") or document.get("SchemaVersions"), list):
        return of_answers(inner, file)
    schema = of_confluent(document, file, number) or _of_glue(document, file) or _of_apicurio(document, file)
    return [schema] if schema else []


def of_confluent(document: dict[str, Any], file: str, number: int | None = None) -> Schema | None:
    """Return the schema in a value of `_schemas` or in a response, None if the document is neither."""
    text, kind = document.get("schema"), KINDS.get(str(document.get("schemaType") or "AVRO").upper())
    if not isinstance(text, str) or kind is None:
        return None
    schema_id = document.get("id", number)
    subject, version, guid = document.get("subject"), document.get("version"), document.get("guid")
    return Schema(
        kind,
        text,
        file,
        (schema_id,) if isinstance(schema_id, int) else (),
        guid.lower() if isinstance(guid, str) else "",
        subject if isinstance(subject, str) else "",
        version if isinstance(version, int) else -1,
        references=tuple(_references(document.get("references"))),
    )


def _references(rows: Any) -> Iterator[Reference]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            subject, version = row.get("subject", row.get("artifactId", "")), row.get("version", -1)
            yield Reference(str(row.get("name", "")), str(subject), _number(version))


def _number(value: Any) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def _of_glue(document: dict[str, Any], file: str) -> Schema | None:
    text, guid = document.get("SchemaDefinition"), document.get("SchemaVersionId")
    kind = KINDS.get(str(document.get("DataFormat")))
    if not isinstance(text, str) or not isinstance(guid, str) or kind is None:
        return None
    subject = str(document.get("SchemaArn", "")).rpartition("/")[2]
    return Schema(kind, text, file, guid=guid.lower(), subject=subject, version=_number(document.get("VersionNumber")))


def _of_apicurio(document: dict[str, Any], file: str) -> Schema | None:
    text = document.get("content")
    return of_apicurio(document, {}, text, file) if isinstance(text, str) else None


def of_apicurio(version: dict[str, Any], content: dict[str, Any], text: str, file: str) -> Schema | None:
    """Return the schema of a version of an artifact. `content` is the metadata of its content."""
    kind = KINDS.get(str(version.get("artifactType") or version.get("type") or content.get("artifactType") or ""))
    if kind is None:
        return None
    content_id, global_id = (version.get(name, content.get(name)) for name in ("contentId", "globalId"))
    references = version.get("references") or content.get("references") or content.get("serializedReferences")
    if isinstance(references, str):
        try:
            references = document_of(references)
        except ValueError:
            references = None
    return Schema(
        kind,
        text,
        file,
        (content_id,) if isinstance(content_id, int) else (),
        subject=str(version.get("artifactId", "")),
        version=_number(version.get("version", version.get("versionOrder", ""))),
        global_id=global_id if isinstance(global_id, int) else -1,
        references=tuple(_references(references)),
    )


def of_export(files: Iterable[tuple[str, bytes]], where: str) -> list[Schema]:
    """Return the schemas in the files of an export of Apicurio: contents, their metadata, and versions."""
    contents: dict[str, str] = {}
    about: dict[str, dict[str, Any]] = {}
    versions: list[dict[str, Any]] = []
    kinds: dict[tuple[Any, Any], Any] = {}
    for name, data in files:
        stem, _, kind = name.replace("\\", "/").rpartition("/")[2].rpartition(".")
        stem, _, entity = stem.rpartition(".")
        if (entity, kind) == ("Content", "data"):
            contents[stem] = str(data, "utf-8", "replace")
        elif kind == "json" and (document := _object(data)):
            if entity == "Content":
                about[stem] = document
            elif entity == "ArtifactVersion":
                versions.append(document)
            elif entity == "Artifact":
                kinds[document.get("groupId"), document.get("artifactId")] = document.get("artifactType")
    by_id = {known.get("contentId"): (known, contents[stem]) for stem, known in about.items() if stem in contents}
    schemas: list[Schema] = []
    for version in versions:
        number = version.get("contentId")
        known, text = by_id.get(number, ({}, ""))
        artifact_type = kinds.get((version.get("groupId"), version.get("artifactId")))
        known = known | ({"artifactType": artifact_type} if artifact_type else {})
        if text and (schema := of_apicurio(version, known, text, f"{where} content {number}")):
            schemas.append(schema)
    return schemas


def _object(data: bytes) -> dict[str, Any]:
    try:
        document = document_of(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
