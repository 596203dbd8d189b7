"""Marks of the last record that told of a row: its offset and its time, by what the record is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.coordinators import OFFSET_COMMITS, PARTS, decoded, type_of, whole
from kwire_cli.records.kafka_topics import decode_control, decode_record
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.topics import State
    from kwire_cli.spec.catalog import Catalog

    Row = dict[str, Any]
    Key = tuple[Any, ...]


class Mark(NamedTuple):
    """The offset of a record, and its time in milliseconds."""

    offset: int
    time: int


@dataclass
class Marks:
    """Last records of a topic by what they are about. There is no more than one for each thing that changed.

    `names` are names of topics by id, for records that have the id alone. `pending` are the producers whose marker
    makes an offset count, by group, topic and partition.
    """

    catalog: Catalog
    topic: str
    names: dict[str, str] = field(default_factory=dict)
    pending: dict[Key, set[int]] = field(default_factory=dict)
    _last: dict[Key, Mark] = field(default_factory=dict)

    def begin(self, state: State) -> None:
        """Take in what a state before the records says that records do not repeat."""
        for row in state.rows(hide=None):
            if row["kind"] == "topic":
                self.names[row["topicId"]] = row["name"]
            for commit in row.get("pendingOffsets", ()) if row["kind"] == "group" else ():
                key = row["group"], commit["topic"], commit["partition"]
                self.pending.setdefault(key, set()).add(commit["producerId"])

    def add(self, event: Event) -> None:
        """Take in a record. Never raises, whatever its bytes."""
        mark = Mark(event.offset, event.timestamp)
        for key in _ABOUT[self.topic](self, event):
            self._last[key] = mark

    def of(self, table: str, row: Row, field_name: str | None = None) -> Mark | None:
        """Return the mark of a row, of a field of it if only that is known; None if no record told of it."""
        keys = [*_keys(table, row, field_name)]
        if table == "groups" and field_name is None and keys[0] not in self._last:
            keys.append(("offsets of", row.get("group")))  # offsets make a group without a record of its own
        if table == "offsets":
            producers = self.pending.get((row["group"], row["topic"], row["partition"]), ())
            keys += (("committed", producer) for producer in producers)
        return max((mark for key in keys if (mark := self._last.get(key))), default=None)


# What records are about.


def _of_group_record(marks: Marks, event: Event) -> Iterator[Key]:
    if event.control:
        yield "producer", event.producer_id
        if decode_control(marks.catalog, event.key, event.value).type == "COMMIT":
            yield "committed", event.producer_id
        return
    number = type_of(event.key)
    payload = decoded(marks.catalog, CONSUMER_OFFSETS, event.key, None, None) if event.key is not None else None
    if not payload or number is None:
        return
    key = payload.key
    if number in OFFSET_COMMITS:
        if event.producer_id >= 0:
            place = key["group"], key["topic"], key["partition"]
            marks.pending.setdefault(place, set()).add(event.producer_id)
        yield "offset", key["group"], key["topic"], key["partition"]
        yield "offsets of", key["group"]
        return
    group = key.get("groupId", key.get("group"))
    yield "group", group
    if number in PARTS and PARTS[number].member:
        yield "member", group, key["memberId"]


def _of_transaction_record(marks: Marks, event: Event) -> Iterator[Key]:
    payload = decoded(marks.catalog, TRANSACTION_STATE, event.key, None, None) if event.key is not None else None
    if payload and not event.control:
        yield "transaction", payload.key["transactionalId"]


def _of_share_record(marks: Marks, event: Event) -> Iterator[Key]:
    payload = decoded(marks.catalog, SHARE_GROUP_STATE, event.key, None, None) if event.key is not None else None
    if payload and not event.control:
        yield "share", payload.key["groupId"], payload.key["topicId"], payload.key["partition"]


_CONTROLS = {
    "LeaderChange": (("cluster", "leaderId"), ("cluster", "leaderEpoch")),
    "KRaftVersion": (("cluster", "kraftVersion"),),
    "KRaftVoters": (("voters",),),
}


def _of_metadata_record(marks: Marks, event: Event) -> Iterator[Key]:
    if event.control:
        yield from _CONTROLS.get(decode_control(marks.catalog, event.key, event.value).type, ())
        return
    payload = decode_record(marks.catalog, CLUSTER_METADATA, None, event.value) if event.value is not None else None
    if payload and payload.value and payload.value.type in _METADATA and whole(payload.value):
        yield from _METADATA[payload.value.type](marks, payload.value.json_data())


def _of_topic(marks: Marks, data: Row) -> Iterator[Key]:
    marks.names[data["topicId"]] = data["name"]
    yield "topic", data["name"]


def _of_removed_topic(marks: Marks, data: Row) -> Iterator[Key]:
    name = marks.names.get(data["topicId"])
    yield from (("topic", name), ("topic removed", name))


def _of_partition(marks: Marks, data: Row) -> Iterator[Key]:
    name = marks.names.get(data["topicId"])
    yield from (("partition", name, data["partitionId"]), ("topic", name))


def _of_config(marks: Marks, data: Row) -> Iterator[Key]:
    kind = marks.catalog.named_value("ConfigRecord", "resourceType", data["resourceType"])
    yield "config", kind or data["resourceType"], data["resourceName"], data["name"]


def _of_quota(_: Marks, data: Row) -> Iterator[Key]:
    entity = {part["entityType"]: part["entityName"] for part in data["entity"]}
    yield "quota", _entity(entity), data["key"]


def _of_scram(marks: Marks, data: Row) -> Iterator[Key]:
    mechanism = marks.catalog.named_value("UserScramCredentialRecord", "mechanism", data["mechanism"])
    yield "scram", data["name"], mechanism or data["mechanism"]


def _by(what: str, name: str) -> Callable[[Marks, Row], Iterator[Key]]:
    return lambda _, data: iter([(what, data[name] or None if what == "elr" else data[name])])


def _of_cluster(name: str) -> Callable[[Marks, Row], Iterator[Key]]:
    return lambda _, __: iter([("cluster", name)])


_METADATA: dict[str, Callable[[Marks, Row], Iterator[Key]]] = {
    "TopicRecord": _of_topic,
    "RemoveTopicRecord": _of_removed_topic,
    "PartitionRecord": _of_partition,
    "PartitionChangeRecord": _of_partition,
    "ClearElrRecord": _by("elr", "topicName"),
    "ConfigRecord": _of_config,
    "RegisterBrokerRecord": _by("broker", "brokerId"),
    "UnregisterBrokerRecord": _by("broker", "brokerId"),
    "BrokerRegistrationChangeRecord": _by("broker", "brokerId"),
    "FenceBrokerRecord": _by("broker", "id"),
    "UnfenceBrokerRecord": _by("broker", "id"),
    "RegisterControllerRecord": _by("controller", "controllerId"),
    "UnregisterControllerRecord": _by("controller", "controllerId"),
    "FeatureLevelRecord": _by("feature", "name"),
    "ClientQuotaRecord": _of_quota,
    "ProducerIdsRecord": _of_cluster("nextProducerId"),
    "ZkMigrationStateRecord": _of_cluster("zkMigration"),
    "AccessControlEntryRecord": _by("acl", "id"),
    "RemoveAccessControlEntryRecord": _by("acl", "id"),
    "UserScramCredentialRecord": _of_scram,
    "RemoveUserScramCredentialRecord": _of_scram,
    "DelegationTokenRecord": _by("token", "tokenId"),
    "RemoveDelegationTokenRecord": _by("token", "tokenId"),
}
_ABOUT: dict[str, Callable[[Marks, Event], Iterator[Key]]] = {
    CONSUMER_OFFSETS: _of_group_record,
    TRANSACTION_STATE: _of_transaction_record,
    SHARE_GROUP_STATE: _of_share_record,
    CLUSTER_METADATA: _of_metadata_record,
}


def _entity(entity: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(entity.items(), key=str))


# What rows are about: the keys of records that may have told of a row.

_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "groups": (("group", "group"),),
    "members": (("member", "group", "memberId"), ("group", "group")),
    "offsets": (("offset", "group", "topic", "partition"),),
    "pendingOffsets": (("offset", "group", "topic", "partition"), ("producer", "producerId")),
    "transactions": (("transaction", "transactionalId"),),
    "sharePartitions": (("share", "groupId", "topicId", "partition"),),
    "shareBatches": (("share", "groupId", "topicId", "partition"),),
    "topics": (("topic", "name"),),
    "partitions": (("partition", "topic", "partition"), ("topic removed", "topic"), ("elr", "topic")),
    "configs": (("config", "resourceType", "resourceName", "name"),),
    "brokers": (("broker", "brokerId"),),
    "controllers": (("controller", "controllerId"),),
    "features": (("feature", "name"),),
    "acls": (("acl", "id"),),
    "scramUsers": (("scram", "name", "mechanism"),),
    "delegationTokens": (("token", "tokenId"),),
    "voters": (("voters",),),
}
"""For each table what records are about, and the fields of a row that name it."""


def _keys(table: str, row: Row, field_name: str | None) -> Iterator[Key]:
    yield from ((what, *map(row.get, names)) for what, *names in _NAMES.get(table, ()))
    if table == "partitions":
        yield "elr", None
    elif table == "configs" and row.get("resourceType") == "TOPIC":
        yield "topic removed", row.get("resourceName")
    elif table == "listeners":
        yield str(row.get("node")), row.get("nodeId")
    elif table == "quotas":
        yield "quota", _entity(row.get("entity") or {}), row.get("name")
    elif table == "cluster":
        yield "cluster", field_name
