"""Schemas, values read by them, and the formats that there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

AVRO, PROTOBUF, JSON_SCHEMA = "avro", "protobuf", "json-schema"
"""The kinds of schemas, which are the formats of values that have one."""


class UnfitError(Exception):
    """A value does not fit its format or schema. The text is the reason, and never has a part of the value in it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one uses: the name it uses, and the subject and version that it stands for."""

    name: str
    subject: str = ""
    version: int = -1


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema and the names that people and bytes know it by.

    `text` is the schema itself, bytes of a descriptor set where it is one. `ids` are the numbers of its registry, of
    its content where a version has a number of its own, which then is `global_id`. `guid` is its UUID. `file` is where
    it was read, for errors.
    """

    kind: str
    text: str | bytes
    file: str
    ids: tuple[int, ...] = ()
    guid: str = ""
    subject: str = ""
    version: int = -1
    global_id: int = -1
    references: tuple[Reference, ...] = ()

    @property
    def label(self) -> str:
        """The name to show for the schema."""
        if self.subject:
            return self.subject if self.version < 0 else f"{self.subject} version {self.version}"
        return str(self.ids[0]) if self.ids else self.guid or self.file


class Value(NamedTuple):
    """A value in JSON form, with the name of its type where the schema has one."""

    data: Any
    type: str = ""
    note: str = ""
    """The reason why a value that was read violates its schema, if it does."""


class Leaf(NamedTuple):
    """The bytes of a value that has none inside it: [start, end), and of what kind they are.

    Kinds are text, varint, raw (bytes that may be any), json (a whole JSON text) and choice (one of `choices`).
    """

    start: int
    end: int
    kind: str
    choices: tuple[bytes, ...] = ()


class Reader(Protocol):
    """Reads values of one schema."""

    def __call__(self, data: bytes, start: int) -> Value:
        """Return the value in the bytes from `start` on. Raises UnfitError."""


@dataclass(frozen=True, slots=True)
class Serde:
    """The way to read keys or values, as FORMAT[,NAME=VALUE...][:SCHEMA] says it.

    Attributes:
        format: One of `serdes.FORMATS`.
        schema: The schema of values that do not say theirs: an id, a subject, or the name of a file.
        reader: The schema that Avro values are resolved to; "" for their own.
        type: The name of the message of a Protobuf schema with several.
        size: The milliseconds of a time window, 0 where they are not known.
        inner: The way to read the key in a windowed key.

    """

    format: str
    schema: str = ""
    reader: str = ""
    type: str = ""
    size: int = 0
    inner: Serde | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """The schema that the bytes or the headers of a record name.

    `ids` are the numbers that the bytes can be read as, each with the offset behind it, the likeliest first. `guid` is
    a UUID, `start` the offset behind it. `unpacked` are the bytes to read where they were compressed.
    """

    ids: tuple[tuple[int, int], ...] = ()
    guid: str = ""
    start: int = 0
    unpacked: bytes | None = None
    by: str = ""
    """The registry whose form it is."""
    is_global: bool = False
    """True if the id is a global one of Apicurio, which counts artifacts' versions and not contents."""
    indexes: bytes = b""
    """The indexes of a Protobuf message, where headers have them."""
    message: str = ""
    """The name of a Protobuf message, where headers have it."""


def each(convert: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    """Return a function that converts each item of a list."""
    return lambda items: [convert(item) for item in items]
