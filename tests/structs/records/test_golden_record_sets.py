"""Record sets that Kafka's own classes wrote: what is read here is what they read."""

import base64
import gzip
import json
import zlib
from collections import Counter
from functools import cache

import pytest
from kit.messages import SHARED

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.records import v0, v1, v2
from kwire_cli.structs.records.parts import offset_of

NUMBERS = fixed(v2.HEADER)
LEGACY = {0: v0, 1: v1}


@cache
def record_sets():
    rows = []
    for name in ("kafka-releases.batches.jsonl.gz", "kafka-trunk-2024-10.batches.jsonl"):
        file = SHARED / "golden" / name
        text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text("utf-8")
        rows += [json.loads(line) for line in text.split("\n") if line]
    return rows


def batches(row):
    """Each batch or shallow message with what Kafka read of it; a cut tail is left out."""
    data = bytes.fromhex(row["hex"])
    at = 0
    for batch in row["batches"]:
        yield data[at : at + batch["size"]], batch
        at += batch["size"]


def as_hex(text):
    return None if text is None else base64.b64decode(text).hex()


def as_kafka(record, batch, base, timestamp):
    headers = [{"key": header["key"], "value": as_hex(header["value"])} for header in record.get("headers", [])]
    sequence = batch["baseSequence"]
    if sequence >= 0:
        sequence = (sequence + record["offsetDelta"]) & 0x7FFFFFFF  # it wraps
    offset = base + record["offsetDelta"] if "offsetDelta" in record else base
    found = {
        "offset": offset,
        "timestamp": timestamp,
        "sequence": sequence,
        "key": as_hex(record["key"]),
        "value": as_hex(record["value"]),
    }
    return found | {"headers": headers}


def plain(headers):
    """Pairs of a name and a value in hex."""
    return [dict(zip(("key", "value"), header, strict=True)) for header in headers]


def check_v2(data, batch, read):
    numbers = dict(zip(NUMBERS.names, NUMBERS.unpack(data), strict=True))
    attributes = {bits.name: bits.names[bits.read(numbers["attributes"])] for bits in v2.ATTRIBUTES}
    for name in (
        "magic",
        "baseOffset",
        "crc",
        "maxTimestamp",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "partitionLeaderEpoch",
    ):
        assert numbers[name] == batch[name]
    assert numbers["baseOffset"] + numbers["lastOffsetDelta"] == batch["lastOffset"]
    assert numbers["batchLength"] + offset_of(v2.HEADER, "partitionLeaderEpoch") == batch["size"]
    assert (attributes["compression"], attributes["timestampType"]) == (batch["compression"], batch["timestampType"])
    assert attributes["isTransactional"] == str(batch["transactional"]).lower()
    assert attributes["isControl"] == str(batch["control"]).lower()
    assert (numbers["baseTimestamp"] if attributes["hasDeleteHorizon"] == "true" else None) == batch["deleteHorizonMs"]
    whole = read(v2.BATCHES, data)
    assert whole.anomalies == []
    value = whole.value["batches"][0]
    assert value == v2.BATCH.parse(data)
    assert v2.BATCH.build(value) == data
    if attributes["compression"] == "gzip":
        records = read(v2.RECORDS, gzip.decompress(data[NUMBERS.size :])).value["records"]
    elif attributes["compression"] == "none":
        records = value["records"]
        assert records == read(v2.RECORDS, data[NUMBERS.size :]).value["records"]
    else:
        return "compressed"
    assert len(records) == numbers["recordsCount"] == batch["count"]
    appended = attributes["timestampType"] == "LogAppendTime"
    for record, expected in zip(records, batch["records"], strict=True):
        timestamp = numbers["maxTimestamp"] if appended else numbers["baseTimestamp"] + record["timestampDelta"]
        found = as_kafka(record, batch, numbers["baseOffset"], timestamp)
        assert found == {name: expected[name] for name in found} | {"headers": plain(expected["headers"])}
        if attributes["isControl"] == "true":
            key = v2.CONTROL_RECORD_KEY.parse(base64.b64decode(record["key"]))
            assert key["version"] == 0
            assert v2.CONTROL_TYPES[key["type"]] == expected.get("controlType", v2.CONTROL_TYPES[key["type"]])
    return "records"


def check_legacy(data, batch, read):
    layout = LEGACY[batch["magic"]]
    found = read(layout.MESSAGE_SET, data)
    assert found.anomalies == []
    (message,) = found.value["messages"]
    assert message == layout.MESSAGE.parse(data)
    assert layout.MESSAGE.build(message) == data
    assert (message["crc"], message["magic"]) == (batch["crc"], batch["magic"])
    assert zlib.crc32(data[offset_of(layout.MESSAGE, layout.CRC_FROM) :]) == message["crc"]
    attributes = {bits.name: bits.names[bits.read(message["attributes"])] for bits in layout.ATTRIBUTES}
    assert attributes["compression"] == batch["compression"]
    assert attributes.get("timestampType", "NoTimestampType") == batch["timestampType"]
    if attributes["compression"] == "none":
        assert as_kafka(message, batch, message["offset"], message.get("timestamp", -1)) == batch["records"][0]
        return "records"
    if attributes["compression"] != "gzip":
        return "compressed"
    inside = read(layout.MESSAGE_SET, gzip.decompress(base64.b64decode(message["value"])))
    assert inside.anomalies == []
    messages = inside.value["messages"]
    base = message["offset"] - messages[-1]["offset"] if batch["magic"] else 0
    for each, expected in zip(messages, batch["records"], strict=True):
        timestamp = (
            message["timestamp"] if attributes.get("timestampType") == "LogAppendTime" else each.get("timestamp", -1)
        )
        assert as_kafka(each, batch, base + each["offset"], timestamp) == expected
    return "records"


@pytest.mark.shared
def test_every_record_is_what_kafka_read(read):
    seen = Counter()
    for row in record_sets():
        for data, batch in batches(row):
            check = check_v2 if batch["magic"] == 2 else check_legacy
            seen[batch["magic"], check(data, batch, read)] += 1
    assert set(seen) == {(magic, what) for magic in (0, 1, 2) for what in ("records", "compressed")}
    assert sum(seen.values()) > 300


@pytest.mark.shared
def test_a_cut_tail_is_a_gap(read):
    cut = 0
    for row in record_sets():
        if not row.get("trailingBytes") or {batch["magic"] for batch in row["batches"]} != {2}:
            continue
        found = read(v2.BATCHES, bytes.fromhex(row["hex"]))
        assert found.value["batches"][: len(row["batches"])] == [v2.BATCH.parse(data) for data, _ in batches(row)]
        assert "TRUNCATED" in [code for code, _, _ in found.anomalies]
        assert found.leaves[-1].kind == "gap"
        cut += 1
    assert cut
