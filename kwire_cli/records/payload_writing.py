"""Keys and values of records from JSON: their bytes, or the contents of `control` and `decoded`, encoded as Kafka does.

This is the counterpart of `payload_fields` and `kafka_topics`, which decode both from bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import EncodeError
from kwire_cli.records.batch import base64_text
from kwire_cli.records.building import Given, within
from kwire_cli.records.kafka_topics import (
    COORDINATORS,
    FRAME_VERSION,
    FRAMED,
    MARKERS,
    MESSAGES,
    TRANSACTION_STATUS,
    TRANSACTION_VALUE,
    UNKNOWN,
    record_types,
    transaction_states,
    type_name,
)
from kwire_cli.records.payload_fields import FAMILIES, Role
from kwire_cli.records.payload_model import version_of
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.structs.messages import METADATA_FRAME, VERSION, declare
from kwire_cli.structs.numbers import RANGES, shown
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

    Pair = tuple[bytes | None, bytes | None]

RECORD_KEYS = frozenset(
    {
        "offset",
        "timestamp",
        "sequence",
        "keySize",
        "valueSize",
        "key",
        "value",
        "headers",
        "control",
        "decoded",
        "fields",
    }
)


_INTEGER = re.compile(r"-?[0-9]{1,10}")
_MARKER_VERSION = 0
_TYPES = {name: number for number, name in MARKERS.items()}
_TYPES |= {name: number for number, (name, _) in MESSAGES.items()}
_MEMBERS: dict[str, Role] = {"subscription": "metadata", "assignment": "assignment"}
"""Fields that DumpLogSegments and kwire decode in place of bytes in the members of a GroupMetadataValue."""


@dataclass(frozen=True)
class Payloads:
    """The context for encoding payloads: the topic of the records, and the definitions.

    The bundled definitions are the default.
    """

    topic: str | None = None
    known: Catalog | None = field(default=None)

    @cached_property
    def catalog(self) -> Catalog:
        """The definitions."""
        return self.known or bundled()

    def of(self, record: Given, *, control: bool | None) -> Pair:
        """Return the key and value of a record. `control` is set if its batch is a control batch, and None if the
        format has no control batches.

        A given key or value, also null, is used unchanged. Otherwise `control` or `decoded` is encoded.
        """
        record.only(RECORD_KEYS)
        pair: Pair = (None, None)
        if not {"key", "value"} <= record.value.keys():
            if what := record.inner("control"):
                if not control:
                    reason = (
                        "this format has no control records"
                        if control is None
                        else "its batch says that it is not a control batch"
                    )
                    raise record.refuse("control", f"{reason}; give key and value")
                pair = self._control(what)
            elif what := record.inner("decoded"):
                pair = self._decoded(what, record)
        return _chosen(record, pair)

    def of_draft(self, record: Given) -> Pair:
        """Return the key and value of a control message of the KIP-98 draft, which has the type in its key."""
        record.only(RECORD_KEYS)
        what = record.inner("control")
        number = next((n for n, name in kip98.CONTROL_TYPES.items() if what and name == what.value.get("type")), None)
        if number is None and what and "key" not in record.value:
            raise what.refuse("type", f"it is one of {', '.join(kip98.CONTROL_TYPES.values())}; or give the key")
        key = bytes(kip98.CONTROL_MESSAGE_KEY.build({"version": 0, "controlMessageType": number or 0}))
        return _chosen(record, (key, None))

    def _control(self, what: Given) -> Pair:
        what.only({"type", "number", "coordinatorEpoch", "key", "value"})
        name = what.text("type")
        if name == UNKNOWN:
            number = what.integer("number", "int16")
            return (what.bytes("key") if number is None else _control_key(number), what.bytes("value"))
        number = _TYPES.get(name or "")
        if number is None:
            raise what.refuse("type", f"it is one of {', '.join([*_TYPES, UNKNOWN])}, not {shown(name)}")
        if number in MARKERS:
            epoch = what.number("coordinatorEpoch", "int32", 0)
            body = encoded(
                self.catalog.message("EndTxnMarker"), {"coordinatorEpoch": epoch}, _MARKER_VERSION, what.path
            )
            return _control_key(number), _prefix(_MARKER_VERSION) + body
        if not what.has("value"):
            return _control_key(number), None
        return _control_key(number), encoded(
            self.catalog.message(MESSAGES[number][1]), what.value["value"], 0, what.at("value")
        )

    def _decoded(self, what: Given, record: Given) -> Pair:
        what.only({"key", "value"})
        value = what.inner("value")
        if self.topic in FRAMED or (self.topic not in COORDINATORS and "key" not in what.value):
            return None, None if value is None else self._framed(value)
        if self.topic not in COORDINATORS:
            raise EncodeError(
                f"set the topic with --as-topic: {', '.join(COORDINATORS)}; or give key and value",
                path=what.path,
            )
        module = COORDINATORS[self.topic]
        key = what.inner("key")
        raw = record.bytes("key")
        number = None
        if key:
            number = _int16(key, "type")
        elif raw is not None:
            number = (version_of(raw) or (None,))[0]
        key_name, value_name = record_types(self.catalog, module).get(-1 if number is None else number, (None, None))
        key_bytes = None
        if key and "key" not in record.value:
            key_bytes = _prefix(number) + self._body(key_name, key, 0)
        return key_bytes, None if value is None or "value" in record.value else self._value(value_name, value)

    def _value(self, name: str | None, value: Given) -> bytes:
        value.only({"version", "data"})
        version = _int16(value, "version")
        return _prefix(version) + self._body(name, value, version)

    def _framed(self, value: Given) -> bytes:
        value.only({"type", "version", "data"})
        kind = value.value.get("type")
        modules = (FRAMED[self.topic],) if self.topic in FRAMED else tuple(FRAMED.values())
        types = self._framed_types(modules)
        number, name = types.get(kind, (None, None)) if isinstance(kind, str) else (None, None)
        if number is None and kind is None:
            return self._body(None, value, None)
        if number is None and not _INTEGER.fullmatch(str(kind)):
            raise value.refuse("type", f"no record of {' or '.join(modules)} has this type")
        frame = {
            "frameVersion": FRAME_VERSION,
            "apiKey": int(str(kind)) if number is None else number,
            "version": value.integer("version", "int16"),
        }
        with within(value.path):
            head = bytes(METADATA_FRAME.build(frame))
        return head + self._body(name, value, frame["version"])

    def _framed_types(self, modules: tuple[str, ...]) -> dict[str, tuple[int, str]]:
        types: dict[str, tuple[int, str]] = {}
        for module in modules:
            for number, (_, name) in record_types(self.catalog, module).items():
                if name:
                    types[type_name(name)] = (number, name)
        return types

    def _body(self, name: str | None, what: Given, version: int | None) -> bytes:
        """Return the bytes of the `data` of a key or value; base64 text if the type is unknown."""
        data = what.value.get("data")
        if isinstance(data, str):
            return what.bytes("data") or b""
        if name is None:
            raise what.refuse("data", "no definition of this type is known: it takes the bytes as base64 text")
        spec = self.catalog.message(name)
        if name == "GroupMetadataValue" and isinstance(data, dict):
            data = self._with_members(data, what.at("data"))
        states = transaction_states(self.catalog)
        if name == TRANSACTION_VALUE and isinstance(data, dict) and data.get(TRANSACTION_STATUS) in states:
            data = data | {TRANSACTION_STATUS: states.index(data[TRANSACTION_STATUS])}
        return encoded(spec, data, 0 if version is None else version, what.at("data"))

    def _with_members(self, data: dict[str, Any], path: str) -> dict[str, Any]:
        """Return a group's metadata with the subscriptions and assignments of its members encoded."""
        members = data.get("members")
        if not isinstance(members, list):
            return data
        out = []
        for i, member in enumerate(members):
            parts: dict[str, str] = {}
            version: int | None = None
            if isinstance(member, dict):
                for key, role in _MEMBERS.items():
                    if isinstance(member.get(key), dict):
                        where = f"{path}.members[{i}].{key}"
                        data_of, version = _with_version(
                            self.catalog.message(FAMILIES["consumer"][role]), member[key], version, where
                        )
                        parts[key] = base64_text(data_of) or ""
            out.append(member | parts if parts else member)
        return data | {"members": out}


def _with_version(spec: MessageSpec, data: dict[str, Any], likely: int | None, path: str) -> tuple[bytes, int]:
    """Encode a member's message, whose JSON form has no version: in the newest version with exactly these fields.

    All versions of an assignment have the same fields. It gets the version of the same member's subscription, `likely`:
    clients write their newest version.
    """
    versions = [*range(spec.valid_versions.high, spec.valid_versions.low - 1, -1)]
    first: EncodeError | None = None
    if likely is not None and likely in versions:
        versions = [likely, *versions]
    for version in versions:
        try:
            return _prefix(version) + encoded(spec, data, version, path), version
        except EncodeError as error:
            first = first or error
    raise first or EncodeError(f"{spec.name} has no versions", path=path)


def encoded(spec: MessageSpec, value: Any, version: int, path: str) -> bytes:
    """Encode a message from Kafka's JSON form. An EncodeError gets `path` before the message's path."""
    if version not in spec.valid_versions:
        raise EncodeError(f"{spec.name} has versions {spec.valid_versions}, not {version}", path=path)
    with within(path):
        return bytes(declare(spec, version).build(value))


def _chosen(record: Given, made: Pair) -> Pair:
    key, value = (record.bytes(name) if name in record.value else made[i] for i, name in enumerate(("key", "value")))
    return key, value


def _control_key(number: int) -> bytes:
    return bytes(v2.CONTROL_RECORD_KEY.build({"version": 0, "type": number}))


def _prefix(version: int | None) -> bytes:
    return b"" if version is None else bytes(VERSION.build({"version": version}))


def _int16(what: Given, key: str) -> int | None:
    """Return an integer, which Kafka's tools print as text here."""
    value = what.value.get(key)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        low, high = RANGES["int16"]
        if low <= int(value) <= high:
            return int(value)
        raise what.refuse(key, f"{value} does not fit int16 ({low} to {high})")
    return what.integer(key, "int16")
