"""The golden vectors: bodies that Kafka's own classes wrote, with their JSON form."""

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import kwire_cli as kwire

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
SAMPLE = ROOT / "samples" / "golden" / "messages.jsonl"


@dataclass(frozen=True)
class Row:
    kafka: str
    message: str
    version: int
    variant: str
    body: bytes
    json: dict
    unknown_tags: tuple = ()
    records: tuple = ()

    def __str__(self):
        return f"{self.message}-{self.version}-{self.variant}-{self.kafka}"

    @property
    def catalog(self):
        return kwire.catalog(kafka=self.kafka if self.kafka.startswith("3.9") else None)


def parse(line, kafka=None):
    row = json.loads(line)
    body = bytes.fromhex(row["hex"])
    return Row(
        row.get("kafka", kafka),
        row["spec"],
        row["version"],
        row["variant"],
        body,
        row["json"],
        tuple(row.get("unknownTags", ())),
        tuple(row.get("records", ())),
    )


@cache
def sample():
    return tuple(parse(line) for line in SAMPLE.read_text("utf-8").split("\n") if line)


@cache
def shared():
    """Every golden body of the reference data; trunk of 2024-10 is one step after 3.9."""
    rows = []
    for name, kafka in (("kafka-4.4.0", None), ("kafka-3.9.2", None), ("kafka-trunk-2024-10", "3.9.2")):
        with gzip.open(SHARED / "golden" / f"{name}.messages.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows += [parse(line, kafka) for line in lines]
    return tuple(rows)


def without_unknown_tags(value):
    """A value as Kafka's JSON form has it, which drops unknown tags."""
    if isinstance(value, dict):
        return {key: without_unknown_tags(part) for key, part in value.items() if key != "unknownTaggedFields"}
    return [without_unknown_tags(part) for part in value] if isinstance(value, list) else value


def as_kafka_prints(value, names=("records", "unalignedRecords")):
    """As above, with records shown as the empty text that Kafka's JSON form has for them."""
    if isinstance(value, dict):
        return {
            key: "" if key in names and isinstance(part, str) else as_kafka_prints(part, names)
            for key, part in value.items()
            if key != "unknownTaggedFields"
        }
    return [as_kafka_prints(part, names) for part in value] if isinstance(value, list) else value
