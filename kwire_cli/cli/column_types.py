"""Types of the columns of csv, for files that have types: names of types are those of `arrow`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kwire_cli.facts.columns import BY_NAME
from kwire_cli.filter import Name, name_of, places_of
from kwire_cli.filter.places import RECORDS
from kwire_cli.spec.model import fields_by_path
from kwire_cli.view.arrow import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.facts.columns import Column
    from kwire_cli.filter import Places
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec

_NUMBERS = frozenset({"int8", "int16", "int32", "int64", "uint16", "uint32"})
_TEXTS = ("compression", "timestampType", "gap", "file", "topic", "name", "value", "key", "decoded", "control")
_LOGS = {
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(("crcValid", "isTransactional", "isControl"), "flag"),
    **dict.fromkeys(("maxTimestamp", "deleteHorizon", "timestamp"), "time"),
    "headers": "headers",
}
"""Columns of batches, records and files of log directories; those that are not here are integers."""


def of_logs(names: Iterable[str]) -> list[Field]:
    """Return the columns of batches, records or entries of a file of a log directory."""
    return [Field(name, _LOGS.get(name, "int")) for name in names]


def of_captures(names: Iterable[str], catalog: Catalog) -> list[Field]:
    """Return the columns of lines of captures, of which some may be fields of messages."""
    return [Field(name, _of_column(BY_NAME[name]) if name in BY_NAME else _of_field(name, catalog)) for name in names]


def _of_column(column: Column) -> str:
    kind = column.type if column.type in {"time", "flag"} else "int" if column.type.startswith("int") else "text"
    return f"[]{kind}" if column.is_list else kind


@lru_cache(maxsize=64)
def _of_field(name: str, catalog: Catalog) -> str:
    """Return the type of the fields whose paths end in a name, a list if a message may have several of them.

    Fields of several types are text.
    """
    places = places_of(name_of(name) or Name(name, 1), catalog.field_names)
    types, several = set(), bool(places.records or places.header is not None or places.payloads)
    if places.records:
        types.add(_of_records(places.records))
    if places.header is not None:
        types.add("text")
    if places.message or places.payloads:
        for entry in catalog:
            fields = [*_named(places, fields_by_path(catalog.message(entry.name)))]
            types |= {_scalar(field) for _, field in fields}
            several = several or len(fields) > 1 or any("[]" in path or field.is_array for path, field in fields)
    kind = types.pop() if len(types) == 1 else "float" if types == {"int", "float"} else "text"
    return f"[]{kind}" if several else kind


def _named(places: Places, fields: Iterable[tuple[str, FieldSpec]]) -> Iterator[tuple[str, FieldSpec]]:
    """Yield the fields whose paths end as that of a name does."""
    wanted = places.path[1:] if places.path[0] in {"header", "body"} else places.path
    for path, field in fields:
        if path.replace("[]", "").split(".")[-len(wanted) :] == [*wanted]:
            yield path, field


def _scalar(field: FieldSpec) -> str:
    kind = field.element_type
    return "int" if kind in _NUMBERS else "float" if kind == "float64" else "flag" if kind == "bool" else "text"


def _of_records(path: Sequence[str]) -> str:
    """Return the type of a key of a batch or a record in JSON, where times are milliseconds."""
    kind = "text" if set(path) & {"decoded", "control", "headers", "anomalies"} else _LOGS.get(path[-1], "int")
    return "text" if path[-1] == RECORDS else "int" if kind == "time" else kind
