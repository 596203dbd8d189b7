"""Record sets that Kafka's own classes wrote, and real log directories: read as Kafka reads them, to the last byte."""

import base64
import gzip
import json
from functools import cache

import pytest
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli.records.gaps import Gap

NAMES = {"transactional": "isTransactional", "control": "isControl"}
SAME = (
    "magic",
    "baseOffset",
    "lastOffset",
    "size",
    "crc",
    "compression",
    "timestampType",
    "maxTimestamp",
    "producerId",
    "producerEpoch",
)
SAME += ("baseSequence", "partitionLeaderEpoch", "transactional", "control", "deleteHorizonMs", "count")


@cache
def record_sets():
    rows = []
    for file in sorted((SHARED / "golden").glob("*batches*.jsonl*")):
        text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text("utf-8")
        rows += [json.loads(line) for line in text.split("\n") if line]
    return rows


def b64(text):
    return None if text is None else base64.b64encode(bytes.fromhex(text)).decode()


@pytest.mark.shared
def test_record_sets_are_what_kafka_read():
    assert len(record_sets()) > 100
    for row in record_sets():
        items = list(kwire.read_records(bytes.fromhex(row["hex"])))
        assert sum(item.size for item in items if isinstance(item, Gap)) == row.get("trailingBytes", 0)
        found = [item.to_json() for item in items if not isinstance(item, Gap)]
        assert len(found) == len(row["batches"])
        for shown, batch in zip(found, row["batches"], strict=True):
            assert shown["anomalies"] == []
            assert {name: shown[NAMES.get(name, name)] for name in SAME if name in batch} == {
                name: batch[name] for name in SAME if name in batch
            }
            records = [{"key": b64(each["key"]), "value": b64(each["value"])} for each in batch["records"]]
            assert [{name: each[name] for name in ("key", "value")} for each in shown["records"]] == records
            for name in ("offset", "timestamp", "sequence"):
                assert [each[name] for each in shown["records"]] == [each[name] for each in batch["records"]]


@pytest.mark.shared
def test_every_real_segment_is_read_to_its_last_byte():
    files = [
        path
        for path in (SHARED / "real").rglob("*")
        if ".log" in path.suffixes[:1] or path.name.endswith(".checkpoint")
    ]
    files = [path for path in files if path.suffix != ".txt" and path.is_file()]
    assert len(files) > 150
    for path in files:
        at = 0
        for item in kwire.read_records(path, topic=path.parent.name.rpartition("-")[0]):
            assert item.position == at
            at = item.end
            if not isinstance(item, Gap) and item.crc_valid and item.magic == 2:
                shown = item.to_json()
                assert [note["code"] for note in shown["anomalies"] if not note["path"].startswith("records")] == [], (
                    path
                )
                assert shown["count"] == len(shown["records"])
        assert at == path.stat().st_size
