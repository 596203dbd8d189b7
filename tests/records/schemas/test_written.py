"""Values that the official serializers wrote are read equal to what was written, by the exports of three registries."""

import base64
import json
from functools import cache
from pathlib import Path

import pytest

from kwire_cli.records.schemas.serdes import Rule, Serdes, serde_of
from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.reading import Reading
from kwire_cli.source.schema_inputs import schemas_at
from kwire_cli.spec.catalog import catalog

FOLDER = Path(__file__).resolve().parents[3] / "samples" / "schemas"
BY = {
    "confluent": ("confluent/schemas.json", "_schemas-0"),
    "apicurio": ("apicurio/export.zip",),
    "glue": ("glue",),
    "streams": (),
}
"""Where the schemas of each writer are: of Confluent's as answers of the registry, and as the topic that it writes."""
WINDOWS = tuple(Rule("*", serde_of(f"{kind}-window"), None) for kind in ("time", "session"))


def cases():
    for writer, places in BY.items():
        for line in (FOLDER / writer / "records.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for place in places or (None,):
                yield pytest.param(place, row, id=f"{place} {row['name']}")


@cache
def store(place):
    return SchemaStore(schemas_at([str(FOLDER / place)] if place else [], Reading(catalog=catalog())))


def read(by, row):
    data = base64.b64decode(row["bytes"])
    pair = (data, None) if row["part"] == "key" else (None, data)
    headers = tuple((name, base64.b64decode(value)) for name, value in row["headers"])
    return by.record(row["topic"], *pair, headers).to_json()[row["part"]]


def covers(shown, written):
    """Whether what is shown has all that was written: Protobuf's JSON has the defaults of other fields too."""
    if isinstance(written, dict):
        return isinstance(shown, dict) and all(covers(shown.get(key), value) for key, value in written.items())
    return shown == written


@pytest.mark.parametrize(("place", "row"), [*cases()])
def test_values_are_read_as_written(place, row):
    rules = tuple(rule for rule in WINDOWS if row["format"] == rule.key.format)
    shown = read(Serdes(store(place), rules), row)
    assert (shown["format"], shown.get("error")) == (row["format"], None)
    assert covers(shown["data"], row["written"]) if row["format"] == "protobuf" else shown["data"] == row["written"]


@pytest.mark.parametrize("form", ["avro", "protobuf", "json-schema"])
def test_a_format_that_is_named_reads_the_same(form):
    rows = [json.loads(line) for line in (FOLDER / "confluent" / "records.jsonl").read_text().splitlines()]
    named = Serdes(store("_schemas-0"), (Rule("*", serde_of(form), serde_of(form)),))
    by_id = Serdes(store("_schemas-0"))
    for row in rows:
        if row["format"] == form:
            assert read(named, row) == read(by_id, row)
        else:
            assert f"not of {'JSON Schema' if form == 'json-schema' else form.title()}" in read(named, row)["error"]
