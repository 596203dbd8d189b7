import pytest
from kit.logs import Log, catalog, framed

import kwire_cli as kwire
from kwire_cli.message.redaction import RecordRedaction

ID, OTHER = "AAAAAAAAAAAAAAAAAAAABQ", "AAAAAAAAAAAAAAAAAAAABg"


def log():
    return Log("__cluster_metadata")


def topic(name="t", topic_id=ID):
    return framed("TopicRecord", {"name": name, "topicId": topic_id})


def partition(number=0, **more):
    value = {
        "partitionId": number,
        "topicId": ID,
        "replicas": [1, 2],
        "isr": [1, 2],
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": 1,
    }
    return framed(
        "PartitionRecord", value | {"leaderEpoch": 4, "partitionEpoch": 7, "directories": [ID, OTHER]} | more, version=2
    )


def change(number=0, **more):
    return framed("PartitionChangeRecord", {"partitionId": number, "topicId": ID} | more, version=2)


def config(name, value, resource="t", kind=2):
    return framed("ConfigRecord", {"resourceType": kind, "resourceName": resource, "name": name, "value": value})


def broker(**more):
    ends = [{"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": 3}]
    value = {
        "brokerId": 1,
        "incarnationId": ID,
        "brokerEpoch": 5,
        "endPoints": ends,
        "features": [],
        "rack": "r",
        "fenced": True,
    }
    return framed("RegisterBrokerRecord", value | more, version=0)


def only(log, table):
    [row] = log.rows(table)
    return row


def test_a_partition_and_what_changes_it():
    state = log().add(topic()).add(partition())
    assert only(state, "partitions") == {
        "topic": "t",
        "partition": 0,
        "leader": 1,
        "leaderEpoch": 4,
        "partitionEpoch": 7,
        "leaderRecoveryState": "RECOVERED",
        "replicas": [1, 2],
        "isr": [1, 2],
        "removingReplicas": [],
        "addingReplicas": [],
        "directories": [ID, OTHER],
        "eligibleLeaderReplicas": [],
        "lastKnownElr": [],
    }
    part = only(state.add(change(isr=[1], eligibleLeaderReplicas=[2])), "partitions")
    assert (
        part["isr"],
        part["eligibleLeaderReplicas"],
        part["leader"],
        part["leaderEpoch"],
        part["partitionEpoch"],
    ) == ([1], [2], 1, 4, 8)
    part = only(state.add(change(leader=1, leaderRecoveryState=1)), "partitions")
    assert (part["leader"], part["leaderEpoch"], part["partitionEpoch"], part["leaderRecoveryState"]) == (
        1,
        5,
        9,
        "RECOVERING",
    )
    part = only(state.add(framed("ClearElrRecord", {"topicName": ""})), "partitions")
    assert (part["eligibleLeaderReplicas"], part["partitionEpoch"]) == ([], 10)
    assert only(state.add(framed("ClearElrRecord", {"topicName": "t"})), "partitions")["partitionEpoch"] == 10


def test_a_partition_from_before_directories():
    part = {
        "partitionId": 0,
        "topicId": ID,
        "replicas": [1, 2],
        "isr": [1],
        "removingReplicas": [],
        "addingReplicas": [],
    }
    state = (
        log().add(topic()).add(framed("PartitionRecord", part | {"leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}))
    )
    assert only(state, "partitions")["directories"] == ["MIGRATING", "MIGRATING"]


def test_a_topic_goes_with_its_configs():
    state = log().add(topic()).add(config("retention.ms", "1")).add(config("a", "b", resource="u"))
    state.add(framed("RemoveTopicRecord", {"topicId": ID}))
    assert state.rows("topics") == []
    assert only(state, "configs") == {"resourceType": "TOPIC", "resourceName": "u", "name": "a", "value": "b"}
    assert state.add(config("a", None, resource="u")).rows("configs") == []


def test_brokers_come_are_fenced_and_go():
    state = log().add(broker())
    assert only(state, "listeners")["securityProtocol"] == "SASL_SSL"
    assert only(state, "brokers")["inControlledShutdown"] is False
    same = {"brokerId": 1, "brokerEpoch": 5}
    assert (
        only(state.add(framed("BrokerRegistrationChangeRecord", same | {"fenced": -1})), "brokers")["fenced"] is False
    )
    state.add(
        framed(
            "BrokerRegistrationChangeRecord",
            same | {"inControlledShutdown": 1, "logDirs": [ID], "cordonedLogDirs": [ID]},
            version=3,
        )
    )
    row = only(state, "brokers")
    assert (row["fenced"], row["inControlledShutdown"], row["logDirs"], row["cordonedLogDirs"]) == (
        False,
        True,
        [ID],
        [ID],
    )
    assert only(state.add(framed("FenceBrokerRecord", {"id": 1, "epoch": 5})), "brokers")["fenced"] is True
    assert only(state.add(framed("UnfenceBrokerRecord", {"id": 1, "epoch": 5})), "brokers")["fenced"] is False
    assert state.add(framed("UnregisterBrokerRecord", same)).rows("brokers") == []


def test_controllers_features_quotas_producer_ids():
    ends = [{"name": "C", "host": "h", "port": 9093, "securityProtocol": 1}]
    one = {"controllerId": 9, "incarnationId": ID, "zkMigrationReady": False, "endPoints": ends, "features": []}
    state = (
        log()
        .add(framed("RegisterControllerRecord", one))
        .add(framed("FeatureLevelRecord", {"name": "metadata.version", "featureLevel": 20}))
    )
    assert only(state, "listeners")["securityProtocol"] == "SSL"
    assert state.add(framed("UnregisterControllerRecord", {"controllerId": 9})).rows("controllers") == []
    state.add(framed("FeatureLevelRecord", {"name": "f", "featureLevel": 1})).add(
        framed("FeatureLevelRecord", {"name": "f", "featureLevel": 0})
    )
    assert only(state, "features") == {"name": "metadata.version", "level": 20}
    user = [{"entityType": "user", "entityName": None}, {"entityType": "client-id", "entityName": "c"}]
    quota = {"entity": user, "key": "producer_byte_rate", "value": 5.0, "remove": False}
    state.add(framed("ClientQuotaRecord", quota)).add(
        framed("ClientQuotaRecord", quota | {"entity": user[::-1], "key": "x"})
    )
    assert [(row["entity"], row["name"], row["value"]) for row in state.rows("quotas")] == [
        ({"client-id": "c", "user": None}, name, 5.0) for name in ("producer_byte_rate", "x")
    ]
    state.add(framed("ClientQuotaRecord", quota | {"remove": True})).add(
        framed("ClientQuotaRecord", quota | {"key": "x", "remove": True})
    )
    assert state.rows("quotas") == []
    state.add(framed("ProducerIdsRecord", {"brokerId": 1, "brokerEpoch": 5, "nextProducerId": 2000}))
    assert only(state, "cluster") == {"nextProducerId": 2000}


def test_acls_by_name():
    acl = {
        "id": ID,
        "resourceType": 2,
        "resourceName": "t",
        "patternType": 4,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }
    state = log().add(framed("AccessControlEntryRecord", acl))
    row = only(state, "acls")
    assert [row[name] for name in ("resourceType", "patternType", "operation", "permissionType")] == [
        "TOPIC",
        "PREFIXED",
        "READ",
        "ALLOW",
    ]
    assert state.add(framed("RemoveAccessControlEntryRecord", {"id": ID})).rows("acls") == []


SCRAM = {
    "name": "alice",
    "mechanism": 1,
    "salt": "c2FsdA==",
    "storedKey": "c3RvcmVk",
    "serverKey": "c2VydmVy",
    "iterations": 4096,
}


def test_secrets_are_hidden_by_whoever_shows_the_image():
    state = (
        log()
        .add(framed("UserScramCredentialRecord", SCRAM))
        .add(config("ssl.key.password", "hush", resource="1", kind=4))
    )
    state.add(config("log.dirs", "/d", resource="1", kind=4))
    shown = state.tables(hide=RecordRedaction(catalog()))
    assert shown["scramUsers"] == [
        {
            "name": "alice",
            "mechanism": "SCRAM_SHA_256",
            "salt": "<redacted 4 bytes>",
            "storedKey": "<redacted 6 bytes>",
            "serverKey": "<redacted 6 bytes>",
            "iterations": 4096,
        }
    ]
    configs = {row["name"]: row["value"] for row in shown["configs"]}
    assert configs == {"log.dirs": "/d", "ssl.key.password": "<redacted 4 bytes>"}
    assert "hush" not in str(shown)
    assert [row["value"] for row in state.tables()["configs"]] == ["/d", "hush"]
    assert (
        state.add(framed("RemoveUserScramCredentialRecord", {"name": "alice", "mechanism": 1})).rows("scramUsers") == []
    )


def test_delegation_tokens():
    token = {"owner": "User:a", "requester": "User:a", "renewers": [], "tokenId": "id"}
    token |= dict.fromkeys(("issueTimestamp", "maxTimestamp", "expirationTimestamp"), 1)
    state = log().add(framed("DelegationTokenRecord", token))
    assert only(state, "delegationTokens")["owner"] == "User:a"
    assert state.add(framed("RemoveDelegationTokenRecord", {"tokenId": "id"})).rows("delegationTokens") == []


BEGIN, END, ABORT = (framed(f"{name}TransactionRecord", {}) for name in ("Begin", "End", "Abort"))


def test_a_transaction_counts_once_it_ended():
    state = log().add(BEGIN).add(topic())
    assert state.rows("topics") == []
    assert only(state, "cluster")["openTransactionRecords"] == 1
    assert only(state.add(END), "topics")["name"] == "t"
    assert state.rows("cluster") == []
    state.add(BEGIN).add(topic("u", OTHER)).add(ABORT)
    assert only(state, "topics")["name"] == "t"
    assert state.add(END).add(ABORT).rows("cluster") == []


def control(number, name, value):
    return b"\0\0" + number.to_bytes(2, "big"), kwire.encode(value, message=name, version=0)


def test_control_records_say_the_quorum_and_a_snapshot_begins_anew():
    voter = {
        "voterId": 3,
        "voterDirectoryId": ID,
        "endpoints": [{"name": "C", "host": "h", "port": 1}],
        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
    }
    state = (
        log()
        .add(topic())
        .add(
            control(2, "LeaderChangeMessage", {"version": 0, "leaderId": 3, "voters": [], "grantingVoters": []}),
            control=True,
            epoch=6,
        )
    )
    assert only(state, "cluster") == {"leaderId": 3, "leaderEpoch": 6}
    state.add(control(3, "SnapshotHeaderRecord", {"version": 0, "lastContainedLogTimestamp": 0}), control=True)
    assert state.rows("topics") == []
    state.add(control(5, "KRaftVersionRecord", {"version": 0, "kRaftVersion": 1}), control=True)
    state.add(control(6, "VotersRecord", {"version": 0, "voters": [voter]}), control=True)
    assert only(state, "cluster") == {"kraftVersion": 1}
    assert only(state, "voters")["voterId"] == 3


def test_what_begins_in_the_middle_is_no_error():
    gone = [
        framed("RemoveTopicRecord", {"topicId": ID}),
        change(),
        framed("UnregisterBrokerRecord", {"brokerId": 1, "brokerEpoch": 1}),
        framed("FenceBrokerRecord", {"id": 1, "epoch": 1}),
        framed("BrokerRegistrationChangeRecord", {"brokerId": 1, "brokerEpoch": 1}),
        framed("RemoveAccessControlEntryRecord", {"id": ID}),
        framed("ClearElrRecord", {"topicName": "t"}),
    ]
    state = log()
    for each in gone:
        state.add(each)
    assert sum(state.state.unapplied.values()) == len(gone)
    assert only(state.add(partition()), "topics")["name"] is None


@pytest.mark.parametrize(
    ("value", "unknown", "undecoded"),
    [(b"\1\x63\0", {"99": 1}, 0), (b"\1\2\0", {}, 1), (None, {"none": 1}, 0), (b"\0", {"none": 1}, 0)],
)
def test_what_is_not_known_is_counted(value, unknown, undecoded):
    state = log().add((None, value)).add(framed("NoOpRecord", {}))
    assert dict(state.state.unknown) == unknown
    assert state.state.undecoded == undecoded
