"""Values that the official serializers wrote are read equal to what was written, by the schemas of three registries."""

import base64

import pytest
from kit.messages import BY, headers_of, rows, store

from kwire_cli.records.schemas.serdes import Serdes, serde_of


def cases():
    return [
        pytest.param(place, row, id=f"{place} {row['name']}")
        for writer, places in BY.items()
        for row in rows(writer)
        for place in places
    ]


def read(by, row):
    data = base64.b64decode(row["bytes"])
    pair = (data, None) if row["part"] == "key" else (None, data)
    return by.record(row["topic"], *pair, headers_of(row)).to_json()[row["part"]]


def covers(shown, written):
    """Whether what is shown has all that was written: Protobuf's JSON has the defaults of other fields too."""
    if isinstance(written, dict):
        return isinstance(shown, dict) and all(covers(shown.get(key), value) for key, value in written.items())
    return shown == written


@pytest.mark.parametrize(("place", "row"), cases())
def test_values_are_read_as_written(place, row):
    shown = read(Serdes(store(place)), row)
    assert (shown["format"], shown.get("error")) == (row["format"], None)
    assert covers(shown["data"], row["written"]) if row["format"] == "protobuf" else shown["data"] == row["written"]


@pytest.mark.parametrize("form", ["avro", "protobuf", "json-schema"])
def test_a_format_that_is_named_reads_the_same(form):
    named = Serdes(store("_schemas-0"), serde_of(form), serde_of(form))
    by_id = Serdes(store("_schemas-0"))
    for row in rows("confluent"):
        if row["format"] == form:
            assert read(named, row) == read(by_id, row)
        else:
            assert f"not of {'JSON Schema' if form == 'json-schema' else form.title()}" in read(named, row)["error"]
