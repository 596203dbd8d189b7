"""Schemas, the values read with them, and the formats of keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

AVRO = "avro"
PROTOBUF = "protobuf"
JSON_SCHEMA = "json-schema"
"""The kinds of schemas, which are the formats of values that have one."""
MOST_REASON = 200
"""Characters of the reason why a library refuses a schema, which may quote all of the schema."""


class UnfitError(Exception):
    """A value that does not fit its format or schema. The text is the reason, and never quotes the value.

    `code` is the code of the anomaly.
    """

    code = "VALUE_UNFIT"


class NoSchemaError(UnfitError):
    """A value that was not read, because its schema is missing or malformed."""

    code = "UNKNOWN_SCHEMA"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to another schema: the name in the schema, and the subject and version that it stands for."""

    name: str
    subject: str = ""
    version: int = -1


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, and the names by which people and records refer to it.

    `text` is the schema itself: bytes if it is a descriptor set. `file` is its source file, for errors. `number` and
    `guid` are its ids in the registry.
    """

    kind: str
    text: str | bytes
    file: str
    number: int | None = None
    guid: str = ""
    subject: str = ""
    version: int = -1
    references: tuple[Reference, ...] = ()

    @property
    def label(self) -> str:
        """Return the name to show for the schema."""
        if self.subject:
            return self.subject if self.version < 0 else f"{self.subject} version {self.version}"
        return self.guid or self.file if self.number is None else str(self.number)

    @property
    def has_id(self) -> bool:
        """Return whether records name the schema by an id."""
        return self.number is not None or bool(self.guid)


class Value(NamedTuple):
    """A value in JSON form, with the name of its type if the schema names it."""

    data: Any
    type: str = ""
    note: str = ""
    """How the value violates its schema, empty if it does not."""


class Reader(Protocol):
    """Reads values of one schema."""

    def __call__(self, data: bytes, start: int) -> Value:
        """Return the value in the bytes from `start` on. Raises UnfitError."""


@dataclass(frozen=True, slots=True)
class Serde:
    """The format of keys or values, from FORMAT[,type=MESSAGE][:SCHEMA].

    Attributes:
        format: One of `serdes.FORMATS`.
        schema: The schema of values that name no schema: an id, a subject, or the name of a file.
        type: The name of the message, for a Protobuf schema that defines several.

    """

    format: str
    schema: str = ""
    type: str = ""


class SchemaId(NamedTuple):
    """The id of a schema in the bytes or the headers of a record: its number, or its UUID in text form.

    The value begins at `start`. `indexes` are the bytes with the indexes of a Protobuf message, if a header has them.
    """

    id: int | str
    start: int
    indexes: bytes = b""
