"""Bytes that other projects keep for their own tests, decoded; docs/evidence/conformance.md explains the exceptions."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from kit.messages import SHARED, without_unknown_tags

import kwire_cli as kwire
from kwire_cli.message.decoded import decode
from kwire_cli.message.encode import encode
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all

CONFORMANCE = Path(__file__).resolve().parent.parent / "docs" / "evidence" / "conformance.md"
CATALOG = kwire.catalog()
FOLDER = SHARED / "real" / "vectors"

# (repository, name) and what is found instead of a whole message without anomalies
EXCEPTIONS = {
    ("dpkp/kafka-python", "test_parse_flexible_error/encoded"): {"TRUNCATED"},
    ("optiopay/kafka", "/bbyte"): {"unknown"},
    ("optiopay/kafka", "TestFetchResponseWithRecordBatchWithMultipleRecords/messageFetchResponseV5MultipleRecords"): {
        "Fetch 6",
        "Fetch 5",
    },
    ("optiopay/kafka", "TestFetchResponseWithMultipleRecordBatches/messageFetchResponseV5MultipleBatches"): {
        "Fetch 6",
        "Fetch 5",
    },
    (
        "tulios/kafkajs",
        "v1_response_missing_throttle_time @ defaults throttle_time_ms if it is not provided in the response",
    ): {"TRUNCATED"},
    ("tulios/kafkajs", "scram256_firstRequest_response @ response"): {"TRUNCATED"},
    ("tulios/kafkajs", "scram256_firstRequest_response_v1 @ response"): {"TRUNCATED"},
}


@cache
def vectors():
    rows = []
    for file in sorted(FOLDER.glob("*.jsonl")):
        rows += [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    return rows


def name_of(row):
    return f"{row['message']} {row['version']} {row['name']}" if "message" in row else row["name"]


def is_message(row):
    """Records have a test of their own; bytes of kind other and primitive are no messages."""
    return row["kind"] in {"request", "response"} or (row["kind"] == "framing" and "message" in row)


def found_in_body(row):
    data = bytes.fromhex(row["hex"])
    if row["framing"] == "headertags+body":
        assert data[0] == 0  # the empty tag section that ends the header
        data = data[1:]
    message = row.get("message") or getattr(CATALOG.api(row["api_key"]), row["kind"])
    versions = [row["version"]] if row["version"] is not None else row["schema_versions"]
    tried = [decode(CATALOG, data, message, version) for version in versions]
    best = min(tried, key=lambda decoded: (not decoded.exact, len(decoded.anomalies)))
    assert best.exact or best.anomalies
    return {anomaly.code for anomaly in best.anomalies}


def found_in_frame(row):
    hints = Hints(kind="request")
    if row["kind"] == "response":
        hints = Hints(CATALOG.api(row["api_key"]) if row["api_key"] is not None else None, row["version"], "response")
    (frame,) = read_all(CATALOG, bytes.fromhex(row["hex"]), hints)
    if frame.kind == "unknown":
        return {"unknown"}
    assert frame.sure or frame.guess or frame.anomalies
    return {str(candidate) for candidate in frame.candidates} | {anomaly.code for anomaly in frame.anomalies}


@pytest.mark.shared
def test_what_other_projects_keep_decodes_whole_and_without_anomalies():
    found, count = {}, Counter()
    for row in vectors():
        if is_message(row):
            count[row["source"]] += 1
            odd = found_in_frame(row) if row["framing"] == "size+header+body" else found_in_body(row)
            if odd:
                found[row["source"], name_of(row)] = odd
    assert found == EXCEPTIONS
    text = CONFORMANCE.read_text("utf-8")
    for source, number in count.items():
        skipped = sum(row["source"] == source for row in vectors()) - number
        assert f"| {source} | {number} | {skipped} |" in text
    for source, name in EXCEPTIONS:
        assert f"`{name}`" in text
        assert source in text


RECORDS = {"record_batch", "message_set"}
# (repository, name) and what is found instead of batches in which nothing is odd
ODD_RECORDS = {
    ("dpkp/kafka-python", "control_batch_data_v2"): ["CRC_MISMATCH", "UNKNOWN_VERSION", "TRAILING_BYTES"],
    ("tulios/kafkajs", "crcPayload @ match the java CRC32C code"): ["TRUNCATED"],
    ("tulios/kafkajs", "v0_record @ decodes"): ["CORRUPT"],
    ("tulios/kafkajs", "v0_record @ decodes control record"): ["CORRUPT"],
    (
        "tulios/kafkajs",
        "v0_record @ uses record batch maxTimestamp when topic is configured with timestamp type LOG_APPEND_TIME",
    ): ["CORRUPT"],
}


@pytest.mark.shared
def test_record_sets_that_other_projects_keep_are_read_whole():
    found, count = {}, Counter()
    for row in vectors():
        if row["kind"] in RECORDS:
            count[row["source"]] += 1
            data, odd = bytes.fromhex(row["hex"]), []
            items = list(kwire.read_records(data))
            assert sum(item.size for item in items) == len(data)
            for item in items:
                document = item.to_json()
                odd += (
                    [document["gap"]] if "gap" in document else [anomaly["code"] for anomaly in document["anomalies"]]
                )
            if odd:
                found[row["source"], row["name"]] = odd
    assert found == ODD_RECORDS
    text = CONFORMANCE.read_text("utf-8")
    words = " ".join(text.split())
    assert all(f"{source} {number}" in words for source, number in count.items())
    assert all(f"`{name}`" in text for _, name in ODD_RECORDS)


@pytest.mark.shared
def test_values_that_kafka_wrote_encode_to_the_same_bytes():
    rows = [row for row in vectors() if row["source"] == "kafkars/kafka-wire" and "message" in row]
    assert len(rows) > 600
    for row in rows:
        value = decode(CATALOG, bytes.fromhex(row["hex"]), row["message"], row["version"]).value
        if "unknownTaggedFields" not in json.dumps(value):
            assert encode(CATALOG, row["decoded"], row["message"], row["version"]).hex() == row["hex"]
        assert (
            without_unknown_tags(value).items()
            <= {key: row["decoded"][key] for key in value if key in row["decoded"]}.items()
        )
