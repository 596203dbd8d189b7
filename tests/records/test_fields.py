from collections import Counter

import pytest
from kit.logs import b64
from kit.traffic import body_of
from records import real_records

import kwire_cli as kwire
from kwire_cli.records.payload_fields import MEMBERS, OTHERS, address, holds_payloads, payloads_of
from kwire_cli.spec.model import field_at

CATALOG = kwire.catalog()
SUBSCRIPTION = bytes.fromhex("0000 00000001 0001 74 ffffffff")


def found_in(message, version, **value):
    body = body_of(message, version, value)
    decoded = kwire.decode(kwire.encode(body, message=message, version=version), message=message, version=version)
    return [payload.to_json() for payload in payloads_of(CATALOG, decoded.spec, version, decoded.tree)]


def subscription(path, **more):
    return {
        "path": path,
        "type": "ConsumerProtocolSubscription",
        "version": 0,
        "data": {"topics": ["t"], "userData": None},
    } | more


def test_the_fields_of_the_table_exist_and_are_bytes():
    for row in (*MEMBERS, *OTHERS):
        assert field_at(CATALOG.message(row.message), row.path.replace("[]", "")).type == "bytes"
        assert holds_payloads(row.message)
    assert not holds_payloads("MetadataResponse")


@pytest.mark.parametrize("version", [0, 4, 9])
def test_join_group(version):
    protocols = [
        {"name": "range", "metadata": b64(SUBSCRIPTION)},
        {"name": "cooperative-sticky", "metadata": b64(SUBSCRIPTION[:-4] + b"\0\0\0\4abcd")},
    ]
    shown = found_in("JoinGroupRequest", version, protocolType="consumer", protocols=protocols)
    assert shown[0] == subscription("protocols[0].metadata")
    assert [row["path"] for row in shown] == [
        "protocols[0].metadata",
        "protocols[1].metadata",
        "protocols[1].metadata.userData",
    ]
    assert shown[2]["type"] == "CooperativeStickyAssignorUserData"
    guess = {} if version >= 7 else {"guess": True}
    members = [{"memberId": "m", "metadata": b64(SUBSCRIPTION)}] * 2
    assert found_in("JoinGroupResponse", version, **CONSUMERS, members=members) == [
        subscription("members[0].metadata", **guess),
        subscription("members[1].metadata", **guess),
    ]


CONSUMERS = {"protocolType": "consumer", "protocolName": "range"}


def test_members_of_the_classic_protocol_in_a_consumer_group():
    classic = {"sessionTimeoutMs": 1, "supportedProtocols": [{"name": "range", "metadata": b64(SUBSCRIPTION)}]}
    shown = found_in("ConsumerGroupMemberMetadataValue", 0, classicMemberMetadata=classic)
    assert shown == [subscription("classicMemberMetadata.supportedProtocols[0].metadata")]
    assert found_in("ConsumerGroupMemberMetadataValue", 0) == []


def test_envelopes():
    principal = bytes.fromhex("0000 05 55736572 06 616c696365 01 00")
    value = {"requestPrincipal": b64(principal), "clientHostAddress": b64(b"\x7f\0\0\1")}
    data = {"type": "User", "name": "alice", "tokenAuthenticated": True}
    host = {"path": "clientHostAddress", "type": "InetAddress", "version": None, "data": "127.0.0.1"}
    assert found_in("EnvelopeRequest", 0, **value) == [
        {"path": "requestPrincipal", "type": "DefaultPrincipalData", "version": 0, "data": data},
        host,
    ]
    custom, _ = found_in("EnvelopeRequest", 0, **value | {"requestPrincipal": b64(b"alice!")})
    assert custom["guess"]
    assert found_in("EnvelopeRequest", 0, **value | {"requestPrincipal": None}) == [host]


def test_addresses():
    assert address("a", bytes(15) + b"\1").json_data() == "::1"
    assert [note.code for note in address("a", b"abc").anomalies] == ["INVALID_LENGTH"]
    assert address("a", memoryview(b"abc")).json_data() == "YWJj"


@pytest.mark.slow  # all real captures
@pytest.mark.shared
def test_real_members():
    """Every member of a group in the real captures is decoded to the last byte, and nothing is odd."""
    seen = Counter()
    for path in real_records.captures():
        for frame in kwire.read_frames(path):
            if frame.body and holds_payloads(frame.body.message) and frame.body.message != "PushTelemetryRequest":
                for payload in payloads_of(CATALOG, frame.body.spec, frame.body.version, frame.body.tree):
                    assert payload.exact or payload.type == "InetAddress", payload
                    assert payload.anomalies == []
                    seen[payload.type, payload.guess] += 1
    assert seen == {
        ("ConsumerProtocolSubscription", False): 134,
        ("ConsumerProtocolSubscription", True): 8,
        ("ConsumerProtocolAssignment", False): 61,
        ("ConsumerProtocolAssignment", True): 16,
        ("CooperativeStickyAssignorUserData", False): 40,
        ("DefaultPrincipalData", False): 8,
        ("InetAddress", False): 8,
    }
