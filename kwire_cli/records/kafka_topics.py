"""Records of Kafka's own topics, and control records.

In the topics of coordinators a key begins with the record type, and a value with its version. In the metadata log both
are in a frame at the start of the value. The type selects a definition, by which the rest is decoded like any message.
Control batches contain transaction markers and the records that KRaft writes into its log.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.engine.lower import lower
from kwire_cli.engine.spans import walk, without_rest
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, in_early_layout
from kwire_cli.records.payload_fields import payloads_of
from kwire_cli.records.payload_model import (
    Payload,
    cut,
    kept,
    located,
    plain_body,
    schema_version_of,
    version_of,
    versioned,
)
from kwire_cli.spec.catalog import catalog as bundled
from kwire_cli.spec.kafka import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kwire_cli.structs.messages import METADATA_FRAME, VERSION
from kwire_cli.structs.numbers import UVARINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import Entry, MessageSpec


TRANSACTION_VALUE = "TransactionLogValue"
TRANSACTION_STATUS = "transactionStatus"
UNKNOWN_STATE = "Unknown"


# Control records: transaction markers, and what KRaft writes into its log and snapshots.
#
# Sources: ControlRecordType, EndTransactionMarker, ControlRecordUtils.

MARKERS = {0: "ABORT", 1: "COMMIT"}
"""Types whose value is a version and an EndTxnMarker."""


MESSAGES = {
    2: ("LeaderChange", "LeaderChangeMessage"),
    3: ("SnapshotHeader", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter", "SnapshotFooterRecord"),
    5: ("KRaftVersion", "KRaftVersionRecord"),
    6: ("KRaftVoters", "VotersRecord"),
}
"""Types whose value is a message that has its version as its first field; the names are those that DumpLogSegments
prints."""

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Control:
    """A control record: its type as a name, or UNKNOWN, and as a number, or None if the key is too short.

    `key` and `value` are None if they are null in the record.
    """

    type: str
    number: int | None
    key: Payload | None
    value: Payload | None
    notes: tuple[Anomaly, ...] = ()

    @property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the record.

        Paths begin with key or value, and offsets count from the beginning of the key or value.
        """
        return [*self.notes, *located(payload for payload in (self.key, self.value) if payload)]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: `{"type":"COMMIT","coordinatorEpoch":0}`, `{"type":"KRaftVoters","value":{…}}`, or
        `{"type":"UNKNOWN","number":9,"value":"<base64>"}`.
        """
        if self.number in MARKERS:
            marker = self.value.json_data() if self.value and self.value.body else {}
            return {"type": self.type, "coordinatorEpoch": marker.get("coordinatorEpoch")}
        value = self.value.json_data() if self.value else None
        if self.type != UNKNOWN:
            return {"type": self.type, "value": value}
        document: dict[str, Any] = {"type": self.type, "number": self.number}
        if self.number is None and self.key:
            document["key"] = base64.b64encode(self.key.data).decode("ascii")
        return document | {"value": value}


def decode_control(catalog: Catalog, key: Any, value: Any) -> Control:
    """Decode a record of a control batch from its key and value, bytes or None.

    Never raises: undecodable parts are kept as bytes, with an anomaly.
    """
    if key is None:
        note = Anomaly("NULL_NOT_ALLOWED", "key", 0, "a control record without a key, which would say its type")
        return Control(UNKNOWN, None, None, _raw_payload(value), (note,))
    head = versioned("key", catalog.message("ControlRecordTypeSchema"), key)
    number = head.json_data().get("type") if head.body else None
    if number is None:
        return Control(
            UNKNOWN, None, cut("key", "ControlRecordTypeSchema", key, "a version and a type"), _raw_payload(value)
        )
    return replace(_of_type(catalog, number, value), key=_without_rest(head))


def _of_type(catalog: Catalog, number: int, value: Any) -> Control:
    if number not in MARKERS and number not in MESSAGES:
        note = Anomaly("UNKNOWN_TYPE", "key.type", 0, f"control record type {number}: {MEANING['UNKNOWN_TYPE']}")
        return Control(UNKNOWN, number, None, _raw_payload(value), (note,))
    name = MARKERS[number] if number in MARKERS else MESSAGES[number][0]
    if value is None:
        return Control(
            name,
            number,
            None,
            None,
            (Anomaly("NULL_NOT_ALLOWED", "value", 0, f"a {name} control record without a value"),),
        )
    if number in MARKERS:
        return Control(name, number, None, versioned("value", catalog.message("EndTxnMarker"), value))
    # Kafka 4.4 reads it by the layout of version 0, regardless of the version in its first field.
    spec = catalog.message(MESSAGES[number][1])
    first = version_of(value)
    payload = plain_body("value", spec, 0, value) if first else cut("value", spec.name, value)
    if first and first[0] != 0:
        note = Anomaly(
            "UNKNOWN_VERSION",
            "version",
            0,
            f"the message says version {first[0]}; it was decoded by the layout of 0, as Kafka does",
        )
        payload = replace(payload, notes=(*payload.notes, note))
    return Control(name, number, None, payload)


def _raw_payload(value: Any) -> Payload | None:
    return None if value is None else Payload("value", "", None, value)


def _without_rest(key: Payload) -> Payload:
    """Return the key without bytes after its last field: Kafka allows more bytes in keys of later versions
    (ControlRecordType.parse).
    """
    body = key.body
    if not body or body.raw.used == body.raw.stop:
        return key
    return replace(key, body=replace(body, raw=without_rest(body.raw)))


# Keys and values of the records in Kafka's own topics, in the very shape that Kafka's DumpLogSegments prints.
#
# Sources: CoordinatorRecordSerde with the serdes of the group, transaction and share coordinators;
# AbstractApiMessageSerde for the records of __cluster_metadata, its snapshots and __remote_log_metadata.

COORDINATORS = {
    CONSUMER_OFFSETS: "group-coordinator",
    TRANSACTION_STATE: "transaction-coordinator",
    SHARE_GROUP_STATE: "share-coordinator",
}
"""Topics whose keys begin with a record type and values with a version, by the module that defines them."""


FRAMED = {CLUSTER_METADATA: "metadata", REMOTE_LOG_METADATA: "storage"}
"""Topics whose values contain type and version in a frame, and whose keys contain no type."""

OWN_TOPICS = frozenset({*COORDINATORS, *FRAMED})
"""All topics whose records `decode_record` knows."""

FRAME_VERSION = 1
"""The version that Kafka writes and reads; the preview in 2.8 had version 0."""

_FRAME = lower(METADATA_FRAME)


def has_version_prefix(message: MessageSpec | Entry) -> bool:
    """Return whether messages of this kind begin with their version wherever Kafka writes them."""
    return message.type in {"coordinator-key", "coordinator-value", "metadata", "data"}


def version_before(spec: MessageSpec, data: Any) -> tuple[int, int] | None:
    """Return the version at the start of a key, value or payload, and the start of its body; None without a version.

    The type in the prefix of a key or of a framed record has to match the message. A message whose first field is
    its version begins with that field.
    """
    if spec.type == "metadata":
        raw = without_rest(walk(_FRAME, data))
        if raw.lost >= 0:
            return None
        frame_version, number, version = _frame_numbers(raw)
        return (version, raw.used) if (frame_version, number) == (FRAME_VERSION, spec.api_key) else None
    first = spec.fields[0] if spec.fields else None
    if first and first.name.lower() == "version":
        own = schema_version_of(data) if first.type == "int32" else (version_of(data) or (None,))[0]
        return None if own is None else (own, 0)
    prefix = version_of(data)
    if prefix and spec.type == "coordinator-key":
        return (spec.valid_versions.low, prefix[1]) if prefix[0] == spec.api_key else None
    return prefix


@cache
def transaction_states(catalog: Catalog) -> tuple[str, ...]:
    """Return Kafka's names of the status of a transaction, by its number (TransactionState).

    DumpLogSegments prints them.
    """
    states: list[str] = []
    while name := catalog.named_value(TRANSACTION_VALUE, TRANSACTION_STATUS, len(states)):
        states.append("".join(map(str.capitalize, name.split("_"))))
    return tuple(states)


def _name_status(data: Any) -> None:
    status = data.get(TRANSACTION_STATUS) if isinstance(data, dict) else None
    states = transaction_states(bundled())
    if isinstance(status, int) and 0 <= status < len(states):
        data[TRANSACTION_STATUS] = states[status]


@dataclass(frozen=True)
class RecordPayload:
    """A record's key and value. `framed` records have a key without meaning; a value of None is a tombstone.

    `inside` are the payloads within the value, such as `value.members[0].subscription`, and the payloads within those.
    """

    key: Payload | None
    value: Payload | None
    framed: bool
    inside: tuple[Payload, ...] = ()
    notes: tuple[Anomaly, ...] = ()
    secret: frozenset[str] | None = None
    """The parts whose bytes are hidden; None if the definitions determine the secrets."""

    @property
    def known(self) -> bool:
        """Return whether the key and the value were decoded, so that the bytes add no information."""
        parts = [part for part in (self.key, self.value) if part]
        return bool(parts) and all(part.body and part.body.complete for part in parts)

    def masked(self) -> RecordPayload:
        """Return the record without secrets in the parts that no definition describes."""
        return self

    @property
    def payloads(self) -> list[Payload]:
        """All payloads: the key, the value, and those inside the value."""
        return [payload for payload in (self.key, self.value) if payload] + [*self.inside]

    @property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the record.

        Paths begin with key or value, and offsets count from the beginning of the payload that they are in.
        """
        return [*self.notes, *located(self.payloads)]

    def to_json(self, *, hidden: Mapping[str, frozenset[int]] | None = None) -> dict[str, Any]:
        """Return the form of DumpLogSegments: `{"key":{"type","data"},"value":{"version","data"}}`, if framed
        `{"value":{"type","version","data"}}`.

        Members' subscriptions and assignments replace their bytes. `hidden` are the spans to redact in the "key" and
        the "value".
        """
        hidden = hidden or {}
        if not self.value:
            value = None
        else:
            data = self.value.json_data(hidden=hidden.get("value", frozenset()))
            for payload in self.inside:
                if payload.body and payload.body.complete:
                    _insert_member(data, payload)
            if self.value.type == TRANSACTION_VALUE:
                _name_status(data)
            version = self.value.version
            head = (
                {"type": type_name(self.value.type) or None, "version": version}
                if self.framed
                else {"version": None if version is None else str(version)}
            )
            value = {**head, "data": data}
        if self.framed:
            return {"value": value}
        key = (
            {"type": self.key.type or None, "data": self.key.json_data(hidden=hidden.get("key", frozenset()))}
            if self.key
            else None
        )
        return {"key": key, "value": value}


def decode_record(catalog: Catalog, topic: str | None, key: Any, value: Any) -> RecordPayload | None:
    """Decode the key and value (bytes or None) of a record in one of Kafka's own topics; None for other topics.

    Never raises: undecodable parts are kept as bytes, with an anomaly. `decode_control` decodes the records of control
    batches.
    """
    if topic in COORDINATORS:
        return _coordinator(catalog, COORDINATORS[topic], key, value)
    if topic in FRAMED:
        return RecordPayload(None, None if value is None else _framed(catalog, FRAMED[topic], value), framed=True)
    return None


def part_readings(catalog: Catalog, topic: str, data: bytes) -> Iterator[RecordPayload]:
    """Yield some bytes of a coordinator's topic as a key, and as a value of each type."""
    module = COORDINATORS[topic]
    yield _coordinator(catalog, module, data, None)
    for _, name in record_types(catalog, module).values():
        if name:
            value = _value(catalog, name, data)
            yield RecordPayload(None, value, framed=False, inside=_inside(catalog, value))


@cache
def record_types(catalog: Catalog, module: str) -> dict[int, tuple[str | None, str | None]]:
    """Return the key and value of each record type of a module; in a framed topic, only values."""
    names: dict[int, tuple[str | None, str | None]] = {}
    for entry in catalog:
        if entry.module == module and entry.api_key is not None:
            key, value = names.get(entry.api_key, (None, None))
            names[entry.api_key] = (entry.name, value) if entry.type == "coordinator-key" else (key, entry.name)
    return names


def version_prefix(spec: MessageSpec, version: int) -> bytes:
    """Return the bytes that `version_before` reads, which Kafka writes before a message of this version."""
    if spec.type == "metadata":
        frame = {"frameVersion": FRAME_VERSION, "apiKey": spec.api_key, "version": version}
        return bytes(METADATA_FRAME.build(frame))
    return bytes(VERSION.build({"version": spec.api_key if spec.type == "coordinator-key" else version}))


def _coordinator(catalog: Catalog, module: str, key: Any, value: Any) -> RecordPayload:
    number = version_of(key) if key is not None else None
    key_name, value_name = record_types(catalog, module).get(number[0] if number else -1, (None, None))
    notes = (
        (Anomaly("NULL_NOT_ALLOWED", "key", 0, "a record without a key; Kafka's coordinators fail here"),)
        if key is None
        else ()
    )
    shown_key = None if key is None else cut("key", "", key, "a record type")
    if number and key_name:
        shown_key = replace(plain_body("key", catalog.message(key_name), 0, key, number[1]), type=str(number[0]))
    elif number:
        shown_key = kept("key", str(number[0]), None, key, _unknown(number[0], module), number[1])
    shown_value = None if value is None else _value(catalog, value_name, value)
    return RecordPayload(shown_key, shown_value, framed=False, inside=_inside(catalog, shown_value), notes=notes)


def _value(catalog: Catalog, name: str | None, data: Any) -> Payload:
    head = version_of(data)
    if not head:
        return cut("value", name or "", data)
    version, start = head
    if not name:
        return Payload("value", "", version, data, start=start)
    spec = catalog.message(name)
    return _in_early_layout(plain_body("value", spec, version, data, start), catalog)


def _in_early_layout(payload: Payload, catalog: Catalog) -> Payload:
    return replace(payload, body=in_early_layout(payload.body, catalog)) if payload.body else payload


def _framed(catalog: Catalog, module: str, data: Any) -> Payload:
    raw = without_rest(walk(_FRAME, data))
    complete = raw.lost < 0
    notes = () if complete and not raw.flags else tuple(anomalies(build(_FRAME, raw)))
    if not complete:
        return Payload("value", "", None, data, notes=notes)
    frame_version, number, version = _frame_numbers(raw)
    if frame_version != FRAME_VERSION:
        wrong = Anomaly("UNKNOWN_VERSION", "", 0, f"frame version {frame_version}; only {FRAME_VERSION} is known")
        return Payload("value", str(number), version, data, notes=(*notes, wrong), start=raw.used)
    name = record_types(catalog, module).get(number, (None, None))[1]
    if not name:
        return Payload("value", str(number), version, data, notes=(*notes, _unknown(number, module)), start=raw.used)
    spec = catalog.message(name)
    payload = _in_early_layout(plain_body("value", spec, version, data, raw.used), catalog)
    return replace(payload, notes=(*notes, *payload.notes))


def _frame_numbers(raw: Spans) -> Iterator[int]:
    """Yield the frame version, the record type and the version of the record."""
    return (UVARINT.read(raw.data[start:end]) for start, end in pairwise((raw.start, *raw.end)))


def _unknown(number: int, module: str) -> Anomaly:
    return Anomaly("UNKNOWN_TYPE", "", 0, f"record type {number} of {module}: {MEANING['UNKNOWN_TYPE']}")


def _inside(catalog: Catalog, payload: Payload | None) -> tuple[Payload, ...]:
    if not payload or not payload.body:
        return ()
    payloads = payloads_of(catalog, payload.body.spec, payload.body.layout_version, payload.body.tree)
    return tuple(replace(part, path=f"{payload.path}.{part.path}") for part in payloads)


_MEMBER = re.compile(r"value\.members\[(\d+)\]\.(subscription|assignment)")


def _insert_member(data: Any, payload: Payload) -> None:
    """Replace the bytes of a member's subscription or assignment; DumpLogSegments decodes only those in consumers."""
    place = _MEMBER.fullmatch(payload.path)
    if place and payload.type.startswith("ConsumerProtocol") and not payload.guess:
        data["members"][int(place[1])][place[2]] = payload.json_data()


def type_name(name: str) -> str:
    """Return the name of a metadata record's type: TopicRecord is TOPIC_RECORD (MetadataRecordTypeGenerator)."""
    return re.sub(r"(?<!^)(?<![A-Z])(?=[A-Z])", "_", name).upper()
