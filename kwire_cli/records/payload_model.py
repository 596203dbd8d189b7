"""Payloads: messages inside the bytes of a field or a record.

A payload with a definition is decoded like any message. Otherwise it remains bytes, with the reason as an anomaly.
Paths and offsets count from its own start, so that it can be shown separately; `located` adds the path of its field.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import Anomaly, in_payload
from kwire_cli.engine.fixed import fixed
from kwire_cli.engine.values import Body, Form
from kwire_cli.spec.files import Report, read_bundled
from kwire_cli.spec.reading import read_definition
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.messages import SCHEMA_VERSION, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.spec.model import MessageSpec


@cache
def own_definition(name: str) -> MessageSpec:
    """Return a definition in specs/payloads, for bytes that Kafka encodes by hand without a definition."""
    definition = read_definition(read_bundled(f"payloads/{name}.json"), Report(f"payloads/{name}.json"))
    assert definition  # noqa: S101 - tests lint these files
    return definition.spec


# A payload: a complete message inside a field or a record, decoded or kept as bytes.

_VERSION = fixed(VERSION)
_SCHEMA_VERSION = fixed(SCHEMA_VERSION)


@dataclass(frozen=True)
class Payload:
    """The bytes `data` at `path`, which are a message of this type and version.

    `body` is set if a definition describes them. Otherwise `plain` is their JSON form, or None for base64 text.
    `version` is None if the bytes have no version. `guess` is set if the type is derived from the bytes, which it fits
    to the last byte.
    """

    path: str
    type: str
    version: int | None
    data: Any
    body: Body | None = None
    plain: Any = None
    notes: tuple[Anomaly, ...] = ()
    guess: bool = False
    start: int = 0
    """The offset after the prefix that names the type. Data without a body is shown from there on."""

    @property
    def size(self) -> int:
        """The number of bytes, prefix included."""
        return len(self.data)

    @property
    def exact(self) -> bool:
        """Return whether a known layout took all bytes, no more and no less."""
        return self.body is not None and self.body.exact

    @property
    def is_known(self) -> bool:
        """Return whether a definition describes the bytes."""
        return self.body is not None

    @property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the payload, which a correct writer would not have written.

        Paths and offsets count from the payload's own beginning.
        """
        return in_payload([*self.notes, *(self.body.anomalies if self.body else ())])

    def json_data(self, *, hidden: frozenset[int] = frozenset()) -> Any:
        """Return the data in Kafka's JSON form. `hidden` are the numbers of the body's spans to redact; without a body
        any number hides all bytes.
        """
        if self.body:
            return self.body.form(Form(hidden=hidden))
        if hidden:
            return redacted(self.size - self.start)
        return base64.b64encode(self.data[self.start :]).decode("ascii") if self.plain is None else self.plain

    def to_json(self, *, hidden: frozenset[int] = frozenset()) -> dict[str, Any]:
        """Return `{"path","type","version","data"}`, with `"guess": true` for a guess; `hidden` as in `json_data`."""
        document = {
            "path": self.path,
            "type": self.type,
            "version": self.version,
            "data": self.json_data(hidden=hidden),
        }
        return document | {"guess": True} if self.guess else document


def located(payloads: Iterable[Payload]) -> list[Anomaly]:
    """Return the anomalies of payloads, with the payload's path before their path. Offsets count from the start of the
    payload.
    """
    notes = []
    for payload in payloads:
        for note in payload.anomalies:
            path = f"{payload.path}.{note.path}" if payload.path and note.path else payload.path or note.path
            notes.append(note._replace(path=path))
    return notes


def version_of(data: Any) -> tuple[int, int] | None:
    """Return the int16 at the start of many payloads, and the offset after it; None if the bytes are too few."""
    return (int(_VERSION.unpack(data)[0]), _VERSION.size) if len(data) >= _VERSION.size else None


def schema_version_of(data: Any) -> int | None:
    """Return the int32 at the start of the payloads of Streams, or None if the bytes are too few."""
    return int(_SCHEMA_VERSION.unpack(data)[0]) if len(data) >= _SCHEMA_VERSION.size else None


def kept(path: str, kind: str, version: int | None, data: Any, note: Anomaly, start: int = 0) -> Payload:
    """Return a payload of undecodable bytes, with the reason."""
    return Payload(path, kind, version, data, notes=(note,), start=start)


def cut(path: str, kind: str, data: Any, what: str = "its version") -> Payload:
    """Return a payload of bytes that end before their type or version."""
    return kept(
        path, kind, None, data, Anomaly("PAYLOAD_TRUNCATED", "", 0, f"{len(data)} bytes are too few for {what}")
    )


def plain_body(path: str, spec: MessageSpec, version: int, data: Any, start: int = 0) -> Payload:
    """Decode the bytes from `start` on as a message whose version is known, or is a field of the message."""
    if not spec.valid_versions:
        return kept(
            path,
            spec.name,
            version,
            data,
            Anomaly("UNKNOWN_VERSION", "", 0, f"{spec.name} is reserved: no version of it is valid"),
            start,
        )
    return Payload(path, spec.name, version, data, Body.decode(spec, data, version, start=start))


def versioned(path: str, spec: MessageSpec, data: Any) -> Payload:
    """Decode an int16 version and the message after it (MessageUtil.toVersionPrefixedByteBuffer)."""
    head = version_of(data)
    return plain_body(path, spec, head[0], data, head[1]) if head else cut(path, spec.name, data)


def schema_versioned(path: str, spec: MessageSpec, data: Any) -> Payload:
    """Decode a message of Streams, whose first field, an int32, is its version."""
    version = schema_version_of(data)
    return plain_body(path, spec, version, data) if version is not None else cut(path, spec.name, data)


def guessed(payload: Payload) -> Payload:
    """Return the payload marked as a guess."""
    return replace(payload, guess=True)
