"""Values that Confluent's serializers wrote, with their schemas.

Usage: make_schema_samples.py PYTHON

Writes samples/schemas. PYTHON has confluent-kafka[avro,json,protobuf] and grpcio-tools. The answers and the `_schemas`
topic are what the registry writes, from the schemas in schemas/.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

from kwire_cli.records.writing import write

HERE = Path(__file__).resolve().parent / "schemas"
SAMPLES = HERE.parents[1] / "schemas"


def schemas_topic(answers: list[dict]) -> None:
    """The records that Confluent's registry writes for these schemas, with those of its other types, in a segment."""
    pairs: list[tuple[dict, dict | None]] = [
        ({"keytype": "NOOP", "magic": 0}, None),
        ({"keytype": "CONFIG", "subject": None, "magic": 0}, {"compatibilityLevel": "BACKWARD"}),
    ]
    old = answers[0] | {
        "schema": '"string"',
        "subject": "gone",
        "id": 99,
        "guid": "0" * 8 + "-0000-0000-0000-" + "0" * 12,
    }
    for answer in (old, *answers):
        key = {"keytype": "SCHEMA", "subject": answer["subject"], "version": answer["version"], "magic": 1}
        pairs.append((key, {**answer, "deleted": False}))
    pairs.append((pairs[2][0], {**old, "deleted": True}))
    pairs.append(({"keytype": "DELETE_SUBJECT", "subject": "gone", "magic": 0}, {"subject": "gone", "version": 1}))
    records = [
        {
            "offset": offset,
            "timestamp": 1763719200000 + offset,
            "key": base64.b64encode(json.dumps(key, separators=(",", ":")).encode()).decode(),
            "value": value and base64.b64encode(json.dumps(value, separators=(",", ":")).encode()).decode(),
            "headers": [],
        }
        for offset, (key, value) in enumerate(pairs)
    ]
    place = SAMPLES / "_schemas-0"
    place.mkdir(exist_ok=True)
    batches = [{"compression": "gzip", "records": records}]
    (place / "00000000000000000000.log").write_bytes(write(batches))


def orders_log(rows: list[dict]) -> None:
    """A segment of records of one topic that Confluent's serializers wrote, the last one with an id that is missing."""
    value = next(row for row in rows if row["name"] == "avro-orders value prefix")
    by_header = next(row for row in rows if row["name"] == "avro-orders value header")
    data = base64.b64decode(value["bytes"])
    values = [(value["bytes"], []), (by_header["bytes"], by_header["headers"])]
    values += [(base64.b64encode(bad).decode(), []) for bad in (data[:-3], b"\0\0\0\0\x62" + data[5:])]
    records = [
        {
            "offset": offset,
            "timestamp": 1763719200000 + offset,
            "key": base64.b64encode(b"order-%d" % offset).decode(),
            "value": data,
            "headers": [{"key": name, "value": header} for name, header in headers],
        }
        for offset, (data, headers) in enumerate(values)
    ]
    place = SAMPLES / "avro-orders-0"
    place.mkdir(exist_ok=True)
    (place / "00000000000000000000.log").write_bytes(write([{"records": records}]))


def main() -> None:
    (python,) = sys.argv[1:]
    subprocess.run([python, str(HERE / "confluent.py"), str(SAMPLES / "confluent")], check=True)
    rows = [json.loads(line) for line in (SAMPLES / "confluent" / "records.jsonl").read_text().splitlines()]
    schemas_topic(json.loads((SAMPLES / "confluent" / "schemas.json").read_text()))
    orders_log(rows)


main()
