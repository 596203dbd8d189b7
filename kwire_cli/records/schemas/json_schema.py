"""JSON values, named by the title of their JSON Schema.

A value is JSON whatever its schema says, so the schema is read for its title only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.records.schemas.model import Value
from kwire_cli.records.schemas.plain import document_of, json_value

if TYPE_CHECKING:
    from kwire_cli.records.schemas.model import Reader, Schema


def reader_of(schema: Schema) -> Reader:
    """Return the reader of values of a JSON Schema. InputError if the schema is invalid."""
    try:
        document = document_of(schema.text)
    except ValueError as error:
        raise InputError(f"{schema.label} is not a JSON Schema: {error}", file=schema.file) from None
    if not isinstance(document, dict | bool):
        raise InputError(
            f"{schema.label} is not a JSON Schema: it is neither an object nor a boolean", file=schema.file
        )
    title = document.get("title") if isinstance(document, dict) else ""

    def read(data: bytes, start: int) -> Value:
        return Value(json_value(data, start).data, title if isinstance(title, str) else "")

    return read
