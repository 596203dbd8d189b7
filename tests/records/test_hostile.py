"""Bytes that are cut, changed or made up: nothing raises, everything has a JSON form, and what is wrong is said."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from records.filled import sample

import kwire_cli as kwire
from kwire_cli.message.decoded import decode
from kwire_cli.records.kafka_topics import COORDINATORS, FRAMED, decode_control, decode_record
from kwire_cli.records.payload_fields import MEMBERS, OTHERS, member_payloads, payloads_of, user_data
from kwire_cli.records.payload_model import own_definition, schema_versioned, versioned

CATALOG = kwire.catalog()
VECTORS = [json.loads(line) for line in (Path(__file__).parent / "members.jsonl").read_text("utf-8").splitlines()]
TOPICS = [*COORDINATORS, *FRAMED]
BYTES = st.none() | st.binary(max_size=60)
SMALL = st.binary(max_size=40).map(lambda data: b"\0" + data) | st.binary(max_size=60)


def check(payloads):
    for payload in payloads:
        json.dumps(payload.to_json())
        json.dumps(payload.to_json(hidden=frozenset(range(5))))
        for note in payload.anomalies:
            assert 0 <= note.offset <= payload.size
        if payload.body:
            assert sum(span.end - span.start for span in payload.body.spans) == payload.size - payload.body.raw.start
            assert payload.exact or payload.anomalies
            assert payload.body.complete or any(
                note.code in {"PAYLOAD_TRUNCATED", "INVALID_LENGTH", "VARINT_TOO_LONG"} for note in payload.anomalies
            )


def check_record(found):
    json.dumps(found.to_json())
    json.dumps([*found.anomalies])
    check(found.payloads)


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_members_cut_at_every_byte(vector):
    data = bytes.fromhex(vector["hex"])
    for size in range(len(data)):
        found = member_payloads(CATALOG, vector["role"], vector["protocolType"], vector["protocol"], data[:size], "f")
        check(found)
        if size:
            assert any(payload.anomalies for payload in found)
        check(member_payloads(CATALOG, vector["role"], None, None, data[:size], "f"))


@given(st.sampled_from(VECTORS), st.data())
def test_members_with_changed_bytes(vector, data):
    changed = bytearray.fromhex(vector["hex"])
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    check(member_payloads(CATALOG, vector["role"], vector["protocolType"], vector["protocol"], bytes(changed), "f"))
    check(member_payloads(CATALOG, vector["role"], None, None, memoryview(changed), "f"))


@given(
    st.sampled_from(["metadata", "assignment"]),
    st.sampled_from(["consumer", "connect", None]),
    st.sampled_from(["sticky", "stream", None]),
    SMALL,
)
def test_made_up_members(role, protocol_type, protocol, data):
    check(member_payloads(CATALOG, role, protocol_type, protocol, data, "f"))
    if found := user_data(CATALOG, role, protocol, data, "u"):
        check([found])


@given(st.sampled_from(TOPICS), BYTES, BYTES)
def test_made_up_records(topic, key, value):
    check_record(decode_record(CATALOG, topic, key, value))


@given(st.sampled_from(TOPICS), st.integers(0, 30), st.integers(0, 5), st.binary(max_size=80), st.binary(max_size=80))
def test_records_of_known_types(topic, kind, version, key, value):
    if topic in FRAMED:
        check_record(decode_record(CATALOG, topic, key, bytes((1, kind, version)) + value))
    else:
        check_record(
            decode_record(CATALOG, topic, kind.to_bytes(2, "big") + key, memoryview(version.to_bytes(2, "big") + value))
        )


@pytest.mark.parametrize("topic", TOPICS)
def test_records_cut_at_every_byte(topic):
    module = (COORDINATORS | FRAMED)[topic]
    for entry in CATALOG:
        if entry.module != module or entry.type == "coordinator-key":
            continue
        version = entry.valid_versions.high
        _, body = sample(entry.name, version)
        for size in range(len(body)):
            if topic in FRAMED:
                found = decode_record(CATALOG, topic, None, bytes((1, entry.api_key, version)) + body[:size])
            else:
                found = decode_record(
                    CATALOG, topic, entry.api_key.to_bytes(2, "big"), version.to_bytes(2, "big") + body[:size]
                )
            check_record(found)
            codes = {note.code for note in found.anomalies if note.path.startswith("value")}
            assert codes & {"PAYLOAD_TRUNCATED", "EARLY_LAYOUT"}, codes  # an early layout may end where the bytes do


@given(BYTES, BYTES)
def test_made_up_control_records(key, value):
    found = decode_control(CATALOG, key, value)
    json.dumps(found.to_json())
    json.dumps([*found.anomalies])


@given(st.integers(-3, 9), BYTES)
def test_control_records_of_known_types(kind, value):
    found = decode_control(CATALOG, b"\0\0" + kind.to_bytes(2, "big", signed=True), value)
    json.dumps(found.to_json())
    assert found.anomalies or found.value.exact
    check([found.value] if found.value else [])


@given(st.sampled_from([*MEMBERS, *OTHERS]), st.data())
def test_fields_of_damaged_messages(row, data):
    spec = CATALOG.message(row.message)
    version = data.draw(st.integers(spec.valid_versions.low, spec.valid_versions.high))
    _, body = sample(spec, version)
    changed = bytearray(body)
    changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    decoded = decode(CATALOG, bytes(changed[: data.draw(st.integers(0, len(changed)))]), row.message, version)
    check(payloads_of(CATALOG, decoded.spec, version, decoded.tree))


@given(st.binary(max_size=12))
def test_prefixes(data):
    check(
        [
            versioned("", CATALOG.message("DefaultPrincipalData"), data),
            schema_versioned("", own_definition("AssignmentInfo"), data),
        ]
    )
