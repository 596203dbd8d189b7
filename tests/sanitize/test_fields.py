"""Messages before and after: what is read of them, and of the messages inside them, has the same form and anomalies."""

import base64
import json

import pytest
from kit.commands import ROOT
from kit.traffic import CATALOG, Wire

from kwire_cli.message.frames import Hints, read
from kwire_cli.message.roles import error_codes, role_values, roles
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import Frames
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

MEMBERS = [json.loads(line) for line in (ROOT / "tests" / "records" / "members.jsonl").read_text("utf-8").splitlines()]
"""Payloads of group members, written by Kafka's own classes."""
CAPTURES = ("kafka-python-4.4.0.pcapng", "sarama-0.8.2.0-3.9.2.pcapng")
NAMES = (b"orders", b"w1:8083", b"leader-1", b"sink")
LONGEST = 200
"""Bytes of a frame that is cut at each of its first ones."""


def sanitized(data, hints, *, cut=False):
    """A frame and the frame in its place."""
    frames = Frames(Fields(CATALOG, Replacement(b"key")), lambda topic: topic)
    frame = read(CATALOG, data, hints, number=0, start=0, stop=len(data), prefixed=True)
    out = frames.frame(frame, cut=cut)
    assert len(out) == len(data)
    return frame, read(CATALOG, out, hints, number=0, start=0, stop=len(out), prefixed=True)


def frame_of(member, data, protocol_type):
    """A request or response with the payload of a member, and how it is read."""
    payload = base64.b64encode(data).decode()
    if member["role"] == "metadata":
        protocols = [{"name": member["protocol"], "metadata": payload}]
        return Wire.request("JoinGroup", 9, protocolType=protocol_type, protocols=protocols), Hints(kind="request")
    version = 5 if protocol_type else 3
    names = {"protocolType": protocol_type, "protocolName": member["protocol"]} if protocol_type else {}
    response = Wire.response("SyncGroup", version, assignment=payload, **names)
    return response, Hints(CATALOG.api("SyncGroup"), version, "response")


def payloads(frame):
    """The messages inside a frame, without those inside a message that cannot be read."""
    found = frame.inside()
    broken = [f"{each.path}." for each in found if not (each.body and each.body.complete)]
    return [
        (each.path, each.type, each.guess, [note.code for note in each.anomalies])
        for each in found
        if not each.path.startswith(tuple(broken))
    ]


STEP = 13
"""Bytes from one cut to the next: the payloads are alike, and each one begins elsewhere."""


def damages(data, first):
    """The bytes of a payload as they are, cut anywhere, too long, and of versions that are not known."""
    yield data
    yield data + b"more"
    yield from (data[:size] for size in range(1 + first % STEP, len(data), STEP))
    yield from (version + data[2:] for version in (b"\x7f\xff", b"\xff\xfe"))


@pytest.mark.parametrize("number", range(len(MEMBERS)))
def test_messages_in_fields_keep_their_form_and_anomalies(number):
    member = MEMBERS[number]
    types = {member["protocolType"], ""} if member["role"] == "assignment" else {member["protocolType"]}
    for data in damages(bytes.fromhex(member["hex"]), number):
        for protocol_type in types | {"somebody-elses"}:
            before, after = sanitized(*frame_of(member, data, protocol_type))
            assert payloads(after) == payloads(before), data.hex()
            assert [note.code for note in after.anomalies] == [note.code for note in before.anomalies], data.hex()
            assert not any(name in bytes(after.data) for name in NAMES)


def whole_frames():
    """A frame of each kind and version in the captures, and how it is read."""
    found = {}
    for name in CAPTURES:
        for line in traffic(CATALOG, Capture(ROOT / "samples" / "captures" / name)):
            if line.frame and line.frame.sure and not line.seen.missing:
                response = line.seen.kind == "response"
                hints = (
                    Hints(CATALOG.api(line.api), line.api_version, "response") if response else Hints(kind="request")
                )
                found.setdefault((line.seen.kind, line.api, line.api_version), (hints, line.seen.data))
    return found


FRAMES = whole_frames()


@pytest.mark.parametrize(("hints", "data"), FRAMES.values(), ids=["-".join(map(str, key)) for key in FRAMES])
def test_a_frame_that_is_cut_anywhere_stops_at_the_same_field_with_the_same_errors(hints, data):
    for size in range(8, min(len(data), LONGEST)):
        before, after = sanitized(data[:size], hints, cut=True)
        if before.body is None or before.guess:
            continue
        assert [*after.body.raw.node] == [*before.body.raw.node], size
        assert [note.code for note in after.body.anomalies] == [note.code for note in before.body.anomalies], size
        assert errors(after.body) == errors(before.body), size


def errors(body):
    return error_codes(role_values(roles(body.spec, body.entry), body.raw))


@pytest.mark.parametrize("damage", [b"\xff" * 4, b"\x7f" * 4, b"\x00\x00\x7f\xff"])
def test_a_body_that_cannot_be_read_becomes_one_without_errors(damage):
    broken = 0
    for api, version in (("Metadata", 0), ("ApiVersions", 0), ("ApiVersions", 3), ("Fetch", 12), ("ListGroups", 0)):
        whole = Wire.response(api, version)
        for at in range(8, len(whole) - 4):
            data = whole[:at] + damage + whole[at + 4 :]
            before, after = sanitized(data, Hints(CATALOG.api(api), version, "response"))
            if before.body and not before.body.complete:
                broken += 1
                assert not after.body.complete
                assert set(errors(after.body)) <= set(errors(before.body))
    assert broken
