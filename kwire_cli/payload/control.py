"""Control records: transaction markers, and what KRaft writes into its log and snapshots.

Sources: ControlRecordType, EndTransactionMarker, ControlRecordUtils.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.payload.model import Payload, cut, located, plain_body, version_of, versioned

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

MARKERS = {0: "ABORT", 1: "COMMIT"}
"""Types whose value is a version and an EndTxnMarker."""

MESSAGES = {
    2: ("LeaderChange", "LeaderChangeMessage"),
    3: ("SnapshotHeader", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter", "SnapshotFooterRecord"),
    5: ("KRaftVersion", "KRaftVersionRecord"),
    6: ("KRaftVoters", "VotersRecord"),
}
"""Types whose value is a message that has its version as its first field; the names are those that DumpLogSegments prints."""

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Control:
    """A control record: its type by name, UNKNOWN for one that is not known, and as a number, None where the key does not reach so far.

    `key` and `value` are None where the record has none.
    """

    type: str
    number: int | None
    key: Payload | None
    value: Payload | None
    notes: tuple[Anomaly, ...] = ()

    @property
    def anomalies(self) -> list[Anomaly]:
        """What is odd: paths begin with key or value, offsets count from the begin of that one."""
        return [*self.notes, *located(payload for payload in (self.key, self.value) if payload)]

    def to_json(self) -> dict[str, Any]:
        """`{"type":"COMMIT","coordinatorEpoch":0}`, `{"type":"KRaftVoters","value":{…}}`, or `{"type":"UNKNOWN","number":9,"value":"<base64>"}`."""
        if self.number in MARKERS:
            marker = self.value.json_data() if self.value and self.value.body else {}
            return {"type": self.type, "coordinatorEpoch": marker.get("coordinatorEpoch")}
        value = self.value.json_data() if self.value else None
        if self.type != UNKNOWN:
            return {"type": self.type, "value": value}
        shown: dict[str, Any] = {"type": self.type, "number": self.number}
        if self.number is None and self.key:
            shown["key"] = base64.b64encode(self.key.data).decode("ascii")
        return shown | {"value": value}


def decode_control(catalog: Catalog, key: Any, value: Any) -> Control:
    """A record of a control batch by its key and value, bytes or None. Never raises: what is not known is kept, with an anomaly."""
    if key is None:
        note = Anomaly("NULL_NOT_ALLOWED", "key", 0, "a control record without a key, which would say its type")
        return Control(UNKNOWN, None, None, _kept(value), (note,))
    head = versioned("key", catalog.message("ControlRecordTypeSchema"), key)
    number = head.json_data().get("type") if head.body else None
    if number is None:
        return Control(UNKNOWN, None, cut("key", "ControlRecordTypeSchema", key, "a version and a type"), _kept(value))
    return replace(_of_type(catalog, number, value), key=_without_rest(head))


def _of_type(catalog: Catalog, number: int, value: Any) -> Control:
    if number not in MARKERS and number not in MESSAGES:
        note = Anomaly("UNKNOWN_TYPE", "key.type", 0, f"control record type {number}: {MEANING['UNKNOWN_TYPE']}")
        return Control(UNKNOWN, number, None, _kept(value), (note,))
    name = MARKERS[number] if number in MARKERS else MESSAGES[number][0]
    if value is None:
        return Control(name, number, None, None, (Anomaly("NULL_NOT_ALLOWED", "value", 0, f"a {name} control record without a value"),))
    if number in MARKERS:
        return Control(name, number, None, versioned("value", catalog.message("EndTxnMarker"), value))
    # Whatever version stands in its first field, Kafka 4.4 reads it by the layout of version 0.
    spec = catalog.message(MESSAGES[number][1])
    first = version_of(value)
    payload = plain_body("value", spec, 0, value) if first else cut("value", spec.name, value)
    if first and first[0] != 0:
        note = Anomaly("UNKNOWN_VERSION", "version", 0, f"the message says version {first[0]}; it was decoded by the layout of 0, as Kafka does")
        payload = replace(payload, notes=(*payload.notes, note))
    return Control(name, number, None, payload)


def _kept(value: Any) -> Payload | None:
    return None if value is None else Payload("value", "", None, value)


def _without_rest(key: Payload) -> Payload:
    """The key without what may follow it: Kafka allows for more bytes in keys of later versions (ControlRecordType.parse)."""
    body = key.body
    if not body or body.raw.used == body.raw.stop:
        return key
    from kwire_cli.engine.spans import without_rest  # noqa: PLC0415 - rare

    return replace(key, body=replace(body, raw=without_rest(body.raw)))
