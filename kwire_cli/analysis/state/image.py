"""The KRaft metadata image, and its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Hide
    from kwire_cli.records.kafka_topics import RecordPayload
    from kwire_cli.spec.catalog import Catalog


# `__cluster_metadata` and its snapshots: the image of the cluster, as MetadataDelta and MetadataImage make
# it.
#
# Records between BeginTransaction and EndTransaction (KIP-868) count once that came, and never if
# AbortTransaction does (MetadataBatchLoader). The header of a snapshot begins anew. Control records say the
# voters and the kraft.version.


@dataclass
class Image:
    """The cluster. What may hold a secret is kept as it was decoded, so that whoever shows it can have it hidden.

    Attributes:
        topics: By topic id: `{"name","topicId","partitions":{number: {…}}}`; the name is None where only changes of it
            were seen.
        ids: Topic ids by name.
        elr: By topic id, the partitions that may have eligible leader replicas, which one record can clear everywhere.
        configs: By resource type and name, configs by name: their records.
        scram: By mechanism and user: their records.
        quotas: By entity, pairs of type and name: values by key.
        held: Records of a transaction of the controller that has not ended; None without one.

    """

    catalog: Catalog
    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, dict[str, Any]] = field(default_factory=dict)
    controllers: dict[int, dict[str, Any]] = field(default_factory=dict)
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    elr: dict[str, set[int]] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, RecordPayload]] = field(default_factory=dict)
    quotas: dict[tuple[tuple[str, str | None], ...], dict[str, Any]] = field(default_factory=dict)
    acls: dict[str, dict[str, Any]] = field(default_factory=dict)
    scram: dict[tuple[int, str], RecordPayload] = field(default_factory=dict)
    tokens: dict[str, RecordPayload] = field(default_factory=dict)
    next_producer_id: int | None = None
    zk_migration: int | None = None
    kraft_version: int | None = None
    voters: list[dict[str, Any]] | None = None
    leader: dict[str, Any] | None = None
    held: list[RecordPayload] | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    undecoded: int = 0
    unapplied: Counter[str] = field(default_factory=Counter)
    """Changes of what was never seen, by record type: the log begins behind it."""

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """The image in lines of its parts, each with its `kind`: quorum, feature, broker, controller, topic, configs
        and so on (docs/state.md).
        """
        return rows_of(self, hide)


# The image of the cluster as lines: one a broker, a topic, a resource with its configs and so on, codes by
# their names, secrets hidden.


def rows_of(image: Image, hide: Hide | None) -> Iterator[dict[str, Any]]:
    """The lines in the order of their kinds, those of one kind by name or number."""
    yield {"kind": "quorum", "kraftVersion": image.kraft_version, "leader": image.leader, "voters": image.voters}
    for name, level in sorted(image.features.items()):
        yield {"kind": "feature", "name": name, "level": level}
    for _, broker in sorted(image.brokers.items()):
        yield {"kind": "broker", **_with_listeners(image.catalog, "RegisterBrokerRecord", broker)}
    for _, controller in sorted(image.controllers.items()):
        yield {"kind": "controller", **_with_listeners(image.catalog, "RegisterControllerRecord", controller)}
    yield from _topics(image)
    yield from _configs(image, hide)
    for entity, values in sorted(image.quotas.items(), key=lambda item: [(kind, name or "") for kind, name in item[0]]):
        yield {"kind": "quota", "entity": dict(entity), "quotas": dict(sorted(values.items()))}
    yield {"kind": "producerIds", "nextProducerId": image.next_producer_id}
    yield from _acls(image)
    for (mechanism, _), payload in sorted(image.scram.items(), key=lambda item: (item[0][1], item[0][0])):
        data = _hidden(payload, hide)
        yield {
            "kind": "scramUser",
            **data,
            "mechanism": _named(image.catalog, "UserScramCredentialRecord", "mechanism", mechanism),
        }
    for _, payload in sorted(image.tokens.items()):
        yield {"kind": "delegationToken", **_hidden(payload, hide)}
    if image.zk_migration is not None:
        yield {
            "kind": "zkMigration",
            "state": _named(image.catalog, "ZkMigrationStateRecord", "zkMigrationState", image.zk_migration),
        }
    if image.held is not None:
        yield {"kind": "openTransaction", "records": len(image.held)}
    if image.undecoded:
        yield {"kind": "undecoded", "records": image.undecoded}
    if image.unapplied:
        yield {"kind": "unapplied", "records": dict(sorted(image.unapplied.items()))}


def _topics(image: Image) -> Iterator[dict[str, Any]]:
    for topic in sorted(image.topics.values(), key=lambda each: (each["name"] or "", each["topicId"])):
        partitions = [_partition(image.catalog, part) for _, part in sorted(topic["partitions"].items())]
        yield {"kind": "topic", "name": topic["name"], "topicId": topic["topicId"], "partitions": partitions}


def _partition(catalog: Catalog, partition: dict[str, Any]) -> dict[str, Any]:
    recovery = _named(catalog, "PartitionRecord", "leaderRecoveryState", partition["leaderRecoveryState"])
    directories = [
        _named(catalog, "PartitionRecord", "directories", directory) for directory in partition["directories"]
    ]
    return partition | {"leaderRecoveryState": recovery, "directories": directories}


def _configs(image: Image, hide: Hide | None) -> Iterator[dict[str, Any]]:
    for (kind, name), configs in sorted(image.configs.items()):
        values = {key: _hidden(payload, hide)["value"] for key, payload in sorted(configs.items())}
        yield {
            "kind": "configs",
            "resourceType": _named(image.catalog, "ConfigRecord", "resourceType", kind),
            "resourceName": name,
            "configs": values,
        }


def _acls(image: Image) -> Iterator[dict[str, Any]]:
    names = ("resourceType", "patternType", "operation", "permissionType")
    for acl in sorted(
        image.acls.values(),
        key=lambda each: (each["resourceType"], each["resourceName"], each["principal"], each["id"]),
    ):
        yield {
            "kind": "acl",
            **acl,
            **{name: _named(image.catalog, "AccessControlEntryRecord", name, acl[name]) for name in names},
        }


def _with_listeners(catalog: Catalog, record: str, data: dict[str, Any]) -> dict[str, Any]:
    """A registration with its endpoints' security protocols by name, and its features by name, which Kafka writes in no
    order.
    """
    ends = [
        end | {"securityProtocol": _named(catalog, record, "endPoints.securityProtocol", end["securityProtocol"])}
        for end in data["endPoints"]
    ]
    return data | {
        "endPoints": sorted(ends, key=lambda end: str(end["name"])),
        "features": sorted(data["features"], key=lambda each: str(each["name"])),
    }


def _hidden(payload: RecordPayload, hide: Hide | None) -> dict[str, Any]:
    """Return the data of a record, with its secrets redacted."""
    if not payload.value:
        return {}
    data: dict[str, Any] = payload.value.json_data(
        hidden=hide(payload).get("value", frozenset()) if hide else frozenset()
    )
    return data


def _named(catalog: Catalog, record: str, path: str, code: int | str) -> int | str:
    return catalog.named_value(record, path, code) or code
