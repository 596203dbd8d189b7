"""Schemas are found wherever they are: by the names of files, in folders, and descriptor sets."""

import json
import shutil
import subprocess
import sys

import pytest
from kit.commands import ROOT

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import AVRO, JSON_SCHEMA, PROTOBUF
from kwire_cli.records.schemas.serdes import Serdes, serde_of
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.reading import Reading
from kwire_cli.source.schema_inputs import schemas_at
from kwire_cli.spec.catalog import catalog

SOURCES = ROOT / "samples" / "makers" / "schemas"
INT = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}'


def found(*places):
    return schemas_at(map(str, places), Reading(catalog=catalog()))


@pytest.mark.parametrize(
    ("name", "text", "kind", "number", "subject", "version"),
    [
        ("7.avsc", INT, AVRO, 7, "", -1),
        ("orders-value.avsc", INT, AVRO, None, "orders-value", -1),
        ("orders-value-v3.avsc", INT, AVRO, None, "orders-value", 3),
        ("orders-value.json", INT, AVRO, None, "orders-value", -1),
        ("orders-value.json", '{"type": "object"}', JSON_SCHEMA, None, "orders-value", -1),
        ("orders-value.proto", "message A {}", PROTOBUF, None, "orders-value", -1),
        ("12.json", json.dumps({"schema": INT}), AVRO, 12, "", -1),
        ("a.json", json.dumps({"subject": "s", "version": 2, "id": 5, "schema": INT}), AVRO, 5, "s", 2),
    ],
)
def test_the_name_of_a_file_says_what_its_text_does_not(tmp_path, name, text, kind, number, subject, version):
    (tmp_path / name).write_text(text, "utf-8")
    (schema,) = found(tmp_path)
    assert (schema.kind, schema.number, schema.subject, schema.version) == (kind, number, subject, version)


def test_a_uuid_is_a_name_too(tmp_path):
    guid = "0F2e4a2c-0000-1111-2222-333344445555"
    (tmp_path / f"{guid}.avsc").write_text(INT, "utf-8")
    assert found(tmp_path)[0].guid == guid.lower()


@pytest.mark.parametrize(("name", "text"), [("a.avsc", b"{"), ("a.json", b"\xff"), ("a.desc", b"\xff\xff")])
def test_a_file_that_holds_none_is_refused_with_its_name(tmp_path, name, text):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError) as refused:
        Serdes(SchemaStore(found(tmp_path)), value=serde_of("protobuf:a")).check()
    assert name in str(refused.value)


def test_files_use_each_others_types(tmp_path):
    for name in ("order.avsc", "customer.avsc"):
        shutil.copy(SOURCES / name, tmp_path)
    serdes = Serdes(SchemaStore(found(tmp_path)), value=serde_of("avro:order"))
    serdes.check()
    (tmp_path / "customer.avsc").unlink()
    serdes = Serdes(SchemaStore(found(tmp_path)), value=serdes.value)
    with pytest.raises(InputError, match=r"uses the type acme\.shop\.Customer, which no schema defines"):
        serdes.check()


LINE = b"\x0a\x01z\x10\x07"


def test_messages_are_named_in_files_and_descriptor_sets(tmp_path):
    for name in ("order.proto", "customer.proto"):
        shutil.copy(SOURCES / name, tmp_path)
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--include_imports", "--descriptor_set_out=all.desc"]
    subprocess.run([*command, "order.proto"], cwd=tmp_path, check=True)
    for schema in ("order", "order.proto", "all.desc"):
        for message in ("Line", "acme.shop.Order.Line"):
            form = serde_of(f"protobuf,type={message}:{schema}")
            value = Serdes(SchemaStore(found(tmp_path)), value=form).record("t", None, LINE).to_json()["value"]
            assert (value["type"], value["data"]) == ("acme.shop.Order.Line", {"sku": "z", "count": 7})


def test_the_file_of_the_subject_reads_values_without_ids(tmp_path):
    (tmp_path / "t-value.avsc").write_text(INT, "utf-8")
    serdes = Serdes(SchemaStore(found(tmp_path)))
    assert serdes.record("t", None, b"\x54").to_json()["value"]["data"] == {"n": 42}
    assert serdes.record("other", None, b"\x54") is None
