import pytest
from records import real_records
from records.filled import sample

import kwire_cli as kwire
from kwire_cli.records.kafka_topics import MESSAGES, decode_control

CATALOG = kwire.catalog()


def control(kind, value, version=0):
    return decode_control(CATALOG, version.to_bytes(2, "big") + kind.to_bytes(2, "big", signed=True), value)


def codes(found):
    return [(note.code, note.path) for note in found.anomalies]


@pytest.mark.shared
def test_real_control_records_are_what_kafka_prints():
    compared = {}
    for record in real_records.printed():
        if not record.is_control:
            continue
        found = decode_control(CATALOG, record.key, record.value)
        shown = found.to_json()
        compared[shown["type"]] = compared.get(shown["type"], 0) + 1
        if "value" in shown:
            printed = real_records.json_after(record.line, f"{shown['type']}: ") or real_records.json_after(
                record.line, f"{shown['type']} "
            )
            assert shown["value"] == printed, record.where
        else:
            assert f"endTxnMarker: {shown['type']} coordinatorEpoch: {shown['coordinatorEpoch']}" in record.line
        assert found.anomalies == []
    assert compared == {
        "ABORT": 3,
        "COMMIT": 6,
        "LeaderChange": 2,
        "SnapshotHeader": 6,
        "SnapshotFooter": 6,
        "KRaftVersion": 7,
        "KRaftVoters": 8,
    }


def test_markers():
    assert control(0, bytes.fromhex("0000 00000007")).to_json() == {"type": "ABORT", "coordinatorEpoch": 7}
    assert control(1, bytes.fromhex("0000 ffffffff")).to_json() == {"type": "COMMIT", "coordinatorEpoch": -1}


def test_a_newer_marker_is_read_as_version_0():
    found = control(1, bytes.fromhex("0005 00000007 99"), version=3)
    assert found.to_json() == {"type": "COMMIT", "coordinatorEpoch": 7}
    assert codes(found) == [("UNKNOWN_VERSION", "key"), ("UNKNOWN_VERSION", "value"), ("TRAILING_BYTES", "value")]


def test_keys_may_have_more_bytes():
    found = decode_control(CATALOG, bytes.fromhex("0000 0001 aabb"), bytes.fromhex("0000 00000007"))
    assert found.to_json() == {"type": "COMMIT", "coordinatorEpoch": 7}
    assert found.anomalies == []


@pytest.mark.parametrize("kind", MESSAGES)
def test_messages_of_kraft(kind):
    name, message = MESSAGES[kind]
    value, body = sample(message, 0)
    body = b"\0\0" + body[2:]
    assert control(kind, body).to_json() == {"type": name, "value": value | {"version": 0}}
    assert control(kind, body).anomalies == []
    found = control(kind, b"\0\1" + body[2:])
    assert found.to_json() == {"type": name, "value": value | {"version": 1}}
    assert codes(found) == [("UNKNOWN_VERSION", "value.version")]


def test_unknown_types_are_kept_with_their_number():
    found = control(9, b"abc")
    assert found.to_json() == {"type": "UNKNOWN", "number": 9, "value": "YWJj"}
    assert codes(found) == [("UNKNOWN_TYPE", "key.type")]
    assert control(-1, None).to_json() == {"type": "UNKNOWN", "number": -1, "value": None}


NO_TYPE = {"type": "UNKNOWN", "number": None, "value": "YWJj"}
NO_EPOCH = {"type": "COMMIT", "coordinatorEpoch": None}
NO_VERSION = {"type": "KRaftVersion", "value": {"version": 0}}


@pytest.mark.parametrize(
    ("key", "value", "shown", "code"),
    [
        (None, b"abc", NO_TYPE, ("NULL_NOT_ALLOWED", "key")),
        (b"\0\0\0", b"abc", NO_TYPE | {"key": "AAAA"}, ("PAYLOAD_TRUNCATED", "key")),
        (b"\0\0\0\1", None, NO_EPOCH, ("NULL_NOT_ALLOWED", "value")),
        (b"\0\0\0\1", b"\0\0\1", NO_EPOCH, ("PAYLOAD_TRUNCATED", "value.coordinatorEpoch")),
        (b"\0\0\0\1", b"\0", NO_EPOCH, ("PAYLOAD_TRUNCATED", "value")),
        (b"\0\0\0\5", b"\0", NO_VERSION | {"value": "AA=="}, ("PAYLOAD_TRUNCATED", "value")),
        (b"\0\0\0\5", b"\0\0", NO_VERSION, ("PAYLOAD_TRUNCATED", "value.kRaftVersion")),
    ],
)
def test_damaged_ones(key, value, shown, code):
    found = decode_control(CATALOG, key, value)
    assert found.to_json() == shown
    assert codes(found) == [code]
