"""Schemas by id, UUID, subject and file, and the readers of their values.

The module that reads a format is loaded on demand, as most need a package of the extra kwire[schemas].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, NoSchemaError
from kwire_cli.records.schemas.plain import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.records.schemas.model import Schema

PACKAGES = {AVRO: "fastavro", PROTOBUF: "protobuf"}
"""The package of the extra that the reader of a format needs."""
NAMES = {AVRO: "Avro", PROTOBUF: "Protobuf", JSON_SCHEMA: "JSON Schema"}


def module_of(kind: str) -> Any:
    """Return the module that reads a format. InputError if the package that the module needs is not installed."""
    try:
        if kind == AVRO:
            from kwire_cli.records.schemas import avro as module  # noqa: PLC0415 - of an extra
        elif kind == PROTOBUF:
            from kwire_cli.records.schemas import protobuf as module  # type: ignore[no-redef] # noqa: PLC0415 - of an extra
        else:
            from kwire_cli.records.schemas import json_schema as module  # type: ignore[no-redef] # noqa: PLC0415 - few need it
    except ImportError:
        reason = f"reading {NAMES[kind]} needs {PACKAGES[kind]}: pip install 'kwire[schemas]'"
        raise InputError(reason) from None
    return module


class SchemaStore:
    """Schemas, and the readers of their values. A reader is made when it is first used."""

    def __init__(self, schemas: Sequence[Schema] = ()) -> None:
        self.schemas = tuple(schemas)
        self._by_id: dict[int | str, Schema] = {}
        for schema in self.schemas:
            if schema.number is not None:
                self._by_id[schema.number] = schema
            if schema.guid:
                self._by_id[schema.guid] = schema
        self._names: dict[str, Schema] = {}
        self._versions: dict[tuple[str, int], Schema] = {}
        for schema in self.schemas:
            self._names.setdefault(schema.file, schema)
            self._names.setdefault(schema.file.replace("\\", "/").rpartition("/")[2], schema)
            if not schema.subject:
                continue
            self._versions[schema.subject, schema.version] = schema
            before = self._names.get(schema.subject)
            if before is None or before.version <= schema.version:
                self._names[schema.subject] = schema
        self._readers: dict[Schema, Any] = {}
        self._failed: dict[Schema, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return SchemaStore, (self.schemas,)

    def of_id(self, schema_id: int | str) -> Schema | None:
        """Return the schema of a number or UUID, None if the store lacks the schema."""
        return self._by_id.get(schema_id)

    def of_subject(self, subject: str) -> Schema | None:
        """Return the latest schema of a subject, None if the subject has no schema."""
        schema = self._names.get(subject)
        return schema if schema and schema.subject == subject else None

    def has(self, name: str) -> bool:
        """Return whether `named` finds a schema of this name."""
        return self._named(name) is not None

    def _named(self, name: str) -> Schema | None:
        subject, _, version = name.rpartition("@")
        return (
            self._names.get(name)
            or self._by_id.get(int(name) if name.isascii() and name.isdecimal() else name.lower())
            or (self._versions.get((subject, int(version))) if subject and version.isdecimal() else None)
        )

    def named(self, name: str) -> Schema:
        """Return the schema of an id, UUID, subject, SUBJECT@VERSION or file. InputError if no schema has it."""
        found = self._named(name)
        if found is None:
            near = did_you_mean(close_to(name, [*self._names]))
            where = "" if self.schemas else "; --schemas names files and folders of schemas"
            raise InputError(f"no schema and no file has the name {name!a}{near or where}")
        return found

    def reader(self, schema: Schema) -> Any:
        """Return the reader of a schema's values: a function, or for Protobuf an object that knows the messages.

        NoSchemaError if the schema is malformed, or if a schema that it refers to is missing.
        """
        made = self._readers.get(schema)
        if made is not None:
            return made
        if schema in self._failed:
            raise NoSchemaError(self._failed[schema])
        try:
            made = self._readers[schema] = self._make_reader(schema)
        except InputError as error:
            self._failed[schema] = error.reason
            raise NoSchemaError(error.reason) from None
        except RecursionError:
            self._failed[schema] = f"{schema.label} nests too deeply"
            raise NoSchemaError(self._failed[schema]) from None
        return made

    def _make_reader(self, schema: Schema) -> Any:
        module = module_of(schema.kind)
        if schema.kind == AVRO:
            used = [*dict.fromkeys(other for _, other in self._referred(schema, (schema,), set()))]
            files = [other for other in self.schemas if other.kind == AVRO and not other.has_id]
            return module.reader_of(schema, used, files)
        if schema.kind == PROTOBUF:
            return module.Reader(schema, [*self._named_used(schema)])
        return module.reader_of(schema)

    def _named_used(self, schema: Schema) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that a schema may refer to: by its references, or by the names of files."""
        yield from self._referred(schema, (schema,), set())
        for other in self.schemas:
            if other.kind == schema.kind and other is not schema:
                parts = other.file.replace("\\", "/").split("/")
                yield from (("/".join(parts[at:]), other) for at in range(len(parts)))

    def _referred(self, schema: Schema, above: tuple[Schema, ...], done: set[Schema]) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas to which a schema refers by subject and version, dependencies first."""
        if len(above) > DEEPEST:
            raise InputError(f"references nest more than {DEEPEST} schemas deep", file=schema.file)
        for reference in schema.references:
            other = self._versions.get((reference.subject, reference.version)) or self.of_subject(reference.subject)
            if other is None:
                what = f"{schema.label} refers to {reference.subject} version {reference.version}, which is missing"
                raise InputError(what, file=schema.file)
            if other in above:
                continue
            if other not in done:
                done.add(other)
                yield from self._referred(other, (*above, other), done)
            yield reference.name, other
