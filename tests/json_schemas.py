"""What kwire prints, checked against the JSON Schemas in docs/."""

import json

from command_line import ROOT
from jsonschema import Draft202012Validator


def validator(name):
    """Return a validator for docs/NAME.schema.json that checks formats such as date-time too."""
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def documents(text):
    """Yield the JSON documents of a text."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at)
        at += len(text) - at - len(text[at:].lstrip())
        yield document


def hold(schema, text):
    """Assert that a text has documents, and that all of them are valid."""
    found = [*documents(text)]
    assert found
    for document in found:
        errors = [*schema.iter_errors(document)]
        assert not errors, (errors[0].json_path, errors[0].message[:500])
