"""Values that serializers wrote (samples/schemas), and the schemas of each writer."""

import base64
import json
from functools import cache
from pathlib import Path

from kwire_cli.records.schemas.store import SchemaStore
from kwire_cli.source.reading import Reading
from kwire_cli.source.schema_inputs import schemas_at
from kwire_cli.spec.catalog import catalog

FOLDER = Path(__file__).resolve().parents[1] / "samples" / "schemas"
BY = {
    "confluent": ("confluent/schemas.json", "_schemas-0"),
    "apicurio": ("apicurio/versions.json",),
    "glue": ("glue",),
    "registry": ("registry/schemas.json",),
}
"""Where the schemas of each writer are: of Confluent's as answers of the registry, and as the topic that it writes."""


def rows(writer):
    return [json.loads(line) for line in (FOLDER / writer / "records.jsonl").read_text("utf-8").splitlines()]


@cache
def store(place):
    return SchemaStore(schemas_at([str(FOLDER / place)] if place else [], Reading(catalog=catalog())))


def headers_of(row):
    return tuple((name, base64.b64decode(value)) for name, value in row["headers"])
