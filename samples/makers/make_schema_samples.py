"""Values that the serializers of Confluent, Apicurio and AWS Glue wrote, with their schemas.

Usage: make_schema_samples.py APICURIO_JARS GLUE_JARS PYTHON

Writes samples/schemas. The jars are folders: of apicurio-registry-{avro,jsonschema,protobuf}-serde-kafka, and of
software.amazon.glue:schema-registry-serde. PYTHON has confluent-kafka[avro,json,protobuf] and
grpcio-tools. The answers and the `_schemas` topic are what the registries write, from the schemas in schemas/.
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
PAYMENT = {"id": "p-1", "kind": "TRANSFER", "parts": [{"cents": -5}], "trace": 1 << 60}
JSON = {"id": "o-1", "cents": 1200}


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
    return [
        row | {"written": {"cents": -5} if "protobuf part" in row["name"] else written[row["format"]]} for row in rows
    ]


def save(folder: str, rows: list[dict]) -> Path:
    place = SAMPLES / folder
    place.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "records.jsonl").write_text(lines, encoding="utf-8")
    return place


def apicurio_versions(place: Path) -> None:
    """The metadata of versions of artifacts as Apicurio 3 answers it, each with its content."""
    customer = [{"groupId": "default", "artifactId": "customer", "version": "1", "name": "acme.shop.Customer"}]
    artifacts = [
        ("customer", "AVRO", "customer.avsc", 10, []),
        ("orders-value", "AVRO", "order.avsc", 11, customer),
        ("json", "JSON", "order.json", 12, []),
        ("payments", "PROTOBUF", "payment.proto", 13, []),
    ]
    versions = [
        {
            "groupId": "default",
            "artifactId": name,
            "version": "1",
            "artifactType": kind,
            "state": "ENABLED",
            "globalId": number + 10,
            "contentId": number,
            "references": references,
            "content": text(file),
        }
        for name, kind, file, number, references in artifacts
    ]
    (place / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")


def glue_schemas(place: Path) -> None:
    """Schemas by their UUIDs. Glue has no references: the schema of orders has all types."""
    order, customer = json.loads(text("order.avsc")), json.loads(text("customer.avsc"))
    for field in order["fields"]:
        if field["name"] == "customer":
            field["type"] = ["null", customer]
    schemas = (("avsc", json.dumps(order)), ("jsonschema", '{"type": "object"}'), ("proto", text("payment.proto")))
    for number, (suffix, schema) in enumerate(schemas, 1):
        (place / f"00000000-0000-0000-0000-{number:012d}.{suffix}").write_text(schema, encoding="utf-8")


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
    apicurio, glue, python = sys.argv[1:]
    subprocess.run([python, str(HERE / "confluent.py"), str(SAMPLES / "confluent")], check=True)
    rows = [json.loads(line) for line in (SAMPLES / "confluent" / "records.jsonl").read_text().splitlines()]
    avro = rows[0]
    files = ("order.avsc", "customer.avsc", "order.json", "payment.proto")
    apicurio_versions(save("apicurio", of_java("Apicurio.java", apicurio, files, avro)))
    glue_schemas(save("glue", of_java("Glue.java", glue, ("order.avsc", "customer.avsc", "payment.proto"), avro)))
    schemas_topic(json.loads((SAMPLES / "confluent" / "schemas.json").read_text()))
    orders_log(rows)


main()
