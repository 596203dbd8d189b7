"""Bytes that end early: of the input (TRUNCATED), or of a message inside another (PAYLOAD_TRUNCATED); and cut frames as
bytes alone.
"""

import base64
import re
from collections import Counter
from functools import cache
from types import SimpleNamespace

import pytest
from kit import messages
from kit.captures import capture_of
from kit.commands import ROOT
from kit.secrets import answered, framed
from kit.traffic import CATALOG, Talk, Wire, body_of

from kwire_cli.message.encode import encode
from kwire_cli.message.frames import CARRIED, Hints, holds, read
from kwire_cli.message.reading import read_all
from kwire_cli.records.kafka_topics import decode_record
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

CUTS = (25, 50, 80)
CLIENTS = (b"adminclient-1", b"rdkafka", b"consumer-group-1-2", b"producer-0")
APIS = {name: api for api in CATALOG.apis for name in (api.request, api.response) if name}


def frame_bytes(message, version, body, number=1):
    """A body with size and header, as a client or a broker sends it."""
    key = APIS[message].key
    if message.endswith("Request"):
        return framed(key, version, body, CLIENTS[number % 4], number)
    return answered(key, version, body, number)


def frames_of(rows):
    for number, row in enumerate(rows):
        # The only request without a client id is ControlledShutdown 0.
        if row.message in APIS and (row.message, row.version) != ("ControlledShutdownRequest", 0):
            yield row, frame_bytes(row.message, row.version, row.body, number % 977)


def read_as(row, data):
    hints = (
        Hints(kind="request") if row.message.endswith("Request") else Hints(APIS[row.message], row.version, "response")
    )
    return read(CATALOG, data, hints, number=1, start=0, stop=len(data), prefixed=True)


def codes(frame):
    return {anomaly.code for anomaly in frame.anomalies}


def place(value, path):
    """The object and key of a field by its path."""
    *steps, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)]
    for step in steps:
        value = value[step]
    return value, last


def with_payloads(rows):
    return [(row, data) for row, data in frames_of(rows) if holds(row.message)]


def check_payloads_cut_inside(rows):
    """Each message inside an intact one, cut at several places: what holds it lacks nothing."""
    found = Counter()
    for row, data in with_payloads(rows):
        whole = read_as(row, data)
        paths = {each.path for each in whole.inside() if "." not in each.path.rpartition("]")[2].lstrip(".")}
        for path in paths | ({CARRIED[row.message]} if row.message in CARRIED else set()):
            value = whole.body.value
            at, name = place(value, path)
            payload = base64.b64decode(at[name] or "")
            for share in (0.1, 0.5, 0.9):
                at[name] = base64.b64encode(payload[: int(len(payload) * share)]).decode()
                cut = read_as(
                    row, frame_bytes(row.message, row.version, encode(CATALOG, value, row.message, row.version))
                )
                assert "TRUNCATED" not in codes(cut)
                found.update(codes(cut))
    assert found["PAYLOAD_TRUNCATED"]


def check_input_cut(rows):
    """Each message that holds others, cut by the input: nothing but that."""
    for row, data in with_payloads(rows):
        usual = codes(read_as(row, data))
        for size in range(12, len(data), max(1, len(data) // 40)):
            cut = codes(read_as(row, data[:size]))
            assert "TRUNCATED" in cut
            assert cut - usual <= {"TRUNCATED", "FRAME_SIZE_MISMATCH"}


def body(name, version, value):
    return encode(CATALOG, body_of(name, version, value), name, version)


def holders():
    """A message of each kind that holds another one."""
    topics = {"topics": ["a", "b"], "ownedPartitions": [{"topic": "a", "partitions": [0, 1]}]}
    assigned = {"assignedPartitions": [{"topic": "a", "partitions": [0, 1]}]}
    metadata = base64.b64encode(b"\0\1" + body("ConsumerProtocolSubscription", 1, topics)).decode()
    assignment = base64.b64encode(b"\0\1" + body("ConsumerProtocolAssignment", 1, assigned)).decode()
    inner = base64.b64encode(Wire.request("CreateTopics", 7, 5, "admin", topics=[{"name": "t"}])[4:]).decode()
    group = {"protocolType": "consumer", "protocolName": "range"}
    values = [
        ("JoinGroupRequest", 5, {"protocolType": "consumer", "protocols": [{"name": "range", "metadata": metadata}]}),
        ("JoinGroupResponse", 9, group | {"members": [{"memberId": "m", "metadata": metadata}]}),
        ("SyncGroupRequest", 5, group | {"assignments": [{"memberId": "m", "assignment": assignment}]}),
        ("SyncGroupResponse", 5, group | {"assignment": assignment}),
        ("EnvelopeRequest", 0, {"requestData": inner}),
    ]
    return [
        SimpleNamespace(message=name, version=version, body=body(name, version, value))
        for name, version, value in values
    ]


def test_a_payload_cut_inside_an_intact_message():
    for row in holders():
        check_payloads_cut_inside([row])


def test_a_message_with_payloads_cut_by_the_input():
    check_input_cut(holders())


@pytest.mark.shared
def test_all_golden_payloads_cut_inside_an_intact_message():
    check_payloads_cut_inside(messages.shared()[::3])


@pytest.mark.shared
def test_all_golden_messages_with_payloads_cut_by_the_input():
    check_input_cut(messages.shared()[::3])


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        ("__consumer_offsets", b"\0\2\0\1g", b"\0\3\0\0\0"),
        ("__consumer_offsets", b"\0\1\0", b"\0"),
        ("__transaction_state", b"\0\0\0\1t", b"\0\0\0"),
        ("__transaction_state", b"\0", None),
        ("__cluster_metadata", None, b"\1\2"),
        ("__cluster_metadata", None, b"\1\2\0\5"),
    ],
)
def test_records_of_kafkas_own_topics_cut_inside_an_intact_batch(topic, key, value):
    found = [note.code for note in decode_record(CATALOG, topic, key, value).anomalies]
    assert "PAYLOAD_TRUNCATED" in found
    assert "TRUNCATED" not in found


def test_an_envelope_cut_by_the_snap_length_is_truncated_and_nothing_else(wire):
    inner = wire.request(
        "CreateTopics", 7, 5, "admin", topics=[{"name": "t", "configs": [{"name": "a", "value": "b"}]}]
    )[4:]
    envelope = wire.request("Envelope", 0, 1, "broker", requestData=base64.b64encode(inner).decode())
    for have in range(12, len(envelope)):
        t = Talk()
        segments = [*t.handshake(), t.segment(0, envelope[:have], missing=len(envelope) - have), t.segment(1)]
        lines = list(traffic(CATALOG, capture_of(segments)))
        assert [set(line.anomalies) for line in lines if line.is_frame] == [{"TRUNCATED"}]


# Cut frames as bytes alone


def kinds(data):
    return {frame.kind for frame in read_all(CATALOG, data, Hints())}


def counted(frames, kind):
    """How many cut `frames`, requests or responses, are taken for `kind`, of how many."""
    found = total = 0
    for data in frames:
        for share in CUTS:
            found += kinds(data[: len(data) * share // 100]) == {kind}
            total += 1
    return found, total


def golden(kind, rows):
    return [data for row, data in frames_of(rows) if row.message.endswith(kind)]


@pytest.mark.parametrize("unprefixed", [False, True])
def test_a_whole_response_becomes_no_request(unprefixed):
    frames = golden("Response", messages.sample())
    requests = sum(kinds(data[4:] if unprefixed else data) == {"request"} for data in frames)
    assert requests <= len(frames) // 100


def test_a_cut_request_stays_a_request():
    """A known api and version, a client id that is text, and a size beyond the end; even if a response fits that has
    invalid UTF-8 in it.
    """
    found, total = counted(golden("Request", messages.sample()), "response")
    assert found <= total // 100
    assert kinds(
        Wire.request("Produce", 7, 1024, "rdkafka", topicData=[{"name": "container-monitor", "partitionData": [{}]}])[
            :-3
        ]
    ) == {"request"}


@pytest.mark.parametrize("client", ["", None])
def test_a_cut_response_with_a_small_correlation_id_is_no_produce_request(client):
    """Correlation id 7 reads as Produce version 7; who sends that names the client."""
    response = Wire.response(
        "Metadata", 1, 7, brokers=[{"nodeId": 1, "host": "h", "port": 9092}], topics=[{"name": "t" * 300}]
    )
    assert kinds(response[:200]) != {"request"}
    assert kinds(Wire.request("Produce", 7, 1, client, topicData=[{"name": "t", "partitionData": [{}]}])) == {"request"}


@cache
def captured():
    """Return the frames of real captures that are known for sure, one of those that are equal but for their ids."""
    seen = {"request": {}, "response": {}}
    for path in sorted((messages.SHARED / "real").glob("**/*.pcap*")):
        for line in traffic(CATALOG, Capture(path)):
            data = bytes(line.seen.data)
            if line.kind in seen and not line.seen.missing and not line.guess:
                seen[line.kind][data[:8] + data[12:]] = data
    return {kind: [*frames.values()] for kind, frames in seen.items()}


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("kind", "other", "step"), [("request", "response", 10), ("response", "request", 5)])
def test_cut_frames_of_the_reference_data_keep_their_kind(kind, other, step):
    """docs/evidence/conformance.md has the figures of all of them; at most 1 in 100 becomes the other kind."""
    page = (ROOT / "docs" / "evidence" / "conformance.md").read_text("utf-8").replace(",", "")
    for source, frames in (("golden", golden(kind.capitalize(), messages.shared())), ("real", captured()[kind])):
        row = re.search(rf"^\| {source} {kind}s \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
        cuts, mistaken = map(int, row.groups())
        assert mistaken * 100 <= cuts
        found, total = counted(frames[::step], other)
        assert found * 100 <= total
