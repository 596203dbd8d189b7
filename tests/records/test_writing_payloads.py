"""Keys and values that are given as what they mean: control records, and the records of Kafka's own topics."""

import json

import pytest
from kit.logs import b64, segments
from records import real_records
from records.filled import sample

import kwire_cli as kwire
from kwire_cli import EncodeError
from kwire_cli.records.kafka_topics import (
    COORDINATORS,
    FRAMED,
    MESSAGES,
    decode_control,
    decode_record,
    record_types,
    type_name,
)
from kwire_cli.records.writing import write

CATALOG = kwire.catalog()
OFFSETS, METADATA = "__consumer_offsets", "__cluster_metadata"


def pair(record, topic=None, **item):
    """The key and value that are written for a record."""
    (found,) = kwire.read_records(write([{**item, "records": [json.loads(json.dumps(record))]}], topic=topic))
    (read,) = found.records()
    return read.key, read.value


def meant(topic, key, value):
    return {"decoded": decode_record(CATALOG, topic, key, value).to_json()}


# By hand, from ControlRecordType, EndTransactionMarker, CoordinatorRecordSerde and AbstractApiMessageSerde.


def test_markers():
    assert pair({"control": {"type": "ABORT", "coordinatorEpoch": 7}}) == (bytes(4), bytes.fromhex("0000 00000007"))
    assert pair({"control": {"type": "COMMIT"}}) == (bytes.fromhex("0000 0001"), bytes(6))


def test_an_offset_commit():
    decoded = {
        "key": {"type": "1", "data": {"group": "g", "topic": "t", "partition": 2}},
        "value": {"version": "3", "data": {"offset": 5, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 7}},
    }
    found = pair({"decoded": decoded}, OFFSETS)
    assert found == (
        bytes.fromhex("0001 0001 67 0001 74 00000002"),
        bytes.fromhex("0003 0000000000000005 ffffffff 0001 6d 0000000000000007"),
    )
    tombstone = pair({"decoded": {**decoded, "value": None}}, OFFSETS)
    assert tombstone == (found[0], None)
    assert pair({"key": {"hex": found[0].hex()}, "decoded": decoded}, OFFSETS) == found
    assert pair({"key": {"hex": found[0].hex()}, "decoded": {"value": decoded["value"]}}, OFFSETS) == found
    assert pair({"key": None, "value": "/w==", "decoded": decoded}, OFFSETS) == (None, b"\xff")
    assert pair({"value": "/w==", "decoded": decoded}, OFFSETS) == (found[0], b"\xff")


# What kwire shows of a payload is what it takes.


@pytest.mark.parametrize("kind", MESSAGES)
def test_messages_of_kraft(kind):
    name, message = MESSAGES[kind]
    value, body = sample(message, 0)
    key, body = b"\0\0" + kind.to_bytes(2, "big"), b"\0\0" + body[2:]
    shown = decode_control(CATALOG, key, body).to_json()
    assert shown == {"type": name, "value": value | {"version": 0}}
    assert pair({"control": shown}) == (key, body)
    assert pair({"control": {"type": name}}) == (key, None)


@pytest.mark.parametrize(("key", "value"), [(b"\0\0\0\x63", b"any"), (b"\0\0\xff\xff", None), (b"\0", b"any")])
def test_unknown_control_records(key, value):
    assert pair({"control": decode_control(CATALOG, key, value).to_json()}) == (key, value)


def kinds():
    for topic, module in COORDINATORS.items():
        for number, (key, value) in record_types(CATALOG, module).items():
            for version in CATALOG.message(value).valid_versions.each() if key and value else ():
                yield topic, number, key, value, version


@pytest.mark.parametrize(("topic", "number", "key", "value", "version"), list(kinds()))
def test_every_coordinator_record(topic, number, key, value, version):
    head = number.to_bytes(2, "big") + sample(key, 0)[1]
    body = version.to_bytes(2, "big") + sample(value, version)[1]
    assert pair(meant(topic, head, body), topic) == (head, body)
    assert pair(meant(topic, head, None), topic) == (head, None)


@pytest.mark.parametrize("topic", FRAMED)
def test_every_framed_record(topic):
    seen = 0
    for number, (_, name) in record_types(CATALOG, FRAMED[topic]).items():
        for version in CATALOG.message(name).valid_versions.each():
            body = bytes((1, number, version)) + sample(name, version)[1]
            assert pair(meant(topic, None, body), topic) == (None, body)
            assert type_name(name) in str(meant(topic, None, body))
            seen += 1
    assert seen >= 3


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        (OFFSETS, b"\x00\x63abc", b"\0\5abc"),  # a type that is not known
        (OFFSETS, b"\0", b"\0"),  # cut
        (OFFSETS, b"", b""),
        (METADATA, None, bytes((1, 99, 3)) + b"abc"),
        (METADATA, None, b"\1"),
        (METADATA, None, None),
    ],
)
def test_odd_records(topic, key, value):
    assert pair(meant(topic, key, value), topic) == (key, value)


def test_members_of_a_group():
    subscription = {"topics": ["a"], "userData": None, "ownedPartitions": [], "generationId": -1, "rackId": None}
    subscriptions = {0: subscription.keys() - {"ownedPartitions", "generationId", "rackId"}, 3: subscription.keys()}
    for version, names in subscriptions.items():
        member = sample("GroupMetadataValue", 3)[0]["members"][0] | {
            "subscription": {name: subscription[name] for name in names},
            "assignment": {"assignedPartitions": [{"topic": "a", "partitions": [0]}], "userData": None},
        }
        data = sample("GroupMetadataValue", 3)[0] | {
            "protocolType": "consumer",
            "protocol": "range",
            "members": [member],
        }
        record = {"decoded": {"key": {"type": "2", "data": {"group": "g"}}, "value": {"version": "3", "data": data}}}
        key, value = pair(record, OFFSETS)
        assert decode_record(CATALOG, OFFSETS, key, value).to_json() == record["decoded"]
        assert bytes((0, version)) + bytes.fromhex("00000001 0001 61") in value


@pytest.mark.slow  # all real segments
@pytest.mark.shared
def test_real_records_are_encoded_back():
    compared = {}
    for record in real_records.printed():
        if record.is_control:
            shown = {"control": decode_control(CATALOG, record.key, record.value).to_json()}
        else:
            shown = meant(record.topic, record.key, record.value)
        assert pair(shown, record.topic) == (record.key, record.value), record.where
        name = "control" if record.is_control else record.topic
        compared[name] = compared.get(name, 0) + 1
    assert compared["control"] >= 30
    assert compared.keys() == {"control", *COORDINATORS, METADATA}


def test_sample_segments_without_their_bytes():
    for name, data in segments().items():
        topic = name.rpartition("-")[0]
        if topic not in COORDINATORS and topic not in FRAMED:
            continue
        documents = [item.to_json() for item in kwire.read_records(data, topic=topic, show_secrets=True)]
        for document in documents:
            for record in document["records"]:
                del record["key"], record["value"]
        assert write(documents, topic=topic) == data
        assert write([document | {"topic": topic} for document in documents]) == data


@pytest.mark.parametrize(
    ("control", "path", "reason"),
    [
        (5, "", "it is an object"),
        ({}, ".type", "it is one of ABORT, COMMIT, LeaderChange"),
        ({"type": "X"}, ".type", "not 'X'"),
        ({"type": 5}, ".type", "it is a text"),
        ({"type": "COMMIT", "epoch": 1}, ".epoch", "no such key"),
        ({"type": "COMMIT", "coordinatorEpoch": 1 << 40}, ".coordinatorEpoch", "does not fit int32"),
        ({"type": "UNKNOWN", "number": 1 << 20}, ".number", "does not fit int16"),
        ({"type": "UNKNOWN", "number": 99, "value": 5}, ".value", "it takes base64 text"),
        ({"type": "KRaftVersion", "value": {"version": 0}}, ".value.kRaftVersion", "missing"),
        ({"type": "KRaftVersion", "value": 7}, ".value", "a struct takes an object"),
    ],
)
def test_control_records_that_do_not_fit(control, path, reason):
    with pytest.raises(EncodeError) as caught:
        write([{"records": [{"control": control}]}])
    assert caught.value.path == f"[0].records[0].control{path}"
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("decoded", "topic", "path", "reason"),
    [
        (5, None, "", "it is an object"),
        ({"x": 5}, None, ".x", "no such key"),
        ({"key": {"type": "1"}}, None, "", "--as-topic"),
        ({"key": {"type": "1"}}, "mine", "", "--as-topic"),
        ({"key": {"type": "x"}}, OFFSETS, ".key.type", "it is an integer (int16), not 'x'"),
        ({"key": {"type": "99999"}}, OFFSETS, ".key.type", "does not fit int16"),
        ({"key": {"type": "99", "data": {}}}, OFFSETS, ".key.data", "base64"),
        ({"key": {"type": "1", "data": {}}}, OFFSETS, ".key.data.group", "missing"),
        ({"key": {"type": "2", "data": {"group": 5}}}, OFFSETS, ".key.data.group", "string takes text"),
        ({"value": {"version": "99", "data": {}}}, OFFSETS, ".value.data", "versions 0-4, not 99"),
        ({"value": {"version": [], "data": {}}}, OFFSETS, ".value.version", "it is an integer"),
        ({"value": {"type": "NO_RECORD", "version": 0, "data": {}}}, METADATA, ".value.type", "no record of metadata"),
        ({"value": {"type": [], "version": 0, "data": {}}}, METADATA, ".value.type", "no record of"),
        ({"value": {"type": "TOPIC_RECORD", "data": {}}}, METADATA, ".value.version", "varint"),
        ({"value": {"type": "TOPIC_RECORD", "version": -1, "data": {}}}, METADATA, ".value.version", "unsigned varint"),
        ({"value": {"type": "-5", "version": 1, "data": ""}}, METADATA, ".value.apiKey", "varint"),
        ({"value": {"version": 1, "data": {}}}, METADATA, ".value.data", "base64"),
    ],
)
def test_decoded_records_that_do_not_fit(decoded, topic, path, reason):
    key = {"key": "AAI="} if topic == OFFSETS and "value" in decoded else {}
    with pytest.raises(EncodeError) as caught:
        write([{"records": [{**key, "decoded": decoded}]}], topic=topic)
    assert caught.value.path == f"[0].records[0].decoded{path}"
    assert reason in caught.value.reason


@pytest.mark.parametrize("members", [5, [5], [{"subscription": {}}]])
def test_members_that_are_none(members):
    data = sample("GroupMetadataValue", 3)[0] | {"members": members}
    with pytest.raises(EncodeError, match="members"):
        pair({"key": b64(b"\0\2"), "decoded": {"value": {"version": "3", "data": data}}}, OFFSETS)
