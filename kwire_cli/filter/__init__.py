"""The filter language of `--filter`: which frames of a capture are looked at (docs/filter.md)."""

from kwire_cli.filter.compile import Filter, Row, compile_filter, name_of
from kwire_cli.filter.model import COLUMNS, Column, FilterError, Name, elements
from kwire_cli.filter.places import Fields, Places, Rows, opened_values, places_of, unknown_part

__all__ = [
    "COLUMNS",
    "Column",
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
    "unknown_part",
]
