"""Records in the log of a broker are read by the schemas of a registry that ran: by its export and by its answers."""

import base64
import json

import pytest
from command_line import kwire
from written_values import FOLDER, rows, store

from kwire_cli.records.schemas.serdes import Serdes

REGISTRY = FOLDER / "registry"
EXPORTS = ("export.zip", "schemas.json")


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("topic", ["avro-orders", "json-orders", "proto-orders"])
def test_a_log_is_read_as_it_was_written(topic, export):
    done = kwire("dump", "--deep", REGISTRY / f"{topic}-0", "--schemas", REGISTRY / export, "--format", "jsonl")
    records = [record for line in done.out.splitlines() for record in json.loads(line)["records"]]
    written = [row for row in rows("registry") if row["topic"] == topic]
    for row, record in zip(written, records, strict=True):
        part = record["decoded"][row["part"]]
        assert (record[row["part"]], part["format"], part.get("error")) == (row["bytes"], row["format"], None)
        assert part["data"] == row["written"]


@pytest.mark.parametrize(("export", "shown"), [("export.zip", "hello"), ("schemas.json", None)])
def test_a_deleted_schema_is_in_the_export_alone(export, shown):
    record = Serdes(store(f"registry/{export}")).record("gone", None, b"\0\0\0\0\x01\x0ahello")
    value = record.to_json()["value"] if record else {"data": None}
    assert value["data"] == shown
    null = Serdes(store(f"registry/{export}")).record("gone", None, base64.b64decode("AAAAAAIA"))
    assert null.to_json()["value"] == {"format": "avro", "schema": 2, "type": None, "data": None}
