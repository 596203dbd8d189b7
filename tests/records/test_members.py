import json
from collections import Counter
from pathlib import Path

import pytest
from records.filled import sample

import kwire_cli as kwire
from kwire_cli.records.payload_fields import member_payloads
from kwire_cli.records.payload_model import own_definition
from kwire_cli.spec.files import specs_folder
from kwire_cli.spec.rules import check_folder
from kwire_cli.structs.messages import declare

CATALOG = kwire.catalog()
VECTORS = [json.loads(line) for line in (Path(__file__).parent / "members.jsonl").read_text("utf-8").splitlines()]
"""Written by Kafka's own classes (4.1.0 clients, 4.3.1 Streams and Connect): ConsumerProtocol with the sticky assignors
and Streams, Connect's."""


def decoded(vector, **changes):
    row = vector | changes
    return member_payloads(CATALOG, row["role"], row["protocolType"], row["protocol"], bytes.fromhex(row["hex"]), "f")


def test_what_kafka_writes_is_decoded_to_the_last_byte():
    seen = Counter()
    for vector in VECTORS:
        for payload in decoded(vector):
            assert payload.exact
            assert payload.anomalies == []
            assert not payload.guess
            seen[payload.type] += 1
            built = declare(payload.body.spec, payload.version).build(payload.json_data(), lenient=False)
            assert bytes(payload.data[payload.body.raw.start :]) == built
    assert seen == {
        "ConnectWorkerState": 5,
        "ConnectAssignment": 7,
        "ConsumerProtocolSubscription": 27,
        "ConsumerProtocolAssignment": 13,
        "StickyAssignorUserData": 4,
        "CooperativeStickyAssignorUserData": 8,
        "SubscriptionInfoData": 11,
        "AssignmentInfo": 11,
    }


def test_values_of_what_kafka_has_no_definition_of():
    found = {(payload.type, payload.version): payload for vector in VECTORS for payload in decoded(vector)}
    assert found["ConnectAssignment", 2].json_data()["configOffset"] == 9
    assert found["ConnectAssignment", 0].to_json() == {
        "path": "f",
        "type": "ConnectAssignment",
        "version": 0,
        "data": {
            "error": 1,
            "leader": "leader-1",
            "leaderUrl": "http://w1:8083/",
            "configOffset": 7,
            "assignment": [{"connector": "sink", "tasks": [-1, 0, 3]}],  # -1 is the connector itself
        },
    }
    sticky = found["StickyAssignorUserData", 1]
    assert sticky.path == "f.userData"
    assert sticky.json_data()["generation"] == 5
    assert {row["topic"]: row["partitions"] for row in sticky.json_data()["previousAssignment"]} == {
        "orders": [0, 2],
        "päyments": [1],
    }
    assert found["AssignmentInfo", 11].json_data() == {
        "version": 11,
        "commonlySupportedVersion": 11,
        "activeTasks": [{"subtopology": 0, "partition": n, "namedTopology": []} for n in (0, 1)],
        "standbyTasks": [
            {
                "task": {"subtopology": 1, "partition": 2, "namedTopology": [116, 246]},
                "partitions": [{"topic": "in", "partition": 2}],
            }
        ],
        "topicNames": [{"index": 0, "topic": "in"}, {"index": 1, "topic": "out"}],
        "partitionsByHost": [
            {
                "host": "h1",
                "port": 9090,
                "partitions": [{"topicIndex": 0, "partition": 0}, {"topicIndex": 1, "partition": 2}],
            }
        ],
        "standbyPartitionsByHost": [{"host": "h2", "port": 9091, "partitions": [{"topicIndex": 0, "partition": 2}]}],
        "errorCode": 3,
        "nextRebalanceMs": 123456789,
    }


def test_without_a_protocol_type_what_fits_to_the_last_byte_is_a_guess():
    for vector in VECTORS:
        known, guessed = decoded(vector), decoded(vector, protocolType=None, protocol=None)
        assert guessed[0].guess
        assert guessed[0].type == known[0].type
        assert guessed[0].to_json() == known[0].to_json() | {"guess": True}
        # four bytes may be anything
        assert [payload.type for payload in guessed] == [
            p.type for p in known if p.type != "CooperativeStickyAssignorUserData"
        ]
    assert member_payloads(CATALOG, "metadata", None, None, b"something else", "f") == []


def test_what_is_somebody_elses_or_nothing():
    assert member_payloads(CATALOG, "metadata", "sr", "v0", b'{"version":1}', "f") == []
    assert member_payloads(CATALOG, "assignment", "consumer", "range", b"", "f") == []


def test_user_data_of_an_assignor_of_ones_own_is_left_alone():
    found = decoded(VECTORS[-1], protocol="mine")
    assert [payload.path for payload in found] == ["f"]


@pytest.mark.parametrize(
    ("protocol", "user_data", "kind", "version"),
    [
        ("sticky", "00000000 00000007", "StickyAssignorUserData", 1),
        ("sticky", "00000000", "StickyAssignorUserData", 0),
        ("sticky", "00000000 00000007 00", "StickyAssignorUserData", 1),
        ("cooperative-sticky", "00000007", "CooperativeStickyAssignorUserData", 0),
        ("cooperative-sticky", "00000000 00000007", "StickyAssignorUserData", 1),  # librdkafka
        ("cooperative-sticky", "00", "CooperativeStickyAssignorUserData", 0),
        ("stream", "0000", "SubscriptionInfoData", None),
        ("stream", "0000000c", "SubscriptionInfoData", 12),
    ],
)
def test_versions_of_user_data(protocol, user_data, kind, version):
    data = bytes.fromhex(user_data)
    subscription = bytes(6) + len(data).to_bytes(4, "big") + data
    _, payload = member_payloads(CATALOG, "metadata", "consumer", protocol, subscription, "f")
    assert (payload.type, payload.version) == (kind, version)
    assert payload.exact or payload.anomalies


def test_kwires_own_definitions_keep_kafkas_rules():
    folder = Path(specs_folder(), "payloads")
    assert check_folder([folder]) == []
    for path in folder.glob("*.json"):
        spec = own_definition(path.stem)
        assert spec.name == path.stem
        for version in spec.valid_versions.each():
            value, body = sample(spec, version)
            assert declare(spec, version).parse(body) == value
