"""Schemas in a registry that runs, and records in the log of a broker, as samples of both.

Usage: make_registry_samples.py REGISTRY BROKER LOGS PYTHON

Writes samples/schemas/registry. REGISTRY is the URL of an empty Apicurio Registry 3 (io.apicurio:apicurio-registry-app
on Maven Central, with the classifier all) that has APICURIO_STORAGE_KIND=kafkasql and allows the deletion of versions,
BROKER the address of a Kafka broker, LOGS its log directory. PYTHON has confluent-kafka[avro,json,protobuf] and
grpcio-tools.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent / "schemas" / "registry"
TOPICS = ("avro-orders", "json-orders", "proto-orders")
PRODUCE = """
import base64, json, sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "compression.type": "zstd", "linger.ms": 500})
for line in open(sys.argv[2], encoding="utf-8"):
    row = json.loads(line)
    pair = {row["part"]: base64.b64decode(row["bytes"])}
    producer.produce(row["topic"], timestamp=1795255200000, **pair)
producer.flush()
"""


def ask(url: str, method: str = "GET", body: Any = None) -> bytes:
    """Return the answer of a registry."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return bytes(answer.read())


def main() -> None:
    registry, broker, logs, python = sys.argv[1:]
    api = f"{registry}/apis/ccompat/v7"
    PLACE.mkdir(parents=True, exist_ok=True)
    ask(f"{api}/config", "PUT", {"compatibility": "BACKWARD"})
    for schema in ('"string"', '["null", "string"]'):
        ask(f"{api}/subjects/gone/versions", "POST", {"schema": schema})
    subprocess.run([python, str(HERE / "schemas" / "confluent.py"), str(PLACE), api], check=True)
    ask(f"{api}/config/avro-orders-value", "PUT", {"compatibility": "FULL"})
    ask(f"{api}/subjects/gone/versions/1", "DELETE")
    answers = [
        json.loads(ask(f"{api}/subjects/{subject}/versions/{version}"))
        for subject in json.loads(ask(f"{api}/subjects"))
        for version in json.loads(ask(f"{api}/subjects/{subject}/versions"))
    ]
    (PLACE / "schemas.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    records = PLACE / "records.jsonl"
    subprocess.run([python, "-c", PRODUCE, broker, str(records)], check=True)
    time.sleep(2)
    for topic in TOPICS:
        (PLACE / f"{topic}-0").mkdir(exist_ok=True)
        name = "00000000000000000000.log"
        shutil.copyfile(Path(logs, f"{topic}-0", name), PLACE / f"{topic}-0" / name)


main()
