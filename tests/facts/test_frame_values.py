"""Frames whose bodies do not fit their version."""

import base64

import pytest
from kit.traffic import Wire

from kwire_cli.facts.frame_values import is_misread

TOPIC = {"topic": "orders", "partitions": [{"partitionIndex": 0, "highWatermark": 5}]}
PROTOCOL = {"name": "range", "metadata": base64.b64encode(bytes([0, 0, 127, 255, 255, 255])).decode()}


def frames(*said):
    return [line for line in Wire.lines(*said) if line.is_frame]


def test_an_answer_in_the_form_of_another_version():
    request = Wire.request("Fetch", 1, maxWaitMs=100, topics=[])
    _, sound = frames((0, request), (1, Wire.response("Fetch", 1, responses=[TOPIC])))
    assert not is_misread(sound)
    other = Wire.response("Fetch", 0, responses=[TOPIC])
    _, misread = frames((0, request), (1, other))
    assert is_misread(misread)


@pytest.mark.parametrize(
    "request_bytes",
    [
        Wire.request("JoinGroup", 0, groupId="billing", protocolType="consumer", protocols=[PROTOCOL]),
        Wire.raw(Wire.request("Metadata", 12)[4:] + bytes(3)),
    ],
    ids=["a strange payload", "bytes behind the end"],
)
def test_frames_with_anomalies_whose_fields_are_right(request_bytes):
    (line,) = frames((0, request_bytes))
    assert line.anomalies
    assert not is_misread(line)
