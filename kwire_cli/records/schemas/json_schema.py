"""JSON values validated by their JSON Schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import Value
from kwire_cli.records.schemas.plain import json_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.records.schemas.model import Reader, Schema


def reader_of(schema: Schema, used: Iterable[tuple[str, Schema]]) -> Reader:
    """Return the reader of values of a JSON Schema. `used` are the schemas that it may refer to, by the names it uses.

    Nothing is fetched. InputError if the schema is invalid.
    """
    try:
        document = json.loads(schema.text)
        kind = validator_for(document, default=Draft202012Validator)
        kind.check_schema(document)
        registry = Registry().with_resources(
            (name, Resource.from_contents(json.loads(other.text), default_specification=DRAFT7)) for name, other in used
        )
        validator = kind(document, registry=registry)
    except (ValueError, SchemaError, RecursionError, AttributeError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it nests too deeply"
        raise InputError(f"{schema.label} is not a JSON Schema: {reason}", file=schema.file) from None
    title = document.get("title", "") if isinstance(document, dict) else ""

    def read(data: bytes, start: int) -> Value:
        value = json_value(data, start)
        try:
            error = next(validator.iter_errors(value.data), None)
        except Unresolvable as missing:
            note = f"the schema refers to {missing.ref}, which is missing"
        except RecursionError:
            note = "the value nests too deeply to be validated"
        else:
            note = "" if error is None else f"{error.json_path} violates {error.validator!r} of its schema"
        return Value(value.data, title if isinstance(title, str) else "", note)

    return read
