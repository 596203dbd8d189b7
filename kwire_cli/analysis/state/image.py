"""`__cluster_metadata`: the cluster, as MetadataDelta and MetadataImage make it from the records of a log or snapshot.

Most records put a row into a table or remove one; `RECORDS` has what each type of record does. Records between
BeginTransaction and EndTransaction (KIP-868) count once that came, and never if AbortTransaction does
(MetadataBatchLoader). The header of a snapshot resets the image. Control records have the voters and the kraft.version.
Sources: the Delta classes of org.apache.kafka.image; PartitionRegistration; BrokerRegistration.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import is_whole
from kwire_cli.analysis.state.model import State
from kwire_cli.records.kafka_topics import decode_control, decode_record, type_name
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.tables import Named
    from kwire_cli.records.batch import Hide
    from kwire_cli.records.kafka_topics import RecordPayload
    from kwire_cli.spec.catalog import Catalog

    Row = dict[str, Any]

TOPIC_RESOURCE = 2
"""ConfigResource.Type.TOPIC, whose configs are removed with the topic."""
NO_LEADER_CHANGE = -2
MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
"""DirectoryId.MIGRATING, which stands for the directories of a record from before there were any."""
BEGIN = "BeginTransactionRecord"
END = "EndTransactionRecord"
ABORT = "AbortTransactionRecord"
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
"""Columns of codes that are shown by name, by table, and the record that they are of."""


class Image(State):
    """The cluster: rows by table and key.

    Rows are the fields of a record in Kafka's JSON form, in which tagged fields at their default are absent. A record
    that may hold a secret is kept as it was decoded, so that the secret can be redacted. `ids` are topic ids by name;
    `elr` are, by topic id, partitions that may have eligible leader replicas, which one record can clear everywhere.
    `held` are the records of a controller's transaction that has not ended, None without one.
    """

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self._clear()

    def _clear(self) -> None:
        self.tables: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
        self.topics: dict[str, Row] = {}
        self.ids: dict[str, str] = {}
        self.elr: dict[str, set[int]] = {}
        self.configs: dict[tuple[int, str], dict[str, RecordPayload]] = {}
        self.cluster: Row = {}
        self.held: list[RecordPayload] | None = None

    def apply(self, event: Event) -> None:
        """Take in a record of the log or of a snapshot."""
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
        take = RECORDS.get(value.type)
        if not take:
            self.unknown[type_name(value.type)] += 1
        elif take(self, payload, value.json_data()) is False:
            self.unapplied[type_name(value.type)] += 1

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield the rows of the cluster, with codes by name."""
        for table, row in self._rows(hide):
            record, names = _CODES.get(table, ("", ()))
            yield table, row | {name: self._named(record, name, row[name]) for name in names}

    def _rows(self, hide: Hide | None) -> Iterator[Named]:
        held = {} if self.held is None else {"openTransactionRecords": len(self.held)}
        if cluster := self.cluster | held:
            yield "cluster", cluster
        for table in ("voters", "features", "acls", "quotas"):
            yield from ((table, row) for row in self.tables[table].values())
        for table in ("scramUsers", "delegationTokens"):
            for payload in self.tables[table].values():
                yield table, _hidden(payload, hide)
        for node in ("broker", "controller"):
            for row in self.tables[f"{node}s"].values():
                yield from self._node(node, row)
        for topic in self.topics.values():
            yield "topics", topic | {"partitions": len(topic["partitions"])}
            for partition in topic["partitions"].values():
                yield "partitions", {"topic": topic["name"] or topic["topicId"], **partition}
        for (kind, resource), configs in self.configs.items():
            place = {"resourceType": kind, "resourceName": resource}
            for payload in configs.values():
                data = _hidden(payload, hide)
                yield "configs", {**place, "name": data["name"], "value": data["value"]}

    def _node(self, kind: str, row: Row) -> Iterator[Named]:
        """Yield the rows of a broker or controller. Kafka writes features and endpoints in no order."""
        shown = {name: value for name, value in row.items() if name != "endPoints"}
        yield f"{kind}s", shown | {"features": sorted(row["features"], key=lambda each: str(each["name"]))}
        record = f"Register{kind.title()}Record"
        for end in row["endPoints"]:
            protocol = self._named(record, "endPoints.securityProtocol", end["securityProtocol"])
            yield "listeners", {"node": kind, "nodeId": row[f"{kind}Id"], **end, "securityProtocol": protocol}

    def _named(self, record: str, path: str, code: Any) -> Any:
        if isinstance(code, list):
            return [self._named(record, path, each) for each in code]
        return self.catalog.named_value(record, path, code) or code


def _hidden(payload: RecordPayload, hide: Hide | None) -> Row:
    """Return the data of a record, with its secrets redacted."""
    if not payload.value:
        return {}
    hidden = hide(payload).get("value", frozenset()) if hide else frozenset()
    data: Row = payload.value.json_data(hidden=hidden)
    return data


# What records do. A function takes the image, the record as it was decoded, and its data. It returns False if the
# record changes a row that no record before has created: the log begins later.


def _store(table: str, *key: str, secret: bool = False) -> Callable[[Image, RecordPayload, Row], None]:
    """Return the function of records that put a row into a table."""

    def store(image: Image, payload: RecordPayload, data: Row) -> None:
        image.tables[table][tuple(data[name] for name in key)] = payload if secret else data

    return store


def _remove(table: str, *key: str) -> Callable[[Image, RecordPayload, Row], bool]:
    """Return the function of records that remove a row from a table."""

    def remove(image: Image, _: RecordPayload, data: Row) -> bool:
        return image.tables[table].pop(tuple(data[name] for name in key), None) is not None

    return remove


def _feature(image: Image, _: RecordPayload, data: Row) -> None:
    name = data["name"]
    if not data["featureLevel"]:
        image.tables["features"].pop(name, None)
    elif name != "kraft.version":  # control records have that one
        image.tables["features"][name] = {"name": name, "level": data["featureLevel"]}


def _register_broker(image: Image, _: RecordPayload, data: Row) -> None:
    key = (data["brokerId"],)
    image.tables["brokers"][key] = _BROKER_DEFAULTS | data


def _fence(image: Image, payload: RecordPayload, data: Row, *, fenced: int) -> bool:
    return _change_broker(image, payload, {"brokerId": data["id"], "fenced": fenced})


def _change_broker(image: Image, _: RecordPayload, data: Row) -> bool:
    broker = image.tables["brokers"].get((data["brokerId"],))
    if broker is None:
        return False
    if data.get("fenced"):  # 1 fences, -1 unfences
        broker["fenced"] = data["fenced"] > 0
    if data.get("inControlledShutdown"):
        broker["inControlledShutdown"] = True
    if data.get("logDirs"):
        broker["logDirs"] = data["logDirs"]
    if data.get("cordonedLogDirs") is not None:
        broker["cordonedLogDirs"] = data["cordonedLogDirs"]
    return True


def _topic(image: Image, _: RecordPayload, data: Row) -> None:
    image.topics[data["topicId"]] = {"name": data["name"], "topicId": data["topicId"], "partitions": {}}
    image.ids[data["name"]] = data["topicId"]


def _partition(image: Image, _: RecordPayload, data: Row) -> bool:
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
    _note_elr(image, data)
    return topic["name"] is not None


def _note_elr(image: Image, data: Row) -> None:
    if data.get("eligibleLeaderReplicas") or data.get("lastKnownElr"):
        image.elr.setdefault(data["topicId"], set()).add(data["partitionId"])


def _change_partition(image: Image, _: RecordPayload, data: Row) -> bool:
    partition = image.topics.get(data["topicId"], {"partitions": {}})["partitions"].get(data["partitionId"])
    if partition is None:
        return False
    _merge(partition, data)
    _note_elr(image, data)
    return True


def _merge(partition: Row, change: Row) -> None:
    """PartitionRegistration.merge: a leader that is named is elected, even if it is the same."""
    partition.update((name, change[name]) for name in _LISTS if change.get(name) is not None)
    if change.get("leader", NO_LEADER_CHANGE) != NO_LEADER_CHANGE:
        partition["leader"] = change["leader"]
        partition["leaderEpoch"] += 1
    if change.get("leaderRecoveryState", -1) != -1:
        partition["leaderRecoveryState"] = change["leaderRecoveryState"]
    partition["partitionEpoch"] += 1


def _clear_elr(image: Image, _: RecordPayload, data: Row) -> bool:
    """Clear the eligible leader replicas of one topic, or of all topics if the record names none."""
    one = image.ids.get(data["topicName"])
    topic_ids = [one] if one else []
    for topic_id in topic_ids if data["topicName"] else [*image.elr]:
        by_number = image.topics.get(topic_id, {"partitions": {}})["partitions"]
        for number in image.elr.pop(topic_id, ()):
            partition = by_number.get(number)
            if partition and (partition["eligibleLeaderReplicas"] or partition["lastKnownElr"]):
                _merge(partition, {"eligibleLeaderReplicas": [], "lastKnownElr": []})
    return one is not None or not data["topicName"]


def _remove_topic(image: Image, _: RecordPayload, data: Row) -> bool:
    topic = image.topics.pop(data["topicId"], None)
    if topic and topic["name"] is not None:
        image.configs.pop((TOPIC_RESOURCE, topic["name"]), None)
        if image.ids.get(topic["name"]) == data["topicId"]:
            del image.ids[topic["name"]]
    image.elr.pop(data["topicId"], None)
    return topic is not None


def _config(image: Image, payload: RecordPayload, data: Row) -> None:
    configs = image.configs.setdefault((data["resourceType"], data["resourceName"]), {})
    if data["value"] is None:
        configs.pop(data["name"], None)
    else:
        configs[data["name"]] = payload


def _quota(image: Image, _: RecordPayload, data: Row) -> bool:
    pairs = {part["entityType"]: part["entityName"] for part in data["entity"]}
    entity = tuple(sorted(pairs.items()))
    quotas = image.tables["quotas"]
    if data["remove"]:
        return quotas.pop((entity, data["key"]), None) is not None
    quotas[entity, data["key"]] = {"entity": dict(entity), "name": data["key"], "value": data["value"]}
    return True


def _producer_ids(image: Image, _: RecordPayload, data: Row) -> None:
    image.cluster["nextProducerId"] = data["nextProducerId"]


def _zk_migration(image: Image, _: RecordPayload, data: Row) -> None:
    path = "zkMigrationState"
    state = data[path]
    image.cluster["zkMigration"] = image.catalog.named_value("ZkMigrationStateRecord", path, state) or state


def _nothing(_: Image, __: RecordPayload, ___: Row) -> None:
    """NoOpRecord."""


RECORDS: dict[str, Callable[[Image, RecordPayload, Row], bool | None]] = {
    "RegisterBrokerRecord": _register_broker,
    "UnregisterBrokerRecord": _remove("brokers", "brokerId"),
    "TopicRecord": _topic,
    "PartitionRecord": _partition,
    "ConfigRecord": _config,
    "PartitionChangeRecord": _change_partition,
    "FenceBrokerRecord": partial(_fence, fenced=1),
    "UnfenceBrokerRecord": partial(_fence, fenced=-1),
    "RemoveTopicRecord": _remove_topic,
    "DelegationTokenRecord": _store("delegationTokens", "tokenId", secret=True),
    "UserScramCredentialRecord": _store("scramUsers", "mechanism", "name", secret=True),
    "FeatureLevelRecord": _feature,
    "ClientQuotaRecord": _quota,
    "ProducerIdsRecord": _producer_ids,
    "BrokerRegistrationChangeRecord": _change_broker,
    "AccessControlEntryRecord": _store("acls", "id"),
    "RemoveAccessControlEntryRecord": _remove("acls", "id"),
    "ZkMigrationStateRecord": _zk_migration,
    "RemoveUserScramCredentialRecord": _remove("scramUsers", "mechanism", "name"),
    "RemoveDelegationTokenRecord": _remove("delegationTokens", "tokenId"),
    "RegisterControllerRecord": _store("controllers", "controllerId"),
    "ClearElrRecord": _clear_elr,
    "UnregisterControllerRecord": _remove("controllers", "controllerId"),
    "NoOpRecord": _nothing,
}
"""Functions by the name of the record's definition."""
