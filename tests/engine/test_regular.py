"""Spans that tell at a glance that a message has no anomaly, beside what its tree says."""

import pytest

import kwire_cli as kwire
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, is_regular
from kwire_cli.spec.catalog import catalog

HEARTBEAT = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}
METADATA = {"topics": [{"name": "topic"}], "allowAutoTopicCreation": True}
BODIES = [("HeartbeatRequest", 3, HEARTBEAT), ("MetadataRequest", 4, METADATA)]


def both(message, version, data):
    """Whether a look at the spans finds the message regular, and the codes of its anomalies."""
    entry = entry_for(catalog().message(message), version)
    spans = walk(entry, data)
    return is_regular(spans), {anomaly.code for anomaly in anomalies(build(entry, spans))}


@pytest.mark.parametrize(("message", "version", "value"), BODIES)
def test_a_message_without_tagged_fields_is_regular_if_it_has_no_anomaly(message, version, value):
    data = kwire.encode(value, message=message, version=version)
    assert both(message, version, data) == (True, set())
    found = set()
    damaged = [data[:-1], data + b"\0"]
    damaged += [data[:at] + bytes([byte]) + data[at + 1 :] for at in range(len(data)) for byte in (0, 2, 0x80, 0xFF)]
    for each in damaged:
        regular, codes = both(message, version, each)
        assert regular == (not codes)
        found |= codes
    assert found >= {"TRUNCATED", "TRAILING_BYTES", "INVALID_UTF8"}
    assert ("BOOL_NOT_0_OR_1" in found) == (message == "MetadataRequest")
