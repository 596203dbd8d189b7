"""The formats of keys and values, and the records read with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.records.schemas import plain
from kwire_cli.records.schemas.ids import schema_id_of
from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, NoSchemaError, Serde, UnfitError, Value
from kwire_cli.records.schemas.record import ReadPart, ReadRecord
from kwire_cli.records.schemas.redact import FieldRedaction
from kwire_cli.records.schemas.store import NAMES, SchemaStore, module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.records.schemas.ids import Headers
    from kwire_cli.records.schemas.model import Schema, SchemaId

REGISTRY = "registry"
BYTES = "bytes"
WITH_SCHEMA = (AVRO, PROTOBUF, JSON_SCHEMA)
PLAIN: dict[str, Callable[[bytes, int], Value]] = {
    "json": plain.json_value,
    "text": plain.text,
    "boolean": plain.boolean,
    "uuid": plain.uuid,
    **{name: partial(plain.fixed, name) for name in plain.FIXED},
}
FORMATS = (*WITH_SCHEMA, REGISTRY, *PLAIN, BYTES)
"""All formats. `registry` reads by the schema that bytes or headers name, `bytes` reads nothing."""


def serde_of(text: str) -> Serde:
    """Read FORMAT[:SCHEMA] or protobuf,type=MESSAGE[:SCHEMA]. InputError if the text is invalid."""
    head, colon, schema = text.partition(":")
    form, comma, setting = (part.strip() for part in head.partition(","))
    if form not in FORMATS:
        near = did_you_mean(close_to(form, [*FORMATS])) or f"; formats are {', '.join(FORMATS)}"
        raise InputError(f"no format is called {form!a}{near}")
    if colon and not schema:
        raise InputError(f"nothing follows the colon in {text!a}; use FORMAT or FORMAT:SCHEMA")
    if schema and form not in WITH_SCHEMA:
        raise InputError(f"{form} takes no schema: omit {schema!a} from {text!a}")
    message = setting.removeprefix("type=")
    if comma and (form != PROTOBUF or message == setting):
        raise InputError(f"{form} takes {'type=...' if form == PROTOBUF else 'no settings'}, not {setting!a}")
    return Serde(form, schema, message)


@dataclass(frozen=True, eq=False)
class Serdes:
    """The formats of keys and values. A part without a format is read if it names one of the schemas."""

    store: SchemaStore = field(default_factory=SchemaStore)
    key: Serde | None = None
    value: Serde | None = None
    redaction: FieldRedaction = field(default_factory=FieldRedaction)

    def check(self) -> None:
        """Raise InputError if a schema that the formats name is missing or malformed, or if a package is missing."""
        for serde in (self.key, self.value):
            if serde:
                self._check(serde)

    def _check(self, serde: Serde) -> None:
        if serde.format in WITH_SCHEMA:
            module_of(serde.format)
        if serde.schema:
            schema = self._of_kind(serde.schema, serde.format)
            try:
                self.store.reader(schema)
            except UnfitError as error:
                raise InputError(str(error), file=schema.file) from None

    def _of_kind(self, name: str, form: str) -> Schema:
        schema = self.store.named(name)
        if schema.kind != form:
            raise InputError(f"{schema.label} is a schema of {NAMES[schema.kind]}, not of {NAMES.get(form, form)}")
        return schema

    def _decodes(self) -> bool:
        return bool(self.key or self.value or self.store.schemas)

    def reads(self) -> bool:
        """Return whether records are read or redacted."""
        return self._decodes() or self.redacts()

    def redacts(self) -> bool:
        """Return whether there are fields to redact."""
        return bool(self.redaction.patterns)

    # Records.

    def record(
        self, topic: str | None, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> ReadRecord | None:
        """Return the key and value of a record as they are read, None if neither is read."""
        decodes = self._decodes()
        shown_key, shown_value = (
            None if data is None or not decodes else self._part(name, serde, topic, data, headers)
            for name, serde, data in (("key", self.key, key), ("value", self.value, value))
        )
        secret = self.redaction.parts
        if shown_key is None and shown_value is None and not secret:
            return None
        parts = (shown_key, key), (shown_value, value)
        whole = all(shown.fits if shown else data is None for shown, data in parts)
        return ReadRecord(shown_key, shown_value, framed=False, secret=secret, whole=whole, redaction=self.redaction)

    def _part(
        self, name: str, serde: Serde | None, topic: str | None, data: bytes, headers: Headers
    ) -> ReadPart | None:
        """Return a key or value, read with the first schema that fits: the one that bytes or headers name, then the one
        of the format, or the file of the topic's subject if the format names no schema.

        Return None if no format is given and no schema is known.
        """
        serde = serde or _BY_ID
        form = serde.format
        if form == BYTES:
            return None
        if form in PLAIN:
            return _read_part(name, data, form, None, partial(PLAIN[form], data, 0))
        schema_id = schema_id_of(data, headers, name)
        first: ReadPart | None = None
        for place in self._places(name, serde, topic, schema_id):
            value = partial(self._value, serde, place, data)
            part = _read_part(name, data, place.schema.kind, place.name, value)
            if part.fits:
                return part
            first = first or part
        return first or (None if form == REGISTRY else _missing(name, data, schema_id, form))

    # Values with a schema.

    def _places(self, part: str, serde: Serde, topic: str | None, schema_id: SchemaId | None) -> Sequence[Place]:
        """Return the schemas that a value may have: the one that it names, then the one of the format or the
        subject.
        """
        places = []
        named = self.store.of_id(schema_id.id) if schema_id else None
        if schema_id and named:
            places.append(Place(named, schema_id.id, schema_id.start, schema_id))
        schema = self.store.named(serde.schema) if serde.schema else self.store.of_subject(f"{topic}-{part}")
        # A schema with an id is named by its values. A value that does not name it has another schema.
        if schema and (serde.schema or not schema.has_id):
            places.append(Place(schema, schema.label, 0, None))
            if schema_id and not named:
                places.append(Place(schema, schema.label, schema_id.start, schema_id))
        return places

    def _value(self, serde: Serde, place: Place, data: bytes) -> Value:
        schema = place.schema
        if serde.format not in (schema.kind, REGISTRY):
            raise UnfitError(f"{schema.label} is a schema of {NAMES[schema.kind]}, not of {NAMES[serde.format]}")
        reader = self.store.reader(schema)
        if schema.kind == PROTOBUF:
            message, start = _message(reader, serde, place, data)
            return cast("Value", reader.read(data, start, message))
        return cast("Value", reader(data, place.start))


class Place(NamedTuple):
    """A schema that a value may have, its id or name to show, where the value begins, and the id that the record
    contains before it.
    """

    schema: Schema
    name: int | str
    start: int
    schema_id: SchemaId | None


_BY_ID = Serde(REGISTRY)


def _message(messages: Any, serde: Serde, place: Place, data: bytes) -> tuple[Any, int]:
    """Return the Protobuf message of a value, and where its bytes begin."""
    message = messages.first
    start = place.start
    if place.schema_id and place.schema_id.indexes:
        message, _ = messages.by_indexes(place.schema_id.indexes, 0)
    elif place.schema_id:
        message, start = messages.by_indexes(data, start)
    if serde.type and (message := messages.named(serde.type)) is None:
        raise UnfitError(f"the schema has no message called {serde.type}")
    return message, start


def _read_part(name: str, data: bytes, form: str, schema: int | str | None, read: Callable[[], Value]) -> ReadPart:
    """Return a key or value that `read` reads, or the reason why it could not be read."""
    try:
        value = read()
    except UnfitError as error:
        return ReadPart.unfit(name, data, form, schema, error)
    return ReadPart.of(name, data, form, schema, value.type, value.data, value.note)


def _missing(name: str, data: bytes, schema_id: SchemaId | None, form: str) -> ReadPart:
    if schema_id is None:
        reason = f"neither bytes nor headers name a schema: give a schema, as in {form}:SCHEMA"
        return ReadPart.unfit(name, data, form, None, UnfitError(reason))
    error = NoSchemaError(f"schema {schema_id.id} is not among the schemas")
    return ReadPart.unfit(name, data, form, schema_id.id, error)
