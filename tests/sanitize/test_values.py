"""Values that are read by a format are replaced by others of their types: as long, and readable by the same schema."""

import base64
import json

import pytest
from command_line import ROOT, kwire
from written_values import BY, headers_of, rows, store

from kwire_cli.records.batch import Batch, Record
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.schemas.serdes import Rule, Serdes, serde_of
from kwire_cli.records.writing import write
from kwire_cli.sanitize.records import Fields, RecordSets
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.spec.catalog import catalog

SECRETS = ("4111111111111111", "Ada", "o-1", "p-1", "a-1", "00001234", "acme", "kä")
CASES = [
    pytest.param(place, row, id=f"{place} {row['name']}")
    for writer, places in BY.items()
    for place in places[:1]
    for row in rows(writer)
    if "ZLIB" not in row["name"] and not row["headers"]
]


def sanitized(serdes, topic, key, value):
    """The key and value of a record after `kwire sanitize`."""
    texts = [None if part is None else base64.b64encode(part).decode() for part in (key, value)]
    records = [{"offset": 0, "timestamp": 0, "key": texts[0], "value": texts[1], "headers": []}]
    data = write([{"records": records}])
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
    record = sanitized(serdes, row["topic"], *pair)
    after = serdes.record(row["topic"], record.key, record.value, ()).to_json()[row["part"]]
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
    ],
)
def test_plain_values_too(form, value):
    serdes = Serdes(store(None), (Rule("*", None, serde_of(form)),))
    record = sanitized(serdes, "t", None, value)
    after = serdes.record("t", None, record.value).to_json()["value"]
    assert record.value != value
    assert after.get("error") is None
    if form == "json":
        assert [*after["data"]][:3] == ["id", "n", "who"]
        assert "a@b.c" not in after["data"]
        assert (after["data"][[*after["data"]][3]][:2], after["data"][""]) == ([True, None], "")


def test_a_sanitized_log_is_read_by_the_same_schemas(tmp_path):
    folder, out = ROOT / "samples" / "schemas", tmp_path / "avro-orders-0"
    options = ("--schemas", folder / "_schemas-0", "--key", "text")
    assert kwire("sanitize", folder / "avro-orders-0", out, *options).code == 0
    done = kwire("dump", "--deep", out, *options)
    (first, _, cut, _) = json.loads(done.out)["records"]
    assert first["decoded"]["value"]["type"] == "acme.shop.Order"
    assert cut["decoded"]["value"] is None  # it was not read, so that nothing of it is left
    assert "4111111111111111" not in done.out
