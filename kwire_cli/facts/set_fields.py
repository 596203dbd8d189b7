"""The table `set_fields`: one row for each field that a request sets to something other than its default.

Bodies are walked in JSON form. Elements of an array share a path, and a request has one row for each path, with the
first value.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import default_value
from kwire_cli.structs.composites import SIZE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.spec.model import FieldSpec, MessageSpec, Versions

MOST_ELEMENTS = 64
"""Maximum number of array elements that are examined. Elements of a request are alike, and can be thousands."""
MOST_VISITS = 4_096
"""Maximum number of values of a body that are examined, as untrusted bodies can nest arrays in arrays."""
LONGEST_PATH = 200
"""Maximum number of characters of a path, as a request log can have keys of any length."""


class FieldDefault(NamedTuple):
    """A field of a definition: its default, its versions, and the fields in it.

    An `always` field is in all versions and its definition has no default: 0 is an ordinary value, as in the index of a
    partition.
    """

    default: Any
    versions: Versions
    inner: dict[str, FieldDefault]
    always: bool = False


@lru_cache(maxsize=256)
def fields_of(api_key: int) -> dict[str, FieldDefault]:
    """Return the fields of the request of an api by their names in JSON. An unknown api has no fields."""
    definitions = catalog()
    api = definitions.api_by_key(api_key)
    if not api or not api.request:
        return {}
    spec = definitions.message(api.request)
    return _defaults(spec, spec.fields)


def _defaults(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> dict[str, FieldDefault]:
    defaults = {}
    for field in fields:
        name = field.json_name + (SIZE_SUFFIX if field.type == "records" else "")
        default = 0 if field.type == "records" else default_value(field)
        always = (
            not field.default
            and field.tag is None
            and not field.is_array
            and field.versions.low <= spec.valid_versions.low
        )
        defaults[name] = FieldDefault(default, field.versions, _defaults(spec, spec.struct_fields(field)), always)
    return defaults


SET_FIELDS = (("connection", "BIGINT"), ("frame", "BIGINT"), ("path", "VARCHAR"), ("value", "VARCHAR"))
"""Names and types. The value is null unless it is a number or a flag: texts and bytes may be secret."""


def set_field_rows(api_key: int, body: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the fields that a request sets as rows of SET_FIELDS, without the key."""
    seen: set[str] = set()
    for path, value in set_fields(fields_of(api_key), body):
        if path not in seen:
            seen.add(path)
            is_shown = value is None or isinstance(value, bool | int | float)
            yield [path, json.dumps(value) if is_shown else None]


def set_fields(defaults: Mapping[str, FieldDefault], body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each field that is set to something other than its default: `rackId`, "a".

    Elements of an array share a path. Values other than numbers and flags may be long or secret. Keys that the
    definition lacks count if their value is anything but empty, 0 or false.
    """
    left: list[tuple[str, Mapping[str, Any], Mapping[str, FieldDefault]]] = [("", body, defaults)]
    visits = 0
    while left:
        above, values, fields = left.pop()
        for name, value in values.items():
            visits += 1
            if visits > MOST_VISITS:
                return
            field = fields.get(name)
            path = f"{above}{name}"[:LONGEST_PATH]
            inner = field.inner if field else {}
            if isinstance(value, dict) and value:
                left.append((f"{path}.", value, inner))
            elif isinstance(value, list) and any(isinstance(element, dict) for element in value):
                elements = [element for element in value[:MOST_ELEMENTS] if isinstance(element, dict)]
                left += [(f"{path}[].", element, inner) for element in reversed(elements)]
            elif (field.always or value != field.default) if field else value:
                yield path, value


def versions_with(defaults: Mapping[str, FieldDefault], path: str) -> Versions | None:
    """Return the versions of a message that have the field at a path; None if the definition has no such field."""
    versions = None
    for name in path.replace("[]", "").split("."):
        field = defaults.get(name)
        if field is None:
            return None
        versions = field.versions
        defaults = field.inner
    return versions
