"""Values that the serializers of Confluent, Apicurio and AWS Glue wrote, with their schemas as exports of registries.

Usage: make_schema_samples.py APICURIO_JARS GLUE_JARS PYTHON

Writes samples/schemas. The jars are folders: of apicurio-registry-{avro,jsonschema,protobuf}-serde-kafka, and of
software.amazon.glue:schema-registry-serde with kafka-streams. PYTHON has confluent-kafka[avro,json,protobuf] and
grpcio-tools. The exports and the `_schemas` topic are what the registries write, from the schemas in schemas/.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zipfile
from pathlib import Path

from kwire_cli.records.writing import write

HERE = Path(__file__).resolve().parent / "schemas"
SAMPLES = HERE.parents[1] / "schemas"
PAYMENT = {"id": "p-1", "kind": "TRANSFER", "parts": [{"cents": -5}], "trace": 1 << 60}
JSON = {"id": "o-1", "cents": 1200}
WINDOW = {"key": "kä", "windowStart": "2023-11-14T22:13:20.000Z"}


def text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def of_java(name: str, jars: str, files: tuple[str, ...], avro: dict) -> list[dict]:
    """The lines that a Java program prints, with what it wrote."""
    data = base64.b64encode(base64.b64decode(avro["bytes"])[5:]).decode()
    command = ["java", "-cp", f"{jars}/*", str(HERE / name), *(str(HERE / file) for file in files), data]
    rows = [
        json.loads(line) for line in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    ]
    written = {"avro": avro["written"], "json-schema": JSON, "protobuf": PAYMENT}
    written["time-window"] = WINDOW
    written["session-window"] = WINDOW | {"windowEnd": "2023-11-14T22:14:20.000Z"}
    return [
        row | {"written": {"cents": -5} if "protobuf part" in row["name"] else written[row["format"]]} for row in rows
    ]


def save(folder: str, rows: list[dict]) -> Path:
    place = SAMPLES / folder
    place.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "records.jsonl").write_text(lines, encoding="utf-8")
    return place


def apicurio_export(place: Path) -> None:
    """An export of Apicurio 3: contents by their hash, and the versions of artifacts."""
    customer = [{"groupId": "default", "artifactId": "customer", "version": "1", "name": "acme.shop.Customer"}]
    artifacts = [
        ("customer", "AVRO", "customer.avsc", 10, []),
        ("orders-value", "AVRO", "order.avsc", 11, customer),
        ("json", "JSON", "order.json", 12, []),
        ("payments", "PROTOBUF", "payment.proto", 13, []),
    ]
    with zipfile.ZipFile(place / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, data: str) -> None:
            entry = zipfile.ZipInfo(name, (2026, 11, 21, 10, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        put("manifest-2026-11-21T10:00:00Z.Manifest.json", '{"exportVersion": "3.0"}')
        for name, kind, file, number, references in artifacts:
            stem = f"{number:064x}"
            about = {"contentId": number, "contentHash": stem, "artifactType": kind, "contentType": "application/json"}
            put(f"content/{stem}.Content.json", json.dumps(about | {"serializedReferences": json.dumps(references)}))
            put(f"content/{stem}.Content.data", text(file))
            artifact = {"groupId": "default", "artifactId": name, "artifactType": kind}
            put(f"groups/default/artifacts/{name}.Artifact.json", json.dumps(artifact))
            version = {"globalId": number + 10, "groupId": "default", "artifactId": name, "version": "1"}
            version |= {"versionOrder": 1, "state": "ENABLED", "contentId": number}
            put(f"groups/default/artifacts/{name}/versions/1.ArtifactVersion.json", json.dumps(version))


def glue_answers(place: Path) -> None:
    """The answers of `aws glue get-schema-version`. Glue has no references: the schema of orders has all types."""
    order, customer = json.loads(text("order.avsc")), json.loads(text("customer.avsc"))
    for field in order["fields"]:
        if field["name"] == "customer":
            field["type"] = ["null", customer]
    schemas = (("AVRO", "orders", json.dumps(order)), ("JSON", "json", '{"type": "object"}'))
    for number, (kind, name, schema) in enumerate((*schemas, ("PROTOBUF", "payments", text("payment.proto"))), 1):
        answer = {
            "SchemaVersionId": f"00000000-0000-0000-0000-{number:012d}",
            "SchemaDefinition": schema,
            "DataFormat": kind,
            "SchemaArn": f"arn:aws:glue:eu-west-1:123456789012:schema/shop/{name}",
            "VersionNumber": 1,
            "Status": "AVAILABLE",
            "CreatedTime": "2026-11-21T10:00:00.000Z",
        }
        (place / f"{name}.json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


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


def windows_log(rows: list[dict]) -> None:
    """A segment of the counts of a Kafka Streams application, whose keys have time windows."""
    key = next(row["bytes"] for row in rows if row["format"] == "time-window")
    window = base64.b64decode(key)[-8:]
    keys = (key, *(base64.b64encode(name + window).decode() for name in (b"paid", b"new")))
    records = [
        {
            "offset": offset,
            "timestamp": 1763719200000 + offset,
            "key": key,
            "value": base64.b64encode((7 * offset + 1).to_bytes(8)).decode(),
            "headers": [],
        }
        for offset, key in enumerate(keys)
    ]
    place = SAMPLES / "order-counts-0"
    place.mkdir(exist_ok=True)
    (place / "00000000000000000000.log").write_bytes(write([{"records": records}]))


def main() -> None:
    apicurio, glue, python = sys.argv[1:]
    subprocess.run([python, str(HERE / "confluent.py"), str(SAMPLES / "confluent")], check=True)
    rows = [json.loads(line) for line in (SAMPLES / "confluent" / "records.jsonl").read_text().splitlines()]
    avro = rows[0]
    files = ("order.avsc", "customer.avsc", "order.json", "payment.proto")
    apicurio_export(save("apicurio", of_java("Apicurio.java", apicurio, files, avro)))
    written = of_java("Glue.java", glue, ("order.avsc", "customer.avsc", "payment.proto"), avro)
    glue_answers(save("glue", [row for row in written if "window" not in row["format"]]))
    save("streams", [row for row in written if "window" in row["format"]])
    windows_log(written)
    schemas_topic(json.loads((SAMPLES / "confluent" / "schemas.json").read_text()))
    orders_log(rows)


main()
