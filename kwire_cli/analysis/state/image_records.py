"""Records of KRaft metadata applied to an image, a function for each type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import is_whole
from kwire_cli.analysis.state.image import Image
from kwire_cli.records.kafka_topics import decode_control, decode_record, type_name
from kwire_cli.spec.kafka import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.records.kafka_topics import RecordPayload

    Data = dict[str, Any]


# What each record of `__cluster_metadata` does to the image: one function a record type, as
# MetadataDelta.replay dispatches them.
#
# A function takes the image, the record as it was decoded and its data in Kafka's JSON form, in which tagged
# fields at their default are absent. It returns False where it changes what was never seen. Sources: the
# Delta classes of org.apache.kafka.image; PartitionRegistration; BrokerRegistration.

TOPIC_RESOURCE = 2
"""ConfigResource.Type.TOPIC, whose configs go with the topic."""


NO_LEADER_CHANGE = -2
MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
"""DirectoryId.MIGRATING."""
_LISTS = (
    "replicas",
    "isr",
    "removingReplicas",
    "addingReplicas",
    "directories",
    "eligibleLeaderReplicas",
    "lastKnownElr",
)


def _feature(image: Image, _: RecordPayload, data: Data) -> bool:
    if data["name"] == "kraft.version":  # that is said by control records
        return True
    if data["featureLevel"] == 0:
        image.features.pop(data["name"], None)
    else:
        image.features[data["name"]] = data["featureLevel"]
    return True


def _register_broker(image: Image, _: RecordPayload, data: Data) -> bool:
    # What older versions of the record lack, and what is left out at its default, is what its definition says.
    absent = {"isMigratingZkBroker": False, "inControlledShutdown": False, "logDirs": [], "cordonedLogDirs": None}
    image.brokers[data["brokerId"]] = data | {name: default for name, default in absent.items() if name not in data}
    return True


def _unregister_broker(image: Image, _: RecordPayload, data: Data) -> bool:
    return image.brokers.pop(data["brokerId"], None) is not None


def _fence(fenced: bool) -> Callable[[Image, RecordPayload, Data], bool]:  # noqa: FBT001 - makes the two below
    def replay(image: Image, _: RecordPayload, data: Data) -> bool:
        broker = image.brokers.get(data["id"])
        if broker:
            broker["fenced"] = fenced
        return broker is not None

    return replay


def _change_broker(image: Image, _: RecordPayload, data: Data) -> bool:
    broker = image.brokers.get(data["brokerId"])
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


def _register_controller(image: Image, _: RecordPayload, data: Data) -> bool:
    image.controllers[data["controllerId"]] = data
    return True


def _unregister_controller(image: Image, _: RecordPayload, data: Data) -> bool:
    return image.controllers.pop(data["controllerId"], None) is not None


def _topic(image: Image, _: RecordPayload, data: Data) -> bool:
    image.topics[data["topicId"]] = {"name": data["name"], "topicId": data["topicId"], "partitions": {}}
    image.ids[data["name"]] = data["topicId"]
    return True


def _partition(image: Image, _: RecordPayload, data: Data) -> bool:
    topic = image.topics.setdefault(data["topicId"], {"name": None, "topicId": data["topicId"], "partitions": {}})
    topic["partitions"][data["partitionId"]] = {
        "partition": data["partitionId"],
        "leader": data["leader"],
        "leaderEpoch": data["leaderEpoch"],
        "partitionEpoch": data["partitionEpoch"],
        "leaderRecoveryState": data.get("leaderRecoveryState", 0),
        **{name: data.get(name) or [] for name in _LISTS},
    }
    # A record from before directories has none: defaultToMigrating.
    topic["partitions"][data["partitionId"]]["directories"] = data.get("directories") or [MIGRATING] * len(
        data["replicas"]
    )
    _note_elr(image, data)
    return topic["name"] is not None


def _note_elr(image: Image, data: Data) -> None:
    if data.get("eligibleLeaderReplicas") or data.get("lastKnownElr"):
        image.elr.setdefault(data["topicId"], set()).add(data["partitionId"])


def _change_partition(image: Image, _: RecordPayload, data: Data) -> bool:
    partition = image.topics.get(data["topicId"], {"partitions": {}})["partitions"].get(data["partitionId"])
    if partition is None:
        return False
    _merge(partition, data)
    _note_elr(image, data)
    return True


def _merge(partition: Data, change: Data) -> None:
    """PartitionRegistration.merge: a leader that is named is elected, even if it is the same."""
    partition.update((name, change[name]) for name in _LISTS if change.get(name) is not None)
    if change.get("leader", NO_LEADER_CHANGE) != NO_LEADER_CHANGE:
        partition["leader"] = change["leader"]
        partition["leaderEpoch"] += 1
    if change.get("leaderRecoveryState", -1) != -1:
        partition["leaderRecoveryState"] = change["leaderRecoveryState"]
    partition["partitionEpoch"] += 1


def _clear_elr(image: Image, _: RecordPayload, data: Data) -> bool:
    """Clear the eligible leader replicas of one topic, or of all topics if the record names none."""
    one = image.ids.get(data["topicName"])
    for topic_id in [*image.elr] if not data["topicName"] else [one] if one else []:
        by_number = image.topics.get(topic_id, {"partitions": {}})["partitions"]
        for number in sorted(image.elr.pop(topic_id, ())):
            partition = by_number.get(number)
            if partition and (partition["eligibleLeaderReplicas"] or partition["lastKnownElr"]):
                _merge(partition, {"eligibleLeaderReplicas": [], "lastKnownElr": []})
    return one is not None or not data["topicName"]


def _remove_topic(image: Image, _: RecordPayload, data: Data) -> bool:
    topic = image.topics.pop(data["topicId"], None)
    if topic and topic["name"] is not None:
        image.configs.pop((TOPIC_RESOURCE, topic["name"]), None)
        if image.ids.get(topic["name"]) == data["topicId"]:
            del image.ids[topic["name"]]
    image.elr.pop(data["topicId"], None)
    return topic is not None


def _config(image: Image, payload: RecordPayload, data: Data) -> bool:
    resource = data["resourceType"], data["resourceName"]
    if data["value"] is not None:
        image.configs.setdefault(resource, {})[data["name"]] = payload
        return True
    _drop(image.configs, resource, data["name"])
    return True


def _quota(image: Image, _: RecordPayload, data: Data) -> bool:
    entity = tuple(
        sorted(
            ((part["entityType"], part["entityName"]) for part in data["entity"]),
            key=lambda pair: (pair[0], pair[1] or ""),
        )
    )
    if not data["remove"]:
        image.quotas.setdefault(entity, {})[data["key"]] = data["value"]
        return True
    return _drop(image.quotas, entity, data["key"])


def _drop(table: dict[Any, dict[str, Any]], owner: Any, name: str) -> bool:
    """Take a name from its owner, who goes with the last one; whether it was there."""
    values = table.get(owner, {})
    gone = values.pop(name, None) is not None
    if not values:
        table.pop(owner, None)
    return gone


def _producer_ids(image: Image, _: RecordPayload, data: Data) -> bool:
    image.next_producer_id = data["nextProducerId"]
    return True


def _acl(image: Image, _: RecordPayload, data: Data) -> bool:
    image.acls[data["id"]] = data
    return True


def _remove_acl(image: Image, _: RecordPayload, data: Data) -> bool:
    return image.acls.pop(data["id"], None) is not None


def _scram(image: Image, payload: RecordPayload, data: Data) -> bool:
    image.scram[data["mechanism"], data["name"]] = payload
    return True


def _remove_scram(image: Image, _: RecordPayload, data: Data) -> bool:
    return image.scram.pop((data["mechanism"], data["name"]), None) is not None


def _token(image: Image, payload: RecordPayload, data: Data) -> bool:
    image.tokens[data["tokenId"]] = payload
    return True


def _remove_token(image: Image, _: RecordPayload, data: Data) -> bool:
    return image.tokens.pop(data["tokenId"], None) is not None


def _zk_migration(image: Image, _: RecordPayload, data: Data) -> bool:
    image.zk_migration = data["zkMigrationState"]
    return True


REPLAY: dict[str, Callable[[Image, RecordPayload, Data], bool]] = {
    "RegisterBrokerRecord": _register_broker,
    "UnregisterBrokerRecord": _unregister_broker,
    "TopicRecord": _topic,
    "PartitionRecord": _partition,
    "ConfigRecord": _config,
    "PartitionChangeRecord": _change_partition,
    "FenceBrokerRecord": _fence(fenced=True),
    "UnfenceBrokerRecord": _fence(fenced=False),
    "RemoveTopicRecord": _remove_topic,
    "DelegationTokenRecord": _token,
    "UserScramCredentialRecord": _scram,
    "FeatureLevelRecord": _feature,
    "ClientQuotaRecord": _quota,
    "ProducerIdsRecord": _producer_ids,
    "BrokerRegistrationChangeRecord": _change_broker,
    "AccessControlEntryRecord": _acl,
    "RemoveAccessControlEntryRecord": _remove_acl,
    "ZkMigrationStateRecord": _zk_migration,
    "RemoveUserScramCredentialRecord": _remove_scram,
    "RemoveDelegationTokenRecord": _remove_token,
    "RegisterControllerRecord": _register_controller,
    "ClearElrRecord": _clear_elr,
    "UnregisterControllerRecord": _unregister_controller,
}
"""Functions by the name of the record's definition."""

BEGIN, END, ABORT = "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"
WITHOUT_MEANING = frozenset({"NoOpRecord"})


def apply(state: Image, event: Event) -> None:
    """Take in a record of the log or of a snapshot."""
    if event.control:
        _control(state, event)
        return
    payload = decode_record(state.catalog, CLUSTER_METADATA, None, event.value) if event.value is not None else None
    value = payload.value if payload else None
    if not payload or not value or not value.body:
        state.unknown[value.type if value and value.type else "none"] += 1
    elif not is_whole(value):
        state.undecoded += 1
    elif value.type == BEGIN:
        state.held = []
    elif value.type in {END, ABORT}:
        held, state.held = state.held or [], None
        for held_payload in held if value.type == END else ():
            _replay(state, held_payload)
    elif state.held is not None:
        state.held.append(payload)
    else:
        _replay(state, payload)


def _replay(state: Image, payload: RecordPayload) -> None:
    value = payload.value
    if value is None or value.type in WITHOUT_MEANING:
        return
    handler = REPLAY.get(value.type)
    if not handler:
        state.unknown[type_name(value.type)] += 1
    elif not handler(state, payload, value.json_data()):
        state.unapplied[type_name(value.type)] += 1


def _control(state: Image, event: Event) -> None:
    control = decode_control(state.catalog, event.key, event.value)
    value = control.value.json_data() if control.value and is_whole(control.value) else None
    if control.type == "SnapshotHeader":
        _begin_anew(state)
    elif value is None:
        return
    elif control.type == "LeaderChange":
        state.leader = {"leaderId": value["leaderId"], "leaderEpoch": event.epoch}
    elif control.type == "KRaftVersion":
        state.kraft_version = value["kRaftVersion"]
    elif control.type == "KRaftVoters":
        state.voters = value["voters"]


def _begin_anew(state: Image) -> None:
    fresh = Image(state.catalog, unknown=state.unknown, undecoded=state.undecoded, unapplied=state.unapplied)
    state.__dict__.update(fresh.__dict__)
