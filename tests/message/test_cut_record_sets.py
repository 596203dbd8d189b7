"""Requests that end in the middle of a record set: its batches are decoded as far as they go."""

import base64

import pytest
from kit.traffic import body_of

import kwire_cli as kwire

RECORDS = kwire.write_records([{"records": [{"value": {"text": f"hello {number}"}} for number in range(5)]}])


@pytest.mark.parametrize("version", [3, 7, 9, 12])
def test_records_of_a_cut_produce_request_are_those_of_the_whole(version):
    partition = {"index": 3, "records": base64.b64encode(RECORDS).decode()}
    value = body_of("ProduceRequest", version, {"topicData": [{"name": "t", "partitionData": [partition]}]})
    data = kwire.encode(value, message="ProduceRequest", version=version)
    whole = kwire.decode(data, message="ProduceRequest", version=version).to_json(records="decoded")
    [batch] = whole["topicData"][0]["partitionData"][0]["records"]
    before = 0
    for size in range(len(data) - len(RECORDS), len(data) - 3):
        decoded = kwire.decode(data[:size], message="ProduceRequest", version=version)
        shown = decoded.to_json(records="decoded")["topicData"][0]["partitionData"][0]
        assert "records" not in decoded.value["topicData"][0]["partitionData"][0]
        for item in shown.get("records", ()):
            assert item["gap"] == "TRUNCATED"
            assert item["batch"]["records"] == batch["records"][: len(item["batch"]["records"])]
            assert len(item["batch"]["records"]) >= before
            before = len(item["batch"]["records"])
    assert before >= 4
