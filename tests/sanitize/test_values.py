"""Values that are read by a format are replaced by others of their types: as long, and readable by the same schema."""

import base64
import json

import pytest
from kit.commands import ROOT, kwire
from kit.messages import BY, headers_of, rows, store

from kwire_cli.records.batch import Batch, Record
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.schemas.serdes import Rule, Serdes, serde_of
from kwire_cli.records.writing import write
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import RecordSets
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.spec.catalog import catalog

SECRETS = ("4111111111111111", "Ada", "o-1", "p-1", "a-1", "00001234", "acme")
CASES = [
    pytest.param(place, row, id=f"{place} {row['name']}")
    for writer, places in BY.items()
    for place in places[:1]
    for row in rows(writer)
]


def sanitized(serdes, topic, key, value, headers=(), **batch):
    """The key and value of a record after `kwire sanitize`."""
    texts = [None if part is None else base64.b64encode(part).decode() for part in (key, value)]
    more = [{"key": name, "value": base64.b64encode(part).decode()} for name, part in headers]
    records = [{"offset": 0, "timestamp": 0, "key": texts[0], "value": texts[1], "headers": more}]
    data = write([{"records": records, **batch}])
    fields = Fields(catalog().with_serdes(serdes), Replacement(b"x"))
    out = b"".join(RecordSets(fields).items(source_of(data, topic=topic, catalog=fields.catalog)))
    assert len(out) == len(data)
    (batch,) = items(source_of(out))
    assert isinstance(batch, Batch)
    (record,) = batch.records()
    assert isinstance(record, Record)
    return record


def shape(data):
    """A value with the types of what is in it; numbers and what stands for them are one type."""
    if isinstance(data, dict):
        return {key if key == "paid" else type(key): shape(value) for key, value in data.items()}
    return [shape(item) for item in data] if isinstance(data, list) else type(data) in {int, float, str, bool}


@pytest.mark.parametrize(("place", "row"), CASES)
def test_values_are_other_ones_of_the_same_types(place, row):
    serdes = Serdes(store(place))
    data = base64.b64decode(row["bytes"])
    pair = (data, None) if row["part"] == "key" else (None, data)
    before = serdes.record(row["topic"], *pair, headers_of(row)).to_json()[row["part"]]
    record = sanitized(serdes, row["topic"], *pair, headers_of(row))
    after = serdes.record(row["topic"], record.key, record.value, record.headers).to_json()[row["part"]]
    named = [pair for pair in headers_of(row) if "msgType" not in pair[0]]
    assert [pair for pair in record.headers if pair in named] == named
    assert (after["schema"], after["type"]) == (before["schema"], before["type"])
    assert after["data"] != before["data"]
    assert shape(after["data"]) == shape(before["data"])
    if row["format"] == "protobuf":  # names of messages stand before the values
        assert after.get("error") is None
    assert not any(secret in json.dumps(after["data"], ensure_ascii=False) for secret in SECRETS)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("json", b'{"id": 12, "n": -0.50e3, "who": "Ada", "a@b.c": [true, null, "\\u00e4"], "": ""}'),
        ("long", b"\0\0\0\0\0\0\x04\xd2"),
        ("text", b"Ada"),
        ("boolean", b"\1"),
        ("uuid", b"01234567-89ab-cdef-0123-456789abcdef"),
        ("uuid", bytes(range(16))),
    ],
)
def test_plain_values_too(form, value):
    serdes = Serdes(store(None), (Rule("*", None, serde_of(form)),))
    record = sanitized(serdes, "t", None, value)
    after = serdes.record("t", None, record.value).to_json()["value"]
    assert record.value != value or form == "boolean"
    assert after.get("error") is None
    assert "Ada" not in json.dumps(after)
    if form == "json":
        assert [*after["data"]][:3] == ["id", "n", "who"]
        assert "a@b.c" not in after["data"]
        assert (after["data"][[*after["data"]][3]][:2], after["data"][""]) == ([True, None], "")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_keep_the_types_of_their_values(codec):
    (row, *_) = rows("confluent")
    serdes, data = Serdes(store("confluent/schemas.json")), base64.b64decode(row["bytes"])
    record = sanitized(serdes, row["topic"], data, data, compression=codec)
    parts = serdes.record(row["topic"], record.key, record.value).to_json()
    assert {part["type"] for part in parts.values()} == {"acme.shop.Order"}
    assert "4111111111111111" not in json.dumps(parts)


def test_a_sanitized_log_is_read_by_the_same_schemas(tmp_path):
    folder, out = ROOT / "samples" / "schemas", tmp_path / "avro-orders-0"
    options = ("--schemas", folder / "_schemas-0", "--key", "text")
    assert kwire("sanitize", folder / "avro-orders-0", out, *options).code == 0
    done = kwire("dump", "--deep", out, *options)
    (first, _, cut, _) = json.loads(done.out)["records"]
    assert first["decoded"]["value"]["type"] == "acme.shop.Order"
    assert cut["decoded"]["value"] is None  # it was not read, so that nothing of it is left
    assert "4111111111111111" not in done.out
