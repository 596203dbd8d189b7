"""The formats of keys and values, and the records read with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.records.schemas import plain
from kwire_cli.records.schemas.ids import APICURIO_NAME, GLUE_NAME, ID, PREFIX, told_by
from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF, NoSchemaError, Serde, UnfitError, Value
from kwire_cli.records.schemas.record import ReadPart, ReadRecord
from kwire_cli.records.schemas.redact import FieldRedaction
from kwire_cli.records.schemas.store import NAMES, SchemaStore, module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.records.schemas.ids import Headers
    from kwire_cli.records.schemas.model import Reader, Schema, Told

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
    _prefixes: dict[bytes, Known] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Serdes, (self.store, self.key, self.value, self.redaction)

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
        form = serde.format if serde else REGISTRY
        if form == BYTES:
            return None
        try:
            if form in PLAIN:
                read = Read(form, None, PLAIN[form](data, 0))
            else:
                by_schema = self.read(name, serde or _BY_ID, topic, data, headers)
                if by_schema is None:
                    return None
                read = by_schema
        except UnfitError as error:
            read = Read(form, None, error)
        value = read.value
        if isinstance(value, UnfitError):
            return ReadPart.unfit(name, data, read.format, read.schema, value)
        return ReadPart.of(name, data, read.format, read.schema, value.type, value.data, value.note)

    # Values with a schema.

    def read(self, part: str, serde: Serde, topic: str | None, data: bytes, headers: Headers = ()) -> Read | None:
        """Return a key or value, read with the first schema that fits: the one that bytes or headers name, then the one
        of the format, or the file of the topic's subject if the format names no schema.

        Return None if no format is given and no schema is known. UnfitError if compressed bytes are damaged.
        """
        known = None if headers or serde.schema else self._prefixes.get(data[:PREFIX])
        if known and serde.format in (known.kind, REGISTRY):
            try:
                return Read(known.kind, known.schema, known.read(data, PREFIX))
            except UnfitError:
                known = None  # the file of the subject may fit
        told, data = _schema_reference(data, headers, part)
        places = self._places(part, serde, topic, told)
        if not places:
            return None if serde.format == REGISTRY else _missing(told, serde.format)
        return self._by(serde, places, data)

    def _places(self, part: str, serde: Serde, topic: str | None, told: Told | None) -> Sequence[Place]:
        """Return the schemas that a value may have: the one that it names, then the one of the format or the
        subject.
        """
        by_id = self.store.told(told) if told else None
        places = [Place(*by_id, told)] if by_id else []
        schema = self.store.named(serde.schema) if serde.schema else self.store.of_subject(f"{topic}-{part}")
        # A schema with an id is named by its values. A value that does not name it has another schema.
        if schema and (serde.schema or not (schema.ids or schema.guid)):
            places.append(Place(schema, 0, None))
            if told and not by_id:
                starts = {start: None for _, start in told.ids} or (told.start,)
                places += [Place(schema, start, told) for start in starts]
        return places

    def _by(self, serde: Serde, places: Sequence[Place], data: bytes) -> Read:
        """Return a value, read with the first schema that fits, or the reason why the first schema does not fit."""
        first: Read | None = None
        for schema, start, told in places:
            schema_id: int | str = schema.label
            if told:
                schema_id = told.guid or (schema.ids[0] if schema.ids else schema.label)
            try:
                value = self._value(serde, schema, data, start, told)
                if told and start == PREFIX and data[0] == ID and schema.kind != PROTOBUF:
                    self._prefixes[data[:PREFIX]] = Known(schema.kind, schema_id, self.store.reader(schema))
                return Read(schema.kind, schema_id, value)
            except UnfitError as error:
                first = first or Read(schema.kind, schema_id, error)
        assert first  # noqa: S101 - there is a place
        return first

    def _value(self, serde: Serde, schema: Schema, data: bytes, start: int, told: Told | None) -> Value:
        if serde.format not in (schema.kind, REGISTRY):
            raise UnfitError(f"{schema.label} is a schema of {NAMES[schema.kind]}, not of {NAMES[serde.format]}")
        if schema.kind != PROTOBUF:
            value: Value = self.store.reader(schema)(data, start)
            return value
        message, start = self._message(serde, schema, data, start, told)
        read: Value = self.store.reader(schema).read(data, start, message)
        return read

    def _message(self, serde: Serde, schema: Schema, data: bytes, start: int, told: Told | None) -> tuple[Any, int]:
        """Return the Protobuf message of a value, and where its bytes begin."""
        messages = self.store.reader(schema)
        message = messages.first
        if told is None:
            pass
        elif told.by == GLUE_NAME:
            message, start = messages.by_glue(data, start)
        elif told.indexes:
            message, _ = messages.by_indexes(told.indexes, 0)
        elif by_name := messages.by_name(data, start):
            message, start = by_name
        elif told.by == APICURIO_NAME:
            message = messages.named(told.message) or message
        else:
            message, start = messages.by_indexes(data, start)
        if serde.type and (message := messages.named(serde.type)) is None:
            raise UnfitError(f"the schema has no message called {serde.type}")
        return message, start


class Read(NamedTuple):
    """A value with its format and the id or name of its schema, or the reason why it could not be read."""

    format: str
    schema: int | str | None
    value: Value | UnfitError


class Known(NamedTuple):
    """The reader of values that begin with the same id of 4 bytes, kept after the first of them was read."""

    kind: str
    schema: int | str
    read: Reader


class Place(NamedTuple):
    """A schema that a value may have, where the value begins, and how bytes or headers name the schema, if they do."""

    schema: Schema
    start: int
    told: Told | None


_BY_ID = Serde(REGISTRY)


def _schema_reference(data: bytes, headers: Headers, part: str) -> tuple[Told | None, bytes]:
    """Return the schema that a value names, and the value, decompressed if it is compressed."""
    told = told_by(data, headers, part)
    return told, data if told is None or told.unpacked is None else told.unpacked


def _missing(told: Told | None, form: str) -> Read:
    if told is None:
        reason = f"neither bytes nor headers name a schema: give a schema, as in {form}:SCHEMA"
        return Read(form, None, UnfitError(reason))
    schema_id = told.guid or told.ids[0][0]
    return Read(form, schema_id, NoSchemaError(f"schema {schema_id} is not among the schemas"))
