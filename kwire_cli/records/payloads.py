"""What the key and value of a record mean: control records, and the records of Kafka's own topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.payload.control import Control, decode_control
from kwire_cli.payload.records import OWN_TOPICS, RecordPayload, decode_record
from kwire_cli.structs.records import kip98

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record
    from kwire_cli.spec.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Payloads:
    """What a record holds: a control record, or the decoded key and value; `draft` is the name of a control message of the KIP-98 draft."""

    control: Control | None = None
    record: RecordPayload | None = None
    draft: str | None = None

    @property
    def known(self) -> bool:
        """Whether it says all that the bytes do: every part of it was decoded."""
        if self.record:
            parts = [part for part in (self.record.key, self.record.value) if part]
            return bool(parts) and all(part.body and part.body.complete for part in parts)
        return bool(self.control and self.control.type != "UNKNOWN")

    @property
    def anomalies(self) -> list[Anomaly]:
        """What is odd; offsets count from the begin of the key or value."""
        found = self.control or self.record
        return found.anomalies if found else []

    def to_json(self, hidden: Mapping[str, frozenset[int]]) -> dict[str, Any]:
        """`{"control": …}` or `{"decoded": …}`."""
        if self.control:
            return {"control": self.control.to_json()}
        return {"decoded": self.record.to_json(hidden=hidden)} if self.record else {"control": {"type": self.draft}}


def has_payloads(batch: Batch) -> bool:
    """Whether the records of a batch may hold any."""
    return batch.head.control or batch.source.topic in OWN_TOPICS or batch.layout.name == "kip98-draft"


def payload_of(batch: Batch, record: Record) -> Payloads | None:
    """What a record holds; None where its bytes are the business of others."""
    if record.control is not None:
        return Payloads(draft=kip98.CONTROL_TYPES.get(record.control, "UNKNOWN"))
    source = batch.source
    if batch.head.control:
        return Payloads(control=decode_control(source.catalog or _catalog(), record.key, record.value))
    if source.topic in OWN_TOPICS:
        found = decode_record(source.catalog or _catalog(), source.topic, record.key, record.value)
        return Payloads(record=found) if found else None
    return None


def payload_notes(batch: Batch, record: Record, number: int, payload: Payloads) -> list[Anomaly]:
    """The anomalies of a record's payload with their place in the input; of compressed records that is where their batch begins."""
    out = []
    for note in payload.anomalies:
        at = record.key_at if note.path.startswith("key") else record.value_at
        plain = not batch.head.codec and at >= 0
        offset = batch.position + batch.layout.head.size + at + note.offset if plain else batch.position
        out.append(note._replace(path=f"records[{number}].{note.path}".rstrip("."), offset=offset))
    return out


@cache
def _catalog() -> Catalog:
    from kwire_cli.spec.catalog import catalog  # noqa: PLC0415 - most record sets hold nothing that needs it

    return catalog((), None)
