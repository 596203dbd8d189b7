"""Files of producer state: an int16 version and a ProducerSnapshot, as ProducerStateManager writes them."""

import re

import crc32c
import pytest
from records import real_records

import kwire_cli as kwire
from kwire_cli.records.payload_model import versioned

SPEC = kwire.catalog().message("ProducerSnapshot")
PRINTED = {
    "producerId": "producerId",
    "producerEpoch": "epoch",
    "coordinatorEpoch": "coordinatorEpoch",
    "lastSequence": "lastSequence",
}
PRINTED |= {
    "lastOffset": "lastOffset",
    "offsetDelta": "offsetDelta",
    "timestamp": "timestamp",
    "lastTimestamp": "timestamp",
}


@pytest.mark.shared
def test_real_ones_are_what_kafka_prints():
    files = entries = 0
    for path in sorted(real_records.SEGMENTS.glob("*/*/*.snapshot")):
        found = versioned("", SPEC, path.read_bytes())
        assert found.exact
        assert found.anomalies == []
        value = found.json_data()
        crc = next(span for span in found.body.spans if span.path == "crc")
        assert value["crc"] == crc32c.crc32c(found.data[crc.end :])
        printed = path.with_name(path.name + ".dump.txt").read_text("utf-8")
        lines = [
            dict(re.findall(r"(\w+): (\S+)", line)) for line in printed.split("\n") if line.startswith("producerId")
        ]
        assert len(lines) == len(value["producerEntries"])
        for line, entry in zip(lines, value["producerEntries"], strict=True):
            assert {name: int(line[name]) for name in PRINTED if name in line} == {
                name: entry[key] for name, key in PRINTED.items() if name in line
            }
            first = re.search(r"\d+", line["currentTxnFirstOffset"])
            assert entry["currentTxnFirstOffset"] == (int(first[0]) if first else -1)
        files, entries = files + 1, entries + len(lines)
    assert (files, entries) == (128, 77)
