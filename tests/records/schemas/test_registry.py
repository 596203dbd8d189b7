"""Records in the log of a broker are read by the schemas of a registry that ran: by its answers."""

import base64
import json

import pytest
from kit.commands import kwire
from kit.messages import FOLDER, rows, store

from kwire_cli.records.schemas.serdes import Serdes

REGISTRY = FOLDER / "registry"


@pytest.mark.parametrize("topic", ["avro-orders", "json-orders", "proto-orders"])
def test_a_log_is_read_as_it_was_written(topic):
    done = kwire("dump", "--deep", REGISTRY / f"{topic}-0", "--schemas", REGISTRY / "schemas.json", "--format", "jsonl")
    records = [record for line in done.out.splitlines() for record in json.loads(line)["records"]]
    written = [row for row in rows("registry") if row["topic"] == topic]
    for row, record in zip(written, records, strict=True):
        part = record["decoded"][row["part"]]
        assert (record[row["part"]], part["format"], part.get("error")) == (row["bytes"], row["format"], None)
        assert part["data"] == row["written"]


def test_a_null_is_read_and_a_value_whose_schema_was_deleted_is_not():
    serdes = Serdes(store("registry/schemas.json"))
    assert serdes.record("gone", None, b"\0\0\0\0\x01\x0ahello") is None
    null = serdes.record("gone", None, base64.b64decode("AAAAAAIA"))
    assert null.to_json()["value"] == {"format": "avro", "schema": 2, "type": None, "data": None}
