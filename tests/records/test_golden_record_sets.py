"""Record sets that Kafka's own classes wrote: batches, records and headers are those that Kafka read back."""

import base64

import pytest
from kit.messages import record_sets

import kwire_cli as kwire
from kwire_cli.records.gaps import Gap

NAMES = {"transactional": "isTransactional", "control": "isControl"}


def b64(text):
    return None if text is None else base64.b64encode(bytes.fromhex(text)).decode()


@pytest.mark.shared
def test_record_sets_are_what_kafka_read():
    assert len(record_sets()) > 100
    seen = set()
    for row in record_sets():
        items = list(kwire.read_records(bytes.fromhex(row["hex"])))
        assert sum(item.size for item in items if isinstance(item, Gap)) == row.get("trailingBytes", 0)
        found = [item.to_json() for item in items if not isinstance(item, Gap)]
        assert len(found) == len(row["batches"])
        for shown, batch in zip(found, row["batches"], strict=True):
            assert shown["anomalies"] == []
            assert {name: shown[NAMES.get(name, name)] for name in batch.keys() - {"records"}} == {
                name: value for name, value in batch.items() if name != "records"
            }
            check_records(shown["records"], batch["records"])
            seen.add((shown["magic"], shown["compression"]))
    codecs = ("none", "gzip", "snappy", "lz4")
    assert seen == {(magic, codec) for magic in (0, 1, 2) for codec in codecs} | {(2, "zstd")}


def check_records(shown, expected):
    for record, kafka in zip(shown, expected, strict=True):
        assert (record["key"], record["value"]) == (b64(kafka["key"]), b64(kafka["value"]))
        assert [(header["key"], header["value"]) for header in record["headers"]] == [
            (name, b64(value)) for name, value in kafka["headers"]
        ]
        for name in ("offset", "timestamp", "sequence"):
            assert record[name] == kafka[name]
        if "controlType" in kafka:
            assert record["control"]["type"].upper() == kafka["controlType"].replace("_", "")
