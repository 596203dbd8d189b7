"""Messages in the fields of frames."""

import base64
import json

from kwire_cli.message.encode import encode
from kwire_cli.message.secrets import hidden_in_frame

SALT = base64.b64encode(b"very secret salt").decode()
PIECES = [base64.b64encode(bytes(lead) + b"very secret salt").decode()[4:-4] for lead in range(3)] + ["secret salt"]
"""What the salt looks like in text, and in base64 wherever it stands."""


def envelope(wire, inner, correlation=1):
    principal = b"\0\0" + encode(
        wire.catalog, {"type": "User", "name": "alice", "tokenAuthenticated": False}, "DefaultPrincipalData", 0
    )
    body = {"requestData": inner[4:], "requestPrincipal": principal, "clientHostAddress": bytes([10, 0, 0, 9])}
    return wire.request(
        "Envelope", 0, correlation, **{name: base64.b64encode(data).decode() for name, data in body.items()}
    )


def brought_back(wire, inner, correlation=1):
    return wire.response("Envelope", 0, correlation, responseData=base64.b64encode(inner[4:]).decode(), errorCode=0)


def shown(wire, line, *, hide=True):
    hidden = hidden_in_frame(wire.catalog, line.frame, known=True, asked=line.asked) if hide else {}
    return json.dumps(line.to_json(hidden=hidden)), line.to_json(hidden=hidden)


def test_what_an_envelope_carries_there_and_back(wire):
    asked = wire.request("Metadata", 1, 77, "inner", topics=[{"name": "orders"}])
    answer = wire.response("Metadata", 1, 77, topics=[{"errorCode": 3, "name": "orders", "partitions": []}])
    one, two = wire.lines((0, envelope(wire, asked)), (1, brought_back(wire, answer)))
    by_path = {each["path"]: each for each in one.to_json()["payloads"]}
    assert list(by_path) == ["requestPrincipal", "clientHostAddress", "requestData"]
    assert by_path["requestPrincipal"]["data"] == {"type": "User", "name": "alice", "tokenAuthenticated": False}
    assert by_path["clientHostAddress"]["data"] == "10.0.0.9"
    carried = by_path["requestData"]
    assert (carried["type"], carried["version"]) == ("MetadataRequest", 1)
    assert carried["data"] == {
        "header": {"headerVersion": 1, "correlationId": 77, "clientId": "inner"},
        "body": {"topics": [{"name": "orders"}]},
    }
    (back,) = two.to_json()["payloads"]
    assert (back["path"], back["type"], back["data"]["body"]["topics"][0]["errorCode"]) == (
        "responseData",
        "MetadataResponse",
        3,
    )
    assert two.frame.inside() == []  # without its request nobody knows what it is


def test_secrets_in_an_envelope_are_hidden_and_the_rest_is_not(wire):
    upsertion = {"name": "bob", "mechanism": 1, "iterations": 4096, "salt": SALT, "saltedPassword": SALT}
    secret = wire.request("AlterUserScramCredentials", 0, 5, deletions=[], upsertions=[upsertion])
    answer = wire.response(
        "AlterUserScramCredentials", 0, 5, results=[{"user": "bob", "errorCode": 0, "errorMessage": None}]
    )
    one, two = wire.lines((0, envelope(wire, secret)), (1, brought_back(wire, answer)))
    text, document = shown(wire, one)
    assert SALT not in text
    assert base64.b64encode(secret[4:]).decode() not in text
    carried = document["payloads"][-1]["data"]["body"]["upsertions"][0]
    assert (carried["name"], carried["salt"]) == ("bob", "<redacted 16 bytes>")
    assert SALT in shown(wire, one, hide=False)[0]
    text, document = shown(wire, two)
    assert document["body"]["responseData"].startswith("<redacted")
    assert document["payloads"][0]["data"]["body"]["results"][0]["user"] == "bob"


def test_envelopes_in_envelopes_stay_bytes(wire):
    inner = envelope(wire, wire.request("Heartbeat", 0, 1))
    (line,) = wire.lines((0, envelope(wire, inner)))
    assert [each["path"] for each in line.to_json()["payloads"]] == ["requestPrincipal", "clientHostAddress"]


def test_damaged_envelopes_show_no_more_than_they_may(wire):
    upsertion = {"name": "bob", "mechanism": 1, "iterations": 4096, "salt": SALT, "saltedPassword": SALT}
    whole = envelope(wire, wire.request("AlterUserScramCredentials", 0, 5, deletions=[], upsertions=[upsertion]))
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            for line in wire.lines((0, damaged)):
                if line.frame:
                    text = shown(wire, line)[0]
                    assert not any(piece in text for piece in PIECES)
