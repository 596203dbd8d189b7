"""Records of Kafka's internal topics, and the decoding of coordinator records.

`events` yields the records of a log in order, and counts the parts that cannot be read. `decode_coordinator` decodes a
record of `__consumer_offsets`, `__transaction_state` or `__share_group_state`: the group or transactional id, the part
of the group, and key and value in Kafka's JSON form. The questions about state, groups and transactions use both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from sys import maxsize
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.kafka_topics import TRANSACTION_STATUS, UNKNOWN_STATE, decode_record
from kwire_cli.records.payload_model import version_of
from kwire_cli.structs.messages import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.records.batch import Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog


# Records in the order of the log, markers among them.


class Event(NamedTuple):
    """A record of a log. `producer_id` is -1 outside of transactions, `epoch` is the leader epoch of the batch."""

    offset: int
    timestamp: int
    producer_id: int
    epoch: int
    control: bool
    key: bytes | None
    value: bytes | None


@dataclass
class Passed:
    """Counts of records, bytes of gaps, and batches with a wrong checksum.

    `first` and `last` are the first and the last offset, None without a record.
    """

    first: int | None = None
    last: int | None = None
    records: int = 0
    gap_bytes: int = 0
    corrupt: int = 0
    notes: list[str] = field(default_factory=list)


def events(
    items: Iterable[Batch | Gap], passed: Passed | None = None, *, first: int = 0, last: int = maxsize
) -> Iterator[Event]:
    """Yield the records with offsets from `first` to `last`, both included.

    Skip batches with a wrong checksum, at which Kafka's reader would fail. `passed` counts them, and gaps.
    """
    passed = Passed() if passed is None else passed
    for item in items:
        if not isinstance(item, Batch):
            if item.code != PADDING:
                passed.gap_bytes += item.size
            continue
        head = item.head
        if head.base_offset > last or head.last_offset < first:
            continue
        if not item.crc_valid:
            passed.corrupt += 1
            continue
        producer = head.producer_id if head.transactional else -1
        for record in item.records():
            if first <= record.offset <= last:
                passed.records += 1
                yield Event(
                    record.offset, record.timestamp, producer, head.leader_epoch, head.control, record.key, record.value
                )
        if passed.first is None:
            passed.first = max(head.base_offset, first)
        passed.last = max(min(head.last_offset, last), passed.last or 0)


# Records of coordinators.

SETTLED = 900.0
"""Seconds without a batch after which kafka-transactions find-hanging examines a transaction.

This is the default of the broker's maximum timeout (transaction.max.timeout.ms)."""
TYPE_SIZE = fixed(VERSION).size
"""Size of the record type at the start of a key."""


def type_of(key: bytes | None) -> int | None:
    """Return the record type at the start of a key, or None if the key is too short."""
    head = version_of(key) if key is not None else None
    return head[0] if head else None


def is_whole(payload: Payload) -> bool:
    """Return whether a payload was decoded completely, without a null that Kafka's reader refuses."""
    if not payload.body or not payload.body.complete:
        return False
    return not payload.body.raw.flags or all(note.code != "NULL_NOT_ALLOWED" for note in payload.body.anomalies)


class CoordinatorRecord(NamedTuple):
    """A record of a coordinator. `value` is empty if the record is a tombstone, which removes the record of its key.

    `name` is the group or the transactional id. A record about a group has the type of the group, such as `consumer`,
    and its part of the group, such as `MemberMetadata`. Both come from the name of its definition. They are empty for
    committed offsets and for records of other topics.
    """

    name: str
    key: dict[str, Any]
    value: dict[str, Any]
    group_type: str = ""
    part: str = ""

    @property
    def status(self) -> str:
        """The state of a transactional id."""
        status = self.value.get(TRANSACTION_STATUS)
        return status if isinstance(status, str) else UNKNOWN_STATE


def decode_coordinator(
    catalog: Catalog, topic: str, key: bytes | None, value: bytes | None, hide: Hide | None = None
) -> CoordinatorRecord | None:
    """Decode a record. Return None if the key or the value cannot be decoded completely.

    `hide` returns the spans to redact in a payload.
    """
    payload = decode_record(catalog, topic, key, value) if key is not None else None
    if not payload or any(part and not is_whole(part) for part in (payload.key, payload.value)):
        return None
    document = payload.to_json(hidden=hide(payload) if hide else {})
    names = document["key"]["data"]
    name = next((str(names[field]) for field in _NAMES if field in names), "")
    body = document["value"]["data"] if document["value"] else {}
    about = _ABOUT_GROUPS.fullmatch(payload.key.body.spec.name) if payload.key and payload.key.body else None
    group_type, part = about.groups() if about else ("", "")
    return CoordinatorRecord(name, names, body, group_type.lower() or (part and "classic"), part)


_NAMES = ("groupId", "group", "transactionalId")
"""Fields of keys that contain the name."""
_ABOUT_GROUPS = re.compile(r"(Consumer|Share|Streams|)Group(\w+)Key")
OFFSET_COMMITS = frozenset({0, 1})
"""Types of keys of committed offsets: 0 comes from Kafka 0.8. Both mean the same partition."""


def partitions_in(value: Mapping[str, Any]) -> list[str]:
    """Return the partitions of the transaction in a record of `__transaction_state`, such as `orders-0`."""
    names: list[str] = []
    for topic in value.get("transactionPartitions") or ():
        names += (f"{topic['topic']}-{number}" for number in topic["partitionIds"])
    return names
