import base64
import json
from collections import Counter

import pytest
from kit import messages
from kit.logs import b64
from kit.messages import body_of
from kit.traffic import body_of as filled_body
from records import real_records
from records.filled import sample

import kwire_cli as kwire
from kwire_cli.engine.codes import faults_among
from kwire_cli.records.kafka_topics import COORDINATORS, FRAMED, decode_record

CATALOG = kwire.catalog()


def coordinator(topic, kind, key_body, version, value_body):
    key = kind.to_bytes(2, "big") + key_body
    value = None if value_body is None else version.to_bytes(2, "big") + value_body
    return decode_record(CATALOG, topic, key, value)


def framed(topic, kind, version, body, frame=1):
    return decode_record(CATALOG, topic, None, bytes((frame, kind, version)) + body)


def codes(found):
    return [(note.code, note.path) for note in found.anomalies]


@pytest.mark.shared
def test_real_records_are_what_kafka_prints():
    compared = {}
    for record in real_records.printed():
        if record.is_control:
            continue
        found = decode_record(CATALOG, record.topic, record.key, record.value)
        shown = json.loads(json.dumps(found.to_json()))
        for side, label in (("key", " key: "), ("value", " payload: ")):
            want = real_records.json_after(record.line, label)
            if want and "data" in want:
                compared[record.topic, side] = compared.get((record.topic, side), 0) + 1
                assert shown[side] == want, record.where
        assert (record.value is None) == (shown["value"] is None)
        assert codes(found) == [], record.where
    assert compared == {
        ("__cluster_metadata", "value"): 984,
        ("__consumer_offsets", "key"): 240,
        ("__consumer_offsets", "value"): 216,
        ("__share_group_state", "key"): 7,
        ("__share_group_state", "value"): 5,
        ("__transaction_state", "key"): 87,
        ("__transaction_state", "value"): 87,
    }


def entries(module):
    return [entry for entry in CATALOG if entry.module == module]


@pytest.mark.parametrize(
    ("topic", "kind", "version", "message"),
    [
        ("__consumer_offsets", 4, 0, "ConsumerGroupPartitionMetadataValue"),
        ("__consumer_offsets", 5, 0, "ConsumerGroupMemberMetadataValue"),
        ("__consumer_offsets", 7, 0, "ConsumerGroupTargetAssignmentMemberValue"),
        ("__consumer_offsets", 8, 0, "ConsumerGroupCurrentMemberAssignmentValue"),
        ("__share_group_state", 0, 0, "ShareSnapshotValue"),
        ("__share_group_state", 1, 0, "ShareUpdateValue"),
    ],
)
def test_a_record_in_an_early_layout(topic, kind, version, message):
    keys = {entry.api_key: entry.name for entry in entries(COORDINATORS[topic]) if entry.type == "coordinator-key"}
    found = coordinator(topic, kind, sample(keys[kind], 0)[1], version, body_of(message))
    assert codes(found) == [("EARLY_LAYOUT", "value")]
    assert faults_among(found.anomalies) == []
    assert found.value.body.exact
    assert found.known


def test_a_tombstone():
    found = coordinator("__consumer_offsets", 2, sample("GroupMetadataKey", 0)[1], 0, None)
    assert found.to_json() == {"key": {"type": "2", "data": {"group": "text"}}, "value": None}
    assert framed("__cluster_metadata", 20, 0, b"\0").to_json()["value"]["data"] == {}
    assert decode_record(CATALOG, "__cluster_metadata", None, None).to_json() == {"value": None}


def test_a_topic_of_somebody_else():
    assert decode_record(CATALOG, "orders", b"\0\2", b"\0\0") is None
    assert decode_record(CATALOG, None, b"\0\2", b"\0\0") is None


def test_a_preview_frame_is_kept():
    found = framed("__cluster_metadata", 2, 0, b"abc", frame=0)
    assert found.to_json() == {"value": {"type": "2", "version": 0, "data": base64.b64encode(b"abc").decode()}}
    assert codes(found) == [("UNKNOWN_VERSION", "value")]


def test_bytes_that_end_before_they_say_what_they_are():
    found = decode_record(CATALOG, "__consumer_offsets", b"\0", b"\0")
    assert found.to_json() == {"key": {"type": None, "data": "AA=="}, "value": {"version": None, "data": "AA=="}}
    assert codes(found) == [("PAYLOAD_TRUNCATED", "key"), ("PAYLOAD_TRUNCATED", "value")]
    found = decode_record(CATALOG, "__cluster_metadata", None, b"\1\x80")
    assert found.to_json() == {"value": {"type": None, "version": None, "data": "AYA="}}
    assert codes(found) == [("PAYLOAD_TRUNCATED", "value.apiKey")]
    found = decode_record(CATALOG, "__consumer_offsets", None, b"\0\0")
    assert codes(found) == [("NULL_NOT_ALLOWED", "key")]


def member(subscription, assignment):
    return {"memberId": "m", "subscription": b64(subscription), "assignment": b64(assignment)}


def group(protocol_type, *members):
    value = {"protocolType": protocol_type, "protocol": "sticky", "members": list(members)}
    body = kwire.encode(filled_body("GroupMetadataValue", 3, value), message="GroupMetadataValue", version=3)
    return coordinator("__consumer_offsets", 2, sample("GroupMetadataKey", 0)[1], 3, body)


def test_subscriptions_and_assignments_stand_in_place_of_their_bytes():
    user_data = kwire.encode(
        {"topics": ["t"], "userData": "AAAAAAAAAAU="}, message="ConsumerProtocolSubscription", version=0
    )
    found = group("consumer", member(b"\0\0" + user_data, b""), member(b"\0\0\xff", b"\0\1\0\0\0\0\xff\xff\xff\xff"))
    first, second = found.to_json()["value"]["data"]["members"]
    assert first["subscription"] == {"topics": ["t"], "userData": "AAAAAAAAAAU="}
    assert first["assignment"] == ""  # no bytes are no assignment
    assert second["subscription"] == "AAD/"  # what can't be decoded stays as it is, as in DumpLogSegments
    assert second["assignment"] == {"assignedPartitions": [], "userData": None}
    assert [payload.path for payload in found.inside] == [
        "value.members[0].subscription",
        "value.members[0].subscription.userData",
        "value.members[1].subscription",
        "value.members[1].assignment",
    ]
    assert found.inside[1].json_data() == {"previousAssignment": [], "generation": 5}
    assert codes(found) == [("PAYLOAD_TRUNCATED", "value.members[1].subscription.topics")]


def test_members_of_other_groups_stay_as_they_are():
    state = b"\0\0\0\4http" + bytes(8)
    found = group("connect", member(state, b""))
    assert found.to_json()["value"]["data"]["members"][0]["subscription"] == base64.b64encode(state).decode()
    assert [(payload.type, payload.json_data()) for payload in found.inside] == [
        ("ConnectWorkerState", {"url": "http", "configOffset": 0})
    ]
    assert group("sr", member(b'{"version":1}', b"")).inside == ()


@pytest.mark.shared
def test_golden_records():
    """The keys, values and records of the golden vectors, in the frame in which they stand in a topic."""
    modules = {module: topic for topic, module in (COORDINATORS | FRAMED).items()}
    compared = Counter()
    for row in messages.shared():
        entry = row.catalog.entry(row.message)
        topic = modules.get(entry.module)
        if not topic:
            continue
        kind = entry.api_key.to_bytes(2, "big")
        version = row.version.to_bytes(2, "big")
        if topic in FRAMED:
            found = decode_record(row.catalog, topic, None, bytes((1, entry.api_key, row.version)) + row.body).value
        elif entry.type == "coordinator-key":
            found = decode_record(row.catalog, topic, kind + row.body, None).key
        else:
            found = decode_record(row.catalog, topic, kind, version + row.body).value
        assert found.exact
        assert messages.without_unknown_tags(found.json_data()) == row.json, row
        compared[entry.type] += 1
    assert compared == {"metadata": 292, "coordinator-key": 59, "coordinator-value": 206}
