"""Message definitions made up for a test."""

import json

from kwire_cli.spec.overlay import load_text

FLEXIBLE = 1
"""In the definitions below version 0 is plain and version 1 flexible."""


def definition(*fields, common=(), **keys):
    """The definition of a message `Test` with these fields; a field is its keys, of which `versions` may be left
    out.
    """
    document = {
        "name": "Test",
        "type": "data",
        "validVersions": "0-1",
        "flexibleVersions": "1+",
        "fields": [_field(f) for f in fields],
    }
    document["commonStructs"] = [struct | {"fields": [_field(f) for f in struct["fields"]]} for struct in common]
    return load_text(json.dumps(document | keys)).spec


def _field(keys):
    subs = {"fields": [_field(sub) for sub in keys["fields"]]} if "fields" in keys else {}
    return {"versions": "0+"} | keys | subs


def field(kind, **keys):
    return {"name": "F", "type": kind} | keys
