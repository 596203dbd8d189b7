"""Keys and values written by Confluent's serializers for Python, and the schemas in its registry.

Usage: confluent.py FOLDER [REGISTRY]    (needs confluent-kafka[avro,json,protobuf] and grpcio-tools)

REGISTRY is the URL of a registry that runs, else it is a mock. Only the mock gives schemas a UUID, for headers.
FOLDER gets records.jsonl, a line a value with what was written, and schemas.json, the answer of /schemas.
"""

from __future__ import annotations

import base64
import datetime as dt
import importlib
import json
import subprocess
import sys
import tempfile
import uuid
from decimal import Decimal
from pathlib import Path

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

HERE = Path(__file__).parent
KINDS = {"AVRO": "avro", "JSON": "json", "PROTOBUF": "proto"}
UTC = dt.UTC


def text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


AVRO = {
    "id": uuid.UUID(int=0x1234),
    "cents": (1 << 62) + 1,
    "price": Decimal("-1234567.05"),
    "rate": Decimal("1.2500"),
    "state": "PAID",
    "at": dt.datetime(2026, 11, 21, 10, 0, 0, 123000, tzinfo=UTC),
    "seen": dt.datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC),
    "day": dt.date(2026, 11, 21),
    "time": dt.time(23, 59, 58, 7000),
    "lines": [{"sku": "a-1", "count": 2}, {"sku": "ü", "count": -1}],
    "ratings": {"x": 0.5, "y": float("inf")},
    "paid": ("acme.shop.Card", {"number": "4111111111111111", "cvc": 123}),
    "customer": {"name": "Ada", "vip": True},
    "signature": b"\x00\xff\x10",
    "gift": False,
    "weight": 1.5,
}
AVRO_WRITTEN = AVRO | {
    "id": "00000000-0000-0000-0000-000000001234",
    "price": "-1234567.05",
    "rate": "1.2500",
    "at": "2026-11-21T10:00:00.123Z",
    "seen": "2026-11-21T10:00:00.123456Z",
    "day": "2026-11-21",
    "time": "23:59:58.007",
    "ratings": {"x": 0.5, "y": "Infinity"},
    "paid": {"Card": AVRO["paid"][1]},
    "signature": "AP8Q",
}
JSON = {"id": "o-1", "cents": 1200, "card": {"number": "4111111111111111", "cvc": 123}, "customer": {"name": "Ada"}}
PROTOBUF_WRITTEN = {
    "id": "o-1",
    "cents": -(1 << 62),
    "state": "PAID",
    "lines": [{"sku": "a-1", "count": 2}],
    "ratings": {"x": 0.5, "y": "NaN"},
    "card": {"number": "4111111111111111", "cvc": 123},
    "customer": {"name": "Ada", "vip": True},
    "at": "2026-11-21T10:00:00Z",
    "signature": "AP8Q",
    "note": "",
}


def messages() -> tuple:
    """Compile the .proto files, and return a message of Order and one of Order.Line."""
    folder = tempfile.mkdtemp()
    files = [str(HERE / name) for name in ("customer.proto", "order.proto")]
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", f"--python_out={folder}", *files], check=True
    )
    sys.path.insert(0, folder)
    pb = importlib.import_module("order_pb2")
    order = pb.Order(id="o-1", cents=-(1 << 62), state=1, lines=[{"sku": "a-1", "count": 2}], note="")
    order.ratings["x"], order.ratings["y"] = 0.5, float("nan")
    order.card.number, order.card.cvc = "4111111111111111", 123
    order.customer.name, order.customer.vip = "Ada", True
    order.at.FromDatetime(dt.datetime(2026, 11, 21, 10, tzinfo=UTC))
    order.signature = b"\x00\xff\x10"
    return order, pb.Order.Line(sku="z", count=7), pb.Card(number="4", cvc=5)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    registry = sys.argv[2] if len(sys.argv) > 2 else ""
    client = SchemaRegistryClient.new_client({"url": registry or "mock://samples"})
    for subject, kind, name in (("customer", "AVRO", "customer.avsc"), ("customer.json", "JSON", "customer.json")):
        client.register_schema(subject, Schema(text(name), kind))
    customer = SchemaReference("acme.shop.Customer", "customer", 1)
    avro = Schema(text("order.avsc"), "AVRO", [customer])
    json_schema = Schema(text("order.json"), "JSON", [SchemaReference("customer.json", "customer.json", 1)])
    order, line, card = messages()
    ways = [("prefix", prefix_schema_id_serializer)]
    if not registry:
        ways.append(("header", header_schema_id_serializer))
    rows = []
    for way, by in ways:
        config = {"schema.id.serializer": by}
        serializers = [
            ("avro", "avro-orders", AvroSerializer(client, avro, conf=config), AVRO, AVRO_WRITTEN),
            ("json-schema", "json-orders", JSONSerializer(json_schema, client, conf=config), JSON, JSON),
            ("protobuf", "proto-orders", ProtobufSerializer(type(order), client, conf=config), order, PROTOBUF_WRITTEN),
            (
                "protobuf",
                "proto-lines",
                ProtobufSerializer(type(line), client, conf=config),
                line,
                {"sku": "z", "count": 7},
            ),
            (
                "protobuf",
                "proto-cards",
                ProtobufSerializer(type(card), client, conf=config),
                card,
                {"number": "4", "cvc": 5},
            ),
        ]
        for form, topic, serialize, value, written in serializers:
            for part, field in (("value", MessageField.VALUE), ("key", MessageField.KEY)):
                headers: list = []
                data = serialize(value, SerializationContext(topic, field, headers))
                rows.append(
                    {
                        "name": f"{topic} {part} {way}",
                        "format": form,
                        "topic": topic,
                        "part": part,
                        "bytes": base64.b64encode(data).decode(),
                        "headers": [[key, base64.b64encode(item).decode()] for key, item in headers],
                        "written": written,
                    }
                )
    answers = [
        {
            "subject": subject,
            "version": found.version,
            "id": found.schema_id,
            **({"guid": found.guid} if found.guid else {}),
            **({} if found.schema.schema_type == "AVRO" else {"schemaType": found.schema.schema_type}),
            "references": [
                {"name": one.name, "subject": one.subject, "version": one.version}
                for one in found.schema.references or ()
            ],
            "schema": found.schema.schema_str,
        }
        for subject in client.get_subjects()
        for found in [client.get_latest_version(subject)]
    ]
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "schemas.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


main()
