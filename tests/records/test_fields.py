import base64
from collections import Counter

import pytest
from records import real_records

import kwire_cli as kwire
from kwire_cli.records.payload_fields import MEMBERS, OTHERS, address, holds_payloads, payloads_of
from kwire_cli.spec.model import field_at

CATALOG = kwire.catalog()
SUBSCRIPTION = bytes.fromhex("0000 00000001 0001 74 ffffffff")
ASSIGNMENT = bytes.fromhex("0000 00000001 0001 74 00000001 00000003 ffffffff")


def b64(data):
    return base64.b64encode(data).decode()


def found_in(message, version, value):
    decoded = kwire.decode(kwire.encode(value, message=message, version=version), message=message, version=version)
    return [payload.to_json() for payload in payloads_of(CATALOG, decoded.spec, version, decoded.tree)]


def subscription(path, **more):
    return {
        "path": path,
        "type": "ConsumerProtocolSubscription",
        "version": 0,
        "data": {"topics": ["t"], "userData": None},
    } | more


def assignment(path, **more):
    data = {"assignedPartitions": [{"topic": "t", "partitions": [3]}], "userData": None}
    return {"path": path, "type": "ConsumerProtocolAssignment", "version": 0, "data": data} | more


def test_the_fields_of_the_table_exist_and_are_bytes():
    for row in (*MEMBERS, *OTHERS):
        assert field_at(CATALOG.message(row.message), row.path.replace("[]", "")).type == "bytes"
        assert holds_payloads(row.message)
    assert not holds_payloads("MetadataResponse")


@pytest.mark.parametrize("version", [0, 4, 9])
def test_join_group(version):
    request = {
        "groupId": "g",
        "sessionTimeoutMs": 1,
        "rebalanceTimeoutMs": 1,
        "memberId": "",
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [
            {"name": "range", "metadata": b64(SUBSCRIPTION)},
            {"name": "cooperative-sticky", "metadata": b64(SUBSCRIPTION[:-4] + b"\0\0\0\4abcd")},
        ],
        "reason": None,
    }
    shown = found_in("JoinGroupRequest", version, only(request, "JoinGroupRequest", version))
    assert shown[0] == subscription("protocols[0].metadata")
    assert [row["path"] for row in shown] == [
        "protocols[0].metadata",
        "protocols[1].metadata",
        "protocols[1].metadata.userData",
    ]
    assert shown[2]["type"] == "CooperativeStickyAssignorUserData"
    member = {"memberId": "m", "groupInstanceId": None, "metadata": b64(SUBSCRIPTION)}
    response = {
        "throttleTimeMs": 0,
        "errorCode": 0,
        "generationId": 1,
        "protocolType": "consumer",
        "protocolName": "range",
        "leader": "m",
        "skipAssignment": False,
        "memberId": "m",
        "members": [member, member],
    }
    response["members"] = [only(member, "JoinGroupResponse", version, "members") for member in response["members"]]
    guess = {} if version >= 7 else {"guess": True}
    assert found_in("JoinGroupResponse", version, only(response, "JoinGroupResponse", version)) == [
        subscription("members[0].metadata", **guess),
        subscription("members[1].metadata", **guess),
    ]


def only(value, message, version, field=None):
    """The keys that a struct has in this version."""
    spec = CATALOG.message(message)
    fields = spec.struct_fields(field_at(spec, field)) if field else spec.fields
    return {f.json_name: value[f.json_name] for f in fields if version in f.versions}


@pytest.mark.parametrize("version", [0, 4, 5])
def test_sync_group(version):
    guess = {} if version >= 5 else {"guess": True}
    request = {
        "groupId": "g",
        "generationId": 1,
        "memberId": "m",
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocolName": "range",
    }
    request["assignments"] = [{"memberId": "m", "assignment": b64(ASSIGNMENT)}, {"memberId": "n", "assignment": ""}]
    shown = found_in("SyncGroupRequest", version, only(request, "SyncGroupRequest", version))
    assert shown == [assignment("assignments[0].assignment", **guess)]
    response = {
        "throttleTimeMs": 0,
        "errorCode": 0,
        "protocolType": "consumer",
        "protocolName": "range",
        "assignment": b64(ASSIGNMENT),
    }
    assert found_in("SyncGroupResponse", version, only(response, "SyncGroupResponse", version)) == [
        assignment("assignment", **guess)
    ]


def test_describe_groups():
    member = {"memberId": "m", "groupInstanceId": None, "clientId": "c", "clientHost": "/h"}
    member |= {"memberMetadata": b64(SUBSCRIPTION), "memberAssignment": b64(ASSIGNMENT)}
    group = {
        "errorCode": 0,
        "errorMessage": None,
        "groupId": "g",
        "groupState": "Stable",
        "protocolType": "consumer",
        "protocolData": "range",
    }
    group |= {"members": [member], "authorizedOperations": 0}
    other = group | {"protocolType": "mine"}
    shown = found_in("DescribeGroupsResponse", 6, {"throttleTimeMs": 0, "groups": [other, group]})
    assert shown == [
        subscription("groups[1].members[0].memberMetadata"),
        assignment("groups[1].members[0].memberAssignment"),
    ]


def test_members_of_the_classic_protocol_in_a_consumer_group():
    value = {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "/h",
        "subscribedTopicNames": [],
        "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": 1,
        "serverAssignor": None,
    }
    classic = {"sessionTimeoutMs": 1, "supportedProtocols": [{"name": "range", "metadata": b64(SUBSCRIPTION)}]}
    shown = found_in("ConsumerGroupMemberMetadataValue", 0, value | {"classicMemberMetadata": classic})
    assert shown == [subscription("classicMemberMetadata.supportedProtocols[0].metadata")]
    assert found_in("ConsumerGroupMemberMetadataValue", 0, value) == []


def test_envelopes():
    principal = bytes.fromhex("0000 05 55736572 06 616c696365 01 00")
    value = {"requestData": "", "requestPrincipal": b64(principal), "clientHostAddress": b64(b"\x7f\0\0\1")}
    data = {"type": "User", "name": "alice", "tokenAuthenticated": True}
    host = {"path": "clientHostAddress", "type": "InetAddress", "version": None, "data": "127.0.0.1"}
    assert found_in("EnvelopeRequest", 0, value) == [
        {"path": "requestPrincipal", "type": "DefaultPrincipalData", "version": 0, "data": data},
        host,
    ]
    custom, _ = found_in("EnvelopeRequest", 0, value | {"requestPrincipal": b64(b"alice!")})
    assert custom["guess"]
    assert found_in("EnvelopeRequest", 0, value | {"requestPrincipal": None}) == [host]


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
