"""Payloads: messages inside the bytes of a field or a record."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import Anomaly, in_payload
from kwire_cli.engine.fixed import fixed
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.engine.values import Body, Form
from kwire_cli.spec.files import Report, read_bundled
from kwire_cli.spec.reading import read_definition
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.messages import SCHEMA_VERSION, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.spec.model import MessageSpec


# The part of a payload that a definition describes: one run of the kernel and its folds.


@cache
def own_definition(name: str) -> MessageSpec:
    """A definition of kwire's own, in specs/payloads: of what Kafka writes by hand and has no definition for."""
    definition = read_definition(read_bundled(f"payloads/{name}.json"), Report(f"payloads/{name}.json"))
    assert definition  # noqa: S101 - tests lint these files
    return definition.spec


def decode_body(spec: MessageSpec, version: int, data: Any, start: int = 0, *, layout: int | None = None) -> Body:
    """The bytes of `data` from `start` on as a message; of a version that is not known by the nearest layout, as a
    guess.

    `layout` is the version of the layout where that is known to be another number.
    """
    valid = spec.valid_versions
    notes: tuple[Anomaly, ...] = ()
    nearest = min(max(version, valid.low), valid.high) if layout is None else layout
    if layout is None and nearest != version:
        notes = (
            Anomaly(
                "UNKNOWN_VERSION",
                "",
                0,
                f"{spec.name} has versions {valid}; {version} was decoded by the layout of {nearest}",
            ),
        )
    entry = entry_for(spec, nearest)
    return Body(spec, version, nearest, entry, walk(entry, data, start), notes, bool(notes))


# A payload: bytes inside a field or a record that are a message of their own, decoded or kept.

_VERSION, _SCHEMA_VERSION = fixed(VERSION), fixed(SCHEMA_VERSION)


@dataclass(frozen=True)
class Payload:
    """The bytes `data` at `path`, which are a message of this type and version.

    Where a definition describes them there is a `body`; else `plain` is their JSON form, or None, and then they show as
    base64 text. `version` is None where they do not say one, `guess` is true where nothing said what they are and this
    type fits to the last byte.
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
    """The offset behind the prefix that names the type, from which on data without a body are shown."""

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
        """The data in Kafka's JSON form; `hidden` are the numbers of the body's spans to redact, and without a body any
        number hides all.
        """
        if self.body:
            return self.body.form(Form(hidden=hidden))
        if hidden:
            return redacted(self.size - self.start)
        return base64.b64encode(self.data[self.start :]).decode("ascii") if self.plain is None else self.plain

    def to_json(self, *, hidden: frozenset[int] = frozenset()) -> dict[str, Any]:
        """`{"path","type","version","data"}`, and `"guess": true` where the type was guessed; `hidden` as in
        `json_data`.
        """
        document = {
            "path": self.path,
            "type": self.type,
            "version": self.version,
            "data": self.json_data(hidden=hidden),
        }
        return document | {"guess": True} if self.guess else document


def located(payloads: Iterable[Payload]) -> list[Anomaly]:
    """The anomalies of payloads, with each payload's path before their own; offsets count from the begin of the
    payload.
    """
    notes = []
    for payload in payloads:
        for note in payload.anomalies:
            path = f"{payload.path}.{note.path}" if payload.path and note.path else payload.path or note.path
            notes.append(note._replace(path=path))
    return notes


def version_of(data: Any) -> tuple[int, int] | None:
    """The int16 that many payloads begin with, and where what follows it begins; None where the bytes end before it
    does.
    """
    return (int(_VERSION.unpack(data)[0]), _VERSION.size) if len(data) >= _VERSION.size else None


def schema_version_of(data: Any) -> int | None:
    """The int32 that the payloads of Streams begin with; None where the bytes end before it does."""
    return int(_SCHEMA_VERSION.unpack(data)[0]) if len(data) >= _SCHEMA_VERSION.size else None


def kept(path: str, kind: str, version: int | None, data: Any, note: Anomaly, start: int = 0) -> Payload:
    """Bytes that nothing can be made of, with the reason."""
    return Payload(path, kind, version, data, notes=(note,), start=start)


def cut(path: str, kind: str, data: Any, what: str = "its version") -> Payload:
    """Bytes that end before they say what they are."""
    return kept(
        path, kind, None, data, Anomaly("PAYLOAD_TRUNCATED", "", 0, f"{len(data)} bytes are too few for {what}")
    )


def plain_body(
    path: str, spec: MessageSpec, version: int, data: Any, start: int = 0, *, layout: int | None = None
) -> Payload:
    """The bytes from `start` on as a message, of a version that is known from elsewhere or that is a part of it;
    `layout` as in `decode_body`.
    """
    if not spec.valid_versions:
        return kept(
            path,
            spec.name,
            version,
            data,
            Anomaly("UNKNOWN_VERSION", "", 0, f"{spec.name} is reserved: no version of it is valid"),
            start,
        )
    return Payload(path, spec.name, version, data, decode_body(spec, version, data, start, layout=layout))


def versioned(path: str, spec: MessageSpec, data: Any) -> Payload:
    """An int16 version and the message in it (MessageUtil.toVersionPrefixedByteBuffer)."""
    head = version_of(data)
    return plain_body(path, spec, head[0], data, head[1]) if head else cut(path, spec.name, data)


def schema_versioned(path: str, spec: MessageSpec, data: Any) -> Payload:
    """A message whose first field, an int32, is its version, as Streams writes it."""
    version = schema_version_of(data)
    return plain_body(path, spec, version, data) if version is not None else cut(path, spec.name, data)


def guessed(payload: Payload) -> Payload:
    """The same, marked as a guess."""
    return replace(payload, guess=True)
