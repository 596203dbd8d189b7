"""What the folds of topics with keys share: the type of a record by its key, and its key and value in JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.fixed import fixed
from kwire_cli.payload.model import version_of
from kwire_cli.payload.records import COORDINATORS, decode_record, record_types
from kwire_cli.structs.payloads.prefixes import VERSION

if TYPE_CHECKING:
    from kwire_cli.payload.model import Payload
    from kwire_cli.records.model import Hide
    from kwire_cli.spec.catalog import Catalog

TYPE_SIZE = fixed(VERSION).size
"""Bytes of the record type that a key begins with."""
NO_TYPE = "none"
"""How keys are counted that are too short to say a type."""


def known_types(catalog: Catalog, topic: str) -> frozenset[int]:
    """The record types that a topic is known to have."""
    return frozenset(record_types(catalog, COORDINATORS[topic]))


def type_of(key: bytes | None) -> int | None:
    """The record type that a key begins with; None where it is too short for one."""
    head = version_of(key) if key is not None else None
    return head[0] if head else None


def whole(payload: Payload) -> bool:
    """Whether all of a payload could be decoded, with no null where Kafka's reader takes none."""
    if not payload.body or not payload.body.complete:
        return False
    return not payload.body.raw.flags or all(note.code != "NULL_NOT_ALLOWED" for note in payload.body.anomalies)


def decoded(catalog: Catalog, topic: str, key: bytes, value: bytes | None, hide: Hide | None) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The key and the value in Kafka's JSON form, the value empty without one; None where either can't be decoded to its end."""
    payload = decode_record(catalog, topic, key, value)
    parts = [payload.key, payload.value] if payload else []
    if not payload or any(part and not whole(part) for part in parts):
        return None
    shown = payload.to_json(hidden=hide(payload) if hide else {})
    return shown["key"]["data"], shown["value"]["data"] if shown["value"] else {}
