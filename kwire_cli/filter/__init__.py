"""The filter language of `--filter`, which selects frames of a capture (docs/filter.md)."""

from kwire_cli.filter.compile import Filter, Row, compile_filter, name_of
from kwire_cli.filter.model import FilterError, Name, elements, type_of
from kwire_cli.filter.places import Fields, Places, Rows, opened_values, places_of, unknown_part

__all__ = [
    "Fields",
    "Filter",
    "FilterError",
    "Name",
    "Places",
    "Row",
    "Rows",
    "compile_filter",
    "elements",
    "name_of",
    "opened_values",
    "places_of",
    "type_of",
    "unknown_part",
]
