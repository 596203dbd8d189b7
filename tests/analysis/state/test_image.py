"""The image of the cluster: each record of the metadata log by its effect."""

import pytest
from kit.logs import Log, catalog, framed

import kwire_cli as kwire
from kwire_cli.message.redaction import RecordRedaction

ID, OTHER = "AAAAAAAAAAAAAAAAAAAABQ", "AAAAAAAAAAAAAAAAAAAABg"
PARTITION = {"partitionId": 0, "topicId": ID, "replicas": [1, 2], "isr": [1, 2], "removingReplicas": []}
PARTITION |= {"addingReplicas": [], "leader": 1, "leaderEpoch": 4, "partitionEpoch": 7}
BROKER = {"brokerId": 1, "incarnationId": ID, "brokerEpoch": 5, "features": [], "rack": "r", "fenced": True}
BROKER |= {"endPoints": [{"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": 3}]}
VERSIONS = ("minSupportedVersion", "maxSupportedVersion")
BEGIN, END, ABORT = (framed(f"{name}TransactionRecord", {}) for name in ("Begin", "End", "Abort"))


def of(*records):
    log = Log("__cluster_metadata")
    for each in records:
        log.add(each)
    return log


def topic(name="t", topic_id=ID):
    return framed("TopicRecord", {"name": name, "topicId": topic_id})


def partition(**more):
    return framed("PartitionRecord", PARTITION | {"directories": [ID, OTHER]} | more, version=2)


def change(**more):
    return framed("PartitionChangeRecord", {"partitionId": 0, "topicId": ID} | more, version=2)


def config(name, value, resource="t", kind=2):
    return framed("ConfigRecord", {"resourceType": kind, "resourceName": resource, "name": name, "value": value})


def only(log, table):
    [row] = log.rows(table)
    return row


def test_a_partition_and_what_changes_it():
    state = of(topic(), partition())
    lists = {"removingReplicas": [], "addingReplicas": [], "eligibleLeaderReplicas": [], "lastKnownElr": []}
    assert only(state, "partitions") == {
        "topic": "t", "partition": 0, "leader": 1, "leaderEpoch": 4, "partitionEpoch": 7, "replicas": [1, 2],
        "isr": [1, 2], "leaderRecoveryState": "RECOVERED", "directories": [ID, OTHER], **lists,
    }  # fmt: skip

    def after(record, *names):
        row = only(state.add(record), "partitions")
        return [row[name] for name in names]

    epochs = ("leader", "leaderEpoch", "partitionEpoch")
    shrunk = change(isr=[1], eligibleLeaderReplicas=[2])
    assert after(shrunk, "isr", "eligibleLeaderReplicas", *epochs) == [[1], [2], 1, 4, 8]
    elected = change(leader=1, leaderRecoveryState=1)
    assert after(elected, *epochs, "leaderRecoveryState") == [1, 5, 9, "RECOVERING"]
    for name in ("", "t"):
        cleared = framed("ClearElrRecord", {"topicName": name})
        assert after(cleared, "eligibleLeaderReplicas", "partitionEpoch") == [[], 10]


def test_a_partition_from_before_directories():
    assert only(of(topic(), framed("PartitionRecord", PARTITION)), "partitions")["directories"] == ["MIGRATING"] * 2


def test_a_topic_goes_with_its_configs():
    state = of(topic(), config("retention.ms", "1"), config("a", "b", resource="u"))
    state.add(framed("RemoveTopicRecord", {"topicId": ID}))
    assert state.rows("topics") == []
    assert only(state, "configs") == {"resourceType": "TOPIC", "resourceName": "u", "name": "a", "value": "b"}
    assert state.add(config("a", None, resource="u")).rows("configs") == []


def test_brokers_come_are_fenced_and_go():
    state = of(framed("RegisterBrokerRecord", BROKER, version=0))
    assert only(state, "listeners")["securityProtocol"] == "SASL_SSL"
    assert only(state, "brokers")["inControlledShutdown"] is False
    same = {"brokerId": 1, "brokerEpoch": 5}
    state.add(framed("BrokerRegistrationChangeRecord", same | {"fenced": -1}))
    news = {"inControlledShutdown": 1, "logDirs": [ID], "cordonedLogDirs": [ID]}
    row = only(state.add(framed("BrokerRegistrationChangeRecord", same | news, version=3)), "brokers")
    assert row | news == row | {"inControlledShutdown": 1}
    assert row["fenced"] is False
    assert only(state.add(framed("FenceBrokerRecord", {"id": 1, "epoch": 5})), "brokers")["fenced"] is True
    assert only(state.add(framed("UnfenceBrokerRecord", {"id": 1, "epoch": 5})), "brokers")["fenced"] is False
    assert state.add(framed("UnregisterBrokerRecord", same)).rows("brokers") == []


def test_controllers_features_and_producer_ids():
    ends = [{"name": "C", "host": "h", "port": 9093, "securityProtocol": 1}]
    one = {"controllerId": 9, "incarnationId": ID, "zkMigrationReady": False, "endPoints": ends, "features": []}
    state = of(framed("RegisterControllerRecord", one))
    assert only(state, "listeners")["securityProtocol"] == "SSL"
    assert state.add(framed("UnregisterControllerRecord", {"controllerId": 9})).rows("controllers") == []
    for name, level in (("metadata.version", 20), ("f", 1), ("f", 0)):
        state.add(framed("FeatureLevelRecord", {"name": name, "featureLevel": level}))
    assert only(state, "features") == {"name": "metadata.version", "level": 20}
    state.add(framed("ProducerIdsRecord", {"brokerId": 1, "brokerEpoch": 5, "nextProducerId": 2000}))
    assert only(state, "cluster") == {"nextProducerId": 2000}


def test_quotas_of_an_entity_whatever_the_order_of_its_parts():
    user = [{"entityType": "user", "entityName": None}, {"entityType": "client-id", "entityName": "c"}]

    def quota(key, entity=user, remove=False):
        return framed("ClientQuotaRecord", {"entity": entity, "key": key, "value": 5.0, "remove": remove})

    state = of(quota("rate"), quota("x", user[::-1]))
    assert [(row["entity"], row["name"], row["value"]) for row in state.rows("quotas")] == [
        ({"client-id": "c", "user": None}, name, 5.0) for name in ("rate", "x")
    ]
    assert state.add(quota("rate", remove=True)).add(quota("x", remove=True)).rows("quotas") == []


def test_acls_by_name():
    acl = {"id": ID, "resourceType": 2, "resourceName": "t", "patternType": 4, "principal": "User:a", "host": "*"}
    codes = {"resourceType": "TOPIC", "patternType": "PREFIXED", "operation": "READ", "permissionType": "ALLOW"}
    state = of(framed("AccessControlEntryRecord", acl | {"operation": 3, "permissionType": 3}))
    assert only(state, "acls").items() >= codes.items()
    assert state.add(framed("RemoveAccessControlEntryRecord", {"id": ID})).rows("acls") == []


def test_secrets_are_hidden_by_whoever_shows_the_image():
    user = {"name": "alice", "mechanism": 1, "salt": "c2FsdA==", "storedKey": "c3RvcmVk", "serverKey": "c2VydmVy"}
    state = of(framed("UserScramCredentialRecord", user | {"iterations": 4096}))
    state.add(config("ssl.key.password", "hush", resource="1", kind=4))
    state.add(config("log.dirs", "/d", resource="1", kind=4))
    shown = state.tables(hide=RecordRedaction(catalog()))
    secrets = {"salt": "<redacted 4 bytes>", "storedKey": "<redacted 6 bytes>", "serverKey": "<redacted 6 bytes>"}
    assert shown["scramUsers"] == [{"name": "alice", "mechanism": "SCRAM_SHA_256", "iterations": 4096} | secrets]
    configs = {row["name"]: row["value"] for row in shown["configs"]}
    assert configs == {"log.dirs": "/d", "ssl.key.password": "<redacted 4 bytes>"}
    assert "hush" not in str(shown)
    assert [row["value"] for row in state.tables()["configs"]] == ["/d", "hush"]
    gone = framed("RemoveUserScramCredentialRecord", {"name": "alice", "mechanism": 1})
    assert state.add(gone).rows("scramUsers") == []


def test_delegation_tokens():
    token = {"owner": "User:a", "requester": "User:a", "renewers": [], "tokenId": "id"}
    token |= dict.fromkeys(("issueTimestamp", "maxTimestamp", "expirationTimestamp"), 1)
    state = of(framed("DelegationTokenRecord", token))
    assert only(state, "delegationTokens")["owner"] == "User:a"
    assert state.add(framed("RemoveDelegationTokenRecord", {"tokenId": "id"})).rows("delegationTokens") == []


def test_a_transaction_counts_once_it_ended():
    state = of(BEGIN, topic())
    assert state.rows("topics") == []
    assert only(state, "cluster")["openTransactionRecords"] == 1
    assert only(state.add(END), "topics")["name"] == "t"
    assert state.rows("cluster") == []
    state.add(BEGIN).add(topic("u", OTHER)).add(ABORT)
    assert only(state, "topics")["name"] == "t"
    assert state.add(END).add(ABORT).rows("cluster") == []


def test_control_records_say_the_quorum_and_a_snapshot_begins_anew():
    state = of(topic())

    def control(number, name, **value):
        key = b"\0\0" + number.to_bytes(2, "big")
        state.add((key, kwire.encode({"version": 0} | value, message=name, version=0)), control=True, epoch=6)

    control(2, "LeaderChangeMessage", leaderId=3, voters=[], grantingVoters=[])
    assert only(state, "cluster") == {"leaderId": 3, "leaderEpoch": 6}
    control(3, "SnapshotHeaderRecord", lastContainedLogTimestamp=0)
    assert state.rows("topics") == []
    voter = {"voterId": 3, "voterDirectoryId": ID, "endpoints": [{"name": "C", "host": "h", "port": 1}]}
    control(5, "KRaftVersionRecord", kRaftVersion=1)
    control(6, "VotersRecord", voters=[voter | {"kRaftVersionFeature": dict.fromkeys(VERSIONS, 1)}])
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
    state = of(*gone)
    assert sum(state.state.unapplied.values()) == len(gone)
    assert only(state.add(partition()), "topics")["name"] is None


@pytest.mark.parametrize(
    ("value", "unknown", "undecoded"),
    [(b"\1\x63\0", {"99": 1}, 0), (b"\1\2\0", {}, 1), (None, {"none": 1}, 0), (b"\0", {"none": 1}, 0)],
)
def test_what_is_not_known_is_counted(value, unknown, undecoded):
    state = of((None, value), framed("NoOpRecord", {}))
    assert dict(state.state.unknown) == unknown
    assert state.state.undecoded == undecoded
