"""Tables of bodies: one for each request and response of an api, with the fields of all versions in nested columns.

A structure is written as DuckDB's `from_json` takes it: a dict for a struct, a list with one element for a list, and a
type by name. A field of records is the size of the records, under the name that brokers' request logs use.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.message.roles import FORWARDED, SECRET_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.catalog import Api
    from kwire_cli.spec.model import FieldSpec, MessageSpec

RECORDS_SIZE = "SizeInBytes"
NO_FIELDS = "INTEGER"
"""The structure of messages without fields: a column of nulls, as DuckDB has no struct without fields."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TYPES = {
    "bool": "BOOLEAN",
    "int8": "INTEGER",
    "int16": "INTEGER",
    "uint16": "INTEGER",
    "int32": "INTEGER",
    "uint32": "BIGINT",
    "int64": "BIGINT",
    "float64": "DOUBLE",
}


@cache
def table_of(api: str, kind: str) -> str:
    """Return the name of the table of a message, such as `bodies_create_topics_request`."""
    return f"bodies_{_HUMP.sub('_', api).lower()}_{kind}"


def body_tables_of(api: Api) -> Iterator[tuple[str, str, str]]:
    """Yield the tables of bodies of an api: the name, `request` or `response`, and the name of the message."""
    for kind, message in (("request", api.request), ("response", api.response)):
        if message is not None:
            yield table_of(api.name, kind), kind, message


@cache
def structure_of(spec: MessageSpec, *, show_secrets: bool = False) -> dict[str, Any]:
    """Return the structure of the bodies of a message. Fields that are always secret are left out."""
    hidden = frozenset() if show_secrets else SECRET_FIELDS.get(spec.name, frozenset()) | {FORWARDED.get(spec.name)}
    return _structure(spec, spec.fields, "", hidden)


def _structure(
    spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str, hidden: frozenset[str | None]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in fields:
        path = above + field.json_name
        if path in hidden:
            continue
        name = field.json_name
        kind: Any
        if field.type == "records":
            name = name + RECORDS_SIZE
            kind = "INTEGER"
        elif field.struct_name:
            inside = f"{path}[]." if field.is_array else f"{path}."
            kind = _structure(spec, spec.struct_fields(field), inside, hidden)
            if not kind:  # DuckDB has no struct without fields
                continue
        else:
            kind = _TYPES.get(field.element_type, "VARCHAR")
        if field.is_array:
            kind = [kind]
        out[name] = _union(out[name], kind) if name in out else kind
    return out


def _union(one: Any, other: Any) -> Any:
    """Return a type that holds the values of two fields of the same name in different versions."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {name: _union(one[name], kind) if name in one else kind for name, kind in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [_union(one[0], other[0])]
    if one == other:
        return one
    return "BIGINT" if {one, other} == {"INTEGER", "BIGINT"} else "VARCHAR"


def duckdb_type(structure: Any) -> str:
    """Return a structure as a type of DuckDB."""
    if isinstance(structure, dict):
        return "STRUCT(" + ", ".join(f'"{name}" {duckdb_type(kind)}' for name, kind in structure.items()) + ")"
    return f"{duckdb_type(structure[0])}[]" if isinstance(structure, list) else str(structure)
