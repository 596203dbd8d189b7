"""`__cluster_metadata`: the cluster, as MetadataDelta and MetadataImage make it from the records of a log or snapshot.

Most records put a row into a table (`PUT`) or remove one (`REMOVE`). The others have a function (`CHANGES`). Records
between BeginTransaction and EndTransaction (KIP-868) count once that came, and never if AbortTransaction does
(MetadataBatchLoader). The header of a snapshot resets the image. Control records have the voters and the kraft.version.
Sources: the Delta classes of org.apache.kafka.image; PartitionRegistration; BrokerRegistration.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import is_whole
from kwire_cli.analysis.state.model import State
from kwire_cli.records.kafka_topics import decode_control, decode_record, type_name
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.model import Named
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.kafka_topics import RecordPayload

    Row = dict[str, Any]

TOPIC_RESOURCE = 2
"""ConfigResource.Type.TOPIC, whose configs are removed with the topic."""
NO_LEADER_CHANGE = -2
MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
"""DirectoryId.MIGRATING, the directory id of replicas in old records, which have no directories."""
BEGIN = "BeginTransactionRecord"
END = "EndTransactionRecord"
ABORT = "AbortTransactionRecord"
NOTHING = frozenset({"NoOpRecord", "ZkMigrationStateRecord"})
_LISTS = (
    "replicas",
    "isr",
    "removingReplicas",
    "addingReplicas",
    "directories",
    "eligibleLeaderReplicas",
    "lastKnownElr",
)
_BROKER_DEFAULTS = {"isMigratingZkBroker": False, "inControlledShutdown": False, "logDirs": [], "cordonedLogDirs": None}
"""Fields that older versions of the record lack, and that are absent at their default."""
_CODES = {
    "acls": ("AccessControlEntryRecord", ("resourceType", "patternType", "operation", "permissionType")),
    "configs": ("ConfigRecord", ("resourceType",)),
    "partitions": ("PartitionRecord", ("leaderRecoveryState", "directories")),
    "scramUsers": ("UserScramCredentialRecord", ("mechanism",)),
}
"""Columns of codes that are shown by name, by table, and the record that defines the codes."""
_NODES = {"brokers": ("RegisterBrokerRecord", "broker"), "controllers": ("RegisterControllerRecord", "controller")}
"""Tables of nodes with listeners, and the record that defines them."""


@dataclass(eq=False)
class Image(State):
    """The state of the cluster: rows by table and key.

    A row contains the fields of a record in Kafka's JSON form, in which tagged fields at their default are absent.
    Records of `PUT` and configs are stored in decoded form, so that their secrets can be redacted later. `held`
    contains the records of the controller's open transaction, or is None without one.
    """

    def __post_init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.tables: defaultdict[str, dict[Any, Row | RecordPayload]] = defaultdict(dict)
        self.topics: dict[str, Row] = {}
        self.configs: defaultdict[tuple[int, str], dict[str, RecordPayload | None]] = defaultdict(dict)
        self.cluster: Row = {}
        self.held: list[RecordPayload] | None = None

    def apply(self, event: Event) -> None:
        """Apply a record of the log or of a snapshot."""
        if event.control:
            self._control(event)
            return
        payload = decode_record(self.catalog, CLUSTER_METADATA, None, event.value) if event.value is not None else None
        value = payload.value if payload else None
        if not payload or not value or not value.body:
            self.unknown[value.type if value and value.type else "none"] += 1
        elif not is_whole(value):
            self.undecoded += 1
        elif value.type == BEGIN:
            self.held = []
        elif value.type in {END, ABORT}:
            held, self.held = self.held or [], None
            for held_payload in held if value.type == END else ():
                self._replay(held_payload)
        elif self.held is not None:
            self.held.append(payload)
        else:
            self._replay(payload)

    def _control(self, event: Event) -> None:
        control = decode_control(self.catalog, event.key, event.value)
        if control.type == "SnapshotHeader":
            self._clear()
        if not control.value or not is_whole(control.value):
            return
        value = control.value.json_data()
        if control.type == "LeaderChange":
            self.cluster |= {"leaderId": value["leaderId"], "leaderEpoch": event.epoch}
        elif control.type == "KRaftVersion":
            self.cluster["kraftVersion"] = value["kRaftVersion"]
        elif control.type == "KRaftVoters":
            self.tables["voters"] = dict(enumerate(value["voters"]))

    def _replay(self, payload: RecordPayload) -> None:
        value = payload.value
        if value is None:
            return
        name = value.type
        data = value.json_data()
        is_applied = True
        if name in PUT:
            table, *key = PUT[name]
            self.tables[table][tuple(data[field] for field in key)] = payload
        elif name in REMOVE:
            table, *key = REMOVE[name]
            is_applied = self.tables[table].pop(tuple(data[field] for field in key), None) is not None
        elif name == "ConfigRecord":
            configs = self.configs[data["resourceType"], data["resourceName"]]
            configs[data["name"]] = payload if data["value"] is not None else None
        elif change := CHANGES.get(name):
            is_applied = change(self, data) is not False
        elif name not in NOTHING:
            self.unknown[type_name(name)] += 1
        self.unapplied.update([type_name(name)] * (not is_applied))

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield the rows of the cluster, with codes by name."""
        for table, row in self._rows(hide):
            record, names = _CODES.get(table, ("", ()))
            yield table, row | {name: self._named(record, name, row[name]) for name in names}

    def _rows(self, hide: Hide | None) -> Iterator[Named]:
        held = {} if self.held is None else {"openTransactionRecords": len(self.held)}
        if cluster := self.cluster | held:
            yield "cluster", cluster
        for table, kept in self.tables.items():
            for each in kept.values():
                row = each if isinstance(each, dict) else _shown(each, hide)
                yield from self._node(table, row) if table in _NODES else [(table, row)]
        for topic in self.topics.values():
            yield "topics", topic | {"partitions": len(topic["partitions"])}
            for partition in topic["partitions"].values():
                yield "partitions", {"topic": topic["name"] or topic["topicId"], **partition}
        for configs in self.configs.values():
            yield from (("configs", _shown(payload, hide)) for payload in configs.values() if payload)

    def _node(self, table: str, row: Row) -> Iterator[Named]:
        """Yield the rows of a broker or controller. They are sorted, because Kafka writes them in any order."""
        record, node = _NODES[table]
        shown = {name: value for name, value in row.items() if name != "endPoints"}
        yield table, shown | {"features": sorted(row["features"], key=lambda each: str(each["name"]))}
        for end in row["endPoints"]:
            protocol = self._named(record, "endPoints.securityProtocol", end["securityProtocol"])
            yield "listeners", {"node": node, "nodeId": row[f"{node}Id"], **end, "securityProtocol": protocol}

    def _named(self, record: str, path: str, code: Any) -> Any:
        if isinstance(code, list):
            return [self._named(record, path, each) for each in code]
        return self.catalog.named_value(record, path, code) or code


def _shown(payload: RecordPayload, hide: Hide | None) -> Row:
    """Return the data of a record, with its secrets redacted."""
    if not payload.value:
        return {}
    hidden = hide(payload).get("value", frozenset()) if hide else frozenset()
    data: Row = payload.value.json_data(hidden=hidden)
    return data


# The effects of records. A function gets the image and the data of the record. It returns False if the record changes a
# row that no earlier record has created, because the log starts later.


def _feature(image: Image, data: Row) -> None:
    name = data["name"]
    if not data["featureLevel"]:
        image.tables["features"].pop(name, None)
    elif name != "kraft.version":  # control records have that one
        image.tables["features"][name] = {"name": name, "level": data["featureLevel"]}


def _register_broker(image: Image, data: Row) -> None:
    image.tables["brokers"][data["brokerId"],] = _BROKER_DEFAULTS | data


def _change_broker(image: Image, data: Row, fenced: int = 0) -> bool:
    broker = image.tables["brokers"].get((data.get("brokerId", data.get("id")),))
    if not isinstance(broker, dict):
        return False
    if fenced := data.get("fenced", fenced):  # 1 fences, -1 unfences
        broker["fenced"] = fenced > 0
    if data.get("inControlledShutdown"):
        broker["inControlledShutdown"] = True
    if data.get("logDirs"):
        broker["logDirs"] = data["logDirs"]
    if data.get("cordonedLogDirs") is not None:
        broker["cordonedLogDirs"] = data["cordonedLogDirs"]
    return True


def _topic(image: Image, data: Row) -> None:
    image.topics[data["topicId"]] = {"name": data["name"], "topicId": data["topicId"], "partitions": {}}


def _partition(image: Image, data: Row) -> bool:
    topic = image.topics.setdefault(data["topicId"], {"name": None, "topicId": data["topicId"], "partitions": {}})
    lists = {name: data.get(name) or [] for name in _LISTS}
    topic["partitions"][data["partitionId"]] = {
        "partition": data["partitionId"],
        "leader": data["leader"],
        "leaderEpoch": data["leaderEpoch"],
        "partitionEpoch": data["partitionEpoch"],
        "leaderRecoveryState": data.get("leaderRecoveryState", 0),
        **lists,
        "directories": lists["directories"] or [MIGRATING] * len(data["replicas"]),
    }
    return topic["name"] is not None


def _change_partition(image: Image, data: Row) -> bool:
    partition = image.topics.get(data["topicId"], {"partitions": {}})["partitions"].get(data["partitionId"])
    if partition is None:
        return False
    _merge(partition, data)
    return True


def _merge(partition: Row, change: Row) -> None:
    """Apply a PartitionChangeRecord (PartitionRegistration.merge).

    A record with a leader is an election, even if the leader is unchanged.
    """
    partition.update((name, change[name]) for name in _LISTS if change.get(name) is not None)
    if change.get("leader", NO_LEADER_CHANGE) != NO_LEADER_CHANGE:
        partition["leader"] = change["leader"]
        partition["leaderEpoch"] += 1
    if change.get("leaderRecoveryState", -1) != -1:
        partition["leaderRecoveryState"] = change["leaderRecoveryState"]
    partition["partitionEpoch"] += 1


def _clear_elr(image: Image, data: Row) -> bool:
    """Clear the eligible leader replicas of one topic, or of all topics if the record names none."""
    wanted = data["topicName"]
    topics = [topic for topic in image.topics.values() if not wanted or topic["name"] == wanted]
    for topic in topics:
        for partition in topic["partitions"].values():
            if partition["eligibleLeaderReplicas"] or partition["lastKnownElr"]:
                _merge(partition, {"eligibleLeaderReplicas": [], "lastKnownElr": []})
    return bool(topics) or not wanted


def _remove_topic(image: Image, data: Row) -> bool:
    topic = image.topics.pop(data["topicId"], None)
    if topic:
        image.configs.pop((TOPIC_RESOURCE, topic["name"]), None)
    return topic is not None


def _quota(image: Image, data: Row) -> bool:
    pairs = {part["entityType"]: part["entityName"] for part in data["entity"]}
    entity = tuple(sorted(pairs.items()))
    quotas = image.tables["quotas"]
    if data["remove"]:
        return quotas.pop((entity, data["key"]), None) is not None
    quotas[entity, data["key"]] = {"entity": dict(entity), "name": data["key"], "value": data["value"]}
    return True


def _producer_ids(image: Image, data: Row) -> None:
    image.cluster["nextProducerId"] = data["nextProducerId"]


PUT = {
    "DelegationTokenRecord": ("delegationTokens", "tokenId"),
    "UserScramCredentialRecord": ("scramUsers", "mechanism", "name"),
    "AccessControlEntryRecord": ("acls", "id"),
    "RegisterControllerRecord": ("controllers", "controllerId"),
}
"""Records that add a row: the table, and the fields of its key."""
REMOVE = {
    "UnregisterBrokerRecord": ("brokers", "brokerId"),
    "RemoveAccessControlEntryRecord": ("acls", "id"),
    "RemoveUserScramCredentialRecord": ("scramUsers", "mechanism", "name"),
    "RemoveDelegationTokenRecord": ("delegationTokens", "tokenId"),
    "UnregisterControllerRecord": ("controllers", "controllerId"),
}
"""Records that remove a row: the table, and the fields of its key."""
CHANGES: dict[str, Callable[[Image, Row], bool | None]] = {
    "RegisterBrokerRecord": _register_broker,
    "TopicRecord": _topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _change_partition,
    "FenceBrokerRecord": partial(_change_broker, fenced=1),
    "UnfenceBrokerRecord": partial(_change_broker, fenced=-1),
    "RemoveTopicRecord": _remove_topic,
    "FeatureLevelRecord": _feature,
    "ClientQuotaRecord": _quota,
    "ProducerIdsRecord": _producer_ids,
    "BrokerRegistrationChangeRecord": _change_broker,
    "ClearElrRecord": _clear_elr,
}
"""Functions of other records."""
