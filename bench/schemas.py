"""Avro values with ids of a registry as JSON, beside fastavro alone on the same values."""

from __future__ import annotations

import base64
import io
import json
import statistics
import time
from pathlib import Path

import fastavro

from kwire_cli.records.schemas.ids import schema_id_of
from kwire_cli.records.schemas.serdes import Serdes, serde_of
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.reading import Reading
from kwire_cli.source.schema_inputs import schemas_at
from kwire_cli.spec.catalog import catalog

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "schemas" / "confluent"
VALUES = 20_000
FLAT = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "sensor", "type": "string"},
        {"name": "at", "type": "long"},
        {"name": "value", "type": "int"},
        {"name": "ok", "type": "boolean"},
        {"name": "place", "type": ["null", "string"]},
        {"name": "unit", "type": {"type": "enum", "name": "Unit", "symbols": ["C", "F"]}},
    ],
}


def flat_values() -> list[bytes]:
    schema = fastavro.parse_schema(FLAT)
    values = []
    for number in range(VALUES):
        out = io.BytesIO(b"\0\0\0\0\x07")
        out.seek(5)
        row = {
            "sensor": f"sensor-{number}",
            "at": number << 20,
            "value": number,
            "ok": True,
            "place": "hall",
            "unit": "F",
        }
        fastavro.schemaless_writer(out, schema, row)
        values.append(out.getvalue())
    return values


def order_values() -> list[bytes]:
    row = json.loads((SAMPLES / "records.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return [base64.b64decode(row["bytes"])] * VALUES


def block(rounds: int) -> None:
    """Print the time a value of fastavro alone, of the reader of its schema, and of the whole record."""
    from kwire_cli.records.schemas.model import Schema

    orders = schemas_at([str(SAMPLES / "schemas.json")], Reading(catalog=catalog()))
    store = SchemaStore([*orders, Schema("avro", json.dumps(FLAT), "reading.avsc", 7_000_000)])
    readings = SchemaStore([Schema("avro", json.dumps(FLAT), "reading.avsc", 7)])
    names: dict = {}
    fastavro.parse_schema(
        json.loads(next(one.text for one in orders if one.subject == "customer")), named_schemas=names
    )
    order = next(one for one in orders if one.subject == "avro-orders-value")
    rows = (
        ("6 plain fields", flat_values(), fastavro.parse_schema(FLAT), readings),
        (
            "16 fields, 7 of logical types",
            order_values(),
            fastavro.parse_schema(json.loads(order.text), named_schemas=names),
            store,
        ),
    )
    avro = serde_of("avro")
    print(f"{'values':<32}{'fastavro':>12}{'kwire':>12}{'ratio':>8}{'record':>12}")
    for label, values, schema, by in rows:
        serdes = Serdes(by, value=avro)
        named = by.of_id(schema_id_of(values[0], (), "value").id)
        reader = by.reader(named)
        times: dict[str, list[float]] = {"fastavro": [], "kwire": [], "record": []}
        for _ in range(rounds):
            times["fastavro"].append(
                timed(lambda data, schema=schema: fastavro.schemaless_reader(io.BytesIO(data[5:]), schema), values)
            )
            times["kwire"].append(timed(lambda data, reader=reader: reader(data, 5), values))
            times["record"].append(timed(lambda data, serdes=serdes: serdes.record("orders", None, data), values))
        alone, ours, record = (statistics.median(taken) * 1e6 for taken in times.values())
        print(f"{label:<32}{alone:>9.2f} µs{ours:>9.2f} µs{ours / alone:>8.2f}{record:>9.2f} µs")


def timed(read, values: list[bytes]) -> float:
    """Seconds a value."""
    start = time.perf_counter()
    for data in values:
        read(data)
    return (time.perf_counter() - start) / len(values)
