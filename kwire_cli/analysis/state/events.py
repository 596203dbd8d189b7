"""Events of Kafka's own topics in order, and state by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.kafka_topics import COORDINATORS, decode_record, record_types
from kwire_cli.records.payload_model import version_of
from kwire_cli.structs.messages import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog


# Records as folds take them: one after another up to an offset, markers among them, and what was passed over
# counted.


class Event(NamedTuple):
    """A record: where it stands, who wrote it (-1 for no producer id), and whether it is a control record. `epoch` is
    its batch's leader epoch.
    """

    offset: int
    timestamp: int
    producer_id: int
    epoch: int
    control: bool
    key: bytes | None
    value: bytes | None


class Kept(NamedTuple):
    """The newest value under a key, with the offset and timestamp (milliseconds) of its record."""

    offset: int
    timestamp: int
    value: bytes


@dataclass
class Passed:
    """Counts of what a fold saw: records, batches, gaps and their bytes, and batches with a wrong checksum.

    `first` and `last` are the first and the last offset, None without any record. `newest` is the largest time of a
    batch in milliseconds, or -1.
    """

    first: int | None = None
    last: int | None = None
    records: int = 0
    batches: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    corrupt: int = 0
    newest: int = -1
    notes: list[str] = field(default_factory=list)


def events(
    items: Iterable[Batch | Gap], passed: Passed, *, first: int | None = None, last: int | None = None
) -> Iterator[Event]:
    """The records of batches, those with offsets from `first` to `last`, both included and None for no bound; in the
    order of the log.

    A batch whose checksum is wrong is passed over, since Kafka's reader would fail there; `passed` counts it, and gaps.
    """
    for item in items:
        if not isinstance(item, Batch):
            if item.code != PADDING:
                passed.gaps += 1
                passed.gap_bytes += item.size
            continue
        head = item.head
        passed.batches += 1
        if (last is not None and head.base_offset > last) or (first is not None and head.last_offset < first):
            continue
        if not item.crc_valid:
            passed.corrupt += 1
            continue
        producer = head.producer_id if head.transactional else -1
        for record in item.records():
            if (first is None or record.offset >= first) and (last is None or record.offset <= last):
                passed.records += 1
                yield Event(
                    record.offset, record.timestamp, producer, head.leader_epoch, head.control, record.key, record.value
                )
        reached = head.last_offset if last is None else min(head.last_offset, last)
        if passed.first is None:
            passed.first = max(head.base_offset, first or 0)
        passed.last = reached if passed.last is None else max(passed.last, reached)
        passed.newest = max(passed.newest, head.max_timestamp)


# What the folds of topics with keys share: the type of a record by its key, and its key and value in JSON
# form.

TYPE_SIZE = fixed(VERSION).size
"""Bytes of the record type that a key begins with."""


NO_TYPE = "none"
"""The name under which keys are counted that are too short to say a type."""


def known_types(catalog: Catalog, topic: str) -> frozenset[int]:
    """The record types that a topic is known to have."""
    return frozenset(record_types(catalog, COORDINATORS[topic]))


def type_of(key: bytes | None) -> int | None:
    """The record type that a key begins with; None where it is too short for one."""
    head = version_of(key) if key is not None else None
    return head[0] if head else None


def whole(payload: Payload) -> bool:
    """Return whether a payload was decoded completely, with no null where Kafka's reader takes none."""
    if not payload.body or not payload.body.complete:
        return False
    return not payload.body.raw.flags or all(note.code != "NULL_NOT_ALLOWED" for note in payload.body.anomalies)


def decoded(
    catalog: Catalog, topic: str, key: bytes, value: bytes | None, hide: Hide | None
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The key and the value in Kafka's JSON form, the value empty without one; None where either can't be decoded to
    its end.
    """
    payload = decode_record(catalog, topic, key, value)
    parts = [payload.key, payload.value] if payload else []
    if not payload or any(part and not whole(part) for part in parts):
        return None
    document = payload.to_json(hidden=hide(payload) if hide else {})
    return document["key"]["data"], document["value"]["data"] if document["value"] else {}
